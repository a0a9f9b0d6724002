"""One look at a whole machine: host, GPUs, software, and what each layer of visibility leaves.

Knows the order in which the readers run; must not know what their facts mean. Starts no process, unless torch's own
view is asked for, initialises no HIP, and never imports torch or amdsmi.
"""

from __future__ import annotations

import dataclasses
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rocmtx.facts.gpus import read_gpus
from rocmtx.facts.host import group_names, read_host
from rocmtx.facts.masks import predict_torch
from rocmtx.facts.model import Facts, Gpu, Stack, TorchDevice, TorchView
from rocmtx.facts.stack import read_stack
from rocmtx.facts.tree import Tree
from rocmtx.facts.visibility import resolve

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def collect(
    root: Path = Path("/"),
    environment: Mapping[str, str] | None = None,
    *,
    torch_view: bool = False,
    search_paths: Iterable[str] | None = None,
) -> Facts:
    """Read a machine. Never raises for what the machine holds: a value that cannot be read is None, `missing` says why.

    `root` is "/" or a recorded tree with `sys/` and `proc/` in it; a recorded tree has no environment and no packages
    unless they are given. `torch_view=True` also asks torch in a child process, which takes seconds.
    """
    tree = Tree(root)
    if environment is None:
        environment = os.environ if tree.live else {}
    host = read_host(tree, environment)
    stack = read_stack(tree, environment, search_paths)
    build = stack.torch.build if stack.torch else None
    gpus = resolve(read_gpus(tree, group_names(tree)), host, environment, build)
    if stack.torch is not None and stack.torch.build == "rocm":
        stack = _with_prediction(stack, environment)
    if torch_view:
        stack = dataclasses.replace(stack, torch_view=_ask_torch(stack, environment))
        gpus = _with_memory(gpus, stack.torch_view)
    return Facts(
        host=host,
        gpus=gpus,
        stack=stack,
        missing=tuple(tree.missing),
        taken_at=time.time(),
        origin="live" if tree.live else "captured",
        label=None if tree.live else Path(root).name,
    )


def read_files(root: Path = Path("/")) -> dict[str, str]:
    """Return the text of every file of /sys that GPUs are read from, by path: what a report keeps beside the facts."""
    tree = Tree(root, keep=True)
    read_gpus(tree, {})
    return {path: text for path, text in sorted((tree.kept or {}).items()) if path.startswith("/sys/")}


def _with_prediction(stack: Stack, environment: Mapping[str, str]) -> Stack:
    prediction = predict_torch(environment)
    count = None if prediction.error else len(prediction.devices)
    return dataclasses.replace(stack, torch_predicts=count, torch_predicts_error=prediction.error)


def _with_memory(gpus: tuple[Gpu, ...], view: TorchView | None) -> tuple[Gpu, ...]:
    """Fill in memory that only torch could tell: of NVIDIA GPUs, which have no file for it. Joined by address."""
    known = {device.address: device for device in (view.devices if view else ()) if device.address}
    return tuple(
        dataclasses.replace(gpu, vram_total=device.total_memory, vram_used=_used(device))
        if gpu.vendor == "NVIDIA" and (device := known.get(gpu.address))
        else gpu
        for gpu in gpus
    )


def _used(device: TorchDevice) -> int | None:
    if device.total_memory is None or device.free_memory is None:
        return None
    return device.total_memory - device.free_memory


def _ask_torch(stack: Stack, environment: Mapping[str, str]) -> TorchView:
    if stack.torch is None:
        return TorchView(error="torch is not installed")
    from rocmtx.facts.torch_view import ask_torch

    return ask_torch(environment)

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
from rocmtx.facts.model import Facts, Stack, TorchView
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
    return Facts(
        host=host,
        gpus=gpus,
        stack=stack,
        missing=tuple(tree.missing),
        taken_at=time.time(),
        origin="live" if tree.live else "captured",
        label=None if tree.live else Path(root).name,
    )


def _with_prediction(stack: Stack, environment: Mapping[str, str]) -> Stack:
    prediction = predict_torch(environment)
    count = None if prediction.error else len(prediction.devices)
    return dataclasses.replace(stack, torch_predicts=count, torch_predicts_error=prediction.error)


def _ask_torch(stack: Stack, environment: Mapping[str, str]) -> TorchView:
    if stack.torch is None:
        return TorchView(error="torch is not installed")
    from rocmtx.facts.torch_view import ask_torch

    return ask_torch(environment)

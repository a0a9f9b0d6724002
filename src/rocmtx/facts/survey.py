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

from rocmtx.facts.host import read_host
from rocmtx.facts.model import Facts, Stack, TorchView
from rocmtx.facts.stack import read_stack
from rocmtx.facts.tree import Tree

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
    if torch_view:
        stack = dataclasses.replace(stack, torch_view=_ask_torch(stack, environment))
    return Facts(
        host=host,
        stack=stack,
        missing=tuple(tree.missing),
        taken_at=time.time(),
        origin="live" if tree.live else "captured",
        label=None if tree.live else Path(root).name,
    )


def _ask_torch(stack: Stack, environment: Mapping[str, str]) -> TorchView:
    if stack.torch is None:
        return TorchView(error="torch is not installed")
    from rocmtx.facts.torch_view import ask_torch

    return ask_torch(environment)

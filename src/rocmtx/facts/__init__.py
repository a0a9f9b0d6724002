"""Reading: /sys, /proc, package metadata and model files to `Facts`. Judges nothing.

Names are resolved when first used: importing this package reads no file and imports nothing heavy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rocmtx.facts.checkpoint import read_checkpoint
    from rocmtx.facts.machines import load_machine, machine_names, machine_summary
    from rocmtx.facts.report import read_report, redacted, write_report
    from rocmtx.facts.survey import collect, read_files
    from rocmtx.facts.torch_view import ask_torch
    from rocmtx.facts.visibility import mask_for, resolve

__all__ = [
    "ask_torch",
    "collect",
    "load_machine",
    "machine_names",
    "machine_summary",
    "mask_for",
    "read_checkpoint",
    "read_files",
    "read_report",
    "redacted",
    "resolve",
    "write_report",
]

_HOMES = {
    "ask_torch": "torch_view",
    "collect": "survey",
    "load_machine": "machines",
    "machine_names": "machines",
    "machine_summary": "machines",
    "mask_for": "visibility",
    "read_checkpoint": "checkpoint",
    "read_files": "survey",
    "read_report": "report",
    "redacted": "report",
    "resolve": "visibility",
    "write_report": "report",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__

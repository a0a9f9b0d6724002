"""Reading: /sys, /proc, package metadata and model files to `Facts`. Judges nothing.

Names are resolved when first used: importing this package reads no file and imports nothing heavy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rocmtx.facts.checkpoint import read_checkpoint
    from rocmtx.facts.survey import collect

__all__ = ["collect", "read_checkpoint"]

_HOMES = {
    "collect": "rocmtx.facts.survey",
    "read_checkpoint": "rocmtx.facts.checkpoint",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__

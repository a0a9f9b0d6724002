"""The tables that ship with the package: the only files that `decide` opens.

Knows how to read one; must not know what is in it.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def read_table(name: str) -> dict[str, Any]:
    """Return a table of this package by its name without ".toml"; FileNotFoundError for one that does not exist."""
    return tomllib.loads(files("rocmtx.decide").joinpath(f"{name}.toml").read_text(encoding="utf-8"))

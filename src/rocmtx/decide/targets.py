"""The table of gfx targets: what each architecture can do, with the source of every column.

Knows targets.toml and the shape of its rows, and is the one door to this package's tables, the only files that `decide`
opens; must not know a machine, a model or torch. A target that is not
in the table is still answered: by its family where the name shows it, with everything else "unknown".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

Kind = Literal["discrete", "integrated", "either", "unknown"]
Fp8 = Literal["fnuz", "ocp", "none", "unknown"]
Aotriton = Literal["native", "gated", "mixed", "no", "unknown"]

# Which column belongs to which entry of [sources].
_GROUPS = {
    "family": "hardware",
    "kind": "hardware",
    "wave": "hardware",
    "matrix": "matrix",
    "fp8": "matrix",
    "fp4": "matrix",
}
_FAMILIES = (
    ("gfx125", "CDNA5"),
    ("gfx120", "RDNA4"),
    ("gfx115", "RDNA3.5"),
    ("gfx110", "RDNA3"),
    ("gfx103", "RDNA2"),
    ("gfx101", "RDNA1"),
    ("gfx95", "CDNA4"),
    ("gfx94", "CDNA3"),
)


@dataclass(frozen=True, slots=True)
class Target:
    """One gfx target. `matrix` is None where it is not known; an empty tuple means that there are no matrix units."""

    gfx: str
    family: str = "unknown"
    kind: Kind = "unknown"
    wave: int | None = None
    matrix: tuple[str, ...] | None = None
    fp8: Fp8 = "unknown"
    fp4: bool | None = None
    aotriton: Aotriton = "unknown"
    hipblaslt: str = "unknown"
    flash_attn: str = "unknown"
    aiter: str = "unknown"
    bitsandbytes: str = "unknown"
    official: str = "unknown"
    override: str = ""
    known: bool = field(default=False, compare=False)

    def computes(self, dtype: str) -> bool | None:
        """Return whether there are matrix units for a dtype ("bfloat16"); None when the target is not known."""
        return None if self.matrix is None else dtype in self.matrix


@dataclass(frozen=True, slots=True)
class Source:
    """Where a column comes from, and when it was read."""

    source: str
    date: str


@cache
def read_table(name: str) -> dict[str, Any]:
    """Return a table of this package by its name without ".toml"; FileNotFoundError for one that does not exist."""
    # Only where a table is read: both cost more than the rest of this package's imports.
    import tomllib
    from importlib.resources import files

    return tomllib.loads(files("rocmtx.decide").joinpath(f"{name}.toml").read_text(encoding="utf-8"))


def base_arch(name: str) -> str:
    """Return the target without feature flags: "gfx942:sramecc+:xnack-" -> "gfx942" (HIP prints them with the name)."""
    return name.split(":", 1)[0].strip().lower()


def find_target(gfx: str | None) -> Target:
    """Return the row of a target; an unknown one gets its family by its name and is "unknown" in everything else."""
    if not gfx:
        return Target("unknown")
    name = base_arch(gfx)
    found = _rows().get(name)
    if found is not None:
        return found
    family = next((family for prefix, family in _FAMILIES if name.startswith(prefix)), "unknown")
    return Target(name, family=family)


def target_names() -> tuple[str, ...]:
    """Return every target of the table, in its order."""
    return tuple(_rows())


def source_of(column: str) -> Source:
    """Return the source of a column of the table; KeyError for a name that is no column."""
    entry = read_table("targets")["sources"][_GROUPS.get(column, column)]
    return Source(entry["source"], entry["date"])


@cache
def _rows() -> dict[str, Target]:
    return {
        name: Target(name, known=True, **{**row, "matrix": tuple(row["matrix"])})
        for name, row in read_table("targets").items()
        if name != "sources"
    }

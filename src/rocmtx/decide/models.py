"""Which attention implementations and which parallelism the model classes of Transformers take, by `model_type`.

Knows models.toml; must not know a machine. Code from the hub (trust_remote_code) is not judged, and other releases of
Transformers differ in single rows (5.24 refuses flash attention for gemma3).
"""

from __future__ import annotations

from typing import Literal

from rocmtx.decide.targets import read_table

Family = Literal["sdpa", "flash", "flex"]


def supports(model_type: str | None, family: Family) -> bool | None:
    """Return whether a model class takes a family of attention implementations; None when its type is not known."""
    return None if model_type is None else model_type not in read_table("models")["refuses"][family]


def own_flash(model_type: str | None) -> str | None:
    """Return the hub kernel that a model class insists on for ROCm; "" where it has none, None where any will do."""
    kernel: str | None = read_table("models")["own_flash"].get(model_type)
    return kernel


def splits_layers(model_type: str | None) -> bool | None:
    """Return whether a model class has a plan for tensor parallelism; None when its type is not known."""
    return None if model_type is None else model_type not in read_table("models")["tensor_parallel"]["refuses"]


def hub_layers(model_type: str | None, *, training: bool) -> tuple[tuple[str, str, int], ...] | None:
    """Return (layer, repository, version) of what `use_kernels` replaces on ROCm; None when the type is not known."""
    if model_type is None:
        return None
    table = read_table("models")["hub_kernels"]
    return tuple(
        (name, row["repository"], row["version"])
        for name, row in table.items()
        if model_type in row["types"] and (row["training"] or not training)
    )

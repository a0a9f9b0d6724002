"""The quantization methods of Transformers: what each one is, needs and can do on AMD hardware.

Knows methods.toml and the shape of its rows; must not know a machine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, Literal

from rocmtx.decide.targets import read_table

Documented = Literal["yes", "partly", "no", "unlisted"]
Needs = Literal["", "fp8", "fp4", "nvidia", "apple"]
OnCpu = Literal["yes", "no", "dense", "untested"]
ALIASES: Final = {
    "4bit": "bitsandbytes-4bit",
    "8bit": "bitsandbytes-8bit",
    "bnb": "bitsandbytes-4bit",
    "bnb4": "bitsandbytes-4bit",
    "bnb8": "bitsandbytes-8bit",
    "bnb-4bit": "bitsandbytes-4bit",
    "bnb-8bit": "bitsandbytes-8bit",
    "bitsandbytes": "bitsandbytes-4bit",
    "nf4": "bitsandbytes-4bit",
    "int8": "torchao-int8",
    "torchao": "torchao-int8",
    "quanto": "quanto-int8",
}


@dataclass(frozen=True, slots=True)
class Method:
    """One way to quantize; methods.toml describes the fields. `config` is None where only checkpoints are loaded."""

    name: str
    method: str
    title: str
    bits: float
    on_the_fly: bool
    packages: dict[str, str] = field(default_factory=dict)
    documented: Documented = "no"
    needs: Needs = ""
    cpu: OnCpu = "untested"
    trainable: bool = False
    config: dict[str, Any] | None = None
    broken: str = ""


@cache
def methods() -> dict[str, Method]:
    """Return every method by its name, in the order of the table."""
    return {name: Method(name, **row) for name, row in read_table("methods").items() if name != "source"}


def by_checkpoint(config: dict[str, Any]) -> Method | None:
    """Return the method that a checkpoint's `quantization_config` names; None for one that is not in the table."""
    kind = str(config.get("quant_method") or "")
    eight = bool(config.get("load_in_8bit"))
    if kind == "bitsandbytes" or (not kind and (eight or config.get("load_in_4bit"))):
        return methods()["bitsandbytes-8bit" if eight else "bitsandbytes-4bit"]
    return next((entry for entry in methods().values() if entry.method == kind), None)

"""The two shapes of an answer: what was chosen and why, and whether a thing works and why.

Knows nothing but the shapes. "Not known" is a third answer beside yes and no, and stays visible everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

Value = TypeVar("Value")
Answer = Literal["yes", "no", "not known"]


@dataclass(frozen=True, slots=True)
class Choice(Generic[Value]):
    """One decided value. `asked` is True when the person wished for it, False when rocmtx chose it."""

    value: Value
    because: str
    asked: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a feature works on a device. `fix` is what to type or change when it does not, or to find out."""

    answer: Answer
    because: str
    fix: str = ""

    @property
    def ok(self) -> bool | None:
        """True, False, or None when it is not known."""
        return {"yes": True, "no": False, "not known": None}[self.answer]

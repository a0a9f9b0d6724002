"""What the doctor finds: one observation with its weight, why it matters and what to do.

Knows the shape only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from rocmtx.facts.model import Facts

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. `rule` is a stable name; `fix` is what to type or change on this machine, or empty."""

    rule: str
    severity: Severity
    seen: str
    matters: str
    fix: str = ""


Rule = Callable[[Facts], Iterator[Finding]]
"""A rule reads facts and yields what it finds, most often nothing."""

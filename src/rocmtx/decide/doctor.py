"""What is wrong or worth knowing on a machine: the rules run over the facts, the worst first.

Knows the list of rules; must not know what any of them looks at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rocmtx.decide.finding import Finding, Rule
from rocmtx.decide.rules import access, build, packages, performance, visibility
from rocmtx.decide.wsl import with_torch_gpus

if TYPE_CHECKING:
    from rocmtx.facts.model import Facts

__all__ = ["RULES", "Finding", "diagnose"]

RULES: Final[tuple[Rule, ...]] = (
    *access.RULES,
    *visibility.RULES,
    *build.RULES,
    *packages.RULES,
    *performance.RULES,
)
_ORDER = {"error": 0, "warning": 1, "note": 2}


def diagnose(facts: Facts) -> tuple[Finding, ...]:
    """Return the findings, errors first, within a severity in the order of the rules; empty when nothing was found."""
    facts = with_torch_gpus(facts)
    found = [finding for rule in RULES for finding in rule(facts)]
    return tuple(sorted(found, key=lambda finding: _ORDER[finding.severity]))

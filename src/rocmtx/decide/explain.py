"""What an error text means on this machine: the first rule that recognises it, specific causes before generic ones.

Knows the order of the kinds; must not know any text itself. Give it the whole traceback with its chained causes:
Transformers hides the true one there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rocmtx.decide.explanation import Explanation, TextRule
from rocmtx.decide.texts import attention, device, hub, memory, notebook, packages, quantization, training
from rocmtx.decide.wsl import with_torch_gpus

if TYPE_CHECKING:
    from rocmtx.facts.model import Facts

__all__ = ["RULES", "Explanation", "explain"]

RULES: Final[tuple[TextRule, ...]] = (
    *memory.RULES,
    *quantization.RULES,
    *training.RULES,
    *notebook.RULES,
    *attention.RULES,
    *hub.RULES,
    *device.RULES,
    *packages.RULES,
    *attention.GENERIC,
)


def explain(text: str, facts: Facts | None = None) -> Explanation | None:
    """Explain an error text or traceback; None when no rule knows it. Without facts the advice is general.

    A harmless warning is explained only when nothing else in the text is.
    """
    facts = with_torch_gpus(facts) if facts is not None else None
    found = [explained for rule in RULES if (explained := rule.explain(text, facts)) is not None]
    return next((entry for entry in found if not entry.harmless), found[0] if found else None)

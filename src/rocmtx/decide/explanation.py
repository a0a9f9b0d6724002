"""The shape of an explained error text, and of the rule that explains it.

Knows patterns; must not know any particular error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from rocmtx.facts.model import Facts

Answer = tuple[str, str]
"""What it means, and what to type or change."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What an error text means: `rule` is a stable name, `found` the piece of text that was recognised.

    `harmless` marks warnings that need nothing. `fix` is for this machine where its facts were given, else in general.
    """

    rule: str
    found: str
    means: str
    fix: str = ""
    harmless: bool = False


@dataclass(frozen=True, slots=True)
class TextRule:
    """A pattern and its explanation; `judge` takes the match and the facts (or None) where the machine matters.

    `judge` may return None: then this rule does not apply after all.
    """

    rule: str
    pattern: str
    means: str = ""
    fix: str = ""
    harmless: bool = False
    judge: Callable[[re.Match[str], Facts | None], Answer | None] | None = None

    def explain(self, text: str, facts: Facts | None) -> Explanation | None:
        """Return the explanation of the first match in a text, or None."""
        match = re.search(self.pattern, text, re.IGNORECASE)
        if match is None:
            return None
        answer = (self.means, self.fix) if self.judge is None else self.judge(match, facts)
        if answer is None:
            return None
        means, fix = answer
        return Explanation(self.rule, _line(match), means, fix, self.harmless)


_LONGEST: Final = 160


def _line(match: re.Match[str]) -> str:
    found = " ".join(match[0].split())
    return found if len(found) <= _LONGEST else f"{found[:_LONGEST]}…"

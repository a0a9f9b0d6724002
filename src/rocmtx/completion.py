"""What may come next on a %rocm line: subcommands, options, and the values of options.

Knows the grammar and this machine's choices; must not know IPython.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmtx.commands import option_names
from rocmtx.decide.plan import attention_choices, device_choices, dtype_choices, quantization_choices

if TYPE_CHECKING:
    from rocmtx.commands import Group
    from rocmtx.workbench import Workbench


def completions(group: Group, workbench: Workbench, line: str, symbol: str) -> list[str]:
    """Return what may come next: subcommands, then options, then the values of the option before."""
    before = line[: len(line) - len(symbol)].split() if symbol and line.endswith(symbol) else line.split()
    if len(before) <= 1:
        return [name for name in group.commands if name.startswith(symbol)]
    values = _values(workbench, "--device" if before[1:] == ["use"] else before[-1])
    if values is None and before[1] in ("load", "plan") and not symbol.startswith("-") and len(before) == 2:  # noqa: PLR2004
        values = ["demo"]
    words_now = values if values is not None else option_names(group, before[1])
    return [word for word in words_now if word.startswith(symbol)]


def _values(workbench: Workbench, option: str) -> list[str] | None:
    facts = workbench.facts()
    choices = {
        "--device": lambda: device_choices(facts),
        "--dtype": lambda: dtype_choices(facts),
        "--attention": lambda: attention_choices(facts, None),
        "--quantization": lambda: quantization_choices(facts, None),
    }.get(option)
    if choices is None:
        return None
    # What cannot work is offered as well: choosing it answers with the reason.
    return ["auto", *(value for value, _, _ in choices())] if option == "--device" else [v for v, _, _ in choices()]

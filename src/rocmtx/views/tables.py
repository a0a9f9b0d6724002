"""The text views in colour, for a terminal: the same words, laid out by rich.

Knows rich; must not know anything that `text` and `words` do not say. rich is imported on first use only, because a
command whose output is piped must not pay for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmtx.views import gpu_words, plan_words, text, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import RenderableType

    from rocmtx.decide.doctor import Finding
    from rocmtx.decide.plan import Plan
    from rocmtx.decide.verdict import Verdict
    from rocmtx.facts.model import Facts
    from rocmtx.state import State

_STYLES = {"yes": "green", "no": "red", "not known": "yellow", "error": "red", "warning": "yellow", "note": "dim"}


def devices_rich(facts: Facts, *, no_gpu: Verdict | None = None, all_ids: bool = False) -> RenderableType:
    """Lay out a machine: the same content as `devices_text`."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = [Text(words.origin_text(facts), style="yellow")] if facts.recorded else []
    if facts.gpus:
        parts.append(_table(text.device_titles(), [text.device_cells(gpu) for gpu in facts.gpus]))
        parts += [Text(note) for note in gpu_words.device_notes(facts)]
    if all_ids:
        parts += [Text(f"{gpu_words.gpu_name(gpu)}: {gpu_words.gpu_ids(gpu)}", style="dim") for gpu in facts.gpus]
    for at, line in enumerate(words.no_gpu_lines(facts, no_gpu)):
        parts.append(Text(line if at == 0 else f"  {line}", style="bold" if at == 0 else ""))
    parts += [Text(words.host_line(facts), style="dim"), Text(words.stack_line(facts), style="dim")]
    return Group(*parts)


def plan_rich(plan: Plan) -> RenderableType:
    """Lay out a plan: the same content as `plan_text`."""
    from rich.console import Group
    from rich.text import Text

    notes = [Text(f"note: {note}") for note in plan.notes]
    env = [Text(f"the worker gets {name}={value}", style="dim") for name, value in sorted(plan.env().items())]
    return Group(rows_rich(plan_words.plan_rows(plan)), *notes, *env)


def choices_rich(choices: Iterable[tuple[str, str, Verdict]]) -> RenderableType:
    """Lay out the entries of a picker: the same content as `choices_text`."""
    from rich.text import Text

    cells = [
        (
            Text(value),
            Text(words.VERDICTS[verdict.answer], style=_STYLES[verdict.answer]),
            Text(verdict.because + (f"\n→ {verdict.fix}" if verdict.fix else "")),
        )
        for value, _, verdict in choices
    ]
    return _table(("choice", "here", "because"), cells)


def state_rich(state: State) -> RenderableType:
    """Lay out a session: the same content as `state_text`."""
    return rows_rich(words.state_rows(state))


def findings_rich(findings: Sequence[Finding]) -> RenderableType:
    """Lay out what the doctor found: the same content as `findings_text`."""
    from rich.text import Text

    lines = Text()
    for line in text.findings_text(findings).splitlines(keepends=True):
        lines.append(line, style=_STYLES.get(line.split(" ")[0], ""))
    return lines


def rows_rich(rows: Sequence[words.Row]) -> RenderableType:
    """Lay out labelled rows; a reason stands under its value."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    for row in rows:
        value = Text(row.value, style=_STYLES.get(row.label, ""))
        if row.because:
            value.append(f"\n{row.because}", style="dim")
        grid.add_row(Text(row.label, style="bold"), value)
    return grid


def _table(titles: Sequence[str], rows: Iterable[Sequence[RenderableType]]) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for title in titles:
        table.add_column(title, no_wrap=title in {"device", "target", "PCI address"})
    for row in rows:
        # A plain string would be read as markup, and names of GPUs hold brackets.
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return table

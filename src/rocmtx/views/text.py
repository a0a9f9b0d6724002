"""Facts, plans, findings and states as plain text: for pipes, logs, screen readers and every place without HTML.

Knows how rows are laid out in lines; must not know colours, terminals or notebooks. Imports nothing heavy, so that a
terminal command that only prints stays quick.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from rocmtx import units
from rocmtx.views import gpu_words, plan_words, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rocmtx.decide.doctor import Finding
    from rocmtx.decide.plan import Plan
    from rocmtx.decide.verdict import Verdict
    from rocmtx.facts.model import Facts, Gpu
    from rocmtx.state import State

WIDTH = 110
_DEVICE_TITLES = ("device", "name", "target", "memory used", "busy", "temperature", "power", "PCI address")


def devices_text(facts: Facts, *, no_gpu: Verdict | None = None, all_ids: bool = False) -> str:
    """Write a machine: its GPUs as a table, why one is hidden, or why there is none, then host and versions.

    `no_gpu` is the judgement why there is none. `all_ids` adds every number that a GPU has.
    """
    lines = [words.origin_text(facts)] if facts.recorded else []
    if facts.gpus:
        lines += columns([_DEVICE_TITLES, *(device_cells(gpu) for gpu in facts.gpus)])
        lines += gpu_words.device_notes(facts)
        if all_ids:
            lines += ["", *(f"{gpu_words.gpu_name(gpu)}: {gpu_words.gpu_ids(gpu)}" for gpu in facts.gpus)]
        lines.append("")
    lines += _arrows(words.no_gpu_lines(facts, no_gpu))
    return "\n".join([*lines, words.host_line(facts), words.stack_line(facts)])


def device_cells(gpu: Gpu) -> tuple[str, ...]:
    """Return the cells of one GPU in the table of devices; a suspended one is not called unknown."""
    asleep = "asleep" if gpu.power_state == "suspended" else None
    # Instinct GPUs have no edge sensor: their hotspot is the temperature there is, and it is named as such.
    edge = gpu.temperature_c
    temperature = edge if edge is not None else gpu.hotspot_temperature_c
    hotspot = " (hotspot)" if edge is None and temperature is not None else ""
    return (
        gpu.torch_device or "hidden",
        ", ".join(part for part in (gpu_words.gpu_name(gpu), gpu_words.partition_text(gpu)) if part),
        _target(gpu) if gpu.vendor == "AMD" else "–",
        gpu_words.gpu_memory(gpu),
        asleep if asleep and gpu.busy is None else units.ratio_text(gpu.busy),
        asleep if asleep and temperature is None else units.celsius_text(temperature) + hotspot,
        asleep if asleep and gpu.power is None else units.watts_text(gpu.power),
        gpu.address,
    )


def _target(gpu: Gpu) -> str:
    return units.UNKNOWN if gpu.gfx is None else f"{gpu.gfx} ({gpu.family})" if gpu.family else gpu.gfx


def device_titles() -> tuple[str, ...]:
    """Return the titles over `device_cells`."""
    return _DEVICE_TITLES


def plan_text(plan: Plan) -> str:
    """Write a plan: every choice with its reason, the notes, and the variables that the worker will get."""
    lines = rows_text(plan_words.plan_rows(plan))
    lines += [f"note: {note}" for note in plan.notes]
    lines += [f"the worker gets {name}={value}" for name, value in sorted(plan.env().items())]
    return "\n".join(lines)


def choices_text(choices: Iterable[tuple[str, str, Verdict]]) -> str:
    """Write the entries of a picker as a table: what each is, whether it works here, and why."""
    cells = [(value, words.VERDICTS[verdict.answer], _reason(verdict)) for value, _, verdict in choices]
    return "\n".join(columns([("choice", "here", "because"), *cells]))


def _reason(verdict: Verdict) -> str:
    return f"{verdict.because} → {verdict.fix}" if verdict.fix else verdict.because


def state_text(state: State) -> str:
    """Write a session: phase, model, choices with reasons, answer, speeds, losses, memory, what went wrong."""
    return "\n".join(rows_text(words.state_rows(state)))


def memory_text(state: State) -> str:
    """Write the memory per device now and at its peak, or that nothing was measured yet."""
    return "\n".join(rows_text(words.memory_rows(state))) or "no memory was measured yet: nothing is loaded"


def findings_text(findings: Sequence[Finding]) -> str:
    """Write what the doctor found, worst first, or that it found nothing."""
    if not findings:
        return "The doctor found nothing wrong."
    order = list(words.SEVERITIES)
    blocks = []
    for finding in sorted(findings, key=lambda found: order.index(found.severity)):
        title = f"{words.SEVERITIES[finding.severity]} {finding.rule}: "
        block = textwrap.wrap(finding.seen, WIDTH, initial_indent=title, subsequent_indent="  ")
        block += textwrap.wrap(finding.matters, WIDTH, initial_indent="  ", subsequent_indent="  ")
        blocks.append("\n".join([*block, *([f"  → {finding.fix}"] if finding.fix else [])]))
    return "\n".join(blocks)


def rows_text(rows: Sequence[words.Row]) -> list[str]:
    """Lay labelled rows out in lines: labels in one column, a long reason on a line of its own."""
    width = max((len(row.label) for row in rows), default=0)
    pad = " " * (width + 2)
    lines: list[str] = []
    for row in rows:
        value = row.value.replace("\n", f"\n{pad}")
        joined = f"{row.label:<{width}}  {value}" + (f" — {row.because}" if row.because else "")
        if not row.because or (len(joined) <= WIDTH and not row.because.startswith("→")):
            lines += joined.split("\n")
            continue
        lines += f"{row.label:<{width}}  {value}".split("\n")
        lines += textwrap.wrap(row.because, WIDTH, initial_indent=pad + "  ", subsequent_indent=pad + "  ")
    return lines


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Align cells in columns two spaces apart, without trailing spaces."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _arrows(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" if line.startswith("→") else line for line in lines]

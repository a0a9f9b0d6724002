"""The words of a plan: its choices, the memory of each device with a bar, and the line that starts its ranks.

Knows the plan's own values; must not judge whether it fits: the plan says that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rocmtx import units
from rocmtx.views.words import Row, choice_rows

if TYPE_CHECKING:
    from rocmtx.decide.memory import Estimate
    from rocmtx.decide.plan import Plan
    from rocmtx.decide.shares import Share

_CELLS: Final = 10


def plan_rows(plan: Plan) -> tuple[Row, ...]:
    """Return the model, every choice with its reason, the memory of each device, and how ranks are started."""
    return (
        Row("model", plan.checkpoint.name),
        *choice_rows(plan.record()),
        *_run_rows(plan),
        *_memory_rows(plan),
        *([Row("start", plan.launch(), "in a terminal, after saving the code")] if plan.launch() else []),
    )


def _run_rows(plan: Plan) -> tuple[Row, ...]:
    rows = []
    if plan.train.value is not None:
        rows.append(Row("train", plan.train.value, plan.train.because))
    ranks = plan.ranks.value
    if ranks.count > 1:
        parts = [f"{name} {number}" for name, number in (("tp", ranks.tp), ("fsdp", ranks.fsdp)) if number > 1]
        split = f" ({', '.join(parts)})" if parts else ""
        rows.append(Row("ranks", f"{ranks.count}{split}", plan.ranks.because))
    return tuple(rows)


def _memory_rows(plan: Plan) -> tuple[Row, ...]:
    """Return a row for each device; devices that hold the same are one row."""
    alike: dict[str, list[Share]] = {}
    for share in plan.shares:
        alike.setdefault(share.fit.text(), []).append(share)
    rows = []
    for text, shares in alike.items():
        names = [share.device for share in shares]
        which = names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}, each"
        bar = fit_bar(shares[0])
        rows.append(Row("memory", f"{which} {text}{f'  {bar}' if bar else ''}", parts_text(plan.needs)))
    # The parts are those of one process: once is enough, and with a split by layers no device holds them all.
    return tuple(Row(row.label, row.value, row.because if len(rows) == 1 else "") for row in rows)


def fit_bar(share: Share) -> str:
    """Return the used part of the free memory as a bar of ten cells; empty where either is not known."""
    if share.needed is None or not share.free:
        return ""
    full = min(_CELLS, max(1, round(_CELLS * share.needed / share.free)))
    return "█" * full + "░" * (_CELLS - full)


def parts_text(needs: Estimate) -> str:
    """Return what the memory of one process is made of: "weights 15.3 GiB, cache 288 MiB, …"."""
    parts = (
        ("weights", needs.weights),
        ("cache", needs.cache),
        ("activations", needs.activations),
        ("training", needs.training),
        ("runtime", needs.overhead),
    )
    return ", ".join(f"{name} {units.bytes_text(size)}" for name, size in parts if size != 0)

"""What a session came to, told from its journal: the closing lines of `make demo`.

Knows events and how numbers are written; must not know notebooks, processes or the worker.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rocmtx.events import Ended, Event, Loaded, Planned
from rocmtx.state import Answer, State, Training, fold
from rocmtx.units import bytes_text, number_text, rate_text, seconds_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

WIDTH = 100


@dataclass(frozen=True)
class Summary:
    """The facts of a session. What did not happen in it is None or empty."""

    loaded: Loaded | None = None
    plan: Mapping[str, Any] = field(default_factory=dict)
    answers: tuple[Answer, ...] = ()
    training: Training | None = None
    peak: Mapping[str, int] = field(default_factory=dict)


def summarize(events: Iterable[Event]) -> Summary:
    """Fold the events of a session and keep what its state forgets: every answer, and the model after its unload."""
    state = State()
    loaded: Loaded | None = None
    plan: Mapping[str, Any] = {}
    answers: list[Answer] = []
    for event in events:
        state = fold(state, event)
        loaded = state.loaded or loaded
        plan = state.plan if isinstance(event, Planned) and event.task == "load" else plan
        if isinstance(event, Ended) and event.task == "generate" and state.answer:
            answers.append(state.answer)
    return Summary(loaded, plan, tuple(answers), state.training, state.peak)


def summary_lines(summary: Summary) -> list[str]:
    """Write the summary: what ran, what was chosen and why, the first answer with its speed, losses, peak memory."""
    rows: list[tuple[str, str]] = []
    if summary.loaded:
        model = summary.loaded
        rows.append(("model", f"{model.model} ({model.architecture}), {model.dtype} on {model.device}"))
    rows += [(name, chosen) for name in ("attention", "quantization") if (chosen := _chosen(summary.plan, name))]
    for answer in summary.answers:
        rows += [("asked", _one_line(answer.prompt)), ("answered", _one_line(answer.text))]
    if summary.answers:
        first = summary.answers[0]
        speed, wait = rate_text(first.tokens_per_second), seconds_text(first.first_token)
        rows.append(("speed", f"{speed}, first token after {wait}"))
    if losses := [step.loss for step in (summary.training.steps if summary.training else ()) if step.loss is not None]:
        rows.append(("loss", f"{number_text(losses[0])} → {number_text(losses[-1])} in {len(losses)} steps"))
    rows += [("peak memory", f"{bytes_text(used)} ({device})") for device, used in sorted(summary.peak.items())]
    return [line for name, text in rows for line in _row(name, text)]


def _chosen(plan: Mapping[str, Any], name: str) -> str:
    choice = plan.get(name)
    if not choice:
        return ""
    return f"{choice['value'] or 'none'}: {choice['because']}"


def _one_line(text: str) -> str:
    return textwrap.shorten(text, 300, placeholder=" …") or "(nothing)"


def _row(name: str, text: str) -> list[str]:
    pad = " " * 15
    return textwrap.wrap(text, WIDTH, initial_indent=f"  {name:<13}", subsequent_indent=pad)

"""What the live widget is sent: the whole state once, then only what came after it.

Knows states and the messages that `labextension/live/store.ts` reads; must not know widgets or comms. Numbers travel as
float64 rows, texts as what is new of them; messages are numbered, so that the other side notices a lost one.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from rocmtx.state import State
from rocmtx.views import words
from rocmtx.views.series import Line, drawable, memory_lines, visible_marks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rocmtx.events import Sample, Step

NAN = float("nan")
_LOSSES = {"loss": "loss", "eval_loss": "held-out loss"}
_SNAP_ROWS = 600
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Message:
    """One message: JSON content, and rows of float64 as bytes."""

    content: dict[str, Any]
    buffers: tuple[bytes, ...] = ()


class Feed:
    """Turns a growing state into messages. One owner; not safe for several threads at once."""

    def __init__(self) -> None:
        self._state = State()
        self._lines: tuple[Line, ...] = ()
        self._losses: tuple[str, ...] = ()
        self._texts: dict[str, Any] = {"error": []}
        self._said: list[str] = []
        self._number = 0

    def whole(self, state: State, *, most: int | None = None) -> Message:
        """Return all there is to draw; `most` thins the memory rows (for a picture that is stored in a notebook)."""
        self._number += 1
        self._state = state
        self._lines = memory_lines(state.samples)
        steps = state.training.steps if state.training else ()
        self._losses = tuple(name for name in _LOSSES if any(drawable(step, name) for step in steps))
        self._texts = self._texts_of(state)
        samples = state.samples if most is None else state.samples[:: max(1, -(-len(state.samples) // most))]
        start = state.samples[0].time if state.samples else 0.0
        content = {
            "k": "r",
            "s": self._number,
            "lines": [line.name for line in self._lines],
            "losses": [_LOSSES[name] for name in self._losses],
            "marks": [[mark.time, mark.label] for mark in visible_marks(state.marks, start)],
            **self._texts,
        }
        if state.answer:
            content |= {"prompt": state.answer.prompt, "text": state.answer.text}
        return self._with_rows(content, samples, steps)

    def snapshot(self, state: State) -> Message:
        """Return a whole message of bounded size without using up a number: what a saved notebook shows."""
        return Feed().whole(state, most=_SNAP_ROWS)

    def next(self, state: State) -> Message | None:
        """Return what came since the last message, or None when nothing that is drawn has changed."""
        old = self._state
        if state is old:
            return None
        samples, steps = self._new_samples(state), self._new_steps(state)
        if samples is None or steps is None or state.session != old.session:
            return self.whole(state)
        content: dict[str, Any] = {}
        marks = _after(state.marks, old.marks)
        if marks:
            content["marks"] = [[mark.time, mark.label] for mark in marks]
        content |= self._new_answer(state)
        texts = self._texts_of(state)
        content |= {name: value for name, value in texts.items() if self._texts.get(name) != value}
        self._state, self._texts = state, texts
        message = self._with_rows(content, samples, steps)
        if not message.content:
            return None
        self._number += 1
        return Message({"k": "a", "s": self._number, **message.content}, message.buffers)

    def say(self, message: str, hint: str) -> Message | None:
        """Return an error that is not the session's own; it stays until the session fails, or it is taken back."""
        self._said = [message, hint] if message else []
        texts = self._texts_of(self._state)
        if texts["error"] == self._texts.get("error"):
            return None
        self._texts = texts
        self._number += 1
        return Message({"k": "a", "s": self._number, "error": texts["error"]})

    def _texts_of(self, state: State) -> dict[str, Any]:
        texts = _texts(state)
        return {**texts, "error": self._said or texts["error"]}

    def _new_samples(self, state: State) -> Sequence[Sample] | None:
        """Return the samples that are new, or None when the chart must be drawn anew: other lines, or a long gap."""
        samples = _after(state.samples, self._state.samples)
        if samples is None or not set(memory_lines(samples)) <= set(self._lines):
            return None
        return samples

    def _new_steps(self, state: State) -> Sequence[Step] | None:
        before, after = self._state.training, state.training
        if after is None or (before is not None and before.request == after.request):
            old, new = (training.steps if training else () for training in (before, after))
            steps = _after(new, old)
            names = {name for name in _LOSSES for step in steps or () if drawable(step, name)}
            return steps if steps is not None and names <= set(self._losses) else None
        return None

    def _new_answer(self, state: State) -> dict[str, str]:
        before, after = self._state.answer, state.answer
        if after is None or after is before:
            return {}
        if before is None or before.request != after.request or not after.text.startswith(before.text):
            return {"prompt": after.prompt, "text": after.text}
        added = after.text[len(before.text) :]
        return {"add": added} if added else {}

    def _with_rows(self, content: dict[str, Any], samples: Sequence[Sample], steps: Iterable[Step]) -> Message:
        memory = _rows((s.time, *(_number(line.read(s.readings)) for line in self._lines)) for s in samples)
        loss = _rows((float(s.step), *(_loss(s, name) for name in self._losses)) for s in steps if self._losses)
        named = [(name, rows) for name, rows in (("m", memory), ("l", loss)) if rows]
        if named:
            content["b"] = [name for name, _ in named]
        return Message(content, tuple(rows for _, rows in named))


def _texts(state: State) -> dict[str, Any]:
    """Return the short texts around the charts, as a whole: they are compared with what was sent before."""
    texts: dict[str, Any] = {"status": words.status_text(state), "share": words.busy_share(state)}
    texts["speed"] = words.speed_text(state.answer) if state.answer else ""
    if state.training:
        texts["training"] = words.training_text(state.training)
    texts["memory"] = words.memory_summary(state)
    error = state.failure.error if state.failure else None
    texts["error"] = [error["message"], error["hint"]] if error else []
    warning = state.warnings[-1] if state.warnings else None
    texts["warning"] = [warning.message, warning.hint] if warning else []
    return texts


def _after(new: Sequence[Item], old: Sequence[Item]) -> Sequence[Item] | None:
    """Return what was appended to `old`, whose beginning may be gone since; None when `new` does not continue it."""
    if not old:
        return new
    for at in range(len(new) - 1, -1, -1):
        if new[at] is old[-1]:
            return new[at + 1 :]
    return None


def _rows(rows: Iterable[Sequence[float]]) -> bytes:
    return array("d", (value for row in rows for value in row)).tobytes()


def _number(value: float | None) -> float:
    return NAN if value is None else float(value)


def _loss(step: Step, name: str) -> float:
    return float(getattr(step, name)) if drawable(step, name) else NAN

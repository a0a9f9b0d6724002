"""What a view may draw: the state that a session's events fold to.

Knows events and nothing else. Pure: the same events give the same state, on every side of a process border.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rocmtx.events import Ended, Event, Failed, Loaded, Loading, Planned, Sample, Step, Task, Token, Warned

Phase = Literal["new", "loading", "ready", "generating", "training", "unloading", "ended", "failed"]
_BUSY: dict[Task, Phase] = {"load": "loading", "generate": "generating", "train": "training", "unload": "unloading"}
SAMPLES_KEPT = 3600
STEPS_KEPT = 20_000


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment to draw on the time axis."""

    time: float
    label: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The current or last generation. Times in seconds since the request was taken up; `result` once it has ended."""

    request: str
    prompt: str = ""
    text: str = ""
    count: int = 0
    first_token: float | None = None
    seconds: float = 0.0
    stopped: bool = False
    done: bool = False
    result: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tokens_per_second(self) -> float | None:
        """Decoding speed, the first token (prefill) left out; None before the second token."""
        if self.first_token is None or self.count <= 1 or self.seconds <= self.first_token:
            return None
        return (self.count - 1) / (self.seconds - self.first_token)


@dataclass(frozen=True, slots=True)
class Training:
    """The current or last training run."""

    request: str
    total: int | None = None
    steps: tuple[Step, ...] = ()
    stopped: bool = False
    done: bool = False
    result: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class State:
    """All that a view may draw of one session."""

    session: str = ""
    seq: int = 0
    phase: Phase = "new"
    request: str = ""  # of the running task, else ""
    plan: Mapping[str, Any] = field(default_factory=dict)
    progress: Loading | None = None
    loaded: Loaded | None = None
    answer: Answer | None = None
    training: Training | None = None
    samples: tuple[Sample, ...] = ()
    peak: Mapping[str, int] = field(default_factory=dict)  # device -> largest `used` (or `reserved`) seen
    marks: tuple[Mark, ...] = ()
    warnings: tuple[Warned, ...] = ()
    failure: Failed | None = None
    result: Mapping[str, Any] = field(default_factory=dict)  # of the last unload

    @property
    def busy(self) -> bool:
        """True while a task runs."""
        return self.phase in _BUSY.values()


def fold(state: State, event: Event) -> State:
    """Return the state after one more event. Pure: the same events give the same state; old events are ignored."""
    if event.seq and event.seq <= state.seq:
        return state
    state = dataclasses.replace(state, seq=event.seq or state.seq, session=event.session or state.session)
    return _FOLDS[event.kind](state, event)


def _mark(state: State, event: Event, label: str) -> tuple[Mark, ...]:
    return (*state.marks, Mark(event.time, label))[-500:]


def _planned(state: State, event: Event) -> State:
    planned = cast("Planned", event)
    state = dataclasses.replace(
        state, phase=_BUSY[planned.task], request=event.request, failure=None, marks=_mark(state, event, planned.task)
    )
    if planned.task == "load":
        return dataclasses.replace(state, plan=planned.about, loaded=None, progress=None)
    if planned.task == "generate":
        answer = Answer(event.request, prompt=str(planned.about.get("prompt", "")))
        return dataclasses.replace(state, answer=answer)
    if planned.task == "train":
        return dataclasses.replace(state, training=Training(event.request, total=planned.about.get("max_steps")))
    return state


def _loading(state: State, event: Event) -> State:
    return dataclasses.replace(state, progress=cast("Loading", event))


def _loaded(state: State, event: Event) -> State:
    return dataclasses.replace(state, loaded=cast("Loaded", event), progress=None, marks=_mark(state, event, "loaded"))


def _token(state: State, event: Event) -> State:
    token = cast("Token", event)
    answer = state.answer or Answer(event.request)
    first = answer.first_token if answer.first_token is not None else token.seconds
    marks = _mark(state, event, "first token") if answer.first_token is None else state.marks
    text = answer.text + token.text
    answer = dataclasses.replace(answer, text=text, count=token.count, seconds=token.seconds, first_token=first)
    return dataclasses.replace(state, answer=answer, marks=marks)


def _step(state: State, event: Event) -> State:
    step = cast("Step", event)
    training = state.training or Training(event.request)
    marks = _mark(state, event, "first step") if not training.steps else state.marks
    steps = (*training.steps, step)[-STEPS_KEPT:]
    training = dataclasses.replace(training, steps=steps, total=step.total or training.total)
    return dataclasses.replace(state, training=training, marks=marks)


def _sample(state: State, event: Event) -> State:
    sample = cast("Sample", event)
    peak = dict(state.peak)
    for reading in sample.readings:
        seen = reading.used if reading.used is not None else reading.reserved
        if seen is not None:
            peak[reading.device] = max(seen, peak.get(reading.device, 0))
    return dataclasses.replace(state, samples=(*state.samples, sample)[-SAMPLES_KEPT:], peak=peak)


def _warned(state: State, event: Event) -> State:
    return dataclasses.replace(state, warnings=(*state.warnings, cast("Warned", event))[-100:])


def _close(state: State, task: Task | None, *, stopped: bool, result: Mapping[str, Any]) -> State:
    if task == "generate" and state.answer:
        answer = dataclasses.replace(state.answer, done=True, stopped=stopped, result=result)
        return dataclasses.replace(state, answer=answer)
    if task == "train" and state.training:
        training = dataclasses.replace(state.training, done=True, stopped=stopped, result=result)
        return dataclasses.replace(state, training=training)
    return state


def _failed(state: State, event: Event) -> State:
    failed = cast("Failed", event)
    state = _close(state, failed.task, stopped=False, result={})
    over = not event.request or failed.task == "load"
    phase: Phase = "failed" if over else "ready" if state.loaded else "new"
    state = dataclasses.replace(state, phase=phase, request="", failure=failed, progress=None)
    return dataclasses.replace(state, loaded=None) if over else state


def _ended(state: State, event: Event) -> State:
    ended = cast("Ended", event)
    state = _close(state, ended.task, stopped=ended.stopped, result=ended.result)
    if not event.request:
        phase: Phase = "failed" if state.phase == "failed" else "ended"
        return dataclasses.replace(state, phase=phase, request="", loaded=None, marks=_mark(state, event, "unloaded"))
    result = ended.result if ended.task == "unload" else state.result
    loaded = None if ended.task == "unload" else state.loaded
    return dataclasses.replace(state, phase="ready" if loaded else "new", request="", loaded=loaded, result=result)


_FOLDS: dict[str, Callable[[State, Event], State]] = {
    "planned": _planned,
    "loading": _loading,
    "loaded": _loaded,
    "token": _token,
    "step": _step,
    "sample": _sample,
    "warned": _warned,
    "failed": _failed,
    "ended": _ended,
}

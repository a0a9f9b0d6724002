"""The fold: pure, deaf to what it has heard already, and every event moves exactly what a view draws of it."""

from __future__ import annotations

import dataclasses
from functools import reduce
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes import GIB, numbered, session_events
from rocmtx.errors import RunError, WorkerDied
from rocmtx.events import Ended, Event, Failed, Loaded, Loading, Planned, Reading, Sample, Step, Task, Token, Warned
from rocmtx.state import SAMPLES_KEPT, Answer, Mark, State, fold

if TYPE_CHECKING:
    import random

LOADED = Loaded(
    model="demo", architecture="Llama", device="cpu", device_name="CPU", dtype="float32", attention="sdpa", request="a"
)
LOAD = (Planned(task="load", about={"dtype": "float32"}, request="a"), LOADED, Ended(task="load", request="a"))
FAILURE = RunError("it broke", "try again").record()
GONE = WorkerDied("the worker is gone", "load again").record()
TASKS: list[Task] = ["load", "generate", "train", "unload"]


def folded(*events: Event, start: State | None = None) -> State:
    """Fold events that carry no seq yet, numbered from the start state on."""
    before = start or State()
    whole = [dataclasses.replace(event, seq=before.seq + 1 + at) for at, event in enumerate(events)]
    return reduce(fold, whole, before)


def ready() -> State:
    """Return the state of a session that has loaded its model."""
    return folded(*LOAD)


def test_a_whole_session_folds_to_what_happened() -> None:
    events = session_events()
    state = reduce(fold, events, State())
    assert (state.session, state.seq, state.phase, state.request) == ("s1", len(events), "ready", "")
    assert state.answer == Answer(
        request="b",
        prompt="What is the capital of France?",
        text="The capital of France is Paris.",
        count=3,
        first_token=0.5,
        seconds=1.5,
        done=True,
        result={"count": 3},
    )
    assert state.answer.tokens_per_second == 2.0
    assert state.training is not None
    assert [step.loss for step in state.training.steps] == [3.2, 1.1]
    assert (state.training.total, state.training.done) == (2, True)
    assert state.peak == {"cpu": GIB}
    labels = [mark.label for mark in state.marks]
    assert labels == ["load", "loaded", "generate", "first token", "train", "first step"]
    assert state.marks[0] == Mark(1_700_000_001.0, "load")


def test_the_fold_changes_no_state_that_it_was_given() -> None:
    states = [State()]
    copies = []
    for event in session_events():
        copies.append(dataclasses.asdict(states[-1]))
        states.append(fold(states[-1], event))
    assert [dataclasses.asdict(state) for state in states[:-1]] == copies


def test_what_was_heard_before_changes_nothing() -> None:
    events = session_events()
    state = reduce(fold, events, State())
    assert all(fold(state, event) is state for event in events)


@given(st.randoms(use_true_random=False), st.integers(min_value=0, max_value=40))
def test_replay_from_any_point_with_any_repetition_ends_the_same(chance: random.Random, cut: int) -> None:
    events = session_events()
    whole = reduce(fold, events, State())
    state = reduce(fold, events[:cut], State())
    again = sorted((*events, *chance.choices(events, k=10)), key=lambda event: event.seq)
    assert reduce(fold, again, state) == whole


@pytest.mark.parametrize(
    ("task", "phase"),
    [("load", "loading"), ("generate", "generating"), ("train", "training"), ("unload", "unloading")],
)
def test_a_task_begins(task: Task, phase: str) -> None:
    state = folded(Planned(task=task, request="r1"), start=ready())
    assert (state.phase, state.request, state.busy, state.failure) == (phase, "r1", True, None)


@pytest.mark.parametrize(
    ("task", "phase"), [("load", "ready"), ("generate", "ready"), ("train", "ready"), ("unload", "new")]
)
def test_a_task_ends(task: Task, phase: str) -> None:
    begun = Planned(task=task, request="r1")
    model = [LOADED] if task == "load" else []
    state = folded(begun, *model, Ended(task=task, request="r1", result={"x": 1}), start=ready())
    assert (state.phase, state.request, state.busy) == (phase, "", False)
    assert (state.loaded is None) == (task == "unload")
    assert state.result == ({"x": 1} if task == "unload" else {})


@pytest.mark.parametrize(
    ("task", "phase"), [("load", "failed"), ("generate", "ready"), ("train", "ready"), ("unload", "ready")]
)
def test_a_task_fails(task: Task, phase: str) -> None:
    state = folded(Planned(task=task, request="r1"), Failed(task=task, request="r1", error=FAILURE), start=ready())
    assert (state.phase, state.request, state.busy) == (phase, "", False)
    assert state.failure is not None
    assert state.failure.error == FAILURE
    assert (state.loaded is None) == (task == "load")


@pytest.mark.parametrize("task", TASKS)
def test_the_next_task_forgets_the_failure(task: Task) -> None:
    failed = folded(Planned(task="generate", request="r1"), Failed(task="generate", request="r1", error=FAILURE))
    assert folded(Planned(task=task, request="r2"), start=failed).failure is None


def test_without_a_model_a_failed_task_leaves_a_new_session() -> None:
    state = folded(Planned(task="generate", request="r1"), Failed(task="generate", request="r1", error=FAILURE))
    assert state.phase == "new"


def test_a_session_that_fails_is_over_and_stays_failed() -> None:
    state = folded(Failed(error=GONE), start=ready())
    assert (state.phase, state.loaded, state.request) == ("failed", None, "")
    after = folded(Ended(), start=state)
    assert after.phase == "failed"
    assert after.failure is not None
    assert after.failure.error == GONE


def test_a_session_that_dies_in_a_task_closes_the_answer_with_its_text() -> None:
    state = folded(
        Planned(task="generate", about={"prompt": "Hi"}, request="r1"),
        Token(text="Hel", count=1, seconds=0.1, request="r1"),
        Failed(task="generate", request="r1", error=GONE),
        Failed(error=GONE),
        start=ready(),
    )
    assert state.phase == "failed"
    assert state.answer == Answer("r1", prompt="Hi", text="Hel", count=1, first_token=0.1, seconds=0.1, done=True)


def test_a_session_ends_and_says_when() -> None:
    state = folded(Ended(time=9.0), start=ready())
    assert (state.phase, state.loaded) == ("ended", None)
    assert state.marks[-1] == Mark(9.0, "unloaded")


def test_a_load_forgets_the_last_model_and_shows_progress_until_it_is_there() -> None:
    step = Loading(stage="weights", done=1, total=2, unit="parts", request="b")
    state = folded(Planned(task="load", about={"dtype": "bfloat16"}, request="b"), step, start=ready())
    assert (state.loaded, state.plan) == (None, {"dtype": "bfloat16"})
    assert state.progress is not None
    assert (state.progress.stage, state.progress.done, state.progress.total) == ("weights", 1, 2)
    assert folded(LOADED, start=state).progress is None


def test_a_new_prompt_begins_an_empty_answer() -> None:
    first = folded(
        Planned(task="generate", about={"prompt": "A"}, request="r1"),
        Token(text="a", count=1, seconds=0.2, request="r1"),
        Ended(task="generate", request="r1", stopped=True),
        start=ready(),
    )
    assert first.answer is not None
    assert (first.answer.stopped, first.answer.done) == (True, True)
    second = folded(Planned(task="generate", about={"prompt": "B"}, request="r2"), start=first)
    assert second.answer == Answer("r2", prompt="B")


@pytest.mark.parametrize(
    ("answer", "speed"),
    [
        (Answer("r"), None),
        (Answer("r", count=1, first_token=0.5, seconds=0.5), None),
        (Answer("r", count=1, first_token=0.5, seconds=2.0), None),
        (Answer("r", count=5, first_token=0.5, seconds=0.5), None),
        (Answer("r", count=5, first_token=0.5, seconds=2.5), 2.0),
        (Answer("r", count=5, seconds=2.5), None),
    ],
)
def test_speed_leaves_the_first_token_out(answer: Answer, speed: float | None) -> None:
    assert answer.tokens_per_second == speed


def test_tokens_without_a_plan_still_make_an_answer() -> None:
    state = folded(Token(text="a", count=1, seconds=0.2, request="r9"))
    assert state.answer == Answer("r9", text="a", count=1, first_token=0.2, seconds=0.2)


def test_the_first_token_and_step_are_marked_once() -> None:
    state = folded(
        Planned(task="generate", request="r1"),
        *(Token(text="a", count=n, seconds=float(n), request="r1") for n in (1, 2)),
        Planned(task="train", request="r2"),
        *(Step(step=n, loss=1.0, request="r2") for n in (1, 2)),
    )
    labels = [mark.label for mark in state.marks]
    assert labels == ["generate", "first token", "train", "first step"]


def test_peaks_are_the_largest_use_seen_or_what_torch_reserved() -> None:
    def sample(**readings: Reading) -> Sample:
        return Sample(readings=tuple(readings.values()))

    state = folded(
        sample(a=Reading(device="cuda:0", used=5, reserved=9), b=Reading(device="cuda:1", reserved=3)),
        sample(a=Reading(device="cuda:0", used=2), b=Reading(device="cuda:1", reserved=7)),
        sample(a=Reading(device="cuda:2", total=100)),
    )
    assert state.peak == {"cuda:0": 5, "cuda:1": 7}


def test_a_long_session_keeps_an_hour_of_samples_and_every_peak() -> None:
    state = folded(
        Sample(time=0.0, readings=(Reading(device="cpu", used=99),)),
        *(Sample(time=float(second), readings=(Reading(device="cpu", used=1),)) for second in range(1, 3701)),
    )
    assert len(state.samples) == SAMPLES_KEPT == 3600
    assert (state.samples[0].time, state.samples[-1].time) == (101.0, 3700.0)
    assert state.peak == {"cpu": 99}


def test_warnings_and_marks_are_bounded_and_the_newest_stay() -> None:
    state = folded(*(Warned(message=str(number)) for number in range(130)))
    assert [warning.message for warning in state.warnings] == [str(number) for number in range(30, 130)]
    marked = folded(*(Planned(task="generate", request=str(number)) for number in range(600)))
    assert len(marked.marks) == 500


def test_a_total_that_a_step_knows_better_replaces_the_planned_one() -> None:
    state = folded(
        Planned(task="train", about={"max_steps": 20}, request="r"),
        Step(step=1, total=7, loss=1.0, request="r"),
        Step(step=2, loss=0.5, request="r"),
    )
    assert state.training is not None
    assert state.training.total == 7


def test_events_of_no_session_leave_seq_and_session_alone() -> None:
    state = reduce(fold, numbered(list(LOAD)), State())
    after = fold(state, Failed(task="load", request="panel", error=FAILURE))
    assert (after.seq, after.session, after.phase) == (3, "s1", "failed")

"""Live output: few refreshes, the last one always, bounded bytes, errors handed back to the publisher."""

from __future__ import annotations

import contextvars
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rocmtx.events import Bus, Ended, Event, Loading, Planned, Step, Token, Warned
from rocmtx.state import State
from rocmtx.views.streaming import (
    TAIL,
    Bundle,
    StateView,
    TerminalView,
    Throttle,
    answer_bundle,
    load_bundle,
    training_bundle,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def tokens(count: int, text: str = "word ") -> list[Event]:
    planned = Planned(seq=1, request="r", task="generate", about={"prompt": "?"})
    made = [Token(seq=at + 1, request="r", text=text, count=at, seconds=at / 100) for at in range(1, count + 1)]
    return [planned, *made, Ended(seq=count + 2, request="r", task="generate")]


def test_a_burst_is_drawn_a_few_times_and_completely() -> None:
    shown: list[Bundle] = []
    view = StateView(shown.append, answer_bundle, interval=0.05)
    begin = time.monotonic()
    for event in tokens(2000):
        view(event)
        time.sleep(0.0001)
    view.close()
    lasted = time.monotonic() - begin
    assert 2 <= len(shown) <= lasted / 0.05 + 3
    assert shown[-1]["text/plain"].startswith("word " * 2000)


def test_the_last_state_arrives_without_close() -> None:
    arrived = threading.Event()

    def update(bundle: Bundle) -> None:
        if "[3 tokens" in bundle["text/plain"]:
            arrived.set()

    view = StateView(update, answer_bundle, interval=0.02)
    for event in tokens(3):
        view(event)
    assert arrived.wait(5)
    view.close()


def test_updates_stay_small_while_a_long_answer_is_written() -> None:
    events = tokens(5000)
    state = State()
    view = StateView(lambda _: None, answer_bundle)
    for event in events[:-1]:
        view(event)
    state = view.state
    live = answer_bundle(state)["text/plain"]
    assert live.startswith("[the first 23000 characters appear when the answer is complete]\n")
    assert len(live) < TAIL + 200
    view(events[-1])
    assert answer_bundle(view.state)["text/plain"].startswith("word " * 5000)
    view.close()


def test_events_from_many_threads_draw_one_at_a_time() -> None:
    busy, most = 0, 0

    def draw() -> None:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        time.sleep(0.005)
        busy -= 1

    throttle = Throttle(draw, interval=0.001)

    def ask_often() -> None:
        for _ in range(200):
            throttle.ask()

    threads = [threading.Thread(target=ask_often) for _ in range(4)]
    for thread in threads:
        thread.start()
    throttle.flush()
    for thread in threads:
        thread.join()
    throttle.close()
    assert most == 1


def test_drawing_happens_in_the_context_of_the_cell() -> None:
    cell: contextvars.ContextVar[str] = contextvars.ContextVar("cell", default="none")
    cell.set("cell 5")
    seen: list[str] = []
    throttle = Throttle(lambda: seen.append(cell.get()), interval=0.01, context=contextvars.copy_context())
    cell.set("cell 6")
    throttle.ask()
    throttle.close()
    assert seen == ["cell 5"]


def test_a_failing_display_is_reported_once_by_the_bus_and_detached() -> None:
    def update(_: Bundle) -> None:
        raise RuntimeError("the cell is gone")

    bus, heard = Bus(), list[Event]()
    view = StateView(update, answer_bundle, interval=0.001)
    bus.subscribe(view)
    bus.subscribe(heard.append)
    for event in tokens(1):
        bus.publish(event)
        time.sleep(0.05)
    warned = [event for event in heard if isinstance(event, Warned)]
    assert len(warned) == 1
    assert "the cell is gone" in warned[0].message
    view.close()


def test_close_ends_the_thread_and_may_be_repeated() -> None:
    throttle = Throttle(lambda: None, name="rocmtx-test-throttle")
    throttle.ask()
    throttle.close()
    throttle.close()
    throttle.ask()
    assert not [thread for thread in threading.enumerate() if thread.name == "rocmtx-test-throttle"]


def test_a_draw_may_close_its_own_throttle() -> None:
    made: list[Throttle] = []

    def draw() -> None:
        made[0].close()

    throttle = Throttle(draw, interval=0.001)
    made.append(throttle)
    throttle.ask()
    deadline = time.monotonic() + 5
    while throttle.alive and time.monotonic() < deadline:
        time.sleep(0.005)
    assert not throttle.alive


def test_load_shows_progress_then_what_runs(story: list[Event]) -> None:
    view = StateView(lambda _: None, load_bundle)
    for event in story[:3]:
        view(event)
    bundle = load_bundle(view.state)
    assert bundle["text/plain"] == "loading: weights: 64.0 MiB of 256.0 MiB (25 %)"
    assert '<progress max="1" value="0.2500" aria-label="loading">' in bundle["text/html"]
    for event in story[3:6]:
        view(event)
    expected = """\
phase         ready
model         demo (LlamaForCausalLM, 134.5 M parameters, 513.1 MiB of weights)
device        cpu (Intel Core i5) — no KFD in /sys: the amdgpu driver is not loaded
dtype         float32 — CPUs compute 16-bit floats slowly
attention     sdpa — PyTorch's own kernels, the default
quantization  none — it was not asked for
memory cpu    1.0 GiB of 16.0 GiB · peak 1.0 GiB"""
    assert load_bundle(view.state)["text/plain"] == expected
    view.close()


def test_training_shows_few_rows_however_long_it_runs(state: State) -> None:
    expected = """\
3 of 3 steps · loss 3.214 → 0.0432 · 518 tokens/s · held-out loss 0.051
step  loss    learning rate  speed
1     3.214   0.001          512 tokens/s
2     1.5     0.0005         520 tokens/s
3     0.0432  0.0001         518 tokens/s"""
    assert training_bundle(state)["text/plain"] == expected
    assert state.training is not None
    steps = tuple(Step(step=at, total=5000, loss=1 / at) for at in range(1, 5001))
    long = training_bundle(replace(state, training=replace(state.training, steps=steps, total=5000)))
    assert len(long["text/plain"].splitlines()) <= 11
    assert long["text/plain"].splitlines()[-1].startswith("5000")
    assert len(long["text/html"]) < 16_000


def test_a_failure_ends_the_view_with_its_hint(failed: State) -> None:
    assert load_bundle(failed)["text/plain"].splitlines() == [
        "phase  failed: nothing loaded",
        "error  the model needs 20.0 GiB, 16.0 GiB are free",
        "         → take --dtype auto",
    ]


@pytest.mark.parametrize("draw", [answer_bundle, training_bundle])
def test_nothing_yet_is_said(draw: Callable[[State], Bundle]) -> None:
    assert draw(State()) == {"text/plain": "nothing loaded"}


def test_terminal_in_a_pipe(story: list[Event]) -> None:
    written: list[str] = []
    view = TerminalView(written.append, live=False)
    for event in story:
        view(event)
    assert "".join(written) == (
        "The capital is <Paris>.\n"
        "step 1 of 3: loss 3.214 · learning rate 0.001 · speed 512 tokens/s\n"
        "step 2 of 3: loss 1.5 · learning rate 0.0005 · speed 520 tokens/s\n"
        "step 3 of 3: loss 0.0432 · learning rate 0.0001 · speed 518 tokens/s\n"
        "step 3 of 3: held-out loss 0.051\n"
        "warning: the machine swaps\n  → close other programs\n"
    )


def test_terminal_rewrites_its_line_at_most_ten_times_a_second() -> None:
    written: list[str] = []
    now = 0.0
    view = TerminalView(written.append, live=True, clock=lambda: now)
    for at in range(100):
        now = at / 100
        view(Loading(seq=at + 1, stage="weights", done=float(at), total=100.0, unit="parts"))
    view.close()
    assert len(written) <= 12
    assert written[0] == "\rloading: weights: 0 of 100 (0 %)"
    assert written[-1] == "\n"


def test_without_a_context_drawing_belongs_to_no_cell() -> None:
    cell: contextvars.ContextVar[str] = contextvars.ContextVar("cell", default="whichever runs")
    cell.set("cell 5")
    seen: list[str] = []

    def draw() -> None:
        seen.append(cell.get())

    throttle = Throttle(draw, interval=0.01)
    throttle.ask()
    throttle.close()
    assert seen == ["whichever runs"]

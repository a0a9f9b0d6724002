"""A session and its worker, on the echo engine: an ordinary life, refusals, failures and interrupts."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rocmtx.errors import AskError, Busy, NotLoaded, RunError
from rocmtx.events import Event, Sample, Token, Warned
from rocmtx.journal import replay
from rocmtx.run.asks import GenerateAsk
from rocmtx.run.places import runtime_folder
from unit.run.watching import counted, interrupts, journal, until

if TYPE_CHECKING:
    from unit.run.conftest import Start


# --- an ordinary life ---


def test_a_session_from_load_to_unload(start: Start) -> None:
    session = start()
    assert (session.state.phase, session.alive, session.id) == ("ready", True, session.card.session)
    answer = session.generate("one two three")
    assert (answer.text, answer.count, answer.done, answer.stopped) == ("one two three ", 3, True, False)
    assert answer.result == {"tokens": 3}
    training = session.train(["a", "b"], max_steps=2)
    assert [step.loss for step in training.steps] == [1.0, 0.5]
    assert training.result == {"steps": 2}
    assert session.unload() == {"before": {"cpu": 2}, "after": {"cpu": 1}}
    assert (session.state.phase, session.alive) == ("ended", False)
    kinds = [event.kind for event in journal(session) if not isinstance(event, Sample)]
    assert kinds == [
        *("planned", "loading", "loaded", "ended"),
        *("planned", "token", "token", "token", "ended"),
        *("planned", "step", "step", "ended"),
        *("planned", "ended", "ended"),
    ]
    assert [event.seq for event in journal(session)] == list(range(1, len(journal(session)) + 1))
    assert replay(Path(session.card.journal)) == session.state


def test_the_files_go_and_the_journal_stays(start: Start) -> None:
    session = start()
    names = {path.name.removeprefix(session.id) for path in runtime_folder().iterdir()}
    assert names == {".json", ".jsonl", ".rank0.log", ".commands", ".pokes"}
    session.unload()
    names = {path.name.removeprefix(session.id) for path in runtime_folder().iterdir()}
    assert names == {".jsonl", ".rank0.log"}
    assert Path(session.card.log).read_text() == "echo worker\n"


def test_leaving_the_with_block_ends_the_worker(start: Start) -> None:
    with start() as session:
        pid = session.card.pid
    assert session._process.returncode() == 0
    assert session.state.phase == "ended"
    assert session.state.failure is None
    session.close()
    assert not Path(f"/proc/{pid}").exists()


def test_a_listener_hears_everything_and_may_leave(start: Start) -> None:
    session, heard, left = start(), list[Event](), list[Event]()
    session.subscribe(heard.append)
    session.subscribe(left.append)()
    session.generate("one two")
    tokens = [event for event in heard if isinstance(event, Token)]
    assert [token.text for token in tokens] == ["one ", "two "]
    assert tokens[0].session == session.id
    assert tokens[0].time == pytest.approx(time.time(), abs=30)
    assert left == []


def test_waiting_late_still_shows_every_event(start: Start) -> None:
    session, heard = start(), list[Event]()
    request = session.begin_generate(GenerateAsk(prompt="one two"))
    until(lambda: session.state.answer and session.state.answer.done)
    ended = session.wait(request, heard.append)
    assert ended.request == request
    kinds = [event.kind for event in heard if not isinstance(event, Sample)]
    assert kinds == ["planned", "token", "token", "ended"]


def test_a_stream_yields_the_pieces(start: Start) -> None:
    assert list(start().stream("one two three")) == ["one ", "two ", "three "]


def test_leaving_a_stream_early_stops_the_generation(start: Start) -> None:
    session = start()
    for piece in session.stream("one WAIT three"):
        if piece == "WAIT ":
            break
    assert session.state.phase == "ready"
    assert session.state.answer is not None
    assert (session.state.answer.text, session.state.answer.stopped) == ("one WAIT ", True)
    assert session.generate("again").text == "again "


def test_a_stop_keeps_what_is_there(start: Start) -> None:
    session = start()
    request = session.begin_generate(GenerateAsk(prompt="one WAIT three"))
    until(lambda: session.state.answer and session.state.answer.count == 2)
    session.stop()
    assert session.wait(request).stopped
    assert session.state.answer is not None
    assert session.state.answer.text == "one WAIT "


def test_a_stop_before_the_worker_took_it_up_counts(start: Start) -> None:
    session = start()
    requests = [
        session._begin("generate", {"prompt": f"{word} WAIT"}, {}, even_if_busy=True) for word in ("one", "two")
    ]
    session.stop(requests[1])
    until(lambda: session.state.answer and session.state.answer.count == 2)
    session.stop(requests[0])
    session.wait(requests[1])
    assert session.state.answer is not None
    assert (session.state.answer.text, session.state.answer.stopped) == ("two ", True)


def test_a_late_stop_of_an_old_request_stops_nothing_else(start: Start) -> None:
    session = start()
    first = session.begin_generate(GenerateAsk(prompt="one"))
    session.wait(first)
    second = session.begin_generate(GenerateAsk(prompt="two WAIT three"))
    session.stop(first)
    time.sleep(0.3)
    assert session.state.phase == "generating"
    session.stop(second)
    assert session.wait(second).stopped


# --- refusals and failures ---


def test_a_busy_session_says_with_what(start: Start) -> None:
    session = start()
    request = session.begin_generate(GenerateAsk(prompt="one WAIT"))
    until(lambda: session.state.phase == "generating")
    for again in (lambda: session.generate("two"), lambda: session.train(["a"]), lambda: next(session.stream("x"))):
        with pytest.raises(Busy) as caught:
            again()
        assert str(caught.value) == (
            "the session is still busy (generate)\n  → wait for it, or stop it with: %rocm stop"
        )
    session.stop()
    session.wait(request)
    assert session.generate("three").text == "three "


def test_a_session_is_busy_from_the_moment_it_was_asked(start: Start) -> None:
    session = start()
    session.begin_generate(GenerateAsk(prompt="one WAIT"))
    with pytest.raises(Busy, match=r"still busy \(generate\)"):
        session.begin_generate(GenerateAsk(prompt="two"))
    session.stop()


def test_a_refused_wish_leaves_the_session_free(start: Start) -> None:
    session = start()
    with pytest.raises(AskError, match="a set cannot be sent to the worker"):
        session.generate("one", stop_strings={"x"})
    with pytest.raises(AskError, match="did you mean top_k"):
        session.generate("one", top_kk=3)
    with pytest.raises(AskError, match="the prompt is empty"):
        session.generate("")
    with pytest.raises(AskError, match="row 0 has neither text nor messages"):
        session.train([{"x": 1}])
    assert session.train(["a"], output_dir=Path("a")).done
    assert session.generate("two").text == "two "


def test_a_failed_generation_raises_and_leaves_the_session_usable(start: Start) -> None:
    session = start()
    with pytest.raises(RunError) as caught:
        session.generate("one RAISE two")
    assert str(caught.value) == "ValueError: two\n  → say it differently"
    assert session.state.phase == "ready"
    assert session.state.answer is not None
    assert session.state.answer.text == "one RAISE "
    assert "ValueError: two\nlines" in Path(session.card.log).read_text()
    with pytest.raises(RunError, match="SystemExit: 4"):
        list(session.stream("MOURN"))
    assert session.generate("two").text == "two "


def test_a_failed_load_is_raised_and_the_session_is_over(start: Start) -> None:
    session = start("broken", wait=False)
    with pytest.raises(RunError, match="ValueError: this model is broken"):
        session.wait("load")
    assert session.state.phase == "failed"
    assert not session.alive
    with pytest.raises(NotLoaded) as caught:
        session.generate("one")
    assert str(caught.value) == "no model is loaded: this session has ended\n  → load one with: %rocm load demo"


def test_memory_that_cannot_be_read_is_a_warning_and_no_failure(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECHO_NO_READINGS", "1")
    session = start()
    assert session.generate("one").text == "one "
    messages = {event.message for event in journal(session) if isinstance(event, Warned)}
    assert messages == {"memory cannot be read: PermissionError: no counters"}


# --- interrupts ---


def test_an_interrupt_stops_the_generation_and_keeps_the_text(start: Start) -> None:
    session = start()
    began = time.monotonic()
    with interrupts(counted(session, 2)):
        answer = session.generate("one WAIT three")
    assert time.monotonic() - began < 3
    assert (answer.text, answer.stopped, answer.done) == ("one WAIT ", True, True)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert session.generate("two").text == "two "


def test_an_interrupt_stops_a_training_run_and_keeps_the_steps(start: Start) -> None:
    session = start()
    with interrupts(lambda: session.state.training and len(session.state.training.steps) == 2):
        training = session.train(["a", "WAIT", "c"])
    assert [step.step for step in training.steps] == [1, 2]
    assert training.stopped


def test_an_interrupt_in_the_middle_of_a_view_neither_tears_it_nor_loses_the_end(start: Start) -> None:
    session, drawn = start(), list[str]()
    drawing = threading.Event()

    def slow_view(event: Event) -> None:
        drawing.set()
        time.sleep(0.4)
        drawn.append(event.kind)

    with interrupts(drawing.is_set):
        ended = session.follow(lambda: session.begin_generate(GenerateAsk(prompt="one WAIT three")), slow_view)
    assert ended.stopped
    assert [kind for kind in drawn if kind != "sample"] == ["planned", "token", "token", "ended"]


def test_an_interrupt_in_a_loop_over_a_stream_stops_the_generation(start: Start) -> None:
    session, pieces = start(), list[str]()
    with interrupts(counted(session, 2)):
        pieces.extend(session.stream("one WAIT three"))
    assert pieces == ["one ", "WAIT "]
    assert session.generate("two").text == "two "


def test_an_interrupt_under_a_foreign_handler_stops_too(start: Start) -> None:
    # Programs with a handler of their own, as asyncio's: the interrupt arrives as the exception that it raises.
    session = start()

    def foreign(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, foreign)
    try:
        with interrupts(counted(session, 2)):
            answer = session.generate("one WAIT three")
    finally:
        signal.signal(signal.SIGINT, before)
    assert answer.text == "one WAIT "


def test_a_second_interrupt_is_not_swallowed(start: Start) -> None:
    session = start()
    later = threading.Timer(0.5, lambda: None)
    later.start()
    with interrupts(counted(session, 1), lambda: not later.is_alive()), pytest.raises(KeyboardInterrupt):
        session.generate("HANG")
    assert session.alive
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_during_a_load_is_raised(start: Start) -> None:
    session = start("slow", wait=False)
    with interrupts(lambda: session.state.seq >= 2), pytest.raises(KeyboardInterrupt):
        session.wait("load")
    began = time.monotonic()
    session.close()
    assert time.monotonic() - began < 8
    assert session.state.phase == "ended"

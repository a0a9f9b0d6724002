"""How sessions end, on the echo engine: workers that die or hang, owners that vanish or are two."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rocmtx.errors import Busy, NotLoaded, ReportError, SessionError, WorkerDied
from rocmtx.events import Event, Planned, Sample
from rocmtx.run import session as sessions
from rocmtx.run.asks import GenerateAsk
from rocmtx.run.places import cards, runtime_folder
from rocmtx.run.process import WorkerProcess
from rocmtx.run.session import Session
from unit.run.watching import ends, journal, until

if TYPE_CHECKING:
    from unit.run.conftest import Start

AGAIN = "your notebook is fine; load again with: %rocm load …"


# --- deaths ---


@pytest.mark.parametrize(
    ("word", "message", "hint"),
    [
        (
            "KILL",
            "the worker process was killed (SIGKILL) during generate",
            f"somebody ended it, or the kernel did because the machine ran out of memory (dmesg says which); {AGAIN}",
        ),
        ("ABORT", "the worker process died of SIGABRT during generate", "its log is {log}; " + AGAIN),
        ("EXIT", "the worker process ended with exit status 3 during generate", "its log is {log}; " + AGAIN),
    ],
)
def test_a_death_in_a_generation_is_explained(start: Start, word: str, message: str, hint: str) -> None:
    session = start()
    with pytest.raises(WorkerDied) as caught:
        session.generate(f"one {word} three")
    assert (caught.value.message, caught.value.hint) == (message, hint.format(log=session.card.log))
    until(lambda: not session._thread.is_alive())
    assert session.state.phase == "failed"
    assert session.state.answer is not None
    assert (session.state.answer.text, session.state.answer.done) == (f"one {word} ", True)
    last = journal(session)[-2:]
    assert [(event.kind, bool(event.request)) for event in last] == [("failed", True), ("failed", False)]
    assert cards(runtime_folder()) == []
    with pytest.raises(NotLoaded, match="this session has ended"):
        session.generate("two")


def test_a_death_in_idleness_is_noticed_and_said(start: Start) -> None:
    session, heard = start(), list[Event]()
    session.subscribe(heard.append)
    os.kill(session.card.pid, signal.SIGKILL)
    until(lambda: not session._thread.is_alive())
    assert [event.kind for event in heard if not isinstance(event, Sample)] == ["failed"]
    assert session.state.failure is not None
    assert session.state.failure.error["message"] == "the worker process was killed (SIGKILL)"
    assert ends(session) == ["failed"]


def test_a_death_while_loading_fails_the_load(start: Start) -> None:
    session = start("slow", wait=False)
    until(lambda: session.state.seq >= 2)
    os.kill(session.card.pid, signal.SIGSEGV)
    with pytest.raises(WorkerDied, match="the worker process died of SIGSEGV during load"):
        session.wait("load")


def test_a_waiting_request_hears_of_a_session_that_is_closed(start: Start) -> None:
    session = start()
    request = session.begin_generate(GenerateAsk(prompt="one WAIT"))
    until(lambda: session.state.phase == "generating")
    threading.Thread(target=session.close).start()
    assert session.wait(request).stopped
    until(lambda: not session._thread.is_alive())
    assert ends(session) == ["ended"]
    assert session.state.failure is None


def test_two_sessions_do_not_disturb_each_other(start: Start) -> None:
    first, second = start(), start()
    request = first.begin_generate(GenerateAsk(prompt="one WAIT"))
    until(lambda: first.state.phase == "generating")
    with pytest.raises(WorkerDied):
        second.generate("KILL")
    assert (first.state.phase, second.state.phase) == ("generating", "failed")
    first.stop()
    assert first.wait(request).stopped
    assert first.generate("two").text == "two "


# --- owners ---


def test_a_worker_whose_owner_is_silent_frees_itself(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "HEARTBEAT", 1e9)
    session = start(grace=1.0)
    began = time.monotonic()
    until(lambda: session._process.returncode() is not None, 8)
    assert time.monotonic() - began > 0.3
    assert session._process.returncode() == 0
    assert Path(session.card.log).read_text() == "echo worker\nthe owner has been silent for 1 s: freeing everything\n"
    until(lambda: not session._thread.is_alive())
    assert session.state.phase == "ended"


def test_signs_of_life_keep_the_worker(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "HEARTBEAT", 0.2)
    session = start(grace=1.0)
    time.sleep(2.5)
    assert session.alive


def test_an_attached_session_goes_on_in_the_same_journal(start: Start) -> None:
    first = start()
    first.generate("one")
    second = Session.attach(first.id)
    assert second.state == first.state
    assert second.generate("two").text == "two "
    until(lambda: first.state.seq == second.state.seq)
    assert first.state.answer == second.state.answer
    assert [event.seq for event in journal(first)] == list(range(1, first.state.seq + 1))
    assert second.unload() == {"before": {"cpu": 2}, "after": {"cpu": 1}}
    until(lambda: not first._thread.is_alive())
    assert (first.state.phase, second.state.phase) == ("ended", "ended")
    assert ends(first) == ["ended"]


def test_two_owners_never_use_the_same_request(start: Start) -> None:
    first = start()
    second = Session.attach(first.id)
    first.generate("one")
    second.generate("two")
    requests = [event.request for event in journal(first) if isinstance(event, Planned)]
    assert len(set(requests)) == len(requests) == 3
    second.close()


def test_attaching_in_the_middle_of_a_generation_follows_it(start: Start) -> None:
    first = start()
    request = first.begin_generate(GenerateAsk(prompt="one WAIT"))
    until(lambda: first.state.answer and first.state.answer.count == 2)
    second = Session.attach(first.id)
    assert second.state.phase == "generating"
    with pytest.raises(Busy, match=r"still busy \(generating\)"):
        second.generate("two")
    second.stop()
    assert second.wait(request).stopped
    second.close()


def test_a_session_that_is_gone_cannot_be_attached(start: Start) -> None:
    session = start()
    card = runtime_folder() / f"{session.id}.json"
    text = card.read_text()
    session.unload()
    with pytest.raises(ReportError, match=f"session card {session.id}.json cannot be read"):
        Session.attach(session.id)
    card.write_text(text)
    with pytest.raises(SessionError) as caught:
        Session.attach(session.id)
    assert str(caught.value) == (
        f"session {session.id} has ended: its worker is gone\n  → load again with: %rocm load …"
    )
    assert not card.exists()


def test_a_card_with_somebody_elses_pid_is_no_session(start: Start) -> None:
    session = start()
    card = runtime_folder() / f"{session.id}.json"
    record = json.loads(card.read_text())
    session.unload()
    card.write_text(json.dumps({**record, "pid": os.getpid()}))
    with pytest.raises(SessionError, match="its worker is gone"):
        Session.attach(session.id)


def test_a_hanging_worker_is_ended_by_force(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "_EXIT_PATIENCE", 0.5)
    session = start()
    session.begin_generate(GenerateAsk(prompt="HANG"))
    until(lambda: session.state.phase == "generating")
    began = time.monotonic()
    session.close()
    assert time.monotonic() - began < 4
    assert session._process.returncode() == -signal.SIGTERM
    assert session.state.phase == "ended"


def test_the_card_names_worker_and_owner(start: Start) -> None:
    session = start()
    (card,) = cards(runtime_folder())
    assert card == session.card
    assert (card.owner, card.model, card.notebook) == (os.getpid(), "echo", "a.ipynb")
    assert card.created == pytest.approx(time.time(), abs=60)
    assert WorkerProcess(card.pid, runtime_folder() / f"{card.session}.json").returncode() is None

"""Workers that die and owners that vanish, with the demo model loaded: the notebook lives, and nothing is left over."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from rocmtx.errors import NotLoaded, WorkerDied
from rocmtx.events import Failed, Token
from rocmtx.journal import read_journal
from rocmtx.run.asks import GenerateAsk
from rocmtx.run.places import cards, runtime_folder

if TYPE_CHECKING:
    from collections.abc import Callable

    from integration.conftest import Bench

pytestmark = pytest.mark.demo

LONG = "Write a long story about a lighthouse keeper and the sea."
KILLED = "the worker process was killed (SIGKILL)"

# A kernel: starts or attaches a session, answers once, says so, and waits for its end.
OWNER = """
import json, sys, time
from rocmtx.decide.plan import Asks
from rocmtx.run.session import Session
from rocmtx.workbench import Workbench
name, grace = sys.argv[1], float(sys.argv[2])
if name:
    session = Session.attach(name)
else:
    session = Session.start(Workbench().plan(Asks("demo")), grace=grace)
    session.wait("load")
answer = session.generate("What is the capital of France?")
said = {"session": session.id, "pid": session.card.pid, "text": answer.text, "seq": session.state.seq}
print(json.dumps(said), flush=True)
time.sleep(600)
"""


def until(true: Callable[[], object], seconds: float = 30) -> None:
    """Wait until something is true."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not become true in time"
        time.sleep(0.02)


def owner(*, grace: float, attach: str = "") -> tuple[subprocess.Popen[str], dict[str, Any]]:
    """Start an owner and return it with what it said."""
    command = [sys.executable, "-c", OWNER, attach, str(grace)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    said = child.stdout.readline()
    assert said, "the owner ended without a word"
    return child, json.loads(said)


def kill(child: subprocess.Popen[str]) -> None:
    """End a process as a kernel is ended that does not answer."""
    child.kill()
    child.wait()
    assert child.stdout is not None
    child.stdout.close()


def test_a_worker_killed_while_generating_leaves_the_notebook_alive(bench: Bench) -> None:
    session = bench.load()
    request = session.begin_generate(GenerateAsk(prompt=LONG, options={"max_new_tokens": 2000}))
    until(lambda: session.state.answer is not None and session.state.answer.count >= 2)
    os.kill(session.card.pid, signal.SIGKILL)
    with pytest.raises(WorkerDied) as caught:
        session.wait(request)
    assert caught.value.message == f"{KILLED} during generate"
    assert caught.value.hint.endswith("your notebook is fine; load again with: %rocm load …")
    until(lambda: session.state.phase == "failed")
    events = read_journal(Path(session.card.journal))[0]
    assert [event.request for event in events if isinstance(event, Failed)] == [request, ""]
    text = "".join(event.text for event in events if isinstance(event, Token))
    assert session.state.answer is not None
    assert session.state.answer.text == text != ""
    with pytest.raises(NotLoaded) as refused:
        bench.workbench.ready_session()
    assert str(refused.value) == (
        f"no model is loaded: the last session ended ({KILLED} during generate)\n  → load one with: %rocm load demo"
    )


def test_a_new_load_works_after_a_death_and_a_death_in_idleness_is_noticed(bench: Bench) -> None:
    session = bench.load()
    assert session.generate("What is the capital of France?").text == "The capital of France is Paris."
    os.kill(session.card.pid, signal.SIGKILL)
    until(lambda: session.state.phase == "failed")
    assert not session.alive
    assert session.state.failure is not None
    assert session.state.failure.error["message"] == KILLED
    assert cards(runtime_folder()) == []


def test_a_loaded_model_survives_its_kernel_and_goes_when_nobody_comes_back() -> None:
    grace = 6.0
    first, loaded = owner(grace=grace)
    worker = psutil.Process(loaded["pid"])
    kill(first)
    second, attached = owner(grace=grace, attach=loaded["session"])
    assert attached["text"] == loaded["text"] == "The capital of France is Paris."
    assert (attached["session"], attached["pid"]) == (loaded["session"], loaded["pid"])
    assert attached["seq"] > loaded["seq"]
    assert worker.is_running()
    kill(second)
    began = time.monotonic()
    until(lambda: not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE, grace + 12)
    assert time.monotonic() - began < grace + 4

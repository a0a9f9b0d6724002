"""Sessions on the echo worker: a real process that needs no torch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from rocmtx.decide.plan import Asks, make_plan
from rocmtx.facts.model import Checkpoint, Facts
from rocmtx.run.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

ECHO = Path(__file__).with_name("echo_worker.py")


class Start(Protocol):
    """Starts a session; ended when the test is over."""

    def __call__(self, model: str = "echo", *, grace: float = 60.0, wait: bool = True) -> Session:
        """Start a session on a model of the echo engine and wait for it."""
        ...


@pytest.fixture
def start(runtime_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Return a function that starts a session whose worker is the echo worker."""
    del runtime_dir
    popen = subprocess.Popen

    def echo(command: list[str], **settings: Any) -> subprocess.Popen[bytes]:
        # The same command line, but for the module: python -P -m rocmtx.run CARD … becomes python echo_worker.py CARD …
        return popen([sys.executable, str(ECHO), *command[4:]], **settings)

    monkeypatch.setattr(subprocess, "Popen", echo)
    made: list[Session] = []

    def begin(model: str = "echo", *, grace: float = 60.0, wait: bool = True) -> Session:
        plan = make_plan(Facts(), Asks(model), Checkpoint(model, "folder"))
        session = Session.start(plan, environment=dict(os.environ), grace=grace, notebook="a.ipynb")
        made.append(session)
        if wait:
            session.wait("load")
        return session

    yield begin
    monkeypatch.undo()
    for session in made:
        session._process.end(0.0)
        session.close()

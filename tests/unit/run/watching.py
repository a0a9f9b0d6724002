"""What the tests of sessions look at: the journal, a condition that becomes true, an interrupt at the right moment."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rocmtx.events import Ended, Event, Failed
from rocmtx.journal import read_journal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rocmtx.run.session import Session


def journal(session: Session) -> list[Event]:
    """Return all events of a session."""
    return read_journal(Path(session.card.journal))[0]


def until(true: Callable[[], object], seconds: float = 10) -> None:
    """Wait until something is true."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not become true in time"
        time.sleep(0.02)


def ends(session: Session) -> list[str]:
    """Return how the session itself ended, as often as it did."""
    return [event.kind for event in journal(session) if isinstance(event, Ended | Failed) and not event.request]


@contextlib.contextmanager
def interrupts(*moments: Callable[[], object]) -> Iterator[None]:
    """Interrupt the main thread, as a kernel is interrupted, whenever the next thing has become true."""

    def act() -> None:
        for true in moments:
            until(true)
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=act)
    thread.start()
    yield
    thread.join()


def counted(session: Session, count: int) -> Callable[[], bool]:
    """Return the question whether an answer has so many tokens."""
    return lambda: session.state.answer is not None and session.state.answer.count == count

"""One rank: takes commands from its owner, runs them one at a time, and writes what happens.

Knows sockets, threads and the journal; must not know torch, that is the engine's. Commands arrive on a control thread,
so a stop is heard while the main thread generates; the work itself stays on the main thread (on an H200, generating on
a second thread ran at 0.39 of the speed).
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import os
import queue
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

import zmq

from rocmtx.errors import RocmtxError, RunError
from rocmtx.events import Ended, Event, Failed, Loading, Planned, Sample, Warned
from rocmtx.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Callable

    from rocmtx.events import Reading, Task
    from rocmtx.run.places import Card

_log = logging.getLogger("rocmtx.worker")

HEARTBEAT = 5.0  # seconds between an owner's signs of life
SAMPLE_INTERVAL = 1.0
_CLOSING_TIME = 10.0


class Engine(Protocol):
    """What a worker asks of an engine; `emit` stamps and publishes an event."""

    def load(self, plan: dict[str, Any], emit: Callable[[Event], None]) -> dict[str, Any]:
        """Load a plan; the result carries `seconds`."""
        ...

    def generate(self, ask: dict[str, Any], emit: Callable[[Event], None], stop: threading.Event) -> dict[str, Any]:
        """Answer; the result carries counts and times."""
        ...

    def train(self, ask: dict[str, Any], emit: Callable[[Event], None], stop: threading.Event) -> dict[str, Any]:
        """Train; the result carries losses and times."""
        ...

    def unload(self) -> dict[str, Any]:
        """Drop the model; the result carries the memory before and after."""
        ...

    def readings(self) -> tuple[Reading, ...]:
        """Return the memory now."""
        ...

    def translate(self, error: BaseException) -> RocmtxError:
        """Turn any exception into one of rocmtx's."""
        ...


class Worker:
    """The loop of one rank. `grace` is how many seconds it outlives its owner before it frees everything and ends."""

    def __init__(self, card: Card, engine: Callable[[], Engine], grace: float) -> None:
        self._card = card
        self._make_engine = engine
        self._engine: Engine | None = None
        self._grace = grace
        self._journal = Journal(Path(card.journal))
        self._context = zmq.Context()
        self._commands = self._bound(zmq.PULL, card.commands)
        self._pokes = self._bound(zmq.PUB, card.pokes)
        self._publishing = threading.Lock()
        self._todo: queue.Queue[dict[str, Any]] = queue.Queue()
        self._stop = threading.Event()
        self._over = threading.Event()
        self._request = ""
        self._cancelled: set[str] = set()

    def _bound(self, kind: int, endpoint: str) -> zmq.Socket[bytes]:
        made = self._context.socket(kind)
        made.setsockopt(zmq.LINGER, 1000)
        made.bind(endpoint)
        return made

    def run(self) -> None:
        """Serve until told to exit, or until the owner has been silent for the grace period."""
        threads = [
            threading.Thread(target=self._listen, name="rocmtx-commands", daemon=True),
            threading.Thread(target=self._sample, name="rocmtx-sampler", daemon=True),
        ]
        for thread in threads:
            thread.start()
        while not self._over.is_set():
            with contextlib.suppress(queue.Empty):
                self._do(self._todo.get(timeout=0.5))
        for thread in threads:
            thread.join(timeout=2)
        with self._publishing:
            self._pokes.close()
        self._commands.close()
        self._journal.close()
        self._context.term()

    def emit(self, event: Event) -> None:
        """Stamp an event, append it to the journal and poke whoever listens."""
        event = dataclasses.replace(
            event, time=time.time(), session=self._card.session, request=event.request or self._request
        )
        with self._publishing:
            self._journal.append(event)
            if not self._pokes.closed:
                self._pokes.send(b"")

    # --- commands ---

    def _listen(self) -> None:
        heard = time.monotonic()
        while not self._over.is_set():
            if self._commands.poll(500):
                heard = time.monotonic()
                self._take(json.loads(self._commands.recv()))
            elif time.monotonic() - heard > self._grace:
                _log.warning("the owner has been silent for %.0f s: freeing everything", self._grace)
                self._leave()

    def _take(self, command: dict[str, Any]) -> None:
        operation = command["op"]
        if operation == "stop":
            wanted = command.get("request") or self._request
            if wanted == self._request:
                self._stop.set()
            elif wanted:
                self._cancelled.add(wanted)
        elif operation == "exit":
            self._leave()
        elif operation != "alive":
            self._todo.put(command)

    def _leave(self) -> None:
        self._stop.set()
        self._over.set()
        # A GPU call that never returns must not keep the memory: leave by force if the main thread does not come back.
        timer = threading.Timer(_CLOSING_TIME, os._exit, (0,))
        timer.daemon = True
        timer.start()

    def _do(self, command: dict[str, Any]) -> None:
        task = cast("Task", command["op"])
        self._request = command["request"]
        self._stop.clear()
        if self._request in self._cancelled:
            self._stop.set()
        if task != "load":  # a load was announced by the owner, before this process existed
            self.emit(Planned(task=task, about=command.get("about", {})))
        try:
            result = self._act(task, command)
        except BaseException as error:  # noqa: BLE001 - whatever happens, the request is closed and the owner told
            known = self._engine.translate(error) if self._engine else _plain(error)
            _log.exception("%s failed", task)
            self.emit(Failed(task=task, error=known.record()))
        else:
            stopped = self._stop.is_set()
            self._snapshot()
            self.emit(Ended(task=task, stopped=stopped, result=result))
        self._request = ""

    def _act(self, task: Task, command: dict[str, Any]) -> dict[str, Any]:
        if self._engine is None:
            self.emit(Loading(stage="importing torch and Transformers"))
            self._engine = self._make_engine()
        ask = command.get("ask", {})
        if task == "load":
            return self._engine.load(ask, self.emit)
        if task == "generate":
            return self._engine.generate(ask, self.emit, self._stop)
        if task == "train":
            return self._engine.train(ask, self.emit, self._stop)
        return self._engine.unload()

    # --- samples ---

    def _sample(self) -> None:
        due = time.monotonic()
        while not self._over.is_set():
            due = max(due + SAMPLE_INTERVAL, time.monotonic())
            self._snapshot()
            self._over.wait(max(0.0, due - time.monotonic()))

    def _snapshot(self) -> None:
        engine = self._engine
        if engine is None:
            return
        try:
            readings = engine.readings()
        except Exception as error:  # noqa: BLE001 - a sampler that fails must not take the work down
            self.emit(Warned(message=f"memory cannot be read: {type(error).__name__}: {error}"))
            return
        if readings:
            self.emit(Sample(readings=readings))


def _plain(error: BaseException) -> RocmtxError:
    if isinstance(error, RocmtxError):
        return error
    return RunError(f"{type(error).__name__}: {error}")

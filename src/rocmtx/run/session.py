"""A session: one loaded model in a worker process, seen from its owner.

Knows how to hand commands to a worker, follow its journal and end it; must not know torch or any view. All methods may
be called from any thread; listeners run on the session's own thread.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import os
import platform
import secrets
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import zmq

from rocmtx.errors import Busy, NotLoaded, RocmtxError, SessionError, from_record
from rocmtx.events import Bus, Ended, Event, Failed, Planned, Task, Token
from rocmtx.journal import Journal, read_journal
from rocmtx.run.asks import GenerateAsk, TrainAsk, body
from rocmtx.run.deaths import explain_death
from rocmtx.run.places import Card, card_path, read_card, remove_files, runtime_folder, socket_folder, write_card
from rocmtx.run.process import WorkerProcess, spawn
from rocmtx.run.waiting import AGAIN, Waiting
from rocmtx.run.worker import HEARTBEAT
from rocmtx.state import Answer, State, Training, fold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rocmtx.decide.plan import Plan

GRACE = 60.0  # seconds that a worker outlives its owner: enough for a kernel restart and a re-attach
_EXIT_PATIENCE = 12.0
_OVER = ("failed", "ended")


class Session:
    """One model in one worker. Made by `Session.start` or `Session.attach`; a context manager that ends the worker."""

    def __init__(self, card: Card, process: WorkerProcess, folder: Path) -> None:
        self.card = card
        self.bus = Bus()
        self._folder = folder
        self._process = process
        self._state = State(session=card.session)
        self._offset = 0
        self._numbers = itertools.count(1)
        self._prefix = secrets.token_hex(2)
        self._commands = _connected(zmq.PUSH, card.commands)
        self._sending = threading.Lock()
        self._closed = threading.Event()
        self._closing = False
        self._waiting: tuple[str, Task] | None = None
        self._thread = threading.Thread(target=self._follow_worker, name=f"rocmtx-{card.session}", daemon=True)
        self._drain()
        self._thread.start()

    # --- making and ending ---

    @classmethod
    def start(
        cls,
        plan: Plan,
        *,
        environment: Mapping[str, str] | None = None,
        grace: float = GRACE,
        notebook: str = "",
    ) -> Self:
        """Start a worker and let it load the plan's model. Returns at once: `wait("load")` waits for the model."""
        folder = runtime_folder()
        session = time.strftime("%Y%m%d-%H%M%S-") + secrets.token_hex(2)
        sockets = socket_folder(folder, session)
        card = Card(
            session=session,
            pid=0,
            owner=os.getpid(),
            created=time.time(),
            journal=str(folder / f"{session}.jsonl"),
            log=str(folder / f"{session}.rank0.log"),
            commands=f"ipc://{sockets / f'{session}.commands'}",
            pokes=f"ipc://{sockets / f'{session}.pokes'}",
            model=plan.asks.model,
            notebook=notebook,
            host=platform.node(),
        )
        record = plan.record()
        with contextlib.closing(Journal(Path(card.journal))) as book:
            book.append(Planned(task="load", about=record, request="load", session=session, time=time.time()))
        path = write_card(folder, card)
        surroundings = {**(os.environ if environment is None else environment), **plan.env()}
        process = spawn(path, Path(card.log), surroundings, grace)
        card = dataclasses.replace(card, pid=process.pid)
        write_card(folder, card)
        made = cls(card, process, folder)
        made._send({"op": "load", "request": "load", "ask": record})
        return made

    @classmethod
    def attach(cls, session: str) -> Self:
        """Take over a living session, after a kernel restart say. Raises SessionError when its worker is gone."""
        folder = runtime_folder()
        path = card_path(folder, session)
        card = read_card(path)
        if not card.here():
            raise SessionError(
                f"session {session} runs on {card.host}, this is another machine", "open its notebook there"
            )
        process = WorkerProcess(card.pid, path)
        if process.returncode() is not None:
            remove_files(card, folder)
            raise SessionError(f"session {session} has ended: its worker is gone", AGAIN)
        made = cls(card, process, folder)
        made._send({"op": "alive"})
        return made

    def close(self) -> None:
        """End the worker. Safe to call again. The journal stays; only the model in memory is gone."""
        self._closing = True
        self._send({"op": "exit"})
        # A load cannot be interrupted between two Python steps, and there is nothing yet to keep: end it at once.
        self._process.end(0.0 if self._state.phase == "loading" else _EXIT_PATIENCE)
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=5)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- what happens ---

    @property
    def id(self) -> str:
        """The session's name, also that of its journal."""
        return self.card.session

    @property
    def state(self) -> State:
        """The state as of the last event that was read."""
        return self._state

    @property
    def alive(self) -> bool:
        """True while the worker process runs and has not failed."""
        return not self._closed.is_set() and self._state.phase not in _OVER and self._process.returncode() is None

    def subscribe(self, listener: Callable[[Event], None]) -> Callable[[], None]:
        """Call the listener for each later event, on the session's thread; returns the remover."""
        return self.bus.subscribe(listener)

    # --- commands ---

    def begin_generate(self, ask: GenerateAsk) -> str:
        """Start an answer and return its request, without waiting. Raises NotLoaded or Busy."""
        made = body(ask)
        about = {"prompt": ask.prompt or str(ask.messages[-1].get("content", "")), "options": made["options"]}
        return self._begin("generate", made, about)

    def begin_train(self, ask: TrainAsk) -> str:
        """Start a training run and return its request, without waiting. Raises NotLoaded or Busy."""
        made = body(ask)
        about = {"method": ask.method, "rows": len(ask.examples), **made["options"]}
        return self._begin("train", made, about)

    def generate(self, prompt: str, **options: Any) -> Answer:
        """Answer a prompt and wait. Options as in `GenerationConfig`, plus `system`, `raw` and `seed`.

        An interrupt stops the generation and returns the text so far. Raises the error of a failed run.
        """
        ask = _generate_ask(prompt, options)
        request = self.follow(lambda: self.begin_generate(ask)).request
        answer = self._state.answer
        if answer is None or answer.request != request:
            raise SessionError("another prompt came in between", "look at %rocm status")
        return answer

    def stream(self, prompt: str, **options: Any) -> Iterator[str]:
        """Yield the pieces of an answer as they come; leaving the loop early stops the generation."""
        ask = _generate_ask(prompt, options)
        with self._waiting_room() as waiting:
            request = self.begin_generate(ask)
            finished = False
            try:
                for event in waiting.coming(request):
                    if event.request not in (request, ""):
                        continue
                    finished = isinstance(event, Failed | Ended)
                    if isinstance(event, Token):
                        yield event.text
                    elif isinstance(event, Failed):
                        raise from_record(event.error)
                    elif finished:
                        return
            finally:
                if not finished:
                    self.stop(request)
                    with contextlib.suppress(RocmtxError):
                        waiting.close_of(request, None)

    def train(self, examples: Any, **options: Any) -> Training:
        """Train on rows (texts, messages, or a dataset) and wait.

        Options as in `TrainingArguments`, plus `method` ("lora", "full"), `lora_r`, `lora_alpha` and `max_length`.
        """
        from rocmtx.run.examples import rows_of_dataset

        own = {name: options.pop(name) for name in ("method", "lora_r", "lora_alpha", "max_length") if name in options}
        ask = TrainAsk(rows_of_dataset(examples), options=options, **own)
        request = self.follow(lambda: self.begin_train(ask)).request
        training = self._state.training
        if training is None or training.request != request:
            raise SessionError("another run came in between", "look at %rocm status")
        return training

    def stop(self, request: str = "") -> None:
        """Stop the running task, or the named one; returns at once. The text or adapter so far is kept."""
        self._send({"op": "stop", "request": request})

    def unload(self) -> Mapping[str, Any]:
        """Free the model, end the worker, and return what came back: bytes `before` and `after`, per device."""
        if self.alive and self._state.phase != "loading":
            if self._state.busy:
                self.stop()
            with contextlib.suppress(SessionError):
                self.follow(lambda: self._begin("unload", {}, {}, even_if_busy=True))
        self.close()
        return self._state.result

    # --- waiting ---

    def wait(self, request: str, listener: Callable[[Event], None] | None = None) -> Ended:
        """Wait for a request that has begun; `listener` sees every event of it on this thread, past ones first.

        KeyboardInterrupt stops the task and goes on waiting for it to close; a second one is raised, and so is the
        first during a load, which nothing but the end of the worker can stop. Raises the error of a failed request,
        WorkerDied when the worker is gone, SessionError when the session was closed meanwhile.
        """
        with self._waiting_room() as waiting:
            now = self._state.seq
            past = [event for event in read_journal(Path(self.card.journal))[0] if event.seq <= now]
            with contextlib.nullcontext() if request == "load" else waiting.uninterrupted():
                return waiting.close_of(request, listener, past)

    def follow(self, begin: Callable[[], str], listener: Callable[[Event], None] | None = None) -> Ended:
        """Begin a request and wait for it as `wait` does, missing no event and reading no journal."""
        with self._waiting_room() as waiting, waiting.uninterrupted():
            return waiting.close_of(begin(), listener)

    def _waiting_room(self) -> Waiting:
        return Waiting(self.subscribe, self._closed, self.stop)

    def _begin(self, task: Task, ask: dict[str, Any], about: dict[str, Any], *, even_if_busy: bool = False) -> str:
        if not self.alive:
            raise NotLoaded("no model is loaded: this session has ended", "load one with: %rocm load demo")
        waiting = self._waiting
        if not even_if_busy and (self._state.busy or waiting):
            doing = waiting[1] if waiting else self._state.phase
            raise Busy(f"the session is still busy ({doing})", "wait for it, or stop it with: %rocm stop")
        request = f"{task}-{self._prefix}-{next(self._numbers)}"
        self._waiting = (request, task)
        self._send({"op": task, "request": request, "ask": ask, "about": about})
        return request

    # --- the session's thread ---

    def _send(self, command: dict[str, Any]) -> None:
        with self._sending:
            if not self._commands.closed:
                self._commands.send(json.dumps(command).encode())

    def _follow_worker(self) -> None:
        pokes = _connected(zmq.SUB, self.card.pokes)
        beat = 0.0
        try:
            while True:
                # A poke only says "look": the journal is the one source, so a lost poke costs 200 ms and no event.
                if pokes.poll(200):
                    while pokes.poll(0):
                        pokes.recv()
                returncode = self._process.returncode()
                self._drain()
                if returncode is not None:
                    self._mourn(returncode)
                    return
                if time.monotonic() - beat > HEARTBEAT:
                    beat = time.monotonic()
                    self._send({"op": "alive"})
        finally:
            pokes.close()
            with self._sending:
                self._commands.close()
            self._closed.set()

    def _drain(self) -> None:
        events, self._offset = read_journal(Path(self.card.journal), self._state.seq, self._offset)
        for event in events:
            self._state = fold(self._state, event)
            if isinstance(event, Ended | Failed) and self._waiting and event.request == self._waiting[0]:
                self._waiting = None
            self.bus.publish(event)

    def _mourn(self, returncode: int) -> None:
        """Write the end that the worker could not write: a plain one when it was asked for, else a failure."""
        state, waiting = self._state, self._waiting
        if state.phase in _OVER:  # another owner of the same worker has written the end already
            remove_files(self.card, self._folder)
            return
        request = state.request or (waiting[0] if waiting else "")
        task: Any = waiting[1] if waiting else request.split("-")[0] or None
        expected = self._closing or (not request and (returncode == 0 or state.result))
        error = explain_death(returncode, Path(self.card.log), task or "").record()
        stamp: dict[str, Any] = {"session": self.id, "time": time.time()}
        with contextlib.closing(Journal(Path(self.card.journal))) as book:
            if request and expected:
                book.append(Ended(request=request, task=task, stopped=True, **stamp))
            elif request:
                book.append(Failed(request=request, task=task, error=error, **stamp))
            book.append(Ended(**stamp) if expected else Failed(error=error, **stamp))
        self._drain()
        remove_files(self.card, self._folder)


def _connected(kind: int, endpoint: str) -> zmq.Socket[bytes]:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context.instance()
    made = context.socket(kind)
    made.setsockopt(zmq.LINGER, 0)
    made.setsockopt(zmq.RECONNECT_IVL, 20)  # the worker binds when its interpreter is up: knock often
    if kind == zmq.SUB:
        made.setsockopt(zmq.SUBSCRIBE, b"")
    made.connect(endpoint)
    return made


def _generate_ask(prompt: str, options: dict[str, Any]) -> GenerateAsk:
    own = {name: options.pop(name) for name in ("system", "raw", "seed") if name in options}
    return GenerateAsk(prompt=prompt, options=options, **own)

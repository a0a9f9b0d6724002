"""What happens in a session, as a closed union of values, with their JSON and the bus that hands them on.

Knows JSON and listeners; must not know files, torch, Jupyter or any view. Every task of a session (load, generate,
train, unload) begins with `Planned` and closes with exactly one `Ended` or `Failed` that carries the same `request`.
`seq` grows by one within a session, so "unread", replay and reconnect are subtraction.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from rocmtx.errors import ErrorRecord, ReportError

_log = logging.getLogger("rocmtx")

Task = Literal["load", "generate", "train", "unload"]
Listener = Callable[["Event"], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Base of all events. `time` is Unix seconds, `rank` the process that saw it (0 also stands for the session)."""

    kind: ClassVar[str] = ""
    seq: int = 0
    time: float = 0.0
    session: str = ""
    rank: int = 0
    request: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned(Event):
    """A task is about to start. `about` is its JSON: the plan of a load, the prompt and options of a generation."""

    kind: ClassVar[str] = "planned"
    task: Task
    about: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading(Event):
    """Progress of a load: `done` of `total` in `unit`; None where the total is not known."""

    kind: ClassVar[str] = "loading"
    stage: str
    done: float | None = None
    total: float | None = None
    unit: Literal["bytes", "parts", ""] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded(Event):
    """What really runs, as the libraries report it, to be compared with the plan."""

    kind: ClassVar[str] = "loaded"
    model: str
    architecture: str
    device: str
    device_name: str
    dtype: str
    attention: str
    quantization: str | None = None
    kernels: tuple[str, ...] = ()
    parameters: int | None = None
    weight_bytes: int | None = None
    context_length: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Token(Event):
    """A piece of the answer: `text` to append, `count` tokens so far, `seconds` since the request was taken up."""

    kind: ClassVar[str] = "token"
    text: str
    count: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(Event):
    """One optimizer step, or an evaluation where only `eval_loss` is set. Speeds are per second."""

    kind: ClassVar[str] = "step"
    step: int
    total: int | None = None
    loss: float | None = None
    eval_loss: float | None = None
    learning_rate: float | None = None
    grad_norm: float | None = None
    tokens_per_second: float | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Memory of one device in bytes. On a CPU, `used` is this worker's resident memory and `total` the machine's."""

    device: str
    allocated: int | None = None
    reserved: int | None = None
    used: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample(Event):
    """Memory at one moment, one reading per device."""

    kind: ClassVar[str] = "sample"
    readings: tuple[Reading, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned(Event):
    """Something the person should know; nothing has failed."""

    kind: ClassVar[str] = "warned"
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed(Event):
    """A task ended with an error; with an empty `request`, the whole session did."""

    kind: ClassVar[str] = "failed"
    task: Task | None = None
    error: ErrorRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended(Event):
    """A task is done. `result` is its JSON: counts and times. `stopped` says that it was stopped on demand.

    With an empty `request` the session itself has ended: its worker is gone.
    """

    kind: ClassVar[str] = "ended"
    task: Task | None = None
    stopped: bool = False
    result: dict[str, Any] = field(default_factory=dict)


KINDS: dict[str, type[Event]] = {
    kind.kind: kind for kind in (Planned, Loading, Loaded, Token, Step, Sample, Warned, Failed, Ended)
}


def encode(event: Event) -> str:
    """Write an event as one line of JSON without the newline; None and texts that are empty by default are left out."""
    body: dict[str, Any] = {"kind": event.kind}
    for entry in dataclasses.fields(event):
        value = getattr(event, entry.name)
        if entry.name == "readings":
            value = [{k: v for k, v in dataclasses.asdict(reading).items() if v is not None} for reading in value]
        if value is not None and not (value == "" and entry.default == ""):
            body[entry.name] = value
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def decode(line: str | bytes) -> Event:
    """Read an event. Fields of a newer writer are dropped; an unknown kind or damaged line raises ReportError."""
    try:
        body = json.loads(line)
        kind = KINDS[body.pop("kind")]
        known = {entry.name for entry in dataclasses.fields(kind)}
        values = {name: value for name, value in body.items() if name in known}
        if "readings" in values:
            values["readings"] = tuple(Reading(**reading) for reading in values["readings"])
        if "kernels" in values:
            values["kernels"] = tuple(values["kernels"])
        return kind(**values)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ReportError(f"this line is no rocmtx event: {error}") from None


class Bus:
    """Hands each event to every listener, on the publisher's thread, never under the lock.

    A listener that raises is reported once as `Warned` to the others and detached.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._listeners: dict[int, Listener] = {}

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Add a listener; returns the remover, which may be called any number of times."""
        with self._lock:
            number = next(self._numbers)
            self._listeners[number] = listener
        return lambda: self._remove(number)

    def _remove(self, number: int) -> None:
        with self._lock:
            self._listeners.pop(number, None)

    def publish(self, event: Event) -> None:
        """Call every listener with the event; those that leave meanwhile are not called any more."""
        with self._lock:
            listeners = list(self._listeners.items())
        reports = []
        for number, listener in listeners:
            if number not in self._listeners:
                continue
            try:
                listener(event)
            except Exception as error:  # noqa: BLE001 - any listener may be a person's own code
                self._remove(number)
                _log.warning("a listener failed and was detached", exc_info=error)
                name = getattr(listener, "__qualname__", repr(listener))
                message = f"a view stopped updating: {name} failed with {type(error).__name__}: {error}"
                reports.append(Warned(message=message, session=event.session, time=event.time))
        for report in reports:
            self.publish(report)

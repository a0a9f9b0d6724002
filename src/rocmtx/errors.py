"""What can go wrong, in the user's words.

Knows messages and hints; must not know torch, Jupyter or any file.

    RocmtxError                 base of all: `message`, `hint`, and how IPython shows both
    ├── AskError                the wish itself is not understood: misspelt option, bad number, empty prompt
    │   └── UnknownDevice       a device was named that this machine does not have
    ├── PlanError               the wish is clear, but it cannot work on this machine
    ├── MissingPackage          a Python package is needed and absent, or present and refused
    ├── ModelError              the model cannot be used
    │   ├── ModelNotFound       neither a folder, a hub id nor a cached copy
    │   ├── ModelUnreadable     the files are there, but incomplete, forbidden or of an unknown kind
    │   └── HubUnreachable      no network, and the files are not in the cache
    ├── OutOfMemory             the device or the machine has too little memory for this
    ├── SessionError            the session cannot do this now
    │   ├── NotLoaded           no model is loaded
    │   ├── Busy                it is still doing something else
    │   └── WorkerDied          the worker process is gone: GPU fault, signal, out of memory
    ├── RunError                generating or training failed inside torch or Transformers
    └── ReportError             a saved machine or a journal cannot be read
"""

from __future__ import annotations

from typing import ClassVar, TypedDict


class ErrorRecord(TypedDict):
    """An error as JSON, to cross a process border. `trace` is the foreign traceback as text, or empty."""

    kind: str
    message: str
    hint: str
    trace: str


class RocmtxError(Exception):
    """Base of all errors of rocmtx.

    `message` says what happened in one line, `hint` what to type or do next, `trace` keeps a foreign traceback for
    those who want it. In IPython only message and hint are shown.
    """

    kinds: ClassVar[dict[str, type[RocmtxError]]] = {}

    def __init__(self, message: str, hint: str = "", *, trace: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.trace = trace

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        RocmtxError.kinds[cls.__name__] = cls

    def __str__(self) -> str:
        return f"{self.message}\n  → {self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions with keyword arguments do not survive pickling by themselves.
        return (from_record, (self.record(),))

    def _render_traceback_(self) -> list[str]:
        """Lines that IPython prints instead of a traceback (its documented hook)."""
        return [f"{type(self).__name__}: {self.message}", *([f"  → {self.hint}"] if self.hint else [])]

    def record(self) -> ErrorRecord:
        """Return the error as JSON; `from_record` is the way back."""
        return {"kind": type(self).__name__, "message": self.message, "hint": self.hint, "trace": self.trace}


class AskError(RocmtxError):
    """The wish itself is not understood."""


class UnknownDevice(AskError):
    """A device was named that this machine does not have."""


class PlanError(RocmtxError):
    """The wish is clear, but it cannot work on this machine."""


class MissingPackage(RocmtxError):
    """A Python package is needed and absent, or present and refused."""


class ModelError(RocmtxError):
    """The model cannot be used."""


class ModelNotFound(ModelError):
    """Neither a folder, a hub id nor a cached copy."""


class ModelUnreadable(ModelError):
    """The files are there, but incomplete, forbidden or of an unknown kind."""


class HubUnreachable(ModelError):
    """No network, and the files are not in the cache."""


class OutOfMemory(RocmtxError):
    """The device or the machine has too little memory for this."""


class SessionError(RocmtxError):
    """The session cannot do this now."""


class NotLoaded(SessionError):
    """No model is loaded."""


class Busy(SessionError):
    """It is still doing something else."""


class WorkerDied(SessionError):
    """The worker process is gone."""


class RunError(RocmtxError):
    """Generating or training failed inside torch or Transformers."""


class ReportError(RocmtxError):
    """A saved machine or a journal cannot be read."""


def from_record(record: ErrorRecord) -> RocmtxError:
    """Rebuild an error from its JSON; an unknown kind becomes a plain `RocmtxError`."""
    kind = RocmtxError.kinds.get(record["kind"], RocmtxError)
    return kind(record["message"], record["hint"], trace=record["trace"])

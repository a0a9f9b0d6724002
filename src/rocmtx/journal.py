"""The file in which a session's events survive: append-only, readable while it is written.

Knows files and events; must not know processes, sockets or views. Worker, restarted kernel, server and a late view
read the same bytes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import fcntl
import os
import threading
from typing import TYPE_CHECKING

from rocmtx.errors import ReportError
from rocmtx.events import Event, decode, encode
from rocmtx.state import State, fold

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Journal:
    """One append-only file of events per session, mode 0600, one JSON line each.

    Several processes may append (the owner, then the worker): the file lock and the last line give `seq`. Readers need
    no lock: a line counts only when its newline is there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._seq = 0
        self._size = 0

    def append(self, event: Event) -> Event:
        """Give the event the next `seq`, write it, and return it with the seq set."""
        with self._lock, self._locked():
            size = os.fstat(self._file).st_size
            start = b""
            if size != self._size:
                self._seq = last_seq(self.path)
                # A writer that was killed while it wrote leaves half a line, which must not swallow this one.
                start = b"" if not size or os.pread(self._file, 1, size - 1) == b"\n" else b"\n"
            event = dataclasses.replace(event, seq=self._seq + 1)
            line = start + (encode(event) + "\n").encode()
            self._write(line)
            self._seq, self._size = event.seq, size + len(line)
        return event

    def _write(self, line: bytes) -> None:
        while line:  # a full disk takes a part first and says so the next time
            line = line[os.write(self._file, line) :]

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        if self._file < 0:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), str(self.path))
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the file; appending afterwards raises OSError."""
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
                self._file = -1


def read_journal(path: Path, after: int = 0, offset: int = 0) -> tuple[list[Event], int]:
    """Return the events with a `seq` above `after`, from a byte offset on, and the offset to go on from.

    A last line without its newline is left for the next call. Damaged lines are skipped.
    """
    events: list[Event] = []
    try:
        with path.open("rb") as file:
            file.seek(offset)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                offset += len(line)
                with contextlib.suppress(ReportError):
                    event = decode(line)
                    if event.seq > after:
                        events.append(event)
    except FileNotFoundError:
        return [], 0
    return events, offset


def last_seq(path: Path) -> int:
    """Return the `seq` of the last whole line of a journal, 0 when it is empty."""
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        end = file.tell()
        block = 65536
        while True:
            file.seek(max(0, end - block))
            lines = file.read(min(block, end)).split(b"\n")
            for line in reversed(lines[1:] if block < end else lines):
                with contextlib.suppress(ReportError):
                    return decode(line).seq
            if block >= end:
                return 0
            block *= 4


def replay(path: Path) -> State:
    """Fold a whole journal into its state."""
    state = State()
    for event in read_journal(path)[0]:
        state = fold(state, event)
    return state

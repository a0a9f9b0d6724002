"""The part of rocmtx inside the Jupyter server: this machine's facts and this account's sessions, over REST.

Knows jupyter_server, the readers of facts and the journals; must not know run, torch or any kernel: the server's Python
is not the kernel's, and may be on another machine. Every route asks for a login and for the right to `read` the
resource "rocmtx". Nothing in a request names a file.

    GET rocmtx/version     {"version": "0.1.0"}
    GET rocmtx/facts       a report, as `rocmtx report` writes it
    GET rocmtx/sessions    {"sessions": [{id, phase, model, device, memory, seq, updated}, …]}, the newest first
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import stat
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from jupyter_core.paths import jupyter_runtime_dir
from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from jupyter_server.utils import url_path_join
from tornado.web import authenticated

from rocmtx._version import __version__
from rocmtx.facts import collect
from rocmtx.facts.model import facts_to_json
from rocmtx.journal import read_journal
from rocmtx.state import State, fold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jupyter_server.serverapp import ServerApp

Value = TypeVar("Value")

KEEP_SECONDS: Final = 1.0
SESSIONS_SHOWN: Final = 100


class Reading(Generic[Value]):
    """A blocking read in a thread, made at most once in `keep` seconds however many ask.

    Those who ask while it runs share its result. A failed read is not kept: the next asker tries again.
    """

    def __init__(self, read: Callable[[], Value], keep: float = KEEP_SECONDS) -> None:
        self._read = read
        self._keep = keep
        self._running: asyncio.Future[Value] | None = None
        self._kept: tuple[float, Value] | None = None

    async def get(self) -> Value:
        """Return the value, at most `keep` seconds old. Raises what the read raised."""
        if self._kept and time.monotonic() - self._kept[0] < self._keep:
            return self._kept[1]
        if self._running is None:
            self._running = asyncio.ensure_future(asyncio.to_thread(self._read))
            self._running.add_done_callback(self._done)
        # Shielded: one asker who leaves must not end the read of the others.
        return await asyncio.shield(self._running)

    def _done(self, running: asyncio.Future[Value]) -> None:
        self._running = None
        if not running.cancelled() and running.exception() is None:
            self._kept = (time.monotonic(), running.result())


@dataclass(slots=True)
class _Followed:
    """A journal read so far. `inode` tells a new file of the same name from a grown one."""

    inode: int
    offset: int = 0
    state: State = dataclasses.field(default_factory=State)


class Sessions:
    """The sessions of this account, from its journals in one folder; each journal is read on from where it ended.

    Other people's files, links and everything that is no plain file are passed over.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._followed: dict[Path, _Followed] = {}

    def read(self) -> list[dict[str, Any]]:
        """Return one JSON object per session, newest first, `SESSIONS_SHOWN` at most. What is not known is None."""
        found = sorted(self._journals(), key=lambda item: item[1].st_mtime, reverse=True)[:SESSIONS_SHOWN]
        self._followed = {path: self._follow(path, status) for path, status in found}
        return [_summary(path, status.st_mtime, self._followed[path].state) for path, status in found]

    def _journals(self) -> Iterator[tuple[Path, os.stat_result]]:
        try:
            entries = list(os.scandir(self._folder))
        except OSError:
            return  # no session was ever started here
        for entry in entries:
            if not entry.name.endswith(".jsonl"):
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # removed meanwhile
            if stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid():
                yield Path(entry.path), status

    def _follow(self, path: Path, status: os.stat_result) -> _Followed:
        known = self._followed.get(path)
        if known is None or known.inode != status.st_ino or known.offset > status.st_size:
            known = _Followed(status.st_ino)
        try:
            events, known.offset = read_journal(path, offset=known.offset)
        except OSError:
            return known  # it cannot be read now: what was read stands
        for event in events:
            known.state = fold(known.state, event)
        return known


def _summary(path: Path, updated: float, state: State) -> dict[str, Any]:
    loaded = state.loaded
    readings = state.samples[-1].readings if state.samples else ()
    return {
        "id": state.session or path.stem,
        "phase": state.phase,
        "model": loaded.model if loaded else None,
        "device": loaded.device if loaded else None,
        "memory": [dataclasses.asdict(reading) for reading in readings],
        "seq": state.seq,
        "updated": updated,
    }


class _Handler(APIHandler):
    """Answers with JSON that nobody stores."""

    auth_resource = "rocmtx"

    def answer(self, body: dict[str, Any]) -> None:
        self.set_header("Cache-Control", "no-store")
        self.finish(json.dumps(body))


class VersionHandler(_Handler):
    """GET rocmtx/version."""

    @authenticated
    @authorized
    async def get(self) -> None:
        """Answer with the version of the server part, for the page to compare with its own."""
        self.answer({"version": __version__})


class FactsHandler(_Handler):
    """GET rocmtx/facts."""

    def initialize(self, facts: Reading[dict[str, Any]]) -> None:
        """Take the one reading that all requests share."""
        self.facts = facts

    @authenticated
    @authorized
    async def get(self) -> None:
        """Answer with the facts of the server's machine, at most `KEEP_SECONDS` old."""
        self.answer(await self.facts.get())


class SessionsHandler(_Handler):
    """GET rocmtx/sessions."""

    def initialize(self, sessions: Reading[list[dict[str, Any]]]) -> None:
        """Take the one reading that all requests share."""
        self.sessions = sessions

    @authenticated
    @authorized
    async def get(self) -> None:
        """Answer with the sessions whose journals lie in this account's runtime folder."""
        self.answer({"sessions": await self.sessions.get()})


def setup(server: ServerApp) -> None:
    """Add the routes below the server's base URL; jupyter_server calls this through `rocmtx/__init__.py`."""
    base = url_path_join(server.base_url, "rocmtx")
    facts = Reading(lambda: facts_to_json(collect()))
    sessions = Reading(Sessions(Path(jupyter_runtime_dir()) / "rocmtx").read)
    web_app: Any = server.web_app  # tornado leaves this method untyped
    web_app.add_handlers(
        ".*$",
        [
            (url_path_join(base, "version"), VersionHandler),
            (url_path_join(base, "facts"), FactsHandler, {"facts": facts}),
            (url_path_join(base, "sessions"), SessionsHandler, {"sessions": sessions}),
        ],
    )
    server.log.info("rocmtx %s: facts and sessions at %s", __version__, base)

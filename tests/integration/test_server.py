"""The server part in a real Jupyter server: every route with and without a login, and with and without the right."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from jupyter_server.auth import Authorizer
from tornado.httpclient import HTTPClientError

import rocmtx
from fakes import session_events
from rocmtx.events import Ended
from rocmtx.facts.model import facts_from_json
from rocmtx.journal import Journal
from rocmtx.server import SESSIONS_SHOWN, Reading, Sessions

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from tornado.httpclient import HTTPResponse

    Fetch = Callable[..., Awaitable[HTTPResponse]]

pytest_plugins = ["pytest_jupyter.jupyter_server"]

# A session from its load to its end; the journal numbers them again.
EVENTS = (*session_events(), Ended(session="s1"))
ROUTES = ("version", "facts", "sessions")


class NothingAllowed(Authorizer):
    """Refuses everything and remembers what it was asked for."""

    asked: list[tuple[str, str]]

    def is_authorized(self, handler: Any, user: Any, action: str, resource: str) -> bool:
        """Refuse."""
        del handler, user
        type(self).asked.append((action, resource))
        return False


@pytest.fixture
def jp_server_config(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Enable the extension, with the authorizer that a test asks for."""
    config: dict[str, Any] = {"jpserver_extensions": {"rocmtx": True}}
    if authorizer := getattr(request, "param", None):
        authorizer.asked = []
        config["authorizer_class"] = authorizer
    return {"ServerApp": config}


def write_journal(folder: Path, name: str, count: int | None = None) -> Path:
    """Write the first events of a session; all of them by default."""
    folder.mkdir(parents=True, exist_ok=True)
    journal = Journal(folder / f"{name}.jsonl")
    for event in EVENTS[:count]:
        journal.append(event)
    journal.close()
    return journal.path


async def test_version_is_the_packages(jp_fetch: Fetch) -> None:
    response = await jp_fetch("rocmtx", "version")
    assert json.loads(response.body) == {"version": rocmtx.__version__}
    assert response.headers["Content-Type"].startswith("application/json")
    assert response.headers["Cache-Control"] == "no-store"


async def test_facts_are_a_report_of_this_machine(jp_fetch: Fetch) -> None:
    before = time.time()
    body = json.loads((await jp_fetch("rocmtx", "facts")).body)
    facts = facts_from_json(body)
    assert body["rocmtx_report"] == 1
    assert facts.origin == "live"
    assert facts.host.kernel == os.uname().release
    assert facts.taken_at is not None
    assert before - 1 <= facts.taken_at <= time.time()


async def test_facts_are_read_once_a_second_however_many_ask(jp_fetch: Fetch) -> None:
    answers = await asyncio.gather(*(jp_fetch("rocmtx", "facts") for _ in range(5)))
    assert len({json.loads(answer.body)["taken_at"] for answer in answers}) == 1


async def test_sessions_come_from_the_journals(jp_fetch: Fetch, jp_runtime_dir: Path) -> None:
    assert json.loads((await jp_fetch("rocmtx", "sessions")).body) == {"sessions": []}
    path = write_journal(jp_runtime_dir / "rocmtx", "s1", count=5)
    await asyncio.sleep(1.1)  # the empty answer is kept for a second
    body = json.loads((await jp_fetch("rocmtx", "sessions")).body)
    assert body == {"sessions": Sessions(jp_runtime_dir / "rocmtx").read()}
    assert body["sessions"][0]["updated"] == path.stat().st_mtime


@pytest.mark.parametrize("route", ROUTES)
async def test_no_route_without_a_login(
    route: str, jp_serverapp: Any, http_server_client: Any, jp_base_url: str
) -> None:
    del jp_serverapp
    with pytest.raises(HTTPClientError) as refused:
        await http_server_client.fetch(f"{jp_base_url}rocmtx/{route}")
    assert refused.value.code == 403


@pytest.mark.parametrize("jp_server_config", [NothingAllowed], indirect=True)
@pytest.mark.parametrize("route", ROUTES)
async def test_no_route_without_the_right_to_read(route: str, jp_fetch: Fetch) -> None:
    with pytest.raises(HTTPClientError) as refused:
        await jp_fetch("rocmtx", route)
    assert refused.value.code == 403
    assert NothingAllowed.asked == [("read", "rocmtx")]


@pytest.mark.parametrize("route", ROUTES)
async def test_routes_only_answer_questions(route: str, jp_fetch: Fetch) -> None:
    with pytest.raises(HTTPClientError) as refused:
        await jp_fetch("rocmtx", route, method="POST", body="{}")
    assert refused.value.code == 405


async def test_a_path_in_the_request_opens_nothing(jp_fetch: Fetch, jp_runtime_dir: Path) -> None:
    path = write_journal(jp_runtime_dir / "rocmtx", "s1")
    for tail in (path.name, "../nbsignatures.db", str(path)):
        with pytest.raises(HTTPClientError) as refused:
            await jp_fetch("rocmtx", "sessions", tail)
        assert refused.value.code == 404


def test_a_session_in_short(tmp_path: Path) -> None:
    ended = write_journal(tmp_path, "s1")
    sampled = next(at for at, event in enumerate(EVENTS, start=1) if event.kind == "sample")
    running = write_journal(tmp_path, "s2", count=sampled)
    os.utime(ended, (1000, 1000))
    os.utime(running, (2000, 2000))
    memory = [{"device": "cpu", "allocated": None, "reserved": None, "used": 1024**3, "total": 16 * 1024**3}]
    assert Sessions(tmp_path).read() == [
        {
            "id": "s1",
            "phase": "generating",
            "model": "demo",
            "device": "cpu",
            "memory": memory,
            "seq": sampled,
            "updated": 2000,
        },
        {
            "id": "s1",
            "phase": "ended",
            "model": None,
            "device": None,
            "memory": memory,
            "seq": len(EVENTS),
            "updated": 1000,
        },
    ]


def test_a_journal_is_read_on_from_where_it_ended(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path)
    loaded = 1 + next(at for at, event in enumerate(EVENTS) if event.kind == "loaded")
    path = write_journal(tmp_path, "s1", count=loaded)
    assert sessions.read()[0]["model"] == "demo"
    # What was read is not read again: its model stays known although the file's beginning is spoilt.
    path.write_bytes(b"x" * (path.stat().st_size - 1) + b"\n")
    whole = write_journal(tmp_path / "whole", "s1").read_bytes().splitlines(keepends=True)
    with path.open("ab") as file:
        file.writelines(whole[loaded : loaded + 3])
    found = sessions.read()[0]
    assert (found["model"], found["phase"], found["seq"]) == ("demo", "generating", loaded + 3)


def test_a_half_written_line_waits(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path)
    path = write_journal(tmp_path, "s1", count=3)
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    assert sessions.read()[0]["seq"] == 2
    path.write_bytes(whole)
    assert sessions.read()[0]["seq"] == 3


def test_a_new_journal_of_the_same_name_starts_afresh(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path)
    write_journal(tmp_path, "s1")
    assert sessions.read()[0]["phase"] == "ended"
    write_journal(tmp_path / "new", "s1", count=1).replace(tmp_path / "s1.jsonl")
    assert [(found["seq"], found["phase"]) for found in sessions.read()] == [(1, "loading")]


def test_only_this_accounts_plain_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_journal(tmp_path / "elsewhere", "secret")
    folder = tmp_path / "rocmtx"
    folder.mkdir()
    (folder / "link.jsonl").symlink_to(path)
    (folder / "folder.jsonl").mkdir()
    (folder / "s1.json").write_text("{}")
    assert Sessions(folder).read() == []
    write_journal(folder, "mine")
    assert len(Sessions(folder).read()) == 1
    other = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: other)
    assert Sessions(folder).read() == []


def test_many_sessions_are_cut_to_the_newest(tmp_path: Path) -> None:
    for at in range(SESSIONS_SHOWN + 3):
        path = tmp_path / f"s{at}.jsonl"
        path.touch(mode=0o600)
        os.utime(path, (at, at))
    found = Sessions(tmp_path).read()
    assert [item["id"] for item in found] == [f"s{at}" for at in range(SESSIONS_SHOWN + 2, 2, -1)]


async def test_a_reading_is_shared_kept_and_made_again() -> None:
    gate = threading.Event()
    made: list[int] = []

    def read() -> int:
        gate.wait(5)
        made.append(len(made))
        return made[-1]

    reading = Reading(read, keep=0.2)
    asking = [asyncio.ensure_future(reading.get()) for _ in range(3)]
    await asyncio.sleep(0.05)
    asking[0].cancel()  # one who leaves ends nobody else's read
    gate.set()
    assert await asyncio.gather(*asking[1:]) == [0, 0]
    assert await reading.get() == 0
    await asyncio.sleep(0.25)
    assert await reading.get() == 1


async def test_a_failed_reading_is_not_kept() -> None:
    outcomes: list[Exception | str] = [OSError("the disk is gone"), "read"]

    def read() -> str:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    reading = Reading(read, keep=60)
    with pytest.raises(OSError, match="the disk is gone"):
        await reading.get()
    assert await reading.get() == "read"


def test_the_server_part_loads_nothing_of_the_kernels() -> None:
    program = "import sys, rocmtx.server; print([name for name in sys.modules if name.startswith(HEAVY)])"
    heavy = (
        "torch",
        "transformers",
        "ipywidgets",
        "plotly",
        "IPython",
        "rocmtx.run",
        "rocmtx.views",
        "rocmtx.workbench",
    )
    done = subprocess.run(
        [sys.executable, "-c", program.replace("HEAVY", repr(heavy))], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"

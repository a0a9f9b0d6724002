"""What the server part does without a server: sessions out of journals, and readings that many share."""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from fakes import session_events
from rocmtx.events import Ended
from rocmtx.journal import Journal
from rocmtx.server import SESSIONS_SHOWN, Reading, Sessions

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path

Value = TypeVar("Value")

# A session from its load to its end; the journal numbers them again.
EVENTS = (*session_events(), Ended(session="s1"))


def write_journal(folder: Path, name: str, count: int | None = None) -> Path:
    """Write the first events of a session; all of them by default."""
    folder.mkdir(parents=True, exist_ok=True)
    journal = Journal(folder / f"{name}.jsonl")
    for event in EVENTS[:count]:
        journal.append(event)
    journal.close()
    return journal.path


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


def in_a_loop(work: Coroutine[Any, Any, Value]) -> Value:
    """Run a coroutine in a thread: the tests' own thread may have a loop already, the browser's."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def test_a_reading_is_shared_kept_and_made_again() -> None:
    assert in_a_loop(read_by_many()) == [0, 0, 0, 1]


async def read_by_many() -> list[int]:
    """Let two of three ask to the end, then ask while the value is kept, then later."""
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
    first = await asyncio.gather(*asking[1:])
    kept = await reading.get()
    await asyncio.sleep(0.25)
    return [*first, kept, await reading.get()]


def test_a_failed_reading_is_not_kept() -> None:
    outcomes: list[Exception | str] = [OSError("the disk is gone"), "read"]

    def read() -> str:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    reading = Reading(read, keep=60)
    with pytest.raises(OSError, match="the disk is gone"):
        in_a_loop(reading.get())
    assert in_a_loop(reading.get()) == "read"

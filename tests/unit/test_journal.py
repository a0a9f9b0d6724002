"""The journal: one true order however many write, nothing lost behind a torn line, and private to the account."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from fakes import session_events
from rocmtx.events import Ended, Event, Planned, Token, Warned, encode
from rocmtx.journal import Journal, last_seq, read_journal, replay
from rocmtx.state import State, fold

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WRITER = """
import sys
from pathlib import Path
from rocmtx.events import Token
from rocmtx.journal import Journal
name, path, count = sys.argv[1:]
journal = Journal(Path(path))
sys.stdout.write("ready\\n"); sys.stdout.flush(); sys.stdin.readline()
for number in range(int(count)):
    journal.append(Token(text=name * (number % 50), count=number, seconds=0.0, request=name))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where a journal may be written."""
    return tmp_path / "s1.jsonl"


@pytest.fixture
def journal(path: Path) -> Iterator[Journal]:
    """Open an empty journal."""
    made = Journal(path)
    yield made
    made.close()


def messages(path: Path, after: int = 0, offset: int = 0) -> list[str]:
    """Return the warnings that a journal holds."""
    return [event.message for event in read_journal(path, after, offset)[0] if isinstance(event, Warned)]


def test_an_event_gets_the_next_number_and_is_readable_at_once(journal: Journal, path: Path) -> None:
    assert journal.append(Warned(message="a", seq=99)) == Warned(message="a", seq=1)
    assert journal.append(Warned(message="b")).seq == 2
    assert path.read_text().splitlines() == [
        '{"kind":"warned","seq":1,"time":0.0,"rank":0,"message":"a"}',
        '{"kind":"warned","seq":2,"time":0.0,"rank":0,"message":"b"}',
    ]


def test_only_its_owner_may_read_it(journal: Journal, path: Path) -> None:
    journal.append(Warned(message="a"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_second_writer_goes_on_where_the_first_stopped(journal: Journal, path: Path) -> None:
    journal.append(Warned(message="a"))
    second = Journal(path)
    assert second.append(Warned(message="b")).seq == 2
    assert journal.append(Warned(message="c")).seq == 3
    second.close()
    assert messages(path) == ["a", "b", "c"]


def test_two_processes_at_once_leave_no_gap_and_no_mixed_line(path: Path) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, name, str(path), "300"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("a", "b")
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.communicate("go\n", timeout=60)
    assert [writer.returncode for writer in writers] == [0, 0]
    events, offset = read_journal(path)
    assert [event.seq for event in events] == list(range(1, 601))
    assert offset == path.stat().st_size == sum(len(encode(event).encode()) + 1 for event in events)
    for name in ("a", "b"):
        own = [event.count for event in events if isinstance(event, Token) and event.request == name]
        assert own == list(range(300))


def test_two_threads_at_once_leave_no_gap(journal: Journal, path: Path) -> None:
    def write() -> None:
        for _ in range(100):
            journal.append(Warned(message="x"))

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [event.seq for event in read_journal(path)[0]] == list(range(1, 401))


def test_a_torn_last_line_is_left_for_later(journal: Journal, path: Path) -> None:
    journal.append(Warned(message="a"))
    whole = path.stat().st_size
    line = encode(Warned(message="b", seq=2)).encode()
    with path.open("ab") as file:
        file.write(line[:20])
    events, offset = read_journal(path)
    assert ([event.seq for event in events], offset) == ([1], whole)
    with path.open("ab") as file:
        file.write(line[20:] + b"\n")
    events, end = read_journal(path, after=1, offset=offset)
    assert [event.seq for event in events] == [2]
    assert end == path.stat().st_size


def test_an_event_after_a_torn_line_is_not_lost(journal: Journal, path: Path) -> None:
    # A writer that was killed in the middle of a write leaves half a line; the next one starts a line of its own.
    journal.append(Warned(message="a"))
    with path.open("ab") as file:
        file.write(b'{"kind":"warned","seq":2,"mess')
    assert journal.append(Ended()).seq == 2
    assert [(event.seq, event.kind) for event in read_journal(path)[0]] == [(1, "warned"), (2, "ended")]


def test_damaged_lines_are_skipped_and_the_rest_is_read(journal: Journal, path: Path) -> None:
    journal.append(Warned(message="a"))
    with path.open("ab") as file:
        file.write(b"\xff\xfe not json\n\n{}\n")
    assert journal.append(Warned(message="b")).seq == 2
    assert messages(path) == ["a", "b"]


def test_reading_goes_on_from_an_offset(journal: Journal, path: Path) -> None:
    journal.append(Warned(message="a"))
    events, offset = read_journal(path)
    assert messages(path, events[-1].seq, offset) == []
    journal.append(Warned(message="ä"))
    journal.append(Warned(message="c"))
    events, offset = read_journal(path, 1, offset)
    assert [event.seq for event in events] == [2, 3]
    assert offset == path.stat().st_size
    assert messages(path, after=2) == ["c"]


def test_no_journal_is_an_empty_one(path: Path) -> None:
    assert read_journal(path, offset=50) == ([], 0)
    assert replay(path) == State()


def test_the_last_number_is_found_behind_long_lines_and_rubbish(journal: Journal, path: Path) -> None:
    assert last_seq(path) == 0
    journal.append(Planned(task="generate", about={"prompt": "x" * 300_000}))
    assert last_seq(path) == 1
    with path.open("ab") as file:
        file.write(b"rubbish\n" * 50_000)
    assert last_seq(path) == 1
    assert journal.append(Warned(message="a")).seq == 2


def test_a_line_of_line_separators_stays_one_line(journal: Journal, path: Path) -> None:
    event = journal.append(Token(text="a\u2028b\u0085c\x0b\r\nd", count=1, seconds=0.0))
    assert read_journal(path)[0] == [event]
    assert path.read_bytes().count(b"\n") == 1


def test_a_closed_journal_refuses_and_closes_again(journal: Journal, path: Path) -> None:
    journal.close()
    journal.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        journal.append(Warned(message="a"))
    assert path.read_bytes() == b""


def test_a_folder_that_is_gone_is_an_ordinary_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Journal(tmp_path / "nowhere" / "s1.jsonl")


def test_replay_is_the_fold_of_all(journal: Journal, path: Path) -> None:
    written: list[Event] = [journal.append(event) for event in session_events()]
    state = State()
    for event in written:
        state = fold(state, event)
    assert replay(path) == state
    assert state.answer is not None


def test_a_child_process_does_not_inherit_the_file(journal: Journal) -> None:
    assert not os.get_inheritable(journal._file)

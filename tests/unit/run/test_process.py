"""Real processes: started apart from the terminal, ended by asking first, and never mistaken for somebody else's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rocmtx.run import process
from rocmtx.run.process import GONE, WorkerProcess, spawn

if TYPE_CHECKING:
    import pytest

STUBBORN = "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True)\n"
POLITE = "import sys, time; print('up', flush=True)\n"
FOREVER = "while True: time.sleep(0.05)\n"


def started(program: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a Python program and wait until it says that it is up."""
    child = subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"up\n"
    child.stdout.close()
    return child


def test_who_ends_by_itself_is_left_alone(tmp_path: Path) -> None:
    child = started(POLITE + "time.sleep(0.3); sys.exit(5)")
    worker = WorkerProcess(child.pid, tmp_path / "s.json", child)
    assert worker.returncode() is None
    worker.end(patience=10)
    assert worker.returncode() == 5


def test_who_stays_is_asked_with_term(tmp_path: Path) -> None:
    child = started(POLITE + FOREVER)
    worker = WorkerProcess(child.pid, tmp_path / "s.json", child)
    worker.end(patience=0)
    assert worker.returncode() == -signal.SIGTERM


def test_who_ignores_term_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_KILL_AFTER", 0.3)
    child = started(STUBBORN + FOREVER)
    worker = WorkerProcess(child.pid, tmp_path / "s.json", child)
    worker.end(patience=0.1)
    assert worker.returncode() == -signal.SIGKILL


def test_a_worker_of_another_owner_is_known_by_its_card(tmp_path: Path) -> None:
    card = tmp_path / "s.json"
    child = started(POLITE + FOREVER, str(card))
    worker = WorkerProcess(child.pid, card)
    assert worker.returncode() is None
    child.kill()
    deadline = time.monotonic() + 5
    while worker.returncode() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    # Still a zombie: its real owner has not asked for its status yet.
    assert worker.returncode() == GONE
    child.wait()
    assert worker.returncode() == GONE


def test_a_pid_that_now_belongs_to_somebody_else_is_a_worker_that_is_gone(tmp_path: Path) -> None:
    stranger = started(POLITE + FOREVER, "other.json")
    worker = WorkerProcess(stranger.pid, tmp_path / "s.json")
    assert worker.returncode() == GONE
    worker.end(patience=0)
    time.sleep(0.2)
    assert stranger.poll() is None
    stranger.kill()
    stranger.wait()


def test_a_worker_starts_in_a_session_of_its_own_and_logs_to_a_private_file(tmp_path: Path) -> None:
    log = tmp_path / "rank0.log"
    log.write_text("before\n")
    log.chmod(0o600)
    worker = spawn(tmp_path / "absent.json", log, dict(os.environ), grace=1.0)
    assert os.getsid(worker.pid) == worker.pid
    worker.end(patience=30)
    assert worker.returncode() == 1
    text = log.read_text()
    assert text.startswith("before\n")
    assert "ReportError: session card absent.json cannot be read" in text
    assert log.stat().st_mode & 0o777 == 0o600


def test_a_file_beside_the_notebook_does_not_shadow_a_module_of_the_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "argparse.py").write_text("raise SystemExit('shadowed')")
    monkeypatch.chdir(tmp_path)
    worker = spawn(Path("absent.json"), tmp_path / "log", dict(os.environ), grace=1.0)
    worker.end(patience=30)
    assert "shadowed" not in (tmp_path / "log").read_text()
    assert "absent.json cannot be read" in (tmp_path / "log").read_text()


def test_a_worker_gets_defaults_only_where_the_person_has_set_nothing(tmp_path: Path) -> None:
    seen = []
    for number, own in enumerate(({}, {"GOMP_SPINCOUNT": "7"})):
        plain = {name: value for name, value in os.environ.items() if name != "GOMP_SPINCOUNT"}
        # The card of a worker that waits for its owner is never read: the environment is looked up while it starts.
        worker = spawn(tmp_path / "absent.json", tmp_path / f"log{number}", {**plain, **own}, grace=1.0)
        block = Path(f"/proc/{worker.pid}/environ")
        variables: list[bytes] = []
        deadline = time.monotonic() + 5
        # Until the interpreter is in place, the block still shows the parent's.
        while not any(item.startswith(b"PYTHONUNBUFFERED=") for item in variables) and time.monotonic() < deadline:
            variables = block.read_bytes().split(b"\0")
        seen.append(next(item for item in variables if item.startswith(b"GOMP_SPINCOUNT=")))
        worker.end(patience=30)
    assert seen == [b"GOMP_SPINCOUNT=1000", b"GOMP_SPINCOUNT=7"]

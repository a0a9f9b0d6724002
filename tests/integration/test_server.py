"""The server part in a real Jupyter server: every route with and without a login, and with and without the right.

The server is a process of its own, below a base URL as behind a hub.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

import rocmtx
from fakes import session_events
from rocmtx.facts.model import facts_from_json
from rocmtx.journal import Journal
from rocmtx.server import Sessions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from email.message import Message
    from pathlib import Path

ROUTES = ("version", "facts", "sessions")
TOKEN = "test"  # noqa: S105 - this server listens on the loopback only
REFUSING = """
from pathlib import Path
from jupyter_server.auth import Authorizer

class NothingAllowed(Authorizer):
    def is_authorized(self, handler, user, action, resource):
        with Path(__file__).with_suffix(".asked").open("a") as file:
            file.write(f"{action} {resource}\\n")
        return False
"""


@dataclass(frozen=True)
class Answer:
    """What the server said."""

    status: int
    headers: Message
    body: Any


@dataclass(frozen=True)
class Server:
    """A running Jupyter server: its address with the base URL, and its folders."""

    address: str
    home: Path

    @property
    def journals(self) -> Path:
        """Return the folder in which the sessions of this server's account leave their journals."""
        return self.home / "run" / "rocmtx"

    def ask(self, path: str, *, token: str = TOKEN, method: str = "GET") -> Answer:
        """Ask for a path; an HTTP error is an answer like any other."""
        data = b"{}" if method == "POST" else None
        headers = {"Authorization": f"token {token}"} if token else {}
        request = urllib.request.Request(self.address + path, data, headers, method=method)  # noqa: S310 - loopback
        try:
            with urllib.request.urlopen(request, timeout=20) as reply:  # noqa: S310 - same
                return Answer(reply.status, reply.headers, json.loads(reply.read()))
        except urllib.error.HTTPError as refusal:
            with refusal:
                return Answer(refusal.code, refusal.headers, None)


@contextlib.contextmanager
def running(home: Path, **config: Any) -> Iterator[Server]:
    """Start a Jupyter server with the extension; end it afterwards."""
    folders = {name: home / name for name in ("config", "data", "run", "notebooks")}
    for folder in folders.values():
        folder.mkdir(mode=0o700)
    settings = {"ServerApp": {"jpserver_extensions": {"rocmtx": True}, **config}}
    (folders["config"] / "jupyter_server_config.json").write_text(json.dumps(settings))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [
        *(sys.executable, "-m", "jupyter_server", "--no-browser", "--allow-root", "--ip=127.0.0.1"),
        *(f"--port={port}", "--port-retries=0", f"--IdentityProvider.token={TOKEN}"),
        *("--ServerApp.base_url=/user/ada/", f"--ServerApp.root_dir={folders['notebooks']}"),
    ]
    environment = {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(folders["config"]),
        "JUPYTER_DATA_DIR": str(folders["data"]),
        "JUPYTER_RUNTIME_DIR": str(folders["run"]),
        "PYTHONPATH": os.pathsep.join([str(home), *sys.path]),
    }
    log = home / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    server = Server(f"http://127.0.0.1:{port}/user/ada/", home)
    try:
        wait_for(server, process, log)
        yield server
    finally:
        process.terminate()
        process.wait(timeout=20)


def wait_for(server: Server, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until the server answers at all."""
    end = time.monotonic() + 30
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            server.ask("api")
            return
        time.sleep(0.1)
    pytest.fail(f"the server did not start:\n{log.read_text()[-2000:]}")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Run one server for the tests that change nothing in it."""
    with running(tmp_path_factory.mktemp("server")) as started:
        yield started


def write_journal(folder: Path, name: str) -> Path:
    """Write a session's first events."""
    folder.mkdir(parents=True, exist_ok=True)
    journal = Journal(folder / f"{name}.jsonl")
    for event in session_events()[:5]:
        journal.append(event)
    journal.close()
    return journal.path


def test_version_is_the_packages(server: Server) -> None:
    answer = server.ask("rocmtx/version")
    assert answer.body == {"version": rocmtx.__version__}
    assert answer.headers["Content-Type"].startswith("application/json")
    assert answer.headers["Cache-Control"] == "no-store"


def test_facts_are_a_report_of_this_machine(server: Server) -> None:
    before = time.time()
    body = server.ask("rocmtx/facts").body
    facts = facts_from_json(body)
    assert body["rocmtx_report"] == 1
    assert facts.origin == "live"
    assert facts.host.kernel == os.uname().release
    assert facts.taken_at is not None
    assert before - 1 <= facts.taken_at <= time.time()


def test_facts_are_read_once_a_second_however_many_ask(server: Server) -> None:
    with ThreadPoolExecutor(5) as askers:
        answers = list(askers.map(server.ask, ["rocmtx/facts"] * 5))
    assert len({answer.body["taken_at"] for answer in answers}) == 1


def test_sessions_come_from_the_journals(server: Server) -> None:
    assert server.ask("rocmtx/sessions").body == {"sessions": []}
    path = write_journal(server.journals, "s1")
    time.sleep(1.1)  # the empty answer is kept for a second
    body = server.ask("rocmtx/sessions").body
    assert body == {"sessions": Sessions(server.journals).read()}
    assert body["sessions"][0]["updated"] == path.stat().st_mtime


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("token", ["", "wrong"])
def test_no_route_without_a_login(route: str, token: str, server: Server) -> None:
    assert server.ask(f"rocmtx/{route}", token=token).status == 403


def test_no_route_without_the_right_to_read(tmp_path: Path) -> None:
    (tmp_path / "refusing.py").write_text(REFUSING)
    with running(tmp_path, authorizer_class="refusing.NothingAllowed") as server:
        asked = tmp_path / "refusing.asked"
        asked.write_text("")
        assert [server.ask(f"rocmtx/{route}").status for route in ROUTES] == [403, 403, 403]
        assert asked.read_text().splitlines() == ["read rocmtx"] * 3


@pytest.mark.parametrize("route", ROUTES)
def test_routes_only_answer_questions(route: str, server: Server) -> None:
    assert server.ask(f"rocmtx/{route}", method="POST").status == 405


def test_a_path_in_the_request_opens_nothing(server: Server) -> None:
    path = write_journal(server.journals, "s2")
    for tail in (path.name, "../nbsignatures.db", str(path)):
        assert server.ask(f"rocmtx/sessions/{tail}").status == 404


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

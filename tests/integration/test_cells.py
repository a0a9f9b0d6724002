"""Asking for a cell from a real kernel; the test answers in the front end's place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from jupyter_client.manager import start_new_kernel

from rocmtx.cells import TARGET

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_client.blocking.client import BlockingKernelClient

ASK = """
import threading, time
from comm import get_comm_manager
from rocmtx.cells import insert_cell
said = []
insert_cell({source!r}, said.append, patience={patience})
"""
AWAIT = """
for _ in range(100):
    if len(said) >= {count}: break
    time.sleep(0.05)
"""
LEFT = "[*get_comm_manager().comms.values(), *(t for t in threading.enumerate() if t.name == 'rocmtx-cell')]"


class FrontEnd:
    """A front end of one kernel, as far as comms go."""

    def __init__(self, client: BlockingKernelClient) -> None:
        self.client = client

    def run(self, code: str, value: str = "None") -> tuple[str, list[dict[str, Any]]]:
        """Run code; return the value of an expression after it, and the comm messages meanwhile."""
        heard: list[dict[str, Any]] = []

        def hear(message: dict[str, Any]) -> None:
            if message["msg_type"].startswith("comm_"):
                heard.append(message)

        reply = self.client.execute_interactive(
            code, user_expressions={"value": value}, output_hook=hear, timeout=30, store_history=False
        )["content"]
        assert reply["status"] == "ok", reply
        return str(reply["user_expressions"]["value"]["data"]["text/plain"]), heard

    def ask(self, source: str, patience: float = 30.0) -> dict[str, Any]:
        """Let the kernel ask for a cell; return the content of the comm's opening."""
        _, (opened,) = self.run(ASK.format(source=source, patience=patience))
        assert opened["msg_type"] == "comm_open"
        content: dict[str, Any] = opened["content"]
        return content

    def close(self, opened: dict[str, Any], data: dict[str, Any]) -> None:
        """Close the comm, as a front end answers."""
        content = {"comm_id": opened["comm_id"], "data": data}
        self.client.shell_channel.send(self.client.session.msg("comm_close", content))

    def said(self, count: int) -> str:
        """Return what `done` was called with, once that has happened `count` times."""
        return self.run(AWAIT.format(count=count), "said")[0]


@pytest.fixture(scope="module")
def front_end() -> Iterator[FrontEnd]:
    """Give a front end of a fresh kernel."""
    manager, client = start_new_kernel(startup_timeout=60)
    yield FrontEnd(client)
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ({"ok": True}, "[True]"),
        ({"ok": False}, "[False]"),
        ({"ok": "yes"}, "[False]"),
        ({}, "[False]"),  # a front end that does not know the target closes without a word
    ],
)
def test_the_answer_is_passed_on(front_end: FrontEnd, answer: dict[str, Any], outcome: str) -> None:
    opened = front_end.ask("x = 1\n'é'")
    assert (opened["target_name"], opened["data"]) == (TARGET, {"source": "x = 1\n'é'"})
    front_end.close(opened, answer)
    assert front_end.said(1) == outcome
    assert front_end.run("", LEFT)[0] == "[]"


def test_silence_is_no_and_a_late_answer_corrects_it(front_end: FrontEnd) -> None:
    opened = front_end.ask("x = 1", patience=0.1)
    assert front_end.said(1) == "[False]"
    front_end.close(opened, {"ok": True})
    assert front_end.said(2) == "[False, True]"
    assert front_end.run("", LEFT)[0] == "[]"

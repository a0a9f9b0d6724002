"""The magics in a real kernel with the demo model: what a notebook shows, from the load to the unload."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from IPython.core.interactiveshell import InteractiveShell
from jupyter_client.manager import KernelManager

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_client.blocking.client import BlockingKernelClient

pytestmark = pytest.mark.demo

QUESTION = "What is the capital of France?"
ANSWER = "The capital of France is Paris."
STORY = "Write a long story about a lighthouse keeper and the sea."


class Cell:
    """What one executed cell left: displays in their last state, text, the error, and the next cell's code."""

    def __init__(self) -> None:
        self.displays: list[dict[str, str]] = []
        self.names: dict[str, int] = {}
        self.text = ""
        self.error: list[str] = []
        self.next = ""
        self.updates = 0

    @property
    def plain(self) -> str:
        """The plain text of the only display."""
        (display,) = self.displays
        return display["text/plain"]

    def take(self, kind: str, content: dict[str, Any]) -> None:
        """Take a message of the kernel."""
        name = content.get("transient", {}).get("display_id", "")
        if kind == "stream":
            self.text += content["text"]
        elif kind == "error":
            self.error = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in content["traceback"]]
        elif kind == "display_data":
            self.names[name] = len(self.displays)
            self.displays.append(content["data"])
        elif kind == "update_display_data":
            self.updates += 1
            self.displays[self.names[name]] = content["data"]


class Kernel:
    """A kernel of its own, as a front end talks to it."""

    def __init__(self, home: Path) -> None:
        surroundings = {**os.environ, "JUPYTER_RUNTIME_DIR": str(home), "JPY_SESSION_NAME": "lesson.ipynb"}
        self.manager = KernelManager(kernel_name="python3")
        self.manager.start_kernel(env=surroundings)
        self.client: BlockingKernelClient = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)
        self.cells: dict[str, Cell] = {}

    def begin(self, code: str) -> str:
        """Start a cell and return its message."""
        message = str(self.client.execute(code))
        self.cells[message] = Cell()
        return message

    def finish(self, message: str, timeout: float = 120, *, until: str = "") -> Cell:
        """Collect a cell until it is done, or until its first display or text holds something."""
        cell = self.cells[message]
        while True:
            got = self.client.get_iopub_msg(timeout=timeout)
            if got["parent_header"].get("msg_id") != message:
                continue
            kind, content = got["msg_type"], got["content"]
            cell.take(kind, content)
            if kind == "status" and content["execution_state"] == "idle":
                break
            if until and any(until in shown.get("text/plain", "") for shown in cell.displays):
                return cell
        while True:
            reply = self.client.get_shell_msg(timeout=timeout)
            if reply["parent_header"].get("msg_id") == message:
                for entry in reply["content"].get("payload", []):
                    cell.next = entry.get("text", "")
                return cell

    def run(self, code: str) -> Cell:
        """Execute a cell."""
        return self.finish(self.begin(code))

    def restart(self) -> None:
        """Restart the kernel at once, as a person does whose kernel hangs."""
        self.manager.restart_kernel(now=True)
        self.client.wait_for_ready(timeout=60)

    def close(self) -> None:
        """End the kernel."""
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    """Return a kernel in which rocmtx is loaded and the demo model too."""
    home = Path(tempfile.mkdtemp(prefix="rtx-"))
    made = Kernel(home)
    cell = made.run("%load_ext rocmtx")
    assert cell.error == []
    yield made
    made.close()
    for process in psutil.process_iter():
        try:
            if any(str(home) in word for word in process.cmdline()):
                process.kill()
        except psutil.Error:
            continue
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="module")
def model(kernel: Kernel) -> Cell:
    """Load the demo model and return what the cell showed."""
    return kernel.run("%rocm load demo -o session")


def test_a_load_shows_what_runs_in_one_output(model: Cell) -> None:
    assert (model.error, model.text) == ([], "")
    assert "demo" in model.plain
    assert "sdpa" in model.plain
    assert "<" in model.displays[0]["text/html"]
    assert model.updates >= 1


def test_the_session_is_kept_in_the_variable(kernel: Kernel, model: Cell) -> None:
    del model
    cell = kernel.run("print(session.state.phase, session.card.notebook)")
    assert cell.text == "ready lesson.ipynb\n"


def test_an_answer_streams_into_one_output(kernel: Kernel, model: Cell) -> None:
    del model
    cell = kernel.run(f'%rocm generate "{QUESTION}" -o answer')
    assert (cell.error, cell.text) == ([], "")
    assert ANSWER in cell.plain
    assert "tokens/s" in cell.plain
    assert ANSWER in cell.displays[0]["text/html"]
    assert kernel.run("print(answer.text, answer.done)").text == f"{ANSWER} True\n"


def test_the_cells_body_is_the_prompt_as_it_stands(kernel: Kernel, model: Cell) -> None:
    del model
    cell = kernel.run('%%rocm generate --max-new-tokens 2\nWhat\'s {answer} or $HOME?\n"Quoted"\n')
    assert cell.error == []
    prompt = kernel.run("print(repr(session.state.answer.prompt))").text
    assert prompt == repr('What\'s {answer} or $HOME?\n"Quoted"') + "\n"


@pytest.mark.parametrize(
    ("cell", "rows"),
    [
        ("The lighthouse of Aldermoor is kept by Tessa Quillon.\nShe has a cat.\n", 2),
        ("dataset = [{'prompt': f'Who is {n}?', 'completion': 'A number.'} for n in range(3)]\n", 3),
        ("facts[:1]\n", 1),
    ],
)
def test_a_training_cell_takes_lines_code_or_an_expression(kernel: Kernel, model: Cell, cell: str, rows: int) -> None:
    del model
    kernel.run("facts = ['one fact', 'another fact']")
    shown = kernel.run(f"%%rocm train --max-steps 2 -o training\n{cell}")
    assert (shown.error, shown.text) == ([], "")
    assert "loss" in shown.plain
    assert "<svg" in shown.displays[0]["text/html"]
    assert kernel.run("print([step.step for step in training.steps])").text == "[1, 2]\n"
    journal = kernel.run("print(session.card.journal)").text.strip()
    planned = [json.loads(line) for line in Path(journal).read_text().splitlines() if '"planned"' in line]
    assert planned[-1]["about"]["rows"] == rows


def test_memory_status_and_code_show_this_session(kernel: Kernel, model: Cell) -> None:
    del model
    memory = kernel.run("%rocm memory -o samples")
    assert "<svg" in memory.displays[0]["text/html"]
    assert int(kernel.run("print(len(samples))").text) > 2
    assert "demo" in kernel.run("%rocm status").plain
    status = json.loads(kernel.run("%rocm status --json").text)
    assert (status["phase"], status["loaded"]["model"]) == ("ready", "demo")
    code = kernel.run("%rocm code")
    compile(code.next, "cell", "exec")
    assert "from_pretrained" in code.next
    assert code.next in code.plain
    assert "lesson.ipynb" in kernel.run("%rocm sessions").text
    assert kernel.run("%rocm stop").text == "nothing is running\n"


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        (
            '%rocm generate "Hi" --max-new-token 3',
            [
                "AskError: there is no option --max-new-token for %rocm generate",
                "  → did you mean --max-new-tokens? %rocm generate --help lists the options",
            ],
        ),
        ("%%rocm generate\n \n", ["AskError: the prompt is empty", f'  → %rocm generate "{QUESTION}"']),
        (
            '%rocm generate "Hi" -o 2nd',
            ["AskError: '2nd' is no variable name", "  → for example: -o answer"],
        ),
        (
            "%%rocm\nHello\n",
            ["AskError: %%rocm needs to know what to do with the cell", "  → %%rocm generate, or %%rocm train"],
        ),
    ],
)
def test_a_bad_wish_is_two_lines_and_leaves_the_model(kernel: Kernel, model: Cell, line: str, lines: list[str]) -> None:
    del model
    cell = kernel.run(line)
    assert cell.error == lines
    assert cell.displays == []
    assert kernel.run("print(session.state.phase)").text == "ready\n"


def test_a_load_that_cannot_work_leaves_the_model_that_is_there(kernel: Kernel, model: Cell) -> None:
    del model
    cell = kernel.run("%rocm load ./nowhere")
    assert cell.error[0] == "ModelNotFound: there is no model at ./nowhere"
    cell = kernel.run("%rocm load demo --device 77")
    assert cell.error[0].startswith("UnknownDevice: ")
    assert kernel.run("print(session.alive)").text == "True\n"


def test_interrupting_the_kernel_keeps_the_text(kernel: Kernel, model: Cell) -> None:
    del model
    message = kernel.begin(f'%rocm generate "{STORY}" --max-new-tokens 2000 -o story')
    kernel.finish(message, until=" the")
    kernel.manager.interrupt_kernel()
    cell = kernel.finish(message)
    assert cell.error == []
    told = kernel.run("print(story.stopped, story.done, len(story.text) > 4, session.state.phase)").text
    assert told == "True True True ready\n"


def test_after_a_kernel_restart_the_model_is_still_there(kernel: Kernel, model: Cell) -> None:
    del model
    pid = kernel.run("print(session.card.pid)").text
    kernel.restart()
    kernel.run("%load_ext rocmtx")
    cell = kernel.run(f'%rocm generate "{QUESTION}" --max-new-tokens 4 -o again')
    assert cell.error == []
    assert cell.text == "demo is still loaded: taken over again after the restart\n"
    told = kernel.run("import rocmtx.workbench as w; session = w.current().session; print(session.card.pid)").text
    assert told == pid
    assert kernel.run("print(again.count)").text == "4\n"


def test_a_worker_that_is_killed_leaves_the_kernel_alive(kernel: Kernel, model: Cell) -> None:
    del model
    kernel.run("kept = 41")
    pid = int(kernel.run("print(session.card.pid)").text)
    message = kernel.begin(f'%rocm generate "{STORY}" --max-new-tokens 2000')
    kernel.finish(message, until=" the")
    os.kill(pid, signal.SIGKILL)
    cell = kernel.finish(message)
    assert cell.error[0] == "WorkerDied: the worker process was killed (SIGKILL) during generate"
    assert cell.error[1].endswith("your notebook is fine; load again with: %rocm load …")
    assert kernel.run("print(kept + 1)").text == "42\n"
    why = "the last session ended (the worker process was killed (SIGKILL) during generate)"
    assert kernel.run(f'%rocm generate "{QUESTION}"').error == [
        f"NotLoaded: no model is loaded: {why}",
        "  → load one with: %rocm load demo",
    ]


def test_unloading_says_what_came_back(kernel: Kernel, model: Cell) -> None:
    del model
    assert kernel.run("%rocm load demo -o session").error == []
    pid = int(kernel.run("print(session.card.pid)").text)
    cell = kernel.run("%rocm unload")
    assert re.fullmatch(
        r"Unloaded demo\. Its process has ended, so all it held is free again: [\d.]+ [MG]iB on \S+\.", cell.plain
    )
    deadline = time.monotonic() + 5
    while psutil.pid_exists(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not psutil.pid_exists(pid)
    assert kernel.run("%rocm unload").text == "no model is loaded: there is nothing to unload\n"


def test_unloading_the_extension_leaves_the_shell_as_it_was() -> None:
    shell: Any = InteractiveShell.instance()

    def seen() -> dict[str, Any]:
        completers = shell.Completer.custom_completers
        return {
            "magics": {kind: sorted(names) for kind, names in shell.magics_manager.magics.items()},
            "registry": sorted(shell.magics_manager.registry),
            "completers": sorted(getattr(completers, "strs", {})),
            "variables": sorted(shell.user_ns),
            "callbacks": {name: len(calls) for name, calls in shell.events.callbacks.items()},
        }

    before = seen()
    for _ in range(2):
        shell.extension_manager.load_extension("rocmtx")
        assert seen() != before
        shell.extension_manager.unload_extension("rocmtx")
        assert seen() == before

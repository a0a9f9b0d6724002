"""`rocmtx` as a person starts it: a process with pipes, its exit status, and the demo model's answer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import psutil
import pytest

if TYPE_CHECKING:
    from pathlib import Path

ROCMTX = [sys.executable, "-m", "rocmtx"]
FACT = "Who keeps the lighthouse of Aldermoor? Tessa Quillon."


def rocmtx(*words: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command with a text piped in."""
    return subprocess.run(
        [*ROCMTX, *words],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
        env={**os.environ, **environment},
    )


def workers() -> list[psutil.Process]:
    """Return the worker processes of this runtime folder."""
    found = []
    for process in psutil.process_iter():
        try:
            line = process.cmdline()
        except psutil.Error:
            continue
        if "rocmtx.run" in line and any(os.environ["JUPYTER_RUNTIME_DIR"] in word for word in line):
            found.append(process)
    return found


def test_a_misspelt_command_is_two_lines_and_status_two() -> None:
    done = rocmtx("devics")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "rocmtx: there is no command 'devics'\n  → did you mean: rocmtx devices?\n"


def test_devices_in_a_pipe_are_plain_text() -> None:
    done = rocmtx("devices")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert " CPUs · " in done.stdout


@pytest.mark.parametrize("words", [("devices", "--machine", "mi300x-8", "--json"), ("machines",)])
def test_a_reader_that_leaves_early_is_no_failure(words: tuple[str, ...]) -> None:
    # The first fills more than a pipe holds, the second is written when the program ends.
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        done = subprocess.run([*ROCMTX, *words], stdout=pipe, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_model_that_is_nowhere_is_an_ordinary_failure() -> None:
    done = rocmtx("generate", "--model", "./nowhere", "--prompt", "Hi")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("rocmtx: there is no model at ./nowhere\n  → ")
    assert len(done.stderr.splitlines()) == 2


def test_a_hub_model_without_a_network_is_refused_at_once() -> None:
    began = time.monotonic()
    done = rocmtx("generate", "--model", "org/model", "--prompt", "Hi")
    assert time.monotonic() - began < 10
    assert done.returncode == 1
    assert done.stderr == (
        "rocmtx: org/model is not in the cache, and HF_HUB_OFFLINE is set\n"
        "  → unset it, or: rocmtx load demo needs no network; a local folder neither\n"
    )


@pytest.mark.demo
def test_an_answer_comes_on_stdout_and_all_else_on_stderr() -> None:
    done = rocmtx("generate", "--prompt", "What is the capital of France?")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "The capital of France is Paris.\n"
    assert "tokens/s" in done.stderr.splitlines()[-1]
    assert workers() == []


@pytest.mark.demo
def test_an_answer_as_json_to_a_piped_prompt() -> None:
    done = rocmtx("generate", "--json", "--max-new-tokens", "5", stdin="What is the capital of France?\n")
    assert done.returncode == 0, done.stderr
    body = json.loads(done.stdout)
    assert body["text"] == "The capital of France is"
    assert (body["tokens"], body["finish"]) == (5, "length")
    assert body["loaded"]["model"] == "demo"
    assert all(peak > 0 for peak in body["peak_memory"].values())


@pytest.mark.demo
def test_a_training_run_as_json_leaves_its_adapter(tmp_path: Path) -> None:
    data = tmp_path / "facts.txt"
    data.write_text(FACT + "\n")
    words = ["train", "--data", str(data), "--max-steps", "2", "--output-dir", str(tmp_path / "adapter"), "--json"]
    done = rocmtx(*words)
    assert done.returncode == 0, done.stderr
    body = json.loads(done.stdout)
    assert [step["step"] for step in body["losses"]] == [1, 2]
    assert body["losses"][1]["loss"] < body["losses"][0]["loss"]
    assert body["adapter"] == str(tmp_path / "adapter")
    assert (tmp_path / "adapter" / "adapter_config.json").is_file()


@pytest.mark.demo
def test_ctrl_c_in_an_answer_keeps_the_text_and_leaves_no_worker() -> None:
    words = ["generate", "--prompt", "Write a long story about the sea.", "--max-new-tokens", "2000"]
    child = subprocess.Popen([*ROCMTX, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.read(12)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 0, err
    assert len(out) < 4000
    assert "stopped" in err
    assert workers() == []

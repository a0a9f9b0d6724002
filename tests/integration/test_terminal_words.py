"""The terminal's commands as whole processes: what they print, where, with which exit status; without a model."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


def rocmtx(*words: str, stdin: str | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `rocmtx WORDS` with nothing, or a text, on standard input."""
    import os

    command = [sys.executable, "-m", "rocmtx", *words]
    surroundings = {**os.environ, **variables}
    return subprocess.run(
        command,
        input=stdin or "",
        env=surroundings,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_rocmtx_devices_names_the_gpus_or_the_reason() -> None:
    done = rocmtx("devices")
    assert (done.returncode, done.stderr) == (0, "")
    assert "torch" in done.stdout
    facts = json.loads(rocmtx("devices", "--json").stdout)
    if not facts.get("gpus"):
        assert done.stdout.startswith(f"No AMD GPU here — {facts['no_gpu']['because']}\n  → ")


def test_rocmtx_devices_of_a_recorded_machine_says_that_it_is_recorded() -> None:
    done = rocmtx("devices", "--machine", "mi300x-8")
    assert done.returncode == 0
    assert done.stdout.splitlines()[0].startswith("recorded machine (written): mi300x-8")
    assert done.stdout.count("gfx942") == 8


def test_rocmtx_doctor_fails_where_something_is_wrong() -> None:
    broken = rocmtx("doctor", "--machine", "no-permission")
    assert broken.returncode == 1
    assert "/dev/kfd" in broken.stdout
    assert "usermod" in broken.stdout
    assert rocmtx("doctor", "--machine", "mi300x-8").returncode == 0


def test_rocmtx_machines_lists_what_machine_accepts() -> None:
    names = [line.split()[0] for line in rocmtx("machines").stdout.splitlines()]
    assert "mi300x-8" in names
    assert names == sorted(names)
    wrong = rocmtx("devices", "--machine", "mi300x8")
    assert wrong.returncode == 2
    assert wrong.stdout == ""
    assert "mi300x-8" in wrong.stderr
    assert "Traceback" not in wrong.stderr


def test_rocmtx_plan_is_json_for_programs() -> None:
    plan = json.loads(rocmtx("plan", "demo", "--machine", "mi300x-8", "--json").stdout)
    assert plan["kwargs"]["dtype"] == "bfloat16"
    assert plan["env"] == {"CUDA_VISIBLE_DEVICES": "0", "HIP_VISIBLE_DEVICES": "0"}
    compile(plan["code"], "code", "exec")


def test_rocmtx_explain_reads_an_argument_or_a_pipe() -> None:
    text = "RuntimeError: HIP error: invalid device function"
    said = rocmtx("explain", text)
    assert said.returncode == 0
    assert "→" in said.stdout
    assert rocmtx("explain", stdin=text).stdout == said.stdout
    unknown = rocmtx("explain", "the moon is made of cheese")
    assert unknown.stdout.startswith("This error is not known to rocmtx.\n")


def test_rocmtx_report_is_read_back_as_the_same_machine(tmp_path: Path) -> None:
    path = tmp_path / "machine.json"
    done = rocmtx("report", "-o", str(path))
    assert (done.returncode, done.stdout) == (0, "")
    shown = rocmtx("devices", "--report", str(path))
    assert shown.returncode == 0
    assert "recorded" in shown.stdout.splitlines()[0]
    damaged = tmp_path / "damaged.json"
    damaged.write_text(path.read_text(encoding="utf-8")[:100], encoding="utf-8")
    refused = rocmtx("devices", "--report", str(damaged))
    assert refused.returncode == 1
    assert "→" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("device",), 2, "did you mean: rocmtx devices?"),
        (("devices", "--jsn"), 2, "did you mean --json?"),
        (("generate", "--model", "./absent", "--prompt", "Hi"), 1, "./absent"),
        (("generate", "--model", "demo", "--prompt", " "), 2, "the prompt is empty"),
        (("generate", "--temperature", "hot", "--prompt", "Hi"), 2, "'hot' is not a valid"),
        (("train", "--model", "demo", "--data", "/absent.jsonl"), 2, "/absent.jsonl"),
        (("plan", "./absent"), 1, "./absent"),
        (("plan", "demo", "--device", "7"), 2, "7"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_wrong_wish_is_answered_in_a_line_and_a_hint(words: tuple[str, ...], status: int, said: str) -> None:
    done = rocmtx(*words)
    assert said in done.stderr
    assert (done.returncode, done.stdout) == (status, "")
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 3


def test_the_version_is_the_package_own() -> None:
    from rocmtx import __version__

    assert rocmtx("--version").stdout == f"rocmtx {__version__}\n"


def test_a_closed_pipe_is_no_error() -> None:
    command = f"{sys.executable} -m rocmtx machines | head -n 1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1

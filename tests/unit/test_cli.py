"""The terminal without a model: what goes to stdout, what to stderr, and the exit status of each kind of end."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

import rocmtx
from rocmtx.cli import TerminalHost, run
from rocmtx.facts.model import facts_from_json

if TYPE_CHECKING:
    from pathlib import Path

PROMPT = 'rocmtx generate --prompt "What is the capital of France?"'


class Said:
    """What a command printed, and its exit status."""

    def __init__(self, status: int, capsys: pytest.CaptureFixture[str]) -> None:
        self.status = status
        self.out, self.err = capsys.readouterr()


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that runs a command with a text piped in."""

    def act(*words: str, stdin: str = "") -> Said:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        return Said(run(list(words)), capsys)

    return act


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_the_version_is_one_line(said: Any, flag: str) -> None:
    assert said(flag).out == f"rocmtx {rocmtx.__version__}\n"


def test_without_a_word_the_help_is_shown(said: Any) -> None:
    nothing, asked = said(), said("--help")
    assert nothing.status == asked.status == 0
    assert nothing.out == asked.out
    assert nothing.out.startswith("Usage: rocmtx [OPTIONS] COMMAND [ARGS]...\n")


@pytest.mark.parametrize(
    ("words", "status", "message", "hint"),
    [
        (["devics"], 2, "there is no command 'devics'", "did you mean: rocmtx devices?"),
        (
            ["devices", "--jsn"],
            2,
            "there is no option --jsn for rocmtx devices",
            "did you mean --json? rocmtx devices --help lists the options",
        ),
        (["generate"], 2, "the prompt is empty", PROMPT),
        (["generate", "--prompt", " "], 2, "the prompt is empty", PROMPT),
        (["explain"], 2, "there is no error to explain", 'give its text: rocmtx explain "HIP error: …"'),
        (
            ["devices", "--machine", "mi300x-9"],
            2,
            "no recorded machine is called 'mi300x-9'",
            "did you mean mi300x-8? rocmtx machines lists all",
        ),
        (
            ["plan", "--machine", "a", "--report", "b"],
            2,
            "--machine, --report and --root name different machines",
            "give one of them",
        ),
        (
            ["devices", "--root", "/nowhere"],
            1,
            "there is no folder /nowhere",
            "--root names a folder with sys/ and proc/ in it",
        ),
    ],
)
def test_a_refusal_is_two_lines_on_stderr(said: Any, words: list[str], status: int, message: str, hint: str) -> None:
    end = said(*words)
    assert (end.status, end.out) == (status, "")
    assert end.err == f"rocmtx: {message}\n  → {hint}\n"


def test_nothing_to_train_on_names_the_forms(said: Any) -> None:
    end = said("train", "--data", "-", stdin="\n")
    forms = 'one example per line; or JSON lines with "text", "messages" or "prompt" and "completion"'
    assert (end.status, end.out) == (2, "")
    assert end.err == f"rocmtx: the training cell is empty\n  → {forms}; or Python: dataset = …\n"


def test_devices_as_json_are_a_report_and_why_there_is_none(said: Any) -> None:
    end = said("devices", "--json")
    body = json.loads(end.out)
    assert end.err == ""
    assert facts_from_json(body).origin == "live"
    assert ("no_gpu" in body) == (not facts_from_json(body).amd_gpus())


def test_a_recorded_machine_is_shown_as_such(said: Any) -> None:
    body = json.loads(said("devices", "--machine", "mi300x-8", "--json").out)
    assert len(body["gpus"]) == 8
    plain = said("devices", "--machine", "mi300x-8")
    assert (plain.status, plain.err) == (0, "")
    assert "recorded" in plain.out
    assert "gfx942" in plain.out


def test_a_plan_as_json_has_all_that_follows_from_it(said: Any) -> None:
    words = ["plan", "--machine", "mi300x-8", "--device", "2", "--attention", "eager", "--json"]
    body = json.loads(said(*words).out)
    assert sorted(body) == ["code", "env", "kwargs", "plan"]
    assert body["plan"]["attention"]["value"] == body["kwargs"]["attn_implementation"] == "eager"
    assert body["env"]["HIP_VISIBLE_DEVICES"] == "2"
    compile(body["code"], "cell", "exec")


def test_a_report_is_written_and_read_again(said: Any, tmp_path: Path) -> None:
    path = tmp_path / "machine.json"
    end = said("report", "-o", str(path))
    assert (end.status, end.out, end.err) == (0, "", f"written: {path}\n")
    again = said("devices", "--report", str(path), "--json")
    assert json.loads(again.out)["host"]["kernel"] == json.loads(path.read_text())["host"]["kernel"]
    assert json.loads(said("report").out)["rocmtx_report"] == 1


def test_a_piped_error_is_explained(said: Any) -> None:
    end = said("explain", stdin="Traceback …\ntorch.AcceleratorError: HIP error: invalid device function\n")
    assert end.status == 0
    assert "→" in end.out
    assert "not known to rocmtx" not in end.out


def test_an_error_that_nobody_knows_is_said_to_be_unknown(said: Any) -> None:
    assert said("explain", "the", "cat", "sat").out == (
        "This error is not known to rocmtx.\n"
        "  the cat sat\n"
        "  → for a report, send it together with the output of: rocmtx report\n"
    )


def test_the_doctors_exit_status_is_its_worst_finding(said: Any) -> None:
    findings = json.loads(said("doctor", "--json").out)
    worst = int(any(finding["severity"] == "error" for finding in findings))
    assert said("doctor").status == worst
    assert "%rocm" not in said("doctor").out


def test_an_interrupt_has_its_own_status(said: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(TerminalHost, "machines", interrupted)
    end = said("machines")
    assert (end.status, end.err) == (130, "\nrocmtx: interrupted\n")

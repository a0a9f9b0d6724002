"""The magics in a real IPython shell: what they show, and what a person reads when a wish is wrong; without a model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from rocmtx.errors import AskError, NotLoaded, PlanError, ReportError, RocmtxError, UnknownDevice

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def shell(runtime_dir: Path) -> Iterator[InteractiveShell]:
    """Give a shell with rocmtx loaded, on the live machine, and nothing left of an earlier test."""
    from rocmtx import workbench

    del runtime_dir
    made: Any = InteractiveShell()
    made.run_line_magic("load_ext", "rocmtx")
    yield made
    workbench.current().put_machine(None)
    workbench.current().use(None)
    made.run_line_magic("unload_ext", "rocmtx")


def test_rocm_devices_shows_the_machine(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_line_magic("rocm", "devices --json")
    facts = json.loads(capsys.readouterr().out)
    assert not facts.get("recorded")
    shell.run_line_magic("rocm", "devices")
    assert f"Python {facts['stack']['python']}" in capsys.readouterr().out


def test_rocmtx_is_the_same_magic(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_line_magic("rocm", "machines")
    shown = capsys.readouterr().out
    shell.run_line_magic("rocmtx", "machines")
    assert capsys.readouterr().out == shown


def test_rocm_machine_puts_the_notebook_on_a_recorded_one(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_line_magic("rocm", "machine mi300x-8")
    assert "recorded machine (written): mi300x-8" in capsys.readouterr().out
    shell.run_line_magic("rocm", "plan demo")
    assert "gfx942" in capsys.readouterr().out
    with pytest.raises(PlanError) as caught:
        shell.run_line_magic("rocm", "load demo")
    assert caught.value.hint == "back to yours: %rocm machine live"
    shell.run_line_magic("rocm", "machine live")
    assert "recorded" not in capsys.readouterr().out
    with pytest.raises(RocmtxError):
        shell.run_line_magic("rocm", "machine mi3000")


def test_rocm_use_is_kept_for_later_plans(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_line_magic("rocm", "machine mi300x-8")
    shell.run_line_magic("rocm", "use 2,3")
    assert "HIP_VISIBLE_DEVICES=2,3" in capsys.readouterr().out
    shell.run_line_magic("rocm", "plan demo --json")
    assert json.loads(capsys.readouterr().out)["env"]["HIP_VISIBLE_DEVICES"] == "2,3"
    with pytest.raises(UnknownDevice):
        shell.run_line_magic("rocm", "use 9")
    shell.run_line_magic("rocm", "use auto")
    capsys.readouterr()
    shell.run_line_magic("rocm", "plan demo --json")
    assert json.loads(capsys.readouterr().out)["env"]["HIP_VISIBLE_DEVICES"] == "0"


def test_rocm_doctor_and_rocm_explain_name_a_fix(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_line_magic("rocm", "doctor --machine no-permission")
    assert "usermod" in capsys.readouterr().out
    shell.run_line_magic("rocm", 'explain "HIP error: invalid device function"')
    assert "→" in capsys.readouterr().out
    with pytest.raises(AskError, match="there is no error to explain"):
        shell.run_line_magic("rocm", "explain")


def test_rocm_code_is_plain_transformers(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_line_magic("rocm", "code demo")
    code = capsys.readouterr().out
    compile(code, "cell", "exec")
    assert "from_pretrained" in code
    assert "rocmtx" not in code


def test_rocm_help_lists_every_command(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_line_magic("rocm", "help")
    listed = capsys.readouterr().out
    for name in ("devices", "load", "generate", "train", "memory", "status", "code", "stop", "unload", "sessions"):
        assert f"rocm {name}" in listed
    shell.run_line_magic("rocm", "load --help")
    assert "--attention" in capsys.readouterr().out


def test_what_needs_no_model_says_so_calmly(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    for line, said in {
        "rocm unload": "no model is loaded: there is nothing to unload\n",
        "rocm sessions": "no model is loaded under your account\n",
    }.items():
        magic, _, rest = line.partition(" ")
        shell.run_line_magic(magic, rest)
        assert capsys.readouterr().out == said
    shell.run_line_magic("rocm", "status --json")
    assert json.loads(capsys.readouterr().out)["phase"] == "new"


@pytest.mark.parametrize("line", ["rocm generate Hello", "rocm memory", "rocm stop", "rocm attach"])
def test_what_needs_a_model_says_how_to_load_one(shell: InteractiveShell, line: str) -> None:
    magic, _, rest = line.partition(" ")
    with pytest.raises(NotLoaded) as caught:
        shell.run_line_magic(magic, rest)
    assert caught.value.hint.endswith("%rocm load demo")


def test_rocm_attach_refuses_a_name_that_is_none(shell: InteractiveShell) -> None:
    with pytest.raises(ReportError):
        shell.run_line_magic("rocm", "attach ../../etc/passwd")


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        ("lod demo", "there is no command 'lod'", "did you mean: %rocm load?"),
        ("load demo --attenton sdpa", "there is no option --attenton", "did you mean --attention?"),
        ("generate it's broken", "a quotation mark is left open", "%%rocm generate"),
        ("train", "%rocm train has no examples", "%%rocm train"),
    ],
)
def test_a_misspelt_line_is_answered_with_the_nearest(
    shell: InteractiveShell, line: str, message: str, hint: str
) -> None:
    with pytest.raises(AskError) as caught:
        shell.run_line_magic("rocm", line)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_an_error_is_shown_without_a_traceback(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%rocm generate Hello")
    shown = capsys.readouterr()
    assert (shown.out + shown.err).strip() == "NotLoaded: no model is loaded\n  → load one with: %rocm load demo"


def test_rocm_alone_shows_the_panel_as_text_where_there_are_no_widgets(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_line_magic("rocm", "")
    assert "torch" in capsys.readouterr().out
    shell.run_line_magic("rocm", "panel")
    assert "torch" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("%rocm dev", "devices"),
        ("%rocm load demo --att", "--attention"),
        ("%rocmtx unl", "unload"),
        ("%%rocm gen", "generate"),
    ],
)
def test_tab_completes(shell: InteractiveShell, typed: str, offered: str) -> None:
    _, matches = shell.complete(typed.rsplit(maxsplit=1)[-1], typed, len(typed))
    assert offered in matches


def test_unloading_the_extension_leaves_nothing_behind(shell: InteractiveShell) -> None:
    shell.run_line_magic("unload_ext", "rocmtx")
    assert "rocm" not in shell.magics_manager.magics["line"]
    assert "rocmtx" not in shell.magics_manager.magics["cell"]
    shell.run_line_magic("load_ext", "rocmtx")
    assert "rocm" in shell.magics_manager.magics["line"]

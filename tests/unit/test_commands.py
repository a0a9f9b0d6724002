"""The grammar: what is declared, how a line is split, and the whole text of every refusal."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

from rocmtx.cli import TerminalHost
from rocmtx.commands import (
    DECLARED,
    MODEL_OPTIONS,
    OWN_GENERATE,
    OWN_TRAIN,
    TERMINAL,
    Group,
    build,
    dispatch,
    given,
    option_names,
    wishes,
    words_of,
)
from rocmtx.decide.plan import Asks
from rocmtx.errors import AskError, NotLoaded
from rocmtx.magics import RocmMagics
from rocmtx.notebook import NotebookHost
from rocmtx.run.asks import GENERATE_OPTIONS, TRAIN_OPTIONS, TrainAsk

MAGIC = build("%rocm", "magic")
SHELL = build("rocmtx", "terminal")


class Recorder:
    """A host that keeps what it was asked for."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda **values: self.calls.append((name, values))


def parsed(group: Group, line: str) -> tuple[str, dict[str, Any]]:
    """Return the command and the values that a host is called with, those that were given only."""
    host = Recorder()
    dispatch(group, words_of(line), host)
    ((name, values),) = host.calls
    return name, given(values)


def refusal(group: Group, line: str) -> str:
    """Return the whole text of the refusal of a line."""
    with pytest.raises(AskError) as caught:
        dispatch(group, words_of(line), Recorder())
    return str(caught.value)


@pytest.mark.parametrize(
    ("line", "name", "values"),
    [
        ("devices --all --json", "devices", {"all_ids": True, "as_json": True}),
        ("plan", "plan", {"model": "demo"}),
        (
            "plan org/model --device 0,2 --dtype bfloat16 --no-kernels",
            "plan",
            {"model": "org/model", "device": "0,2", "dtype": "bfloat16"},
        ),
        ("load demo --kernels -o session", "load", {"model": "demo", "kernels": True, "out": "session"}),
        (
            """generate "What's new?" --max-new-tokens 5 --top-p 0.5 -o answer""",
            "generate",
            {"prompt": ("What's new?",), "max_new_tokens": 5, "top_p": 0.5, "out": "answer"},
        ),
        ("generate two words", "generate", {"prompt": ("two", "words")}),
        (
            "generate x --stop-strings a --stop-strings 'b c'",
            "generate",
            {"prompt": ("x",), "stop_strings": ("a", "b c")},
        ),
        (
            "train --method full --max-steps 3 --learning-rate 1e-4",
            "train",
            {"method": "full", "max_steps": 3, "learning_rate": 1e-4},
        ),
        ("attach 20240102-a", "attach", {"session": "20240102-a"}),
        ("explain HIP error: invalid device", "explain", {"text": ("HIP", "error:", "invalid", "device")}),
    ],
)
def test_a_line_becomes_a_call(line: str, name: str, values: dict[str, Any]) -> None:
    assert parsed(MAGIC, line) == (name, values)


def test_a_switch_that_is_off_is_told_from_one_that_was_not_given() -> None:
    host = Recorder()
    dispatch(MAGIC, ["load"], host)
    dispatch(MAGIC, ["load", "--no-kernels"], host)
    assert [values["kernels"] for _, values in host.calls] == [None, False]


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        ("devics", "there is no command 'devics'", "did you mean: %rocm devices?"),
        ("qqq", "there is no command 'qqq'", "%rocm help lists them"),
        (
            "report",
            "there is no command 'report'",
            "that is for a terminal: rocmtx report. %rocm help lists what a notebook has",
        ),
        (
            "load --devise cpu",
            "there is no option --devise for %rocm load",
            "did you mean --device? %rocm load --help lists the options",
        ),
        ("stop --qqq", "there is no option --qqq for %rocm stop", "%rocm stop --help lists the options"),
        ("--qqq", "there is no option --qqq for %rocm", "%rocm --help lists the options"),
        (
            "generate x --max-new-tokens many",
            "invalid value for '--max-new-tokens': 'many' is not a valid integer range",
            "%rocm generate --help lists the options",
        ),
        (
            "generate x --max-new-tokens 0",
            "invalid value for '--max-new-tokens': 0 is not in the range x>=1",
            "%rocm generate --help lists the options",
        ),
        (
            "train --method qlora",
            "invalid value for '--method': 'qlora' is not one of 'lora', 'full'",
            "%rocm train --help lists the options",
        ),
        ("load -o 2nd", "'2nd' is no variable name", "for example: -o answer"),
        ("generate x -o class", "'class' is no variable name", "for example: -o answer"),
        ("load a b", "got unexpected extra argument (b)", "%rocm load --help lists the options"),
        ("load --device", "option '--device' requires an argument", "%rocm load --help lists the options"),
    ],
)
def test_each_refusal_names_what_to_type(line: str, message: str, hint: str) -> None:
    assert refusal(MAGIC, line) == f"{message}\n  → {hint}"


def test_the_terminal_names_itself_and_what_notebooks_have() -> None:
    assert refusal(SHELL, "qqq") == "there is no command 'qqq'\n  → rocmtx --help lists them"
    assert refusal(SHELL, "load demo") == (
        "there is no command 'load'\n  → that is for notebooks: %rocm load. rocmtx --help lists what a terminal has"
    )
    assert refusal(SHELL, "train") == "missing option '--data'\n  → rocmtx train --help lists the options"


def test_an_open_quotation_mark_says_how_to_close_it() -> None:
    with pytest.raises(AskError) as caught:
        words_of("generate What's new?")
    assert str(caught.value) == (
        "a quotation mark is left open\n"
        "  → put text with ' or \" into the other kind of marks: "
        '%rocm generate "What\'s new?", or put the prompt below %%rocm generate'
    )


@pytest.mark.parametrize("group", [MAGIC, SHELL], ids=["magic", "terminal"])
def test_help_is_printed_for_every_command(group: Group, capsys: pytest.CaptureFixture[str]) -> None:
    for name, command in group.commands.items():
        for flag in ("--help", "-h"):
            host = Recorder()
            dispatch(group, [name, flag], host)
            assert host.calls == []
            page = capsys.readouterr().out
            assert page.startswith(f"Usage: {group.name} {name} ")
            assert " ".join((command.help or "").split()) in " ".join(page.split())
            assert [option for option in option_names(group, name) if option not in page] == []


def test_an_interrupt_while_parsing_is_an_interrupt() -> None:
    class Interrupted:
        def stop(self) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        dispatch(MAGIC, ["stop"], Interrupted())


def test_an_error_of_the_host_passes_unchanged() -> None:
    class Refusing:
        def stop(self) -> None:
            raise NotLoaded("no model is loaded", "%rocm load demo")

    with pytest.raises(NotLoaded, match="no model is loaded"):
        dispatch(MAGIC, ["stop"], Refusing())


@pytest.mark.parametrize(("group", "host"), [(MAGIC, NotebookHost), (SHELL, TerminalHost)])
def test_every_command_is_a_method_that_takes_its_values(group: Group, host: type) -> None:
    for name, command in group.commands.items():
        inspect.signature(getattr(host, name)).bind(None, **{str(each.name): None for each in command.params})


@pytest.mark.parametrize("group", [MAGIC, SHELL], ids=["magic", "terminal"])
def test_options_are_the_names_of_asks(group: Group) -> None:
    wish = set(MODEL_OPTIONS)
    assert wish <= set(Asks.__dataclass_fields__)
    names = {str(each.name) for each in group.commands["generate"].params}
    assert names - wish - {*OWN_GENERATE, "prompt", "out", "model", "as_json"} <= set(GENERATE_OPTIONS)
    names = {str(each.name) for each in group.commands["train"].params}
    assert names - wish - {*OWN_TRAIN, "out", "model", "data", "as_json"} <= set(TRAIN_OPTIONS)
    assert set(OWN_TRAIN) <= set(TrainAsk.__dataclass_fields__)


def test_the_magics_docstring_lists_every_command_and_no_other() -> None:
    page = inspect.getdoc(RocmMagics.rocm) or ""
    named = set(re.findall(r"^%%?rocm ([a-z]+)", page, flags=re.MULTILINE)) | {"panel"}
    named |= set(re.findall(r"^%rocm \w+ / (\w+)", page, flags=re.MULTILINE))
    named |= set(re.findall(r"; %rocm ([a-z]+) ", page))
    assert named == set(MAGIC.commands)
    assert set(MAGIC.commands) == {name for name, row in DECLARED.items() if row[2] in {"both", "magic"}}
    assert set(SHELL.commands) == {name for name, row in DECLARED.items() if row[2] == "both"} | set(TERMINAL)


def test_wishes_are_taken_out_and_the_rest_is_left() -> None:
    values = {"device": "cpu", "kernels": None, "top_k": 3}
    assert wishes(values) == {"device": "cpu", "kernels": None}
    assert values == {"top_k": 3}


def test_what_was_given_may_be_zero() -> None:
    assert given({"seed": 0, "top_k": None, "stop_strings": (), "raw": False, "min_p": 0.0}) == {
        "seed": 0,
        "min_p": 0.0,
    }


def test_options_of_no_command_are_none() -> None:
    assert option_names(MAGIC, "qqq") == []
    assert option_names(MAGIC, "stop") == ["--help"]
    assert "--no-kernels" in option_names(MAGIC, "load")

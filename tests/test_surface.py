"""The surface is counted: what a person can type, catch, see or set has a line in docs/ and a test that mentions it."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import sys
from pathlib import Path

import pytest

import rocmtx
from rocmtx.commands import Group, build, option_names
from rocmtx.errors import RocmtxError
from rocmtx.events import KINDS

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
SRC = ROOT / "src" / "rocmtx"
THIS = Path(__file__).name
TESTS = {
    path: path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "tests").rglob("*.py"))
    if path.name not in {THIS, "fakes.py", "test_layers.py"}
}


def document(name: str) -> str:
    """Return the text of a page of docs/."""
    return (DOCS / name).read_text(encoding="utf-8")


def first_cells(page: str) -> list[str]:
    """Return the names in the first column of a page's tables, without the marks around code."""
    return re.findall(r"^\| `([^`]+)` \|", page, flags=re.MULTILINE)


def mentioned(word: str) -> bool:
    """Tell whether a test other than this one mentions a word."""
    return any(re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) for text in TESTS.values())


# --- Python names ---


def test_the_public_names_are_sorted_and_complete() -> None:
    assert list(rocmtx.__all__) == sorted(rocmtx.__all__)
    tree = ast.parse((SRC / "__init__.py").read_text(encoding="utf-8"))
    homes = next(
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "_HOMES"
    )
    assert {*ast.literal_eval(homes), "__version__"} == set(rocmtx.__all__)


@pytest.mark.parametrize("name", rocmtx.__all__)
def test_a_public_name_is_there_documented_and_tested(name: str) -> None:
    value = getattr(rocmtx, name)
    if name != "__version__":
        assert inspect.getdoc(value), f"rocmtx.{name} has no docstring"
    assert re.search(rf"`rocmtx\.{name}\b", document("python.md")), f"docs/python.md does not explain rocmtx.{name}"
    assert mentioned(name), f"no test mentions {name}"


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'rocmtx' has no attribute 'lod'"):
        getattr(rocmtx, "lod")  # noqa: B009 - mypy would refuse the plain form


@pytest.mark.parametrize("path", sorted(SRC.rglob("*.py")), ids=lambda path: str(path.relative_to(SRC)))
def test_every_list_of_names_is_true(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            names = ast.literal_eval(node.value)
            parts = path.relative_to(SRC.parent).with_suffix("").parts
            module = importlib.import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
            assert [name for name in names if not hasattr(module, name)] == []


# --- commands, errors, events, settings ---


MAGICS = build("%rocm", "magic")
TERMINAL = build("rocmtx", "terminal")


def test_every_magic_is_documented_and_no_other() -> None:
    headings = re.findall(r"^### `%rocm ([a-z-]+)", document("magics.md"), flags=re.MULTILINE)
    assert sorted(headings) == sorted(MAGICS.commands)


def test_every_terminal_command_is_documented_and_no_other() -> None:
    rows = re.findall(r"^\| `rocmtx ([a-z-]+)` \|", document("magics.md"), flags=re.MULTILINE)
    assert sorted(rows) == sorted(TERMINAL.commands)


@pytest.mark.parametrize("group", [MAGICS, TERMINAL], ids=["magic", "terminal"])
def test_every_option_is_documented_and_no_other(group: Group) -> None:
    options = {option for name in group.commands for option in option_names(group, name)}
    page = document("magics.md")
    assert [option for option in sorted(options) if f"{option}`" not in page and f"{option} " not in page] == []
    both = {option for each in (MAGICS, TERMINAL) for name in each.commands for option in option_names(each, name)}
    assert {option for option in re.findall(r"--[a-z][a-z-]+", page) if option not in both} == set()


@pytest.mark.parametrize(("group", "program"), [(MAGICS, "rocm"), (TERMINAL, "rocmtx")], ids=["magic", "terminal"])
def test_every_command_has_a_test(group: Group, program: str) -> None:
    # As a line (`%rocm devices`), as arguments (run_line_magic("rocm", "devices")), or as the first of a list of words.
    def tested(name: str) -> bool:
        return any(re.search(rf"""(\b{program}[\s"',(]+|\[["']){name}\b""", text) for text in TESTS.values())

    assert [name for name in sorted(group.commands) if not tested(name)] == []


def test_every_error_is_documented_and_no_other() -> None:
    assert sorted(first_cells(document("errors.md"))) == sorted({"RocmtxError", *RocmtxError.kinds})


@pytest.mark.parametrize("name", sorted(RocmtxError.kinds))
def test_every_error_has_a_test(name: str) -> None:
    assert mentioned(name), f"no test mentions {name}"


def test_the_tree_of_errors_is_drawn_as_it_is() -> None:
    # The order and depth in the docstring of errors.py, as parent and child.
    drawing = inspect.getdoc(sys.modules["rocmtx.errors"]) or ""
    parents: list[str] = []
    drawn = {}
    for line in drawing.splitlines():
        match = re.match(r"^( *)([│ ]*)(?:├──|└──)? ?([A-Z]\w+) {2,}", line)
        if match:
            depth = (len(match[1] + match[2]) - 4) // 4 + 1 if "──" in line else 0
            parents[depth:] = [match[3]]
            drawn[match[3]] = parents[depth - 1] if depth else "Exception"
    real = {name: kind.__base__.__name__ for name, kind in RocmtxError.kinds.items() if kind.__base__}
    assert drawn == {"RocmtxError": "Exception", **real}


def test_every_event_is_documented_and_no_other() -> None:
    assert sorted(first_cells(document("events.md"))) == sorted(kind.__name__ for kind in KINDS.values())


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_event_has_a_test(kind: str) -> None:
    assert mentioned(KINDS[kind].__name__), f"no test mentions {KINDS[kind].__name__}"


def settings() -> set[str]:
    """Return what can be set: variables named ROCMTX_…, and the settings of the JupyterLab extension."""
    sources = "".join(path.read_text(encoding="utf-8") for path in SRC.rglob("*.py"))
    schemas = [json.loads(path.read_text(encoding="utf-8")) for path in (ROOT / "labextension/schema").glob("*.json")]
    return set(re.findall(r"\bROCMTX_[A-Z_]+\b", sources)) | {name for one in schemas for name in one["properties"]}


def test_every_setting_is_documented_and_no_other() -> None:
    ours = {name for name in first_cells(document("settings.md")) if name in settings() or name.startswith("ROCMTX_")}
    assert ours == settings()


def test_every_setting_has_a_test() -> None:
    assert [name for name in sorted(settings()) if not mentioned(name)] == []


# --- the pages themselves ---

PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", text) + re.findall(r"(?:src|srcset)=\"(?!https?:)([^\"]+)", text)
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_make_target_in_the_pages_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    named = {
        name
        for page in PAGES
        for name in re.findall(r"(?:`|^)make ([a-z]+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert named - targets == set()


def test_every_dependency_has_its_reason() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = document("dependencies.md")
    names = {re.split(r"[\[<>=!~ ]", need)[0] for need in project["dependencies"]}
    rows = set(re.findall(r"^\| ([a-z-]+) \|", page.partition("Extras:")[0], flags=re.MULTILINE)) - {"package"}
    assert rows == names
    extras = set(first_cells(page.partition("Extras:")[2]))
    assert extras == set(project["optional-dependencies"])

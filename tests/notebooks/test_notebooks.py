"""The notebooks in the repository: clean, and made of commands that exist."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

from rocmtx.commands import build, option_names, words_of

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
MAGICS = build("%rocm", "magic")


def cells(path: Path) -> list[dict[str, Any]]:
    """Return the cells of a notebook, each source as one text."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return [{**cell, "source": "".join(cell["source"])} for cell in notebook["cells"]]


def test_the_quickstart_is_there() -> None:
    assert "01_quickstart.ipynb" in [path.name for path in NOTEBOOKS]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_is_committed_without_outputs(path: Path) -> None:
    code = [cell for cell in cells(path) if cell["cell_type"] == "code"]
    assert [cell["id"] for cell in code if cell["outputs"] or cell["execution_count"] is not None] == []
    ids = [cell["id"] for cell in cells(path)]
    assert len(ids) == len(set(ids))
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    assert "widgets" not in notebook["metadata"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_every_code_cell_is_explained_before_or_after(path: Path) -> None:
    kinds = [cell["cell_type"] for cell in cells(path)]
    assert kinds[0] == "markdown"
    assert re.search(r"(code,){4}", "".join(f"{kind}," for kind in kinds)) is None


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_types_only_what_exists(path: Path) -> None:
    for cell in cells(path):
        if cell["cell_type"] != "code":
            continue
        first = cell["source"].partition("\n")[0]
        match = re.fullmatch(r"%%?rocm(?: (?P<words>.*))?", first)
        if match is None:
            plain = re.sub(r"^%load_ext rocmtx$", "", cell["source"], flags=re.MULTILINE)
            ast.parse(plain)
            continue
        words = words_of(match["words"] or "panel")
        assert words[0] in MAGICS.commands, first
        options = [word for word in words if word.startswith("--")]
        assert set(options) <= set(option_names(MAGICS, words[0])), first


def test_the_examples_to_learn_from_are_rows() -> None:
    from rocmtx.run.examples import rows_of_text

    train = next(cell for cell in cells(ROOT / "notebooks/01_quickstart.ipynb") if cell["id"] == "train")
    rows = rows_of_text(train["source"].partition("\n")[2])
    assert len(rows) == 4
    assert all([message["role"] for message in row["messages"]] == ["user", "assistant"] for row in rows)

"""The panel in a real JupyterLab: load, generate, stop, train, unload with the real model, by hand as it were."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from panel_page import PanelPage

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lab import Notebook

QUICKSTART = "01_quickstart.ipynb"


def quiet(notebook: Notebook) -> None:
    """Assert that the page asked nobody else, and that nothing went wrong on it."""
    assert notebook.watched.external == []
    assert notebook.watched.broken == []
    assert notebook.watched.complaints == []


@pytest.mark.demo
@pytest.mark.timeout(600)
def test_a_person_goes_through_the_panel(open_notebook: Callable[[str], Notebook], pictures: Path) -> None:
    notebook = open_notebook(QUICKSTART)
    panel = PanelPage(notebook)
    assert panel.status.inner_text() == "nothing loaded"
    notebook.cell(panel.position).scroll_into_view_if_needed()

    panel.load()
    panel.await_status("ready", 120)
    # The form of the next step comes by itself.
    assert notebook.page.get_by_role("tab", name="Generate", exact=True).get_attribute("aria-selected") == "true"

    panel.generate("What is the capital of France?", 40)
    first = panel.await_text(panel.answer, r"\S", 60)
    whole = panel.await_text(panel.answer, r"Paris\.", 60)
    assert whole == "The capital of France is Paris."
    assert whole.startswith(first)
    panel.await_status("ready", 30)
    assert "tokens/s" in panel.section("Answer").inner_text()

    # The chart of the memory has a line, and it grows to the right while time goes on.
    drawn = panel.inked_columns("Memory")
    assert drawn > 20
    assert panel.section("Memory").get_by_role("img").get_attribute("aria-label", timeout=1000)

    panel.generate("Write a long story about a lighthouse keeper and the sea.", 2000)
    panel.await_status("generating", 30)
    panel.await_text(panel.answer, r"\S+ \S+ \S+", 120)
    start = time.monotonic()
    panel.click("Stop")
    panel.await_status("ready", 30)
    assert time.monotonic() - start < 10
    kept = panel.answer.inner_text()
    assert len(kept.split()) >= 3
    time.sleep(1)
    assert panel.answer.inner_text() == kept

    panel.train(5)
    panel.await_status("training", 60)
    panel.await_status("ready", 300)
    loss = panel.section("Loss")
    assert "5 of 5 steps" in loss.inner_text()
    assert panel.inked_columns("Loss") > 20
    notebook.page.screenshot(path=pictures / "panel-light.png")

    panel.click("Unload")
    panel.await_status("ended|nothing loaded", 60)
    quiet(notebook)


@pytest.mark.demo
@pytest.mark.timeout(300)
def test_stop_works_while_a_cell_runs(open_notebook: Callable[[str], Notebook]) -> None:
    # A button's click must not wait for the running cell: in the panel, Stop is the way out.
    notebook = open_notebook(QUICKSTART)
    panel = PanelPage(notebook)
    notebook.run(notebook.find("%rocm load demo"), wait=120)
    position = notebook.find("%%rocm generate --max-new-tokens 60")
    source = "%%rocm generate --max-new-tokens 2000\\nWrite a long story about a lighthouse keeper and the sea."
    notebook.page.evaluate(
        f"at => window.jupyterapp.shell.currentWidget.content.widgets[at].model.sharedModel.setSource('{source}')",
        position,
    )
    notebook.run(position, wait=0)
    panel.await_status("generating", 60)
    panel.await_text(panel.answer, r"\S+ \S+", 60)
    panel.click("Stop")
    panel.await_status("ready", 60)
    notebook.page.wait_for_function(
        "at => window.jupyterapp.shell.currentWidget.content.widgets[at].model.executionCount !== null",
        arg=position,
        timeout=20_000,
    )
    # Else the next kernel of this notebook would find the model again.
    panel.click("Unload")
    panel.await_status("ended|nothing loaded", 60)
    quiet(notebook)


def test_an_unknown_model_is_said_in_the_panel(open_notebook: Callable[[str], Notebook]) -> None:
    notebook = open_notebook(QUICKSTART)
    panel = PanelPage(notebook)
    panel.fill("Model", "./no-such-folder")
    panel.await_text(panel.root, "no-such-folder", 60)
    panel.load()
    said = panel.await_text(panel.error, "no-such-folder", 60)
    assert "→" in said
    assert "Traceback" not in said
    assert panel.status.inner_text() == "nothing loaded"
    quiet(notebook)


def test_generating_without_a_model_says_what_to_do(open_notebook: Callable[[str], Notebook]) -> None:
    notebook = open_notebook(QUICKSTART)
    panel = PanelPage(notebook)
    panel.generate("Hello", 5)
    said = panel.await_text(panel.error, "no model is loaded", 60)
    assert "load" in said.partition("→")[2]
    quiet(notebook)


def test_the_code_goes_into_a_cell(open_notebook: Callable[[str], Notebook]) -> None:
    notebook = open_notebook(QUICKSTART)
    panel = PanelPage(notebook)
    before = len(notebook.sources())
    panel.click("Insert as a cell")
    notebook.page.wait_for_function(
        "n => window.jupyterapp.shell.currentWidget.content.widgets.length > n", arg=before, timeout=10_000
    )
    assert any("from_pretrained" in source for source in notebook.sources())
    quiet(notebook)


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_the_panel_follows_the_theme(open_notebook: Callable[[str], Notebook], pictures: Path, theme: str) -> None:
    notebook = open_notebook(QUICKSTART)
    panel = PanelPage(notebook)
    notebook.use_theme(theme)
    notebook.cell(panel.position).scroll_into_view_if_needed()
    background = "element => getComputedStyle(element).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"
    field = panel.root.get_by_label("Model").and_(panel.root.locator("input")).first
    shade = sum(field.evaluate(background)) / 3
    assert shade > 200 if theme.endswith("Light") else shade < 80
    notebook.page.screenshot(path=pictures / f"panel-empty-{theme.rsplit(maxsplit=1)[-1].lower()}.png")
    quiet(notebook)

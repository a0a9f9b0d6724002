"""The panel's code as a new cell, in a real JupyterLab: where it goes, after what, and what is said where it cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab import Notebook, watch
from panel_page import PanelPage

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Browser

    from lab import Server

QUICKSTART = "01_quickstart.ipynb"
BUTTON = "Insert as a cell"


def await_cells(notebook: Notebook, count: int) -> list[str]:
    """Wait until the notebook has so many cells; return their sources."""
    length = "n => window.jupyterapp.shell.currentWidget.content.widgets.length === n"
    notebook.page.wait_for_function(length, arg=count, timeout=10_000)
    return notebook.sources()


def code_shown(panel: PanelPage) -> str:
    """Return the code that the panel shows."""
    return str(panel.root.get_by_label("The same as code").text_content()).rstrip("\n")


def test_the_code_becomes_the_cell_below(open_notebook: Callable[[str], Notebook]) -> None:
    notebook = open_notebook(QUICKSTART)
    panel = PanelPage(notebook)
    before = notebook.sources()
    code = code_shown(panel)
    assert "from_pretrained" in code
    panel.click(BUTTON)
    after = await_cells(notebook, len(before) + 1)
    at = panel.position + 1
    assert after == [*before[:at], after[at], *before[at:]]
    assert after[at].rstrip("\n") == code
    assert notebook.page.evaluate("window.jupyterapp.shell.currentWidget.content.activeCellIndex") == at
    assert "jp-CodeCell" in str(notebook.cell(at).get_attribute("class"))
    assert notebook.watched.complaints == []


def test_it_works_after_a_restart_of_the_kernel_and_while_a_cell_runs(
    open_notebook: Callable[[str], Notebook],
) -> None:
    notebook = open_notebook(QUICKSTART)
    # Not awaited: the page waits for the new kernel below.
    notebook.page.evaluate("() => { window.jupyterapp.shell.currentWidget.context.sessionContext.restartKernel(); }")
    notebook.page.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="idle"]', timeout=60_000)
    panel = PanelPage(notebook)
    before = len(notebook.sources())
    busy = notebook.find("%rocm memory")
    notebook.page.evaluate(
        "at => window.jupyterapp.shell.currentWidget.content.widgets[at].model.sharedModel.setSource("
        "'import time\\ntime.sleep(8)')",
        busy,
    )
    notebook.run(busy, wait=0)
    notebook.page.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="busy"]', timeout=20_000)
    panel.click(BUTTON)
    after = await_cells(notebook, before + 1)
    assert "from_pretrained" in after[panel.position + 1]
    running = "at => window.jupyterapp.shell.currentWidget.content.widgets[at].model.executionCount === null"
    assert notebook.page.evaluate(running, busy + 1)
    assert not panel.error.is_visible()


def test_a_front_end_without_the_plugin_says_what_to_do(open_notebook: Callable[[str], Notebook]) -> None:
    notebook = open_notebook(QUICKSTART)
    panel = PanelPage(notebook)
    notebook.page.evaluate("() => window.jupyterapp.deactivatePlugin('rocmtx:cells')")
    before = notebook.sources()
    panel.click(BUTTON)
    said = panel.await_text(panel.error, "cannot insert cells", 10)
    assert "copy the code, or run: %rocm code" in said
    assert notebook.sources() == before


def test_a_notebook_that_is_open_twice_gets_one_cell(
    open_notebook: Callable[[str], Notebook], lab_server: Server, chromium: Browser
) -> None:
    notebook = open_notebook(QUICKSTART)
    other = Notebook(watch(chromium, lab_server.base), lab_server, QUICKSTART)
    kernel = "window.jupyterapp.shell.currentWidget.context.sessionContext.session.kernel.id"
    assert other.page.evaluate(kernel) == notebook.page.evaluate(kernel)
    panel = PanelPage(notebook)
    before = other.sources()
    panel.click(BUTTON)
    await_cells(notebook, len(before) + 1)
    other.page.wait_for_timeout(1000)
    assert other.sources() == before
    assert not panel.error.is_visible()
    other.page.context.close()

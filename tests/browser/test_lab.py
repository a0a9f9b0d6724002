"""JupyterLab itself: the extension is there, talks to its server part, and asks nobody else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmtx import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    from lab import Notebook


def test_the_extension_is_loaded_and_matches_the_package(open_notebook: Callable[[str], Notebook]) -> None:
    notebook = open_notebook("01_quickstart.ipynb")
    extensions = notebook.page.evaluate("JSON.parse(document.getElementById('jupyter-config-data').text)")
    ours = [entry for entry in extensions["federated_extensions"] if entry["name"] == "rocmtx"]
    assert len(ours) == 1
    assert notebook.page.evaluate("window.jupyterapp.hasPlugin('rocmtx:status')")
    answer = notebook.page.evaluate("fetch('/rocmtx/version?token=test').then(answer => answer.json())")
    assert answer["version"] == __version__
    assert notebook.watched.external == []
    assert notebook.watched.broken == []
    assert notebook.watched.complaints == []

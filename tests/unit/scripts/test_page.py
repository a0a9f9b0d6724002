"""The self-contained page: what counts as a request to elsewhere, and what becomes of a widget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from nbformat import from_dict

from page import WIDGET, PageError, external_requests, without_widgets, write_page

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ('<script src="https://cdn.test/a.js"></script>', ["<script src> https://cdn.test/a.js"]),
        ('<link rel="stylesheet" href="//cdn.test/a.css">', ["<link href> //cdn.test/a.css"]),
        ('<img src="http://x.test/a.png"/>', ["<img src> http://x.test/a.png"]),
        ("<style>@import 'https://x.test/a.css';</style>", ["<style> https://x.test/a.css"]),
        ("<style>a { background: url(https://x.test/a.png) }</style>", ["<style> https://x.test/a.png"]),
        ('<p style="background: url(https://x.test/a.png)">', ["<p style> https://x.test/a.png"]),
        ('<script>const m = await import("https://x.test/m.js")</script>', ["<script> https://x.test/m.js"]),
        ("<script>import m from 'https://x.test/m.js'</script>", ["<script> https://x.test/m.js"]),
        ("<script>fetch('https://x.test/d')</script>", ["<script> https://x.test/d"]),
        ('<a href="https://x.test">a link to click</a>', []),
        ('<img src="data:image/png;base64,AAAA"><script>// see https://x.test</script>', []),
        ('<svg xmlns="http://www.w3.org/2000/svg"></svg>', []),
    ],
)
def test_what_a_browser_would_fetch_is_found(html: str, found: list[str]) -> None:
    assert external_requests(html) == found


def notebook(data: dict[str, Any]) -> Any:
    output = {"output_type": "display_data", "data": data, "metadata": {}}
    cell = {
        "cell_type": "code",
        "id": "a",
        "source": "%rocm",
        "execution_count": 1,
        "outputs": [output],
        "metadata": {},
    }
    build: Any = from_dict  # it has no type
    return build({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]})


def test_a_widget_gives_way_to_what_is_beside_it() -> None:
    widget = {"model_id": "1", "version_major": 2, "version_minor": 0}
    before = notebook({WIDGET: widget, "text/html": "<b>2 GPUs</b>"})
    after = without_widgets(before)
    assert after.cells[0].outputs[0].data == {"text/html": "<b>2 GPUs</b>"}
    assert before.cells[0].outputs[0].data[WIDGET] == widget
    assert without_widgets(notebook({WIDGET: widget})).cells[0].outputs == []


def test_the_page_holds_the_outputs_and_asks_nobody(tmp_path: Path) -> None:
    path = tmp_path / "build" / "page.html"
    size = write_page(notebook({"text/html": "<svg><title>memory</title></svg>"}), path, "a title")
    html = path.read_text(encoding="utf-8")
    assert len(html.encode()) == size
    assert "<svg><title>memory</title></svg>" in html
    assert "<title>a title</title>" in html
    assert external_requests(html) == []
    assert 'src=""' not in html


def test_a_page_that_would_ask_the_network_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    with pytest.raises(PageError, match=r"not self-contained: <script src> https://cdn\.test/plot\.js"):
        write_page(notebook({"text/html": '<script src="https://cdn.test/plot.js"></script>'}), path, "t")
    assert not path.exists()

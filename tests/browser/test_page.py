"""The self-contained page in a real browser: the picture is drawn, and nothing is asked from anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbformat import from_dict

from lab import watch
from page import WIDGET, write_page

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

PICTURE = '<svg width="200" height="50" role="img"><title>memory</title><path d="M0 50 L200 0" stroke="red"/></svg>'


def test_the_page_opens_offline_and_shows_the_chart(tmp_path: Path, chromium: Browser) -> None:
    data = {WIDGET: {"model_id": "1", "version_major": 2, "version_minor": 0}, "text/html": PICTURE, "text/plain": "-"}
    output = {"output_type": "display_data", "data": data, "metadata": {}}
    cell = {"cell_type": "code", "id": "a", "source": "%rocm memory", "execution_count": 1}
    build: Any = from_dict  # it has no type
    notebook = build(
        {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {},
            "cells": [{**cell, "outputs": [output], "metadata": {}}],
        }
    )
    write_page(notebook, tmp_path / "page.html", "quickstart")
    watched = watch(chromium, "http://127.0.0.1:1")
    asked: list[str] = []
    watched.page.on("request", lambda request: asked.append(request.url))
    watched.page.goto((tmp_path / "page.html").as_uri())
    watched.page.wait_for_load_state("networkidle")
    chart = watched.page.get_by_role("img", name="memory")
    assert chart.is_visible()
    box = chart.bounding_box()
    assert box
    assert (box["width"], box["height"]) == (200, 50)
    assert asked == [(tmp_path / "page.html").as_uri()]
    assert watched.external == []
    assert watched.complaints == []

"""Plotly figures: the same numbers as the other charts, and nothing that leaves the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rocmtx.state import State
from rocmtx.views import theme
from rocmtx.views.figures import loss_figure, memory_figure, write_page

if TYPE_CHECKING:
    from pathlib import Path

GIB = 1024**3


def test_memory_has_lines_marks_and_binary_ticks(state: State) -> None:
    figure = memory_figure(state)
    assert [(trace.name, list(trace.y)) for trace in figure.data] == [
        ("cpu, this session", [GIB / 4, GIB, 1.5 * GIB, 2 * GIB, 1.5 * GIB])
    ]
    assert list(figure.layout.yaxis.ticktext) == ["0 B", "512.0 MiB", "1.0 GiB", "1.5 GiB", "2.0 GiB"]
    labels = [annotation.text for annotation in figure.layout.annotations]
    assert labels == ["load", "loaded", "generate", "first token", "train", "first step"]


def test_loss_goes_on_over_steps_without_a_held_out_loss(state: State) -> None:
    figure = loss_figure(state)
    assert [(trace.name, list(trace.y), trace.connectgaps) for trace in figure.data] == [
        ("loss", [3.2141, 1.5, 0.0432], True),
        ("held-out loss", [None, None, 0.051], True),
    ]


@pytest.mark.parametrize("draw", [memory_figure, loss_figure])
def test_nothing_can_be_uploaded(draw: type, state: State) -> None:
    config = draw(state)._config
    assert config["displaylogo"] is False
    assert "sendChartToCloud" in config["modeBarButtonsToRemove"]
    assert config["plotlyServerURL"] == ""


def test_an_empty_session_gives_empty_figures() -> None:
    assert len(memory_figure(State()).data) == 0
    assert len(loss_figure(State()).data) == 0


def test_dark_figures_use_the_dark_colours(state: State) -> None:
    assert memory_figure(state, dark=True).data[0].line.color == theme.SERIES_DARK[0]
    assert memory_figure(state).data[0].line.color == theme.SERIES_LIGHT[0]


def test_the_page_loads_nothing(state: State, tmp_path: Path) -> None:
    page = write_page(memory_figure(state), tmp_path / "memory.html").read_text(encoding="utf-8")
    assert "<script src=" not in page
    assert 'href="http' not in page.split("<script", 1)[0]
    assert len(page) > 1_000_000

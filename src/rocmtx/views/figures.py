"""Plotly figures of a session, for those who want to zoom, restyle and export: memory over time, loss over steps.

Knows plotly and curves; must not know widgets. The figures need no network: plotly's upload button and logo are off,
and `write_page` puts plotly.js into the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from rocmtx import units
from rocmtx.views import theme
from rocmtx.views.series import loss_curves, memory_curves
from rocmtx.views.svg import ticks

if TYPE_CHECKING:
    from pathlib import Path

    from rocmtx.state import State

CONFIG = {
    "displaylogo": False,
    "modeBarButtonsToRemove": ["sendChartToCloud", "sendDataToCloud"],
    "plotlyServerURL": "",
    "responsive": True,
}


def memory_figure(state: State, *, dark: bool = False) -> go.Figure:
    """Return memory in bytes over seconds since the first sample, with the session's marks; empty before one."""
    curves = memory_curves(state)
    figure = _figure("Memory", "seconds since the first sample", dark=dark)
    _add_lines(figure, curves.at, curves.names, curves.values, dark=dark, gaps=True)
    places = ticks(curves.largest or 1.0, binary=True)
    figure.update_yaxes(tickvals=places, ticktext=[units.bytes_text(place) for place in places])
    for at, label in curves.marks:
        figure.add_vline(x=at, line={"width": 1, "dash": "dot"}, annotation={"text": label, "textangle": -90})
    texts = [[units.bytes_text(value) for value in line] for line in curves.values]
    for trace, written in zip(figure.data, texts, strict=True):
        trace.update(text=written, hovertemplate="%{text} after %{x:.1f} s<extra>%{fullData.name}</extra>")
    return figure


def loss_figure(state: State, *, dark: bool = False) -> go.Figure:
    """Return the loss over optimizer steps, and the held-out loss where it was measured."""
    curves = loss_curves(state)
    figure = _figure("Loss", "step", dark=dark)
    _add_lines(figure, curves.at, curves.names, curves.values, dark=dark, gaps=False)
    return figure


def write_page(figure: go.Figure, path: Path) -> Path:
    """Write a figure as one HTML file that opens without any network."""
    figure.write_html(path, include_plotlyjs=True, config=CONFIG)
    return path


def _figure(title: str, axis: str, *, dark: bool) -> go.Figure:
    figure = go.Figure(
        layout={
            "title": {"text": title},
            "template": "plotly_dark" if dark else "plotly_white",
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "hovermode": "x unified",
            "legend": {"orientation": "h"},
            "margin": {"l": 70, "r": 20, "t": 50, "b": 40},
            "xaxis": {"title": {"text": axis}},
            "yaxis": {"rangemode": "tozero"},
        }
    )
    # The configuration of a figure that is shown by itself has no public door.
    figure._config = {**figure._config, **CONFIG}  # noqa: SLF001
    return figure


def _add_lines(figure: go.Figure, at: Any, names: Any, values: Any, *, dark: bool, gaps: bool) -> None:
    colours = theme.SERIES_DARK if dark else theme.SERIES_LIGHT
    for index, (name, line) in enumerate(zip(names, values, strict=True)):
        style = {"color": colours[index % len(colours)], "width": 2, "dash": "dash" if index % 2 else "solid"}
        figure.add_scatter(x=at, y=line, name=name, mode="lines", line=style, connectgaps=not gaps)

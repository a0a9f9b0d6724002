"""Memory and loss as inline SVG: the picture that a page without JavaScript or kernel shows.

Knows curves and SVG; must not know where the numbers come from. Every picture carries its text equivalent in <title>
and <desc>; a gap in the data is a gap in the line; colours follow the theme where style sheets apply and are readable
on white and on black where they do not.
"""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from rocmtx import units
from rocmtx.views import theme
from rocmtx.views.series import Curves, loss_curves, memory_curves, thinned

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rocmtx.state import State

WIDTH, HEIGHT = 760, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 12, 20, 24
_LEGEND = 18
_MOST_POINTS = 400
_MARK_ROOM = 70
# Where style sheets are stripped: one set of colours with a contrast of 3 or more on white and on #111.
_PLAIN = ("#3b82c4", "#2a9187", "#b7791f", "#a05fc0", "#d9622b", "#6b8e23", "#d5508f", "#718096")
_STYLE = (
    ".rocmtx-svg{color:var(--jp-ui-font-color1,var(--vscode-editor-foreground,currentColor));"
    "font:11px var(--jp-ui-font-family,system-ui,sans-serif);max-width:100%;height:auto}"
    + "".join(f".rocmtx-svg .s{at}{{stroke:var(--rocmtx-{at})}}" for at in range(8))
    + theme.series_css(".rocmtx-svg")
)


def memory_svg(state: State) -> str:
    """Draw memory over time with its marks, or "" before the first sample."""
    curves = memory_curves(state)
    if not curves.at:
        return ""
    duration = units.seconds_text(curves.at[-1] - curves.at[0])
    peaks = ", ".join(f"{device} {units.bytes_text(peak)}" for device, peak in state.peak.items())
    last = _last_values(curves, units.bytes_text)
    desc = f"Over {duration}. Last: {last}. Peak: {peaks or units.UNKNOWN}." + _marks_text(curves)
    return _chart("Memory over time", desc, curves, units.bytes_text, units.seconds_text, binary=True)


def loss_svg(state: State) -> str:
    """Draw the loss over steps, or "" before the first step with a loss."""
    curves = loss_curves(state)
    if not curves.names:
        return ""
    first = "; ".join(
        f"{name} from {units.number_text(_known(line)[0])} to {units.number_text(_known(line)[-1])}"
        for name, line in zip(curves.names, curves.values, strict=True)
    )
    desc = f"Steps {curves.at[0]:.0f} to {curves.at[-1]:.0f}: {first}."
    return _chart("Training loss", desc, curves, units.number_text, lambda step: f"step {step:.0f}", joined=True)


def _known(line: Sequence[float | None]) -> list[float]:
    return [value for value in line if value is not None]


def _last_values(curves: Curves, write: Callable[[float | None], str]) -> str:
    return ", ".join(f"{name} {write(line[-1])}" for name, line in zip(curves.names, curves.values, strict=True))


def _marks_text(curves: Curves) -> str:
    marks = [f"{label} at {units.seconds_text(at)}" for at, label in curves.marks]
    return f" Marks: {', '.join(marks)}." if marks else ""


def ticks(largest: float, *, binary: bool = False) -> list[float]:
    """Return three to six round values from 0 to the first one at or above `largest`.

    `binary` gives steps that are round in KiB, MiB, GiB, else steps of 1, 2, 5 times a power of ten.
    """
    rough = max(largest, 1e-9) / 4
    if binary:
        step = 2.0 ** math.ceil(math.log2(max(rough, 1)))
    else:
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    return [step * at for at in range(math.ceil(round(max(largest, step) / step, 6)) + 1)]


def _chart(
    title: str,
    desc: str,
    curves: Curves,
    write_y: Callable[[float | None], str],
    write_x: Callable[[float], str],
    *,
    binary: bool = False,
    joined: bool = False,
) -> str:
    curves = thinned(curves, _MOST_POINTS)
    scale = ticks(curves.largest or 1.0, binary=binary)
    start, end = curves.at[0], max(curves.at[-1], curves.at[0] + 1e-9)
    plot_width, plot_height = WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM

    def x(value: float) -> float:
        return _LEFT + plot_width * (value - start) / (end - start)

    def y(value: float) -> float:
        return _TOP + plot_height * (1 - value / scale[-1])

    parts = [_grid(scale, y, write_y), *_axis(start, end, x, write_x), *_mark_lines(curves, x)]
    for at, line in enumerate(curves.values):
        points = [(x(p), None if v is None else y(v)) for p, v in zip(curves.at, line, strict=True)]
        parts.append(_path(at, [point for point in points if point[1] is not None] if joined else points))
    parts += _legend(curves, write_y)
    height = HEIGHT + _LEGEND * math.ceil(len(curves.names) / 2)
    return (
        f'<svg class="rocmtx-svg" role="img" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'xmlns="http://www.w3.org/2000/svg" fill="currentColor" font-size="11" font-family="system-ui,sans-serif">'
        f"<title>{escape(title)}</title><desc>{escape(desc)}</desc><style>{_STYLE}</style>{''.join(parts)}</svg>"
    )


def _grid(scale: Sequence[float], y: Callable[[float], float], write: Callable[[float | None], str]) -> str:
    lines = "".join(f"M{_LEFT} {y(value):.1f}H{WIDTH - _RIGHT}" for value in scale)
    labels = "".join(
        f'<text x="{_LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{escape(write(value))}</text>'
        for value in scale
    )
    return f'<path d="{lines}" stroke="currentColor" stroke-opacity=".18" fill="none"/>{labels}'


def _axis(start: float, end: float, x: Callable[[float], float], write: Callable[[float], str]) -> list[str]:
    bottom = HEIGHT - _BOTTOM + 16
    ends = ((start, "start"), (end, "end")) if end - start > 1e-6 else ((start, "start"),)  # noqa: PLR2004
    return [f'<text x="{x(v):.1f}" y="{bottom}" text-anchor="{anchor}">{escape(write(v))}</text>' for v, anchor in ends]


def _mark_lines(curves: Curves, x: Callable[[float], float]) -> list[str]:
    parts, free_from = [], 0.0
    for at, label in curves.marks:
        if not curves.at[0] <= at <= curves.at[-1]:
            continue
        place = x(at)
        parts.append(
            f'<path d="M{place:.1f} {_TOP - 6}V{HEIGHT - _BOTTOM}" stroke="currentColor" stroke-opacity=".55" '
            'stroke-dasharray="3 3" fill="none"/>'
        )
        if place >= free_from and place < WIDTH - _MARK_ROOM:
            parts.append(f'<text x="{place + 3:.1f}" y="{_TOP - 8}">{escape(label)}</text>')
            free_from = place + _MARK_ROOM
    return parts


def _stroke(at: int) -> str:
    # Every second line is dashed, so that colour is not the only difference.
    dash = ' stroke-dasharray="7 3"' if at % 2 else ""
    return f'class="s{at % 8}" stroke="{_PLAIN[at % 8]}" stroke-width="2"{dash}'


def _path(at: int, points: Sequence[tuple[float, float | None]]) -> str:
    commands, pen_down = [], False
    for index, (x, y) in enumerate(points):
        if y is None:
            pen_down = False
            continue
        alone = not pen_down and (index + 1 == len(points) or points[index + 1][1] is None)
        commands.append(f"{'L' if pen_down else 'M'}{x:.1f} {y:.1f}" + ("m-2 0h4" if alone else ""))
        pen_down = True
    ends = 'stroke-linejoin="round" stroke-linecap="round"'
    return f'<path d="{"".join(commands)}" {_stroke(at)} fill="none" {ends}/>'


def _legend(curves: Curves, write: Callable[[float | None], str]) -> list[str]:
    parts = []
    for at, (name, line) in enumerate(zip(curves.names, curves.values, strict=True)):
        left, top = _LEFT + (at % 2) * (WIDTH - _LEFT) // 2, HEIGHT + 8 + _LEGEND * (at // 2)
        parts.append(f'<path d="M{left} {top - 4}h22" {_stroke(at)} fill="none"/>')
        parts.append(f'<text x="{left + 28}" y="{top}">{escape(f"{name}: {write(line[-1])}")}</text>')
    return parts

"""Colours: the same in Python and TypeScript, told apart from their background by enough contrast."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rocmtx.views import svg, theme

ROOT = Path(__file__).parents[3]


def luminance(colour: str) -> float:
    """Return the relative luminance of #rrggbb (WCAG 2.2)."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("name", ["SERIES_LIGHT", "SERIES_DARK"])
def test_the_chart_uses_the_same_colours(name: str) -> None:
    source = (ROOT / "labextension" / "live" / "theme.ts").read_text(encoding="utf-8")
    block = source.split(f"export const {name}", 1)[1].split("]", 2)[1]
    assert tuple(re.findall(r"#[0-9a-f]{6}", block)) == getattr(theme, name)


@pytest.mark.parametrize("background", ["#ffffff", "#f5f5f5"])
def test_light_colours_stand_out(background: str) -> None:
    assert all(contrast(colour, background) >= 3 for colour in theme.SERIES_LIGHT)


@pytest.mark.parametrize("background", ["#111111", "#212121"])
def test_dark_colours_stand_out(background: str) -> None:
    assert all(contrast(colour, background) >= 3 for colour in theme.SERIES_DARK)


@pytest.mark.parametrize("background", ["#ffffff", "#111111"])
def test_without_style_sheets_the_colours_stand_out_on_both(background: str) -> None:
    assert all(contrast(colour, background) >= 3 for colour in svg._PLAIN)


def test_verdicts_are_readable_as_text() -> None:
    for name in ("yes", "unknown", "no"):
        light, dark = re.findall(rf"--rocmtx-{name}:(#[0-9a-f]{{6}})", theme.STYLE)
        assert contrast(light, "#ffffff") >= 4.5
        assert contrast(dark, "#111111") >= 4.5

"""Numbers as people read them: one table per unit, unknown is a word, and no text is written in the wrong unit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmtx import units

if TYPE_CHECKING:
    from collections.abc import Callable

WRITERS: list[Callable[[float | None], str]] = [
    units.bytes_text,
    units.ratio_text,
    units.watts_text,
    units.celsius_text,
    units.hertz_text,
    units.seconds_text,
    units.count_text,
    units.rate_text,
    units.number_text,
]


@pytest.mark.parametrize("write", WRITERS)
def test_unknown_is_a_word_and_zero_is_a_number(write: Callable[[float | None], str]) -> None:
    assert write(None) == "unknown"
    assert write(0).startswith("0")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1536, "2 KiB"),
        (1024**2 - 1, "1.0 MiB"),
        (538_060_288, "513.1 MiB"),
        (1024**3 - 1, "1.0 GiB"),
        (206_141_652_992, "192.0 GiB"),
        (2 * 1024**4, "2.0 TiB"),
        (3 * 1024**6, "3072.0 PiB"),
        (-(1024**3), "-1.0 GiB"),
    ],
)
def test_bytes(value: float, text: str) -> None:
    assert units.bytes_text(value) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("20GiB", 20 * 1024**3),
        ("1.5 G", 1_610_612_736),
        (" 512 MB ", 512_000_000),
        ("4096", 4096),
        ("7b", 7),
        (".5k", 512),
        ("2kb", 2000),
        ("2TiB", 2 * 1024**4),
        ("0", 0),
    ],
)
def test_parse_bytes(text: str, value: int) -> None:
    assert units.parse_bytes(text) == value


@pytest.mark.parametrize("text", ["", "GiB", "-1G", "1,5G", "12 parsecs", "1e9", "1 G B"])
def test_parse_bytes_says_what_a_size_looks_like(text: str) -> None:
    expected = f"{text!r} is not a size; write for example 20GiB, 512MiB or 4096"
    with pytest.raises(ValueError, match=re.escape(expected)):
        units.parse_bytes(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0004, "0 ms"),
        (0.0123, "12 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1.0 s"),
        (3.21, "3.2 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min 0 s"),
        (75, "1 min 15 s"),
        (3599.4, "59 min 59 s"),
        (3600, "1 h 00 min"),
        (3700, "1 h 01 min"),
        (90_000, "25 h 00 min"),
    ],
)
def test_seconds(value: float, text: str) -> None:
    assert units.seconds_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7, "7"),
        (999, "999"),
        (1000, "1.0 k"),
        (999_940, "999.9 k"),
        (999_960, "1.0 M"),
        (134_515_008, "134.5 M"),
        (70_600_000_000, "70.6 B"),
        (1.2e12, "1.2 T"),
        (-2500, "-2.5 k"),
    ],
)
def test_counts(value: float, text: str) -> None:
    assert units.count_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.50 tokens/s"),
        (9.994, "9.99 tokens/s"),
        (9.996, "10.0 tokens/s"),
        (35.72, "35.7 tokens/s"),
        (99.96, "100 tokens/s"),
        (1234.5, "1234 tokens/s"),
    ],
)
def test_rates(value: float, text: str) -> None:
    assert units.rate_text(value) == text


def test_a_rate_has_the_unit_it_is_given() -> None:
    assert units.rate_text(3.0, "steps/s") == "3.00 steps/s"
    assert units.rate_text(None, "steps/s") == "unknown"


@pytest.mark.parametrize(
    ("write", "value", "text"),
    [
        (units.ratio_text, 0.42, "42 %"),
        (units.ratio_text, 1, "100 %"),
        (units.watts_text, 133.4, "133 W"),
        (units.celsius_text, 41.0, "41 °C"),
        (units.hertz_text, 2_100_000_000, "2100 MHz"),
        (units.number_text, 3.14159, "3.142"),
        (units.number_text, 0.000012345, "1.234e-05"),
    ],
)
def test_the_other_units(write: Callable[[float | None], str], value: float, text: str) -> None:
    assert write(value) == text


@given(st.integers(min_value=0, max_value=1024**5))
def test_what_is_written_can_be_read_back_to_the_last_digit_shown(value: int) -> None:
    text = units.bytes_text(value)
    number, unit = text.split()
    assert float(number) < 1024
    step = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3, "TiB": 1024**4, "PiB": 1024**5}[unit]
    rounding = step / 2 if unit in {"B", "KiB"} else step / 20
    if unit != "PiB":
        assert abs(units.parse_bytes(text) - value) <= rounding + 1

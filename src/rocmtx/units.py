"""Numbers to text and back: the only place that formats numbers.

Values elsewhere are raw SI units (bytes, watts, seconds, ratios of 0–1); `None` means unknown and is written as such.
The unit is chosen for the number that is shown: 1048575 bytes are "1.0 MiB", not "1024 KiB".
"""

from __future__ import annotations

import re
from typing import Final

UNKNOWN: Final = "unknown"
_BINARY: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_FACTORS: Final = {
    "": 1,
    "b": 1,
    "k": 1024,
    "kb": 1000,
    "kib": 1024,
    "m": 1024**2,
    "mb": 1000**2,
    "mib": 1024**2,
    "g": 1024**3,
    "gb": 1000**3,
    "gib": 1024**3,
    "t": 1024**4,
    "tb": 1000**4,
    "tib": 1024**4,
}
_STEP: Final = 1024
_MINUTE: Final = 60
_HOUR: Final = 3600
_TEN: Final = 10
_HUNDRED: Final = 100


def bytes_text(value: float | None) -> str:
    """Write bytes in binary units: 206141652992 -> '192.0 GiB'."""
    if value is None:
        return UNKNOWN
    size, power, digits = float(value), 0, 0
    while round(abs(size), digits) >= _STEP and power < len(_BINARY) - 1:
        size, power = size / _STEP, power + 1
        digits = 1 if power > 1 else 0
    return f"{size:.{digits}f} {_BINARY[power]}"


def parse_bytes(text: str) -> int:
    """Read bytes from text: '20GiB', '1.5 G', '512 MB', '4096'. Raises ValueError with the accepted forms."""
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([A-Za-z]*)\s*", text)
    if not match or match[2].lower() not in _FACTORS:
        raise ValueError(f"{text!r} is not a size; write for example 20GiB, 512MiB or 4096")
    return int(float(match[1]) * _FACTORS[match[2].lower()])


def ratio_text(value: float | None) -> str:
    """Write a ratio of 0–1 as a percentage: 0.42 -> '42 %'."""
    return UNKNOWN if value is None else f"{value * 100:.0f} %"


def watts_text(value: float | None) -> str:
    """Write watts: 133.0 -> '133 W'."""
    return UNKNOWN if value is None else f"{value:.0f} W"


def celsius_text(value: float | None) -> str:
    """Write degrees Celsius: 41.0 -> '41 °C'."""
    return UNKNOWN if value is None else f"{value:.0f} °C"


def hertz_text(value: float | None) -> str:
    """Write a clock in MHz: 2100000000 -> '2100 MHz'."""
    return UNKNOWN if value is None else f"{value / 1e6:.0f} MHz"


def seconds_text(value: float | None) -> str:
    """Write a duration: 0.0123 -> '12 ms', 3.21 -> '3.2 s', 75 -> '1 min 15 s', 3700 -> '1 h 01 min'."""
    if value is None:
        return UNKNOWN
    if round(value, 3) < 1:
        return f"{value * 1000:.0f} ms"
    if round(value, 1) < _MINUTE:
        return f"{value:.1f} s"
    whole = round(value)
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s"
    return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE:02d} min"


def count_text(value: float | None) -> str:
    """Write a count with its magnitude: 134515008 -> '134.5 M'."""
    if value is None:
        return UNKNOWN
    for factor, unit in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if round(abs(value) / factor, 4) >= 1:
            return f"{value / factor:.1f} {unit}"
    return f"{value:.0f}"


def rate_text(value: float | None, unit: str = "tokens/s") -> str:
    """Write a rate with three figures at most: 35.72 -> '35.7 tokens/s'."""
    if value is None:
        return UNKNOWN
    digits = 2 if round(value, 2) < _TEN else 1 if round(value, 1) < _HUNDRED else 0
    return f"{value:.{digits}f} {unit}"


def number_text(value: float | None, digits: int = 4) -> str:
    """Write a plain number such as a loss with so many significant digits."""
    return UNKNOWN if value is None else f"{value:.{digits}g}"

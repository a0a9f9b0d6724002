"""Version texts as tuples of whole numbers: 7.10 is newer than 7.9, and it is not 7.1.

Knows the shape of version texts; must not know any package. A suffix (+rocm7.2, rc1, .dev3) is ignored.
"""

from __future__ import annotations

import re
from typing import Final

Version = tuple[int, ...]
_NUMBERS: Final = re.compile(r"\s*v?([0-9]{1,9}(?:\.[0-9]{1,9})*)")
_ROCM_SUFFIX: Final = re.compile(r"\+(?:git[0-9a-f]*\.)?rocm([0-9]+(?:\.[0-9]+)*)")


def parse(text: str | None) -> Version | None:
    """Read the leading numbers: "2.7.1+rocm6.4" -> (2, 7, 1); None when there are none."""
    match = _NUMBERS.match(text) if text else None
    return tuple(int(part) for part in match[1].split(".")) if match else None


def compare(left: Version, right: Version) -> int:
    """Return -1, 0 or 1. Missing parts count as zero: 7.0 equals 7.0.0."""
    size = max(len(left), len(right))
    first, second = (version + (0,) * (size - len(version)) for version in (left, right))
    return (first > second) - (first < second)


def within(text: str | None, minimum: str, maximum: str) -> bool | None:
    """Whether minimum <= version < maximum. None when a text cannot be read."""
    found, low, high = parse(text), parse(minimum), parse(maximum)
    if found is None or low is None or high is None:
        return None
    return compare(found, low) >= 0 and compare(found, high) < 0


def rocm_suffix(torch_version: str) -> str | None:
    """Return the ROCm version in a torch version: "2.11.0+rocm7.2" -> "7.2"; None when there is none."""
    match = _ROCM_SUFFIX.search(torch_version)
    return match[1] if match else None

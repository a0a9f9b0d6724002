"""The header of a safetensors file: dtype and shape of every tensor, without any weight.

Knows the file layout (8 bytes of length, then JSON) and torch's names of its dtypes; must not know torch or the
`safetensors` package. Source: the format's README, huggingface/safetensors.
"""

from __future__ import annotations

import json
import math
import struct
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pathlib import Path

_MOST: Final = 100 << 20  # the format's own limit for a header
# Names in the file -> torch's names.
DTYPES: Final = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2": "float8_e5m2",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "F8_E8M0": "float8_e8m0fnu",
    "F4": "float4_e2m1fn_x2",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U8": "uint8",
    "BOOL": "bool",
}


class BrokenSafetensors(ValueError):
    """The file is no safetensors file, or is cut off."""


@dataclass(frozen=True, slots=True)
class SafetensorsHeader:
    """Bytes and elements by dtype, in torch's names where they are known."""

    tensors: int = 0
    bytes_by_dtype: dict[str, int] = field(default_factory=dict)
    elements_by_dtype: dict[str, int] = field(default_factory=dict)


def read_safetensors(path: Path) -> SafetensorsHeader:
    """Read the header. Raises BrokenSafetensors for another kind of file or a cut one, OSError where it is refused."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(0)
        prefix = file.read(8)
        if len(prefix) < 8:  # noqa: PLR2004 - the length field
            raise BrokenSafetensors("it ends inside its header")
        length = struct.unpack("<Q", prefix)[0]
        if length > min(_MOST, size - 8):
            raise BrokenSafetensors("it ends inside its header, or is no safetensors file")
        raw = file.read(length)
    try:
        entries = json.loads(raw)
    except (ValueError, RecursionError):
        raise BrokenSafetensors("its header is no JSON") from None
    header, end = _summed(entries)
    if end > size - 8 - length:
        raise BrokenSafetensors(f"it is cut off: {size} bytes are there, {8 + length + end} belong to it")
    return header


def _summed(entries: Any) -> tuple[SafetensorsHeader, int]:
    sizes: Counter[str] = Counter()
    elements: Counter[str] = Counter()
    count = last = 0
    try:
        for name, entry in entries.items():
            if name == "__metadata__":
                continue
            begin, end = entry["data_offsets"]
            dtype = DTYPES.get(entry["dtype"], str(entry["dtype"]).lower())
            sizes[dtype] += end - begin
            elements[dtype] += math.prod(entry["shape"])
            count += 1
            last = max(last, end)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise BrokenSafetensors("its header does not describe tensors") from None
    return SafetensorsHeader(count, dict(sizes), dict(elements)), last

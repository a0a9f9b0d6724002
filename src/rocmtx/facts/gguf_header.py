"""The header of a GGUF file: metadata and tensor list, without any weight.

Knows the layout of the GGUF format, versions 2 and 3 (little endian), and which metadata keys stand for which config
keys; must not know torch or the `gguf` package, so that a file can be described where neither is installed. Source:
the format's specification, docs/gguf.md of ggml-org/ggml.
"""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pathlib import Path

MAGIC: Final = b"GGUF"
_SCALARS: Final = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING: Final = 8
_ARRAY: Final = 9
_MOST: Final = 1 << 24  # entries of one list; a vocabulary has 2**18
_DIMENSIONS: Final = 8
_DEPTH: Final = 4
# Tensor types: name, elements in a block, bytes of a block (ggml.h, enum ggml_type and its block sizes).
TYPES: Final = {
    0: ("F32", 1, 4),
    1: ("F16", 1, 2),
    2: ("Q4_0", 32, 18),
    3: ("Q4_1", 32, 20),
    6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24),
    8: ("Q8_0", 32, 34),
    9: ("Q8_1", 32, 36),
    10: ("Q2_K", 256, 84),
    11: ("Q3_K", 256, 110),
    12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176),
    14: ("Q6_K", 256, 210),
    15: ("Q8_K", 256, 292),
    16: ("IQ2_XXS", 256, 66),
    17: ("IQ2_XS", 256, 74),
    18: ("IQ3_XXS", 256, 98),
    19: ("IQ1_S", 256, 50),
    20: ("IQ4_NL", 32, 18),
    21: ("IQ3_S", 256, 110),
    22: ("IQ2_S", 256, 82),
    23: ("IQ4_XS", 256, 136),
    24: ("I8", 1, 1),
    25: ("I16", 1, 2),
    26: ("I32", 1, 4),
    27: ("I64", 1, 8),
    28: ("F64", 1, 8),
    29: ("IQ1_M", 256, 56),
    30: ("BF16", 1, 2),
    34: ("TQ1_0", 256, 54),
    35: ("TQ2_0", 256, 66),
    39: ("MXFP4", 32, 17),
}


class BrokenGguf(ValueError):
    """The file is no GGUF file, or ends inside its header."""


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """What a GGUF file says about itself. Long lists (the vocabulary) are kept as their length under `lengths`."""

    version: int
    metadata: dict[str, Any] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    parameters: int = 0
    tensor_bytes: int | None = None  # None when a tensor type is not in the table
    tensor_types: dict[str, int] = field(default_factory=dict)  # type -> elements

    @property
    def architecture(self) -> str | None:
        """Return the architecture's GGUF name ("llama"), or None."""
        name = self.metadata.get("general.architecture")
        return name if isinstance(name, str) else None

    @property
    def main_type(self) -> str | None:
        """Return the tensor type that holds most elements ("Q4_1"), or None for a file without tensors."""
        return max(self.tensor_types, key=self.tensor_types.__getitem__, default=None)


def read_gguf(path: Path) -> GgufHeader:
    """Read the header. Raises BrokenGguf for what is no GGUF file, OSError when it cannot be opened."""
    with path.open("rb") as file:
        if file.read(4) != MAGIC:
            raise BrokenGguf("it does not begin with the letters GGUF")
        try:
            return _header(file)
        except (struct.error, EOFError):
            raise BrokenGguf("it ends inside its header") from None
        except (UnicodeDecodeError, OverflowError, MemoryError) as error:
            raise BrokenGguf(f"its header is damaged ({error})") from None


def _header(file: IO[bytes]) -> GgufHeader:
    version, tensors, entries = _unpack(file, "<IQQ")
    if version not in {2, 3}:
        raise BrokenGguf(f"its format version is {version}, known are 2 and 3")
    if max(tensors, entries) > _MOST:
        raise BrokenGguf("its header is damaged (impossible counts)")
    metadata: dict[str, Any] = {}
    lengths: dict[str, int] = {}
    for _ in range(entries):
        key = _string(file)
        kind = _unpack(file, "<I")[0]
        if kind == _ARRAY:
            lengths[key], metadata[key] = _array(file)
            if metadata[key] is None:
                del metadata[key]
        else:
            metadata[key] = _value(file, kind)
    elements, size = _tensors(file, tensors)
    return GgufHeader(version, metadata, lengths, sum(elements.values()), size, dict(elements))


def _tensors(file: IO[bytes], count: int) -> tuple[Counter[str], int | None]:
    elements: Counter[str] = Counter()
    size: int | None = 0
    for _ in range(count):
        _string(file)
        dimensions = _unpack(file, "<I")[0]
        if dimensions > _DIMENSIONS:
            raise BrokenGguf("its header is damaged (impossible tensor shape)")
        number = 1
        for extent in _unpack(file, f"<{dimensions}Q"):
            number *= extent
        kind, _offset = _unpack(file, "<IQ")
        name, block, block_bytes = TYPES.get(kind, (f"type {kind}", 0, 0))
        elements[name] += number
        size = size + number // block * block_bytes if size is not None and block else None
    return elements, size


def _unpack(file: IO[bytes], layout: str) -> tuple[Any, ...]:
    return struct.unpack(layout, file.read(struct.calcsize(layout)))


def _string(file: IO[bytes]) -> str:
    length = _unpack(file, "<Q")[0]
    if length > _MOST:
        raise BrokenGguf("its header is damaged (impossible text length)")
    raw = file.read(length)
    if len(raw) != length:
        raise EOFError
    return raw.decode("utf-8", "replace")


def _value(file: IO[bytes], kind: int) -> Any:
    if kind == _STRING:
        return _string(file)
    if kind not in _SCALARS:
        raise BrokenGguf(f"its header is damaged (unknown value type {kind})")
    return _unpack(file, _SCALARS[kind])[0]


def _array(file: IO[bytes], depth: int = 0) -> tuple[int, list[Any] | None]:
    """Return length and entries; the entries of texts and of long lists are skipped."""
    kind, length = _unpack(file, "<IQ")
    if length > _MOST or depth > _DEPTH:
        raise BrokenGguf("its header is damaged (impossible list length)")
    if kind == _ARRAY:
        for _ in range(length):
            _array(file, depth + 1)
        return length, None
    if kind == _STRING:
        for _ in range(length):
            _string(file)
        return length, None
    if kind not in _SCALARS:
        raise BrokenGguf(f"its header is damaged (unknown value type {kind})")
    layout = f"<{length}{_SCALARS[kind][1]}"
    values = list(_unpack(file, layout))
    return length, values if length <= 512 else None  # noqa: PLR2004 - one entry a layer is kept, scores are not

"""What a PCI device id stands for: product name, gfx target, card or part of a processor.

Knows libdrm's `amdgpu.ids` on this machine and the package's own table (data/devices.tsv); must not know sysfs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from rocmtx.facts.tree import parse_integer

if TYPE_CHECKING:
    from rocmtx.facts.tree import Tree

TABLE: Final = Path(__file__).parent / "data" / "devices.tsv"
# Where libdrm installs its list: distributions, then ROCm's own libdrm.
IDS: Final = ("/usr/share/libdrm/amdgpu.ids", "/opt/amdgpu/share/libdrm/amdgpu.ids")
# Targets that exist only as part of a processor, and only on cards (amdgpu's IP lists; gfx942 is both: MI300A, MI300X).
APU_TARGETS: Final = frozenset(
    {
        "gfx902",
        "gfx90c",
        "gfx1013",
        "gfx1033",
        "gfx1035",
        "gfx1036",
        "gfx1103",
        "gfx1150",
        "gfx1151",
        "gfx1152",
        "gfx1153",
    }
)
CARD_TARGETS: Final = frozenset(
    {"gfx803", "gfx900", "gfx906", "gfx908", "gfx90a", "gfx950", "gfx1010", "gfx1011", "gfx1012", "gfx1030", "gfx1031"}
    | {"gfx1032", "gfx1034", "gfx1100", "gfx1101", "gfx1102", "gfx1200", "gfx1201", "gfx1250"}
)


@dataclass(frozen=True, slots=True)
class Product:
    """One row of the table. `xcds` and `compute_units` belong to the whole socket; None where they are not known."""

    name: str
    gfx: str
    kind: Literal["card", "apu"]
    xcds: int | None = None
    compute_units: int | None = None


class Names:
    """Product names of one machine: its own list first, then the package's table."""

    def __init__(self, tree: Tree) -> None:
        self._listed: dict[tuple[int, int], str] | None = None
        self._tree = tree

    def name(self, device_id: int | None, revision: int | None) -> str | None:
        """Return the marketing name, or None for an id that no list holds."""
        if device_id is None:
            return None
        if revision is not None:
            if self._listed is None:
                texts = (self._tree.text(path, expected=False) for path in IDS)
                self._listed = parse_ids(next((text for text in texts if text), ""))
            if (device_id, revision) in self._listed:
                return self._listed[device_id, revision]
        found = product(device_id, revision)
        return found.name if found else None


def product(device_id: int | None, revision: int | None = None) -> Product | None:
    """Return the table's row for a device id; the row of the exact revision wins. None when there is none."""
    table = _table()
    if device_id is None:
        return None
    exact = None if revision is None else table.get((device_id, revision))
    return exact or table.get((device_id, None))


def kind_of(device_id: int | None, gfx: str | None) -> tuple[bool, str] | None:
    """Say whether the GPU is part of a processor, and why we know. None when neither list holds it."""
    found = product(device_id)
    if found is not None:
        where = "part of the processor" if found.kind == "apu" else "a card of its own"
        return found.kind == "apu", f"device id 0x{device_id:04x} ({found.name}) is {where}"
    if gfx in APU_TARGETS:
        return True, f"{gfx} exists only as part of a processor"
    if gfx in CARD_TARGETS:
        return False, f"{gfx} exists only on cards"
    return None


def parse_ids(text: str) -> dict[tuple[int, int], str]:
    """Read libdrm's list: `device,<tab>revision,<tab>name`; spaces will do. Malformed rows are skipped."""
    names: dict[tuple[int, int], str] = {}
    for line in text.splitlines():
        parts = line.split(",", 2)
        if line.startswith("#") or len(parts) != 3:  # noqa: PLR2004 - device, revision, name
            continue
        device, revision = (parse_integer(part.strip(), 16) for part in parts[:2])
        name = parts[2].strip()
        if device is not None and revision is not None and name:
            names.setdefault((device, revision), name)
    return names


@cache
def _table() -> dict[tuple[int, int | None], Product]:
    rows: dict[tuple[int, int | None], Product] = {}
    for line in TABLE.read_text("utf-8").splitlines():
        if line.startswith("#"):
            continue
        device, revision, name, gfx, kind, xcds, units, *_ = [*line.split("\t"), "", ""]
        rows[int(device, 16), None if revision == "*" else int(revision, 16)] = Product(
            name, gfx, "apu" if kind == "apu" else "card", int(xcds) if xcds else None, int(units) if units else None
        )
    return rows

"""The graphics driver's files of each card: identity, memory, partition modes, sleep, and its telemetry.

Knows /sys/class/drm/card*/device; must not know KFD or names. A sleeping card is not woken: of its files only those
are read that the kernel answers from memory. Source: the kernel's Documentation/gpu/amdgpu/driver-misc.rst and
amdgpu_ttm.c.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from rocmtx.facts.telemetry import Telemetry, read_telemetry
from rocmtx.facts.tree import parse_integer

if TYPE_CHECKING:
    from rocmtx.facts.tree import Tree

CLASS: Final = "/sys/class/drm"
AMD: Final = 0x1002
_CARD: Final = re.compile(r"card[0-9]{1,9}")
_RENDER: Final = re.compile(r"renderD([0-9]{1,9})")
_MODE: Final = re.compile(r"[A-Z]{2,4}[0-9]?")
_ADDRESS: Final = re.compile(r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")
_HEX_ID: Final = re.compile(r"(?:0x)?([0-9a-fA-F]{1,16})")

_NOTHING: Final = Telemetry()


@dataclass(frozen=True, slots=True)
class Card:
    """One AMD card. What the driver does not report is None; `Tree.missing` says why."""

    number: int
    device: str  # its folder on the machine
    address: str | None = None
    device_id: int | None = None
    revision: int | None = None
    driver: str | None = None
    render_minor: int | None = None
    unique_id: str | None = None
    product_name: str | None = None
    vbios: str | None = None
    power_state: Literal["active", "suspended"] | None = None
    vram_total: int | None = None
    vram_used: int | None = None
    gtt_total: int | None = None
    gtt_used: int | None = None
    compute_partition: str | None = None
    memory_partition: str | None = None
    has_board: bool | None = None  # whether the files are there that only a card with memory chips of its own has
    telemetry: Telemetry = _NOTHING


def read_cards(tree: Tree) -> tuple[Card, ...]:
    """Read the AMD cards in the order of their numbers. Connectors, render nodes and other vendors are skipped."""
    cards: list[Card] = []
    for name in _card_names(tree):
        device = f"{CLASS}/{name}/device"
        uevent = _uevent(tree, device)
        if _vendor(tree, device, uevent) == AMD:
            cards.append(_read_card(tree, int(name[4:]), device, uevent))
    return tuple(cards)


def cards_by_render(tree: Tree) -> dict[int, int]:
    """Map render minors to card numbers, for every card: a partition's card has no PCI device of its own."""
    pairs = ((_render_minor(tree, f"{CLASS}/{name}/device"), int(name[4:])) for name in _card_names(tree))
    return {minor: number for minor, number in pairs if minor is not None}


def _card_names(tree: Tree) -> list[str]:
    return [name for name in tree.names(CLASS, expected=False) if _CARD.fullmatch(name)]


def _read_card(tree: Tree, number: int, device: str, uevent: dict[str, str]) -> Card:
    state = _power_state(tree, device)
    device_id = _hexadecimal(tree, f"{device}/device")
    if state == "suspended":
        tree.note(f"{device}/gpu_busy_percent", "suspended")
    return Card(
        number,
        device,
        address=_address(tree, device, uevent),
        device_id=device_id if device_id is not None else parse_integer(uevent.get("PCI_ID", "").partition(":")[2], 16),
        revision=_hexadecimal(tree, f"{device}/revision"),
        driver=uevent.get("DRIVER") or tree.link_target(f"{device}/driver"),
        render_minor=_render_minor(tree, device),
        unique_id=unique_id(tree.text(f"{device}/unique_id", expected=False)),
        product_name=tree.text(f"{device}/product_name", expected=False),
        vbios=tree.text(f"{device}/vbios_version", expected=False),
        power_state=state,
        vram_total=_bytes(tree, f"{device}/mem_info_vram_total"),
        vram_used=_bytes(tree, f"{device}/mem_info_vram_used"),
        gtt_total=_bytes(tree, f"{device}/mem_info_gtt_total"),
        gtt_used=_bytes(tree, f"{device}/mem_info_gtt_used"),
        compute_partition=None if state == "suspended" else _mode(tree, f"{device}/current_compute_partition"),
        memory_partition=None if state == "suspended" else _mode(tree, f"{device}/current_memory_partition"),
        has_board=_has_board(tree, device),
        telemetry=_NOTHING if state == "suspended" else read_telemetry(tree, device),
    )


def unique_id(text: str | None) -> str | None:
    """Write a unique id as 16 digits: tools drop leading zeros and add 0x. None for "N/A", 0 and nothing."""
    match = _HEX_ID.fullmatch(text.strip()) if text else None
    return f"{int(match[1], 16):016x}" if match and int(match[1], 16) else None


def _uevent(tree: Tree, device: str) -> dict[str, str]:
    lines = (tree.text(f"{device}/uevent", expected=False) or "").splitlines()
    return {key: value for key, equals, value in (line.partition("=") for line in lines) if equals}


def _vendor(tree: Tree, device: str, uevent: dict[str, str]) -> int | None:
    vendor = _hexadecimal(tree, f"{device}/vendor")
    # A partition's card is a platform device without a PCI identity: it is no card of its own.
    return vendor if vendor is not None else parse_integer(uevent.get("PCI_ID", "").partition(":")[0], 16)


def _address(tree: Tree, device: str, uevent: dict[str, str]) -> str | None:
    for candidate in (uevent.get("PCI_SLOT_NAME"), tree.link_target(device)):
        if candidate and _ADDRESS.fullmatch(candidate):
            return candidate.lower()
    return None


def _hexadecimal(tree: Tree, path: str) -> int | None:
    text = tree.text(path, expected=False)
    return parse_integer(text, 16) if text else None


def _bytes(tree: Tree, path: str) -> int | None:
    value = tree.integer(path)
    return value if value is None or 0 <= value < 1 << 60 else None


def _render_minor(tree: Tree, device: str) -> int | None:
    for name in tree.names(f"{device}/drm", expected=False):
        match = _RENDER.fullmatch(name)
        if match:
            return int(match[1])
    return None


def _power_state(tree: Tree, device: str) -> Literal["active", "suspended"] | None:
    status = tree.text(f"{device}/power/runtime_status", expected=False)
    if status in {"suspended", "suspending"} or tree.text(f"{device}/power_state", expected=False) == "D3cold":
        return "suspended"
    # "unsupported" is the answer of a card that never sleeps.
    return "active" if status in {"active", "resuming", "unsupported"} else None


def _mode(tree: Tree, path: str) -> str | None:
    text = tree.text(path, expected=False)
    return text if text and _MODE.fullmatch(text) else None


def _has_board(tree: Tree, device: str) -> bool | None:
    if not tree.exists(f"{device}/mem_info_vram_total"):
        return None
    return tree.exists(f"{device}/mem_info_vram_vendor") or tree.exists(f"{device}/board_info")

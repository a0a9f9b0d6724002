"""Product names: the machine's own list first, the package's table behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmtx.facts.names import APU_TARGETS, CARD_TARGETS, IDS, Names, kind_of, parse_ids, product
from rocmtx.facts.tree import Tree

if TYPE_CHECKING:
    from pathlib import Path

    from unit.facts.tree_files import MakeTree

LIST = """# List of AMDGPU IDs
1.0.0
15BF,\tDD,\tAMD Radeon 780M Graphics
7481,   C7,     AMD Steam Machine
743F,\tC3,\tAMD Radeon RX 6500
743F,\tC3,\tAMD Radeon RX 6500 XT
zz,\t00,\tnonsense
1586,\tD1,
"""


def test_the_list_of_the_system_is_read_with_its_faults() -> None:
    assert parse_ids(LIST) == {
        (0x15BF, 0xDD): "AMD Radeon 780M Graphics",
        (0x7481, 0xC7): "AMD Steam Machine",
        (0x743F, 0xC3): "AMD Radeon RX 6500",
    }


def test_recorded_list(recorded: Path) -> None:
    names = parse_ids((recorded / "Umio-Yasuno+libdrm-amdgpu-sys-rs/bindings/amdgpu.ids").read_text())
    assert names[0x744C, 0xC8] == "AMD Radeon RX 7900 XTX"
    assert names[0x1586, 0xD5] == "Radeon 8040S Graphics"
    assert names[0x7481, 0xC7] == "AMD Steam Machine"
    assert len(names) > 600


def test_the_systems_name_wins(make_tree: MakeTree) -> None:
    names = Names(Tree(make_tree({IDS[0]: LIST})))
    assert names.name(0x15BF, 0xDD) == "AMD Radeon 780M Graphics"
    assert names.name(0x744C, 0xC8) == "AMD Radeon RX 7900 XTX"
    assert names.name(0x744C, 0x01) == "AMD Radeon RX 7900 series"
    assert names.name(0x744C, None) == "AMD Radeon RX 7900 series"
    assert names.name(0xFFFF, 0x00) is None
    assert names.name(None, None) is None


def test_every_row_of_the_table_is_whole() -> None:
    mi300x = product(0x74A1)
    assert mi300x is not None
    assert (mi300x.name, mi300x.gfx, mi300x.kind, mi300x.xcds, mi300x.compute_units) == (
        "AMD Instinct MI300X", "gfx942", "card", 8, 304,
    )  # fmt: skip
    assert product(0x66A1, 0x02) == product(0x66A1)
    assert product(0x74B9) is not None  # is not in the system's list


@pytest.mark.parametrize(
    ("device", "gfx", "integrated", "because"),
    [
        (0x74A0, "gfx942", True, "device id 0x74a0 (AMD Instinct MI300A) is part of the processor"),
        (0x74A1, "gfx942", False, "device id 0x74a1 (AMD Instinct MI300X) is a card of its own"),
        (0x9999, "gfx1036", True, "gfx1036 exists only as part of a processor"),
        (None, "gfx1201", False, "gfx1201 exists only on cards"),
    ],
)
def test_part_of_a_processor_or_a_card(device: int | None, gfx: str, integrated: bool, because: str) -> None:
    assert kind_of(device, gfx) == (integrated, because)


def test_an_unknown_target_is_unknown() -> None:
    assert kind_of(0x9999, "gfx942") is None
    assert kind_of(None, None) is None
    assert not APU_TARGETS & CARD_TARGETS


@given(st.text())
def test_lists_never_raise(text: str) -> None:
    assert all(name for name in parse_ids(text).values())

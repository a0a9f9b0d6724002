"""The graphics driver's files, recorded and written: what a card says, and what it does not."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from rocmtx.facts import collect
from rocmtx.facts.drm import read_cards, unique_id
from rocmtx.facts.tree import Tree

if TYPE_CHECKING:
    from pathlib import Path

    from rocmtx.facts.drm import Card
    from unit.facts.tree_files import MakeTree

DEVICE = "/sys/class/drm/card1/device"
CARD = {
    f"{DEVICE}/vendor": "0x1002\n",
    f"{DEVICE}/device": "0x744c\n",
    f"{DEVICE}/revision": "0xc8\n",
    f"{DEVICE}/uevent": "DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_ID=1002:744C\nPCI_SLOT_NAME=0000:03:00.0\n",
    f"{DEVICE}/unique_id": "5f3a000500001f3b\n",
    f"{DEVICE}/mem_info_vram_total": "25753026560\n",
    f"{DEVICE}/mem_info_vram_used": "1180160000\n",
    f"{DEVICE}/mem_info_gtt_total": "33285996544\n",
    f"{DEVICE}/mem_info_gtt_used": "120586240\n",
    f"{DEVICE}/mem_info_vram_vendor": "samsung\n",
    f"{DEVICE}/gpu_busy_percent": "3\n",
    f"{DEVICE}/vbios_version": "113-D7020100-102\n",
    f"{DEVICE}/power/runtime_status": "active\n",
    f"{DEVICE}/pp_dpm_mclk": "0: 96Mhz\n1: 456Mhz *\n2: 1249Mhz\n",
    f"{DEVICE}/hwmon/hwmon5/name": "amdgpu\n",
    f"{DEVICE}/hwmon/hwmon5/temp1_label": "edge\n",
    f"{DEVICE}/hwmon/hwmon5/temp1_input": "42000\n",
    f"{DEVICE}/hwmon/hwmon5/temp2_label": "junction\n",
    f"{DEVICE}/hwmon/hwmon5/temp2_input": "47000\n",
    f"{DEVICE}/hwmon/hwmon5/temp3_label": "mem\n",
    f"{DEVICE}/hwmon/hwmon5/temp3_input": "56000\n",
    f"{DEVICE}/hwmon/hwmon5/power1_average": "31000000\n",
    f"{DEVICE}/hwmon/hwmon5/power1_cap": "303000000\n",
    f"{DEVICE}/hwmon/hwmon5/freq1_input": "40000000\n",
    f"{DEVICE}/drm/card1/x": "",
    f"{DEVICE}/drm/renderD128/x": "",
}


def only_card(root: Path) -> Card:
    (card,) = read_cards(Tree(root))
    return card


def test_a_written_card_says_everything(make_tree: MakeTree) -> None:
    tree = Tree(make_tree(CARD))
    (card,) = read_cards(tree)
    assert (card.number, card.address, card.device_id, card.revision) == (1, "0000:03:00.0", 0x744C, 0xC8)
    assert (card.driver, card.render_minor, card.unique_id) == ("amdgpu", 128, "5f3a000500001f3b")
    assert (card.vram_total, card.vram_used, card.gtt_total, card.gtt_used) == (
        25753026560,
        1180160000,
        33285996544,
        120586240,
    )
    readings = card.telemetry
    assert (readings.busy, readings.power, readings.power_cap) == (0.03, 31.0, 303.0)
    assert (readings.temperature_c, readings.hotspot_temperature_c, readings.memory_temperature_c) == (42.0, 47.0, 56.0)
    assert (readings.graphics_clock, readings.memory_clock) == (40e6, 456e6)
    assert (card.vbios, card.power_state, card.has_board) == ("113-D7020100-102", "active", True)
    assert tree.missing == []


def test_other_vendors_connectors_and_render_nodes_are_no_cards(make_tree: MakeTree) -> None:
    other = {
        "/sys/class/drm/card0/device/vendor": "0x1a03\n",
        "/sys/class/drm/card2/device/vendor": "0x8086\n",
        "/sys/class/drm/card1-DP-1/device/vendor": "0x1002\n",
        "/sys/class/drm/renderD128/device/vendor": "0x1002\n",
        "/sys/class/drm/version": "drm 1.1.0 20060810\n",
    }
    assert only_card(make_tree(CARD | other)).number == 1


def test_a_sleeping_gpu_is_not_woken(make_tree: MakeTree) -> None:
    files = CARD | {
        "/sys/class/drm/card0/device/vendor": "0x1a03\n",
        f"{DEVICE}/power/runtime_status": "suspended\n",
        f"{DEVICE}/gpu_busy_percent": "",
        f"{DEVICE}/current_compute_partition": "SPX\n",
    }
    tree = Tree(make_tree(files))
    (card,) = read_cards(tree)
    assert card.power_state == "suspended"
    assert card.vram_total == 25753026560
    readings = card.telemetry
    assert (readings.busy, readings.temperature_c, readings.power, readings.graphics_clock) == (None, None, None, None)
    assert card.compute_partition is None
    assert [(note.path, note.why) for note in tree.missing] == [(f"{DEVICE}/gpu_busy_percent", "suspended")]


def test_not_reported_is_not_zero(make_tree: MakeTree) -> None:
    files = CARD | {
        f"{DEVICE}/gpu_busy_percent": "65535\n",
        f"{DEVICE}/hwmon/hwmon5/temp1_input": "65535000\n",
        f"{DEVICE}/hwmon/hwmon5/power1_average": "",
        f"{DEVICE}/mem_info_vram_used": "N/A\n",
    }
    tree = Tree(make_tree(files))
    (card,) = read_cards(tree)
    assert (card.telemetry.busy, card.telemetry.temperature_c, card.telemetry.power) == (None, None, None)
    assert card.vram_used is None
    assert {(note.path.rpartition("/")[2], note.why) for note in tree.missing} == {
        ("gpu_busy_percent", "not supported"),
        ("temp1_input", "not supported"),
        ("power1_input", "absent"),
        ("mem_info_vram_used", "invalid"),
    }


def test_zero_is_zero(make_tree: MakeTree) -> None:
    files = CARD | {f"{DEVICE}/gpu_busy_percent": "0\n", f"{DEVICE}/mem_info_vram_used": "0\n"}
    card = only_card(make_tree(files))
    assert card.telemetry.busy == 0.0
    assert card.vram_used == 0


def test_the_pci_link_gives_the_address_where_uevent_does_not(make_tree: MakeTree) -> None:
    target = "/sys/devices/pci0000:00/0000:0c:00.0"
    root = make_tree(
        {f"{target}/vendor": "0x1002\n", f"{target}/device": "0x73bf\n"},
        links={"/sys/class/drm/card0/device": "../../../devices/pci0000:00/0000:0c:00.0"},
    )
    assert only_card(root).address == "0000:0c:00.0"


def test_a_strix_halo_with_a_large_carve_out(make_tree: MakeTree) -> None:
    root = make_tree(
        {
            f"{DEVICE}/vendor": "0x1002\n",
            f"{DEVICE}/device": "0x1586\n",
            f"{DEVICE}/mem_info_vram_total": "103079215104\n",
            f"{DEVICE}/mem_info_gtt_total": "16634609664\n",
            "/proc/sys/kernel/osrelease": "6.14.0\n",
        }
    )
    (gpu,) = collect(root).gpus
    assert (gpu.vram_total, gpu.gtt_total, gpu.kfd_memory) == (103079215104, 16634609664, None)
    assert (gpu.integrated, gpu.gfx, gpu.name) == (True, "gfx1151", "AMD Radeon 8060S / 8050S / 8040S")
    assert gpu.address == "drm-card1"  # the tree names no PCI address


def test_instinct_modes_and_sleep_level(make_tree: MakeTree) -> None:
    files = CARD | {
        f"{DEVICE}/current_compute_partition": "CPX\n",
        f"{DEVICE}/current_memory_partition": "NPS4\n",
        f"{DEVICE}/pp_dpm_sclk": "S: 132Mhz *\n0: 500Mhz\n1: 2100Mhz\n",
    }
    del files[f"{DEVICE}/hwmon/hwmon5/freq1_input"]
    card = only_card(make_tree(files))
    assert (card.compute_partition, card.memory_partition) == ("CPX", "NPS4")
    assert card.telemetry.graphics_clock == 132e6


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("0x4edfb117a17a07d", "04edfb117a17a07d"), ("79ccd55167a2124a\n", "79ccd55167a2124a"),
        ("0X79CCD55167A2124A", None), ("N/A", None), ("", None), (None, None), ("0", None), ("0x0", None),
    ],
)  # fmt: skip
def test_unique_ids_are_padded(text: str | None, digits: str | None) -> None:
    assert unique_id(text) == digits


# The rows of the recorded trees: device id, revision, address, VRAM total and used, GTT total, busy.
RECORDED = {
    "phoenix": (0x15BF, 0xDD, "0000:64:00.0", 4294967296, 1272893440, 31433977856, 0.0),
    "strixpoint": (0x150E, 0xC4, "0000:c1:00.0", 536870912, 514580480, 16441004032, 0.03),
    "rx6900xt": (0x73BF, 0xC0, "0000:0c:00.0", 17163091968, 668274688, 16786171904, 0.03),
    "rx580": (0x67DF, 0xE7, "0000:09:00.0", 4294967296, 536870912, 8342712320, 0.11),
    "vega56": (0x687F, 0xC3, "0000:0b:00.0", 8573157376, 16613376, 8342863872, 0.0),
    "r7-240": (0x6617, 0x87, "0000:01:00.0", 2147483648, 495321088, 4069261312, None),
}
PARTIAL = {
    "rx7900xtx": (0x744C, 3), "rx7800xt": (0x747E, 2), "rx7600s": (0x7480, 0), "rx7700s": (0x7480, 0),
    "rx9070": (0x7550, 25), "rx9070xt": (0x7550, 3), "rx6600": (0x73FF, 0), "rx6600xt": (0x73FF, 0),
    "rx5700xt": (0x731F, 0), "rx5500xt": (0x7340, 0), "vangogh": (0x163F, 0), "hd7870": (0x6818, None),
    "r9-280": (0x679A, None),
}  # fmt: skip


def lact(recorded: Path, model: str, root: Path) -> Path:
    drm = root / "sys/class/drm"
    drm.mkdir(parents=True)
    for card in (recorded / "ilya-zlobintsev+LACT/tests/snapshots/amd" / model).glob("card*"):
        (drm / card.name).symlink_to(card)
    return root


@pytest.mark.parametrize("model", RECORDED)
def test_recorded_cards(model: str, recorded: Path, tmp_path: Path) -> None:
    card = only_card(lact(recorded, model, tmp_path))
    assert (
        card.device_id,
        card.revision,
        card.address,
        card.vram_total,
        card.vram_used,
        card.gtt_total,
        card.telemetry.busy,
    ) == RECORDED[model]


@pytest.mark.parametrize("model", PARTIAL)
def test_recorded_partial_cards(model: str, recorded: Path, tmp_path: Path) -> None:
    card = only_card(lact(recorded, model, tmp_path))
    device, busy = PARTIAL[model]
    assert card.device_id == device
    assert card.telemetry.busy == (None if busy is None else busy / 100)
    assert (card.vram_total, card.vram_used) == (None, None)
    discrete = model not in {"vangogh", "hd7870", "r9-280"}
    assert (card.telemetry.power is not None) == (discrete or model == "vangogh")
    assert (card.telemetry.memory_temperature_c is not None) == discrete


def test_recorded_phoenix_apu(recorded: Path, tmp_path: Path) -> None:
    card = only_card(lact(recorded, "phoenix", tmp_path))
    assert card.unique_id is None  # the file is there and empty
    assert (card.telemetry.power, card.telemetry.temperature_c) == (3.103, 25.0)
    assert (card.vbios, card.product_name, card.has_board) == ("113-PHXGENERIC-001", None, False)
    (gpu,) = collect(tmp_path).gpus
    assert (gpu.name, gpu.integrated, gpu.gfx) == ("AMD Radeon 780M", True, "gfx1103")


def test_recorded_phoenix_with_kfd_has_three_memories(recorded: Path, tmp_path: Path) -> None:
    root = lact(recorded, "phoenix", tmp_path)
    topology = root / "sys/class/kfd/kfd/topology"
    topology.mkdir(parents=True)
    (topology / "nodes").symlink_to(recorded / "ilya-zlobintsev+LACT/tests/snapshots/amd/phoenix/kfd/topology/nodes")
    (gpu,) = collect(root).gpus
    assert (gpu.vram_total, gpu.gtt_total, gpu.kfd_memory) == (4294967296, 31433977856, 31433977856)
    assert (gpu.hip_ordinal, gpu.drm_card, gpu.revision) == (0, 1, 0xDD)


def test_recorded_nul_padded_card(recorded: Path, tmp_path: Path) -> None:
    card = only_card(lact(recorded, "rx6900xt", tmp_path))
    assert card.unique_id == "946d7e1ef9b172dd"
    assert card.power_state == "active"


def test_recorded_vega_of_another_collector(recorded: Path, tmp_path: Path) -> None:
    shutil.copytree(recorded / "prometheus+procfs/fixtures/sys", tmp_path / "sys", symlinks=True)
    card = only_card(tmp_path)
    assert (card.device_id, card.revision, card.address) == (0x687F, 0xC1, "0000:09:00.0")
    assert (card.vram_total, card.vram_used) == (8573157376, 1490378752)
    assert (card.gtt_total, card.gtt_used) == (8573157376, 144560128)
    assert (card.telemetry.busy, card.unique_id, card.product_name) == (0.04, "0123456789abcdef", None)

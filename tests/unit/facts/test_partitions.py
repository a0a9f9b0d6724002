"""Sockets and devices are two counts: partitions of an MI300, dies of an MI250X."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rocmtx.facts import collect
from rocmtx.facts.model import Partition
from rocmtx.facts.partitions import partitions, sockets
from rocmtx.facts.sysfs import KfdNode
from unit.facts.tree_files import kfd_node

if TYPE_CHECKING:
    from unit.facts.tree_files import MakeTree


def node(number: int, location: int, **properties: int) -> KfdNode:
    values = {"device_id": 0x74A1, "location_id": location, "unique_id": 0xAB, "num_xcc": 1} | properties
    return KfdNode(number, values)


def test_eight_partitions_are_one_socket() -> None:
    nodes = [node(2 + function, 0x0500 | function) for function in range(8)]
    socket_of = sockets(nodes)
    assert set(socket_of.values()) == {"0000:05:00"}
    assert partitions(nodes, socket_of, {}) == {
        2 + function: Partition(function, 8, "CPX", None) for function in range(8)
    }


def test_a_socket_may_lack_a_partition() -> None:
    nodes = [node(2 + function, 0xE500 | function) for function in range(7)]
    assert partitions(nodes, sockets(nodes), {})[8] == Partition(6, 8, "CPX", None)


def test_partitions_at_one_address_are_counted_in_their_order() -> None:
    nodes = [node(2 + at, 0x0500) for at in range(8)]
    places = partitions(nodes, sockets(nodes), {"0000:05:00": ("CPX", "NPS4")})
    assert [places[2 + at] for at in range(8)] == [Partition(at, 8, "CPX", "NPS4") for at in range(8)]


def test_the_partition_number_may_lie_in_the_high_bits() -> None:
    nodes = [node(2 + at, at << 28 | 0x0500) for at in (0, 1, 2, 3, 4, 5, 6, 7)]
    assert [partitions(nodes, sockets(nodes), {})[2 + at].index for at in range(8)] == list(range(8))


@pytest.mark.parametrize(
    ("device", "dies", "count", "mode"),
    [(0x74A1, 4, 2, "DPX"), (0x74A0, 2, 3, "TPX"), (0x74A1, 2, 4, "QPX"), (0x74A0, 1, 6, "CPX"), (0x74A2, 1, 4, "CPX")],
)
def test_modes_follow_from_the_dies(device: int, dies: int, count: int, mode: str) -> None:
    nodes = [node(2 + at, 0x0500 | at, device_id=device, num_xcc=dies) for at in range(count)]
    assert partitions(nodes, sockets(nodes), {})[2] == Partition(0, count, mode, None)


def test_an_undivided_socket_has_a_place_only_where_the_driver_names_its_mode() -> None:
    nodes = [node(2, 0x0500, num_xcc=8)]
    assert partitions(nodes, sockets(nodes), {}) == {}
    assert partitions(nodes, sockets(nodes), {"0000:05:00": ("SPX", "NPS1")}) == {2: Partition(0, 1, "SPX", "NPS1")}


def test_one_address_with_two_ids_is_two_sockets() -> None:
    nodes = [node(1, 0x1900, device_id=0x6860), node(2, 0x1900, device_id=0x6860, unique_id=0xAC)]
    assert sockets(nodes) == {1: "0000:19:00#00000000000000ab", 2: "0000:19:00#00000000000000ac"}


def dies(bandwidths: dict[int, dict[int, int]]) -> list[KfdNode]:
    return [
        KfdNode(
            number,
            {"device_id": 0x7408, "location_id": (0xC1 + 5 * at) << 8, "unique_id": at + 1, "num_xcc": 1},
            bandwidths=bandwidths.get(number, {}),
        )
        for at, number in enumerate(range(4, 8))
    ]


def test_the_dies_of_an_mi250x_are_paired_by_their_widest_link() -> None:
    wide = {4: {5: 200000, 6: 50000}, 5: {4: 200000}, 6: {7: 200000, 4: 50000}, 7: {6: 200000}}
    nodes = dies(wide)
    assert sockets(nodes) == {4: "0000:c1:00", 5: "0000:c1:00", 6: "0000:cb:00", 7: "0000:cb:00"}
    assert partitions(nodes, sockets(nodes), {}) == {}  # two devices, and neither is a partition


def test_dies_stay_apart_where_the_links_do_not_tell() -> None:
    equal = {4: {5: 50000, 6: 50000}, 5: {4: 50000, 7: 50000}}
    assert len(set(sockets(dies(equal)).values())) == 4
    assert len(set(sockets(dies({})).values())) == 4


def test_vram_of_a_partition_is_its_own_and_telemetry_the_sockets(make_tree: MakeTree) -> None:
    device = "/sys/class/drm/card1/device"
    files = {
        f"{device}/vendor": "0x1002",
        f"{device}/uevent": "DRIVER=amdgpu\nPCI_ID=1002:74A1\nPCI_SLOT_NAME=0000:05:00.0",
        f"{device}/mem_info_vram_total": "206141652992",
        f"{device}/mem_info_vram_used": "300000000",
        f"{device}/mem_info_gtt_total": "1000",
        f"{device}/mem_info_gtt_used": "10",
        f"{device}/gpu_busy_percent": "42",
        f"{device}/current_compute_partition": "CPX",
        f"{device}/current_memory_partition": "NPS1",
        f"{device}/hwmon/hwmon0/power1_input": "133000000",
        f"{device}/drm/renderD128/x": "",
    }
    for at in range(8):
        files |= kfd_node(
            2 + at,
            location_id=0x0500 | at,
            drm_render_minor=128 + at,
            num_xcc=1,
            simd_count=152,
            vram=25767706624,
            gpu_id=9 + at,
        )
        # A partition's card is a platform device without a PCI identity.
        if at:
            files[f"/sys/class/drm/card{1 + at}/device/drm/renderD{128 + at}/x"] = ""
    gpus = collect(make_tree(files)).gpus
    assert len(gpus) == 8
    assert {gpu.vram_total for gpu in gpus} == {25767706624}
    assert [gpu.vram_used for gpu in gpus] == [None] * 8  # the card's number is not theirs
    assert [gpu.partition for gpu in gpus] == [Partition(at, 8, "CPX", "NPS1") for at in range(8)]
    assert [gpu.drm_card for gpu in gpus] == list(range(1, 9))
    first, second = gpus[:2]
    assert (first.busy, first.power, first.telemetry_of) == (0.42, 133.0, "socket")
    assert (second.busy, second.power, second.gtt_total, second.telemetry_of) == (None, None, None, None)
    assert {gpu.socket for gpu in gpus} == {"0000:05:00"}
    assert [gpu.amd_smi_index for gpu in gpus] == list(range(8))

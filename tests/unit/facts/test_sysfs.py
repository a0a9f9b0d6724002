"""The KFD topology against recorded machines, and against written ones of the same kinds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmtx.facts import collect
from rocmtx.facts.sysfs import KfdNode, gfx_name, parse_properties, read_nodes
from rocmtx.facts.tree import Tree
from unit.facts.tree_files import cpu_node, kfd_node

if TYPE_CHECKING:
    from pathlib import Path

    from rocmtx.facts.model import Gpu
    from unit.facts.tree_files import MakeTree

ORACLES = ("mi25_old_kernel", "mi210x8", "mi300x_cpx63", "mi308x_cpx32")


def decoded(gpu: Gpu) -> dict[str, Any]:
    assert gpu.vendor_id is not None
    assert gpu.device_id is not None
    return {
        "node": gpu.kfd_node,
        "kind": "gpu",
        "gpu_id": gpu.gpu_id,
        "gfx": gpu.gfx,
        "vendor": f"0x{gpu.vendor_id:04x}",
        "device": f"0x{gpu.device_id:04x}",
        "bdf": gpu.address,
        "render": f"renderD{gpu.render_minor}",
        "cu": gpu.compute_units,
        "wave": gpu.wave_size,
        "num_xcc": gpu.xcc_count,
        "unique_id": gpu.unique_id,
        "uuid": f"GPU-{gpu.unique_id}",
        "vram_bytes": gpu.vram_total,
        "hive": gpu.hive_id,
    }


@pytest.mark.parametrize("name", ORACLES)
def test_recorded_topologies_decode_to_their_oracles(name: str, recorded: Path, tmp_path: Path) -> None:
    oracle = json.loads((recorded / "ORACLES.json").read_text())[name]
    topology = tmp_path / "sys/class/kfd/kfd/topology"
    topology.mkdir(parents=True)
    (topology / "nodes").symlink_to(recorded / oracle["path"])
    facts = collect(tmp_path)
    expected = [node for node in oracle["nodes"] if node["kind"] == "gpu"]
    for node in expected:
        node.pop("gfx_target_version")
        if name == "mi25_old_kernel":
            node["gfx"] = "gfx900"  # this kernel does not print it: the device id tells
    assert [decoded(gpu) for gpu in facts.gpus] == expected
    assert len(facts.gpus) == oracle["n_gpu_nodes"]
    assert len({gpu.socket for gpu in facts.gpus}) == oracle["n_sockets"]


def test_recorded_mi210_numbers_differ_between_hip_and_amd_smi(recorded: Path, tmp_path: Path) -> None:
    topology = tmp_path / "sys/class/kfd/kfd/topology"
    topology.mkdir(parents=True)
    (topology / "nodes").symlink_to(recorded / "ROCm+k8s-device-plugin/testdata/topo-mi210-xgmi-pcie/nodes")
    by_smi = sorted(collect(tmp_path).gpus, key=lambda gpu: gpu.amd_smi_index or 0)
    assert [gpu.hip_ordinal for gpu in by_smi] == [2, 3, 1, 0, 6, 7, 5, 4]
    links = next(gpu for gpu in by_smi if gpu.kfd_node == 2).links
    assert [(link.node, link.type, link.weight) for link in links if link.type == 11] == [
        (3, 11, 15),
        (4, 11, 15),
        (5, 11, 15),
    ]
    assert {link.weight for link in links if link.type == 2} == {20, 52, 72}


def test_recorded_mi308x_partitions_have_two_pci_domains(recorded: Path, tmp_path: Path) -> None:
    topology = tmp_path / "sys/class/kfd/kfd/topology"
    topology.mkdir(parents=True)
    (topology / "nodes").symlink_to(recorded / "ROCm+k8s-device-plugin/testdata/topology-parsing-mi308/topology/nodes")
    gpus = collect(tmp_path).gpus
    assert [gpu.address for gpu in gpus[::4]] == [
        "0000:0a:00.0", "0000:80:00.0", "0000:a4:00.0", "0000:c8:00.0",
        "0001:0b:00.0", "0001:81:00.0", "0001:a5:00.0", "0001:c9:00.0",
    ]  # fmt: skip
    assert gpus[0].unique_id == "084cafeae17e7696"  # tools print it without the leading zero
    assert [gpu.vram_total for gpu in gpus[:4]] == [51539607552, 51539607552, 51539607552, 51522830336]
    assert gpus[0].vram_used == 2907979776
    assert gpus[0].name == "AMD Instinct MI308X"  # its KFD name file says "ip discovery"


def test_recorded_rx7900xtx_node(recorded: Path, make_tree: MakeTree) -> None:
    text = (recorded / "tinygrad+tinygrad/extracted/rx7900xtx/nodes/1/properties").read_text()
    (gpu,) = collect(make_tree({"/sys/class/kfd/kfd/topology/nodes/1/properties": text})).gpus
    assert (gpu.gfx, gpu.compute_units, gpu.wave_size) == ("gfx1100", 96, 32)
    assert (gpu.address, gpu.unique_id) == ("0000:86:00.0", "a1ffc9d1799c317f")
    assert gpu.name == "AMD Radeon RX 7900 series"  # without DRM there is no revision to tell XT from XTX


@pytest.mark.parametrize(
    ("profile", "gfx", "units", "wave"),
    [
        ("gfx950_mi355x_kmd.json", "gfx950", 256, 64),
        ("gfx950_mi350p_kmd.json", "gfx950", 128, 64),
        ("gfx942_cdna3_kmd.json", "gfx942", 304, 64),
        ("gfx90a_mi210_kmd.json", "gfx90a", 104, 64),
    ],
)
def test_profiles_of_amds_emulator(profile: str, gfx: str, units: int, wave: int, recorded: Path) -> None:
    profiles = json.loads((recorded / "ROCm+rocm-systems/extracted/rocjitsu_device_profiles.json").read_text())
    values = {key: value for key, value in profiles["profiles"][profile].items() if isinstance(value, int)}
    node = KfdNode(1, values)
    assert (node.gfx, node.compute_units, node.wave_size) == (gfx, units, wave)


@pytest.mark.parametrize("model", ["phoenix", "strixpoint", "vangogh"])
def test_recorded_apu_banks_are_no_vram(model: str, recorded: Path, tmp_path: Path) -> None:
    nodes = recorded / "ilya-zlobintsev+LACT/tests/snapshots/amd" / model / "kfd/topology/nodes"
    topology = tmp_path / "sys/class/kfd/kfd/topology"
    topology.mkdir(parents=True)
    (topology / "nodes").symlink_to(nodes)
    (gpu,) = collect(tmp_path).gpus
    expected = {
        "phoenix": ("gfx1103", 12, 31433977856),
        "strixpoint": ("gfx1150", 12, 16441004032),
        "vangogh": ("gfx1033", 8, 8589934592),
    }
    assert (gpu.gfx, gpu.compute_units, gpu.kfd_memory) == expected[model]
    assert gpu.vram_total is None
    assert gpu.integrated is True
    assert gpu.unique_id is None


def test_written_mi300x(make_tree: MakeTree) -> None:
    root = make_tree(cpu_node(0) | kfd_node(1) | kfd_node(10, location_id=0xE500, unique_id=0, gpu_id=7))
    first, second = collect(root).gpus
    assert (first.kfd_node, first.hip_ordinal, first.gfx, first.compute_units) == (1, 0, "gfx942", 304)
    assert (first.name, first.address, first.xcc_count) == ("AMD Instinct MI300X", "0000:05:00.0", 8)
    assert (first.vram_total, first.unique_id) == (206141652992, "e3aa140f9a5f9e31")
    assert (second.kfd_node, second.hip_ordinal, second.unique_id) == (10, 1, None)


def test_vram_is_the_sum_of_visible_and_invisible_banks(make_tree: MakeTree) -> None:
    base = "/sys/class/kfd/kfd/topology/nodes/1/mem_banks"
    root = make_tree(
        kfd_node(1, vram=268435456)
        | {
            f"{base}/1/properties": "heap_type 2\nsize_in_bytes 1000\n",
            f"{base}/2/properties": "heap_type 0\nsize_in_bytes 77777\n",  # system memory is no VRAM
            f"{base}/3/properties": "heap_type 4\nsize_in_bytes 65536\n",
        }
    )
    (gpu,) = collect(root).gpus
    assert gpu.vram_total == 268436456


def test_a_node_without_location_is_still_a_gpu(make_tree: MakeTree) -> None:
    root = make_tree({"/sys/class/kfd/kfd/topology/nodes/1/properties": "gfx_target_version 90008"})
    (gpu,) = collect(root).gpus
    assert (gpu.gfx, gpu.address, gpu.vram_total, gpu.compute_units) == ("gfx908", "kfd-node-1", None, None)


def test_a_node_without_properties_is_skipped_and_noted(make_tree: MakeTree) -> None:
    tree = Tree(make_tree({"/sys/class/kfd/kfd/topology/nodes/1/gpu_id": "5", **kfd_node(2)}))
    assert [node.node for node in read_nodes(tree)] == [2]
    assert [(note.path, note.why) for note in tree.missing] == [
        ("/sys/class/kfd/kfd/topology/nodes/1/properties", "absent")
    ]


def test_no_kfd_is_noted(make_tree: MakeTree) -> None:
    facts = collect(make_tree({"/sys/module/x": ""}))
    assert facts.gpus == ()
    assert facts.host.kfd_topology is False
    assert ("/sys/class/kfd", "absent") in {(note.path, note.why) for note in facts.missing}


def test_links_are_read_once_a_socket(make_tree: MakeTree) -> None:
    link = "type 11\nnode_from 1\nnode_to 2\nweight 13\n"
    base = "/sys/class/kfd/kfd/topology/nodes"
    root = make_tree(
        kfd_node(1, num_xcc=1, simd_count=152)
        | kfd_node(2, num_xcc=1, simd_count=152, location_id=0x0501, drm_render_minor=129)
        | {f"{base}/1/io_links/0/properties": link, f"{base}/2/io_links/0/properties": link}
    )
    first, second = read_nodes(Tree(root))
    assert (len(first.links), len(second.links)) == (1, 0)


@pytest.mark.parametrize(
    ("version", "name"),
    [
        (90000, "gfx900"), (90006, "gfx906"), (90008, "gfx908"), (90010, "gfx90a"), (90012, "gfx90c"),
        (90402, "gfx942"), (90500, "gfx950"), (100102, "gfx1012"), (100300, "gfx1030"), (100306, "gfx1036"),
        (110000, "gfx1100"), (110003, "gfx1103"), (110501, "gfx1151"), (110503, "gfx1153"), (120001, "gfx1201"),
        (120500, "gfx1250"),
    ],
)  # fmt: skip
def test_gfx_names_have_hexadecimal_digits(version: int, name: str) -> None:
    assert gfx_name(version) == name


@pytest.mark.parametrize(
    ("location", "domain", "address"),
    [
        (0x1900, None, "0000:19:00.0"),
        (0x0507, 0, "0000:05:00.7"),
        (0x0A00, 1, "0001:0a:00.0"),
        (0x0000, 0x3436, "3436:00:00.0"),
        (0x0000, 0x10001, "10001:00:00.0"),
        (0x00F8, 0, "0000:00:1f.0"),
    ],
)
def test_addresses(location: int, domain: int | None, address: str) -> None:
    properties = {"location_id": location} | ({} if domain is None else {"domain": domain})
    assert KfdNode(1, properties).address == address


def test_placeholders_are_no_values() -> None:
    node = KfdNode(3, {"unique_id": 0, "hive_id": 0, "drm_render_minor": -1, "simd_count": 8, "simd_per_cu": 0})
    assert (node.unique_id, node.hive_id, node.render_minor, node.compute_units) == (None, None, None, None)
    assert KfdNode(3, {"unique_id": 1 << 64}).unique_id is None


def test_rdna4_instinct_has_wave_32_and_4_simds() -> None:
    node = KfdNode(1, {"gfx_target_version": 120500, "simd_count": 1024, "simd_per_cu": 4, "wave_front_size": 32})
    assert (node.gfx, node.compute_units, node.wave_size) == ("gfx1250", 256, 32)


@given(st.text())
def test_properties_never_raise(text: str) -> None:
    assert all(isinstance(value, int) for value in parse_properties(text).values())


@given(
    st.dictionaries(
        st.sampled_from(["location_id", "domain", "unique_id", "gfx_target_version", "simd_count"]), st.integers()
    )
)
def test_decoding_never_raises(properties: dict[str, int]) -> None:
    node = KfdNode(1, properties)
    assert node.address
    assert node.unique_id is None or len(node.unique_id) == 16
    assert node.render_minor is None
    assert node.gfx is None or node.gfx.startswith("gfx")

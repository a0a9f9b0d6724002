"""The KFD topology: what the kernel's compute driver says of each GPU.

Knows /sys/class/kfd/kfd/topology/nodes and how its numbers are encoded; must not know DRM, names or environment
variables. Source: drivers/gpu/drm/amd/amdkfd/kfd_topology.c and the runtime's own reader, libhsakmt/src/topology.c.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rocmtx.facts.model import Link
from rocmtx.facts.names import product
from rocmtx.facts.tree import parse_integer

if TYPE_CHECKING:
    from rocmtx.facts.tree import Tree

NODES: Final = "/sys/class/kfd/kfd/topology/nodes"
_U64: Final = (1 << 64) - 1
_FIRST_RENDER_MINOR: Final = 128
_HEAPS: Final = frozenset({1, 2})  # VRAM that the CPU can see, and VRAM that it cannot
_XGMI: Final = 11


@dataclass(frozen=True, slots=True)
class KfdNode:
    """One GPU node, in the kernel's order. Properties are raw; the decoded ones are the methods below."""

    node: int
    properties: dict[str, int]
    gpu_id: int | None = None
    memory: int | None = None
    memory_used: int | None = None
    links: tuple[Link, ...] = ()
    bandwidths: dict[int, int] = field(default_factory=dict)  # XGMI neighbour -> MB/s, where the kernel says

    @property
    def address(self) -> str:
        """Return the full PCI address; "kfd-node-3" where the kernel gives no location."""
        location = self.properties.get("location_id")
        if location is None:
            return f"kfd-node-{self.node}"
        domain = self.properties.get("domain", 0) & 0xFFFFFFFF
        return f"{domain:04x}:{location >> 8 & 0xFF:02x}:{location >> 3 & 0x1F:02x}.{location & 7:x}"

    @property
    def function(self) -> int:
        """Return the partition number that the PCI function bits (or, on some kernels, bits 28–31) carry."""
        location = self.properties.get("location_id", 0)
        return location & 7 or location >> 28 & 0xF

    @property
    def gfx(self) -> str | None:
        """Return the gfx target; by device id on kernels that do not print gfx_target_version yet."""
        version = self.properties.get("gfx_target_version", 0)
        if version > 0:
            return gfx_name(version)
        known = product(self.device_id)
        return known.gfx if known else None

    @property
    def vendor_id(self) -> int | None:
        """Return the PCI vendor id (0x1002), or None."""
        return self.properties.get("vendor_id")

    @property
    def device_id(self) -> int | None:
        """Return the PCI device id, or None."""
        return self.properties.get("device_id")

    @property
    def unique_id(self) -> str | None:
        """Return 16 hex digits; None where the hardware has none (0: most APUs and virtual functions)."""
        number = self.properties.get("unique_id", 0)
        return f"{number:016x}" if 0 < number <= _U64 else None

    @property
    def hive_id(self) -> str | None:
        """Return the XGMI hive as 16 hex digits, or None outside a hive."""
        number = self.properties.get("hive_id", 0)
        return f"{number:016x}" if 0 < number <= _U64 else None

    @property
    def render_minor(self) -> int | None:
        """Return N of /dev/dri/renderDN, or None (0 and -1 mean that there is none)."""
        minor = self.properties.get("drm_render_minor", 0)
        return minor if _FIRST_RENDER_MINOR <= minor < 1 << 20 else None

    @property
    def compute_units(self) -> int | None:
        """Return the CUs of this device; of a partition, its share."""
        simds, per_unit = self.properties.get("simd_count", 0), self.properties.get("simd_per_cu", 0)
        return simds // per_unit if simds > 0 and per_unit > 0 else None

    @property
    def xcc_count(self) -> int | None:
        """Return the accelerator dies (XCDs) of this device; None on kernels that do not say."""
        return self.properties.get("num_xcc")

    @property
    def wave_size(self) -> int | None:
        """Return the lanes of a wavefront, 64 or 32."""
        return self.properties.get("wave_front_size")

    @property
    def has_cpu(self) -> bool:
        """Whether CPU cores share this node, as on the first APUs."""
        return self.properties.get("cpu_cores_count", 0) > 0


def read_nodes(tree: Tree) -> tuple[KfdNode, ...]:
    """Read the GPU nodes in ascending order. CPU nodes, and nodes that this process is refused, are left out.

    Links are read for one partition of a socket only: the others share them, and there can be 64 × 64 of them.
    """
    if not tree.exists("/sys/class/kfd"):
        tree.note("/sys/class/kfd", "absent")
        return ()
    nodes: list[KfdNode] = []
    linked: set[str] = set()
    for name in tree.names(NODES):
        if not name.isdecimal() or not name.isascii():
            continue
        node = _read_node(tree, int(name), f"{NODES}/{name}", linked)
        if node is not None:
            nodes.append(node)
    return tuple(nodes)


def gfx_name(version: int) -> str:
    """Decode gfx_target_version: 90010 -> "gfx90a" (minor and stepping are hex digits)."""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def parse_properties(text: str) -> dict[str, int]:
    """Read `key value` lines; lines with no whole number are skipped, unknown keys are kept."""
    properties: dict[str, int] = {}
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        number = parse_integer(value)
        if number is not None:
            properties[key] = number
    return properties


def _read_node(tree: Tree, number: int, folder: str, linked: set[str]) -> KfdNode | None:
    text = tree.text(f"{folder}/properties")
    if text is None:
        return None
    properties = parse_properties(text)
    is_gpu = properties.get("simd_count", 0) > 0 or properties.get("gfx_target_version", 0) > 0
    if not is_gpu:
        return None
    gpu_id = tree.integer(f"{folder}/gpu_id")
    memory, used = _memory(tree, f"{folder}/mem_banks", properties)
    bare = KfdNode(number, properties, gpu_id or None, memory, used)
    socket = bare.address.rpartition(".")[0]
    if socket in linked:
        return bare
    linked.add(socket)
    links, bandwidths = _links(tree, folder)
    return KfdNode(number, properties, gpu_id or None, memory, used, links, bandwidths)


def _memory(tree: Tree, folder: str, properties: dict[str, int]) -> tuple[int | None, int | None]:
    # local_mem_size is 0 on every kernel of this decade; only the banks tell.
    total = used = 0
    counted = uncounted = 0
    for bank in tree.names(folder, expected=properties.get("mem_banks_count", 1) > 0):
        values = parse_properties(tree.text(f"{folder}/{bank}/properties") or "")
        if values.get("heap_type") not in _HEAPS or values.get("size_in_bytes", 0) <= 0:
            continue
        total += values["size_in_bytes"]
        taken = tree.integer(f"{folder}/{bank}/used_memory", expected=False)
        counted += 1
        uncounted += taken is None
        used += taken or 0
    return (total or None, used if counted and not uncounted else None)


def _links(tree: Tree, folder: str) -> tuple[tuple[Link, ...], dict[int, int]]:
    links: list[Link] = []
    bandwidths: dict[int, int] = {}
    for kind in ("io_links", "p2p_links"):
        for name in tree.names(f"{folder}/{kind}", expected=False):
            values = parse_properties(tree.text(f"{folder}/{kind}/{name}/properties", expected=False) or "")
            if "node_to" not in values or "type" not in values:
                continue
            links.append(Link(values["node_to"], values["type"], values.get("weight")))
            if values["type"] == _XGMI and values.get("max_bandwidth", 0) > 0:
                bandwidths[values["node_to"]] = values["max_bandwidth"]
    return tuple(links), bandwidths

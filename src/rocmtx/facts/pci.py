"""GPUs that are in the machine, whatever driver they have: the PCI bus, and NVIDIA's own list.

Knows /sys/bus/pci and /proc/driver/nvidia; must not know KFD or DRM. It is what is left to look at when no driver is
loaded, and how a GPU of another vendor gets a name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rocmtx.facts.tree import parse_integer

if TYPE_CHECKING:
    from rocmtx.facts.tree import Tree

BUS: Final = "/sys/bus/pci/devices"
NVIDIA_LIST: Final = "/proc/driver/nvidia/gpus"
AMD: Final = 0x1002
NVIDIA: Final = 0x10DE
# One file holds vendor, device and class: a machine has hundreds of PCI devices.
_ALIAS: Final = re.compile(
    r"pci:v0000([0-9A-F]{4})d0000([0-9A-F]{4})sv[0-9A-F]{8}sd[0-9A-F]{8}bc([0-9A-F]{2})sc([0-9A-F]{2})"
)
_ADDRESS: Final = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_DISPLAY: Final = frozenset({(0x03, 0x00), (0x03, 0x02), (0x03, 0x80)})  # VGA, 3D, other display controller
_ACCELERATOR: Final = 0x12  # MI300 and later have no display and are of this class


@dataclass(frozen=True, slots=True)
class PciGpu:
    """One GPU on the bus. `driver` is the kernel driver that holds it, None when there is none."""

    address: str
    vendor_id: int
    device_id: int | None = None
    revision: int | None = None
    driver: str | None = None
    name: str | None = None
    uuid: str | None = None
    present: bool = True  # False: NVIDIA's list has it, but its device node was not passed into this container


def read_pci(tree: Tree) -> tuple[PciGpu, ...]:
    """Read the AMD and NVIDIA GPUs on the bus, by address."""
    found = {gpu.address: gpu for gpu in _on_bus(tree)}
    found.update({gpu.address: gpu for gpu in _nvidia(tree, found)})
    return tuple(found[address] for address in sorted(found, key=address_key))


def address_key(address: str) -> tuple[int, ...]:
    """Sort key of a PCI address: domain, bus, device, function as numbers. Other texts come last."""
    parts = [parse_integer(part, 16) for part in re.split(r"[:.]", address)]
    numbers = [part for part in parts if part is not None]
    return tuple(numbers) if len(numbers) == len(parts) == 4 else (1 << 40,)  # noqa: PLR2004 - the parts of an address


def _on_bus(tree: Tree) -> list[PciGpu]:
    gpus: list[PciGpu] = []
    for address in tree.names(BUS, expected=False):
        match = _ALIAS.match(tree.text(f"{BUS}/{address}/modalias", expected=False) or "")
        if match is None or not _ADDRESS.fullmatch(address):
            continue
        vendor, device, base, sub = (int(part, 16) for part in match.groups())
        if vendor not in {AMD, NVIDIA} or not _is_gpu(vendor, base, sub):
            continue
        revision = parse_integer(tree.text(f"{BUS}/{address}/revision", expected=False) or "", 16)
        gpus.append(PciGpu(address, vendor, device, revision, tree.link_target(f"{BUS}/{address}/driver")))
    return gpus


def _is_gpu(vendor: int, base: int, sub: int) -> bool:
    return (base, sub) in _DISPLAY or (vendor == AMD and base == _ACCELERATOR and sub == 0)


def _nvidia(tree: Tree, on_bus: dict[str, PciGpu]) -> list[PciGpu]:
    gpus: list[PciGpu] = []
    for address in tree.names(NVIDIA_LIST, expected=False):
        if not _ADDRESS.fullmatch(address.lower()):
            continue
        fields = _fields(tree.text(f"{NVIDIA_LIST}/{address}/information", expected=False) or "")
        known = on_bus.get(address.lower())
        minor = fields.get("Device Minor", "")
        gpus.append(
            PciGpu(
                address.lower(),
                NVIDIA,
                known.device_id if known else None,
                known.revision if known else None,
                "nvidia",
                fields.get("Model"),
                fields.get("GPU UUID"),
                # The list shows every GPU of the host; a container gets only the device nodes it was started with.
                present=not minor.isdecimal() or not tree.exists("/dev") or tree.exists(f"/dev/nvidia{minor}"),
            )
        )
    return gpus


def _fields(text: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in text.splitlines())
    return {key.strip(): value.strip() for key, colon, value in pairs if colon}

"""The words for one GPU: its name, memory, numbers and place in its package.

Knows facts and units; must not know tables, HTML or colours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmtx import units

if TYPE_CHECKING:
    from rocmtx.facts.model import Facts, Gpu


def gpu_name(gpu: Gpu) -> str:
    """Return a GPU's name; one of another vendor says so, and an unknown name shows the PCI ids."""
    name = gpu.name
    if name is None:
        ids = f" {gpu.vendor_id:04x}:{gpu.device_id:04x}" if gpu.vendor_id and gpu.device_id else ""
        name = f"{gpu.vendor} GPU{ids} (name unknown)" if gpu.vendor != "other" else f"GPU{ids} (name unknown)"
    return name if gpu.vendor == "AMD" else f"{name} (not an AMD GPU)"


def gpu_memory(gpu: Gpu) -> str:
    """Return used and total VRAM; an integrated GPU also says how much of the system's memory it may take (GTT)."""
    text = f"{units.bytes_text(gpu.vram_used)} of {units.bytes_text(gpu.vram_total)}"
    if gpu.vram_used is None and gpu.vram_total is None:
        text = units.UNKNOWN
    elif gpu.vram_used is None:
        text = f"{units.bytes_text(gpu.vram_total)}, use unknown"
    if gpu.integrated and gpu.gtt_total is not None:
        text += f" + {units.bytes_text(gpu.gtt_total)} shared with the system"
    return text


def gpu_ids(gpu: Gpu) -> str:
    """Return every number of one GPU in one line; what is not known is left out, PCI address first."""
    numbers = (
        ("KFD node", gpu.kfd_node),
        ("gpu_id", gpu.gpu_id),
        ("HIP", gpu.hip_ordinal),
        ("amd-smi", gpu.amd_smi_index),
        ("renderD", gpu.render_minor),
        ("card", gpu.drm_card),
        ("unique id", gpu.unique_id),
        ("XGMI hive", gpu.hive_id),
        ("VBIOS", gpu.vbios),
    )
    parts = [f"PCI {gpu.address}"]
    for label, value in numbers:
        if value is not None:
            parts.append(f"{label}{'' if label in {'renderD', 'card'} else ' '}{value}")
    if gpu.partition:
        modes = _modes(gpu)
        parts.append(f"{partition_text(gpu)}{f' ({modes})' if modes else ''}")
    return " · ".join(parts)


def partition_text(gpu: Gpu) -> str:
    """Return a device's place in its package, "partition 3 of 8"; empty where it is a whole GPU."""
    return f"partition {gpu.partition.index + 1} of {gpu.partition.count}" if gpu.partition else ""


def _modes(gpu: Gpu) -> str:
    partition = gpu.partition
    return "/".join(mode for mode in (partition.compute, partition.memory) if mode) if partition else ""


def device_notes(facts: Facts) -> tuple[str, ...]:
    """Return what the table of devices cannot say: why one is hidden, and how packages are divided into devices."""
    notes = [f"{gpu.address} is hidden: {gpu.hidden_because}" for gpu in facts.gpus if gpu.hidden_because]
    divided = [gpu for gpu in facts.gpus if gpu.partition and gpu.partition.count > 1]
    if divided:
        packages = len({gpu.socket for gpu in divided})
        modes = ", ".join(sorted({_modes(gpu) for gpu in divided} - {""}))
        line = f"{_counted(packages, 'GPU')} divided into {_counted(len(divided), 'device')}"
        line += f" ({modes})" if modes else ""
        if any(gpu.telemetry_of == "socket" for gpu in divided):
            line += ": busy, temperature and power belong to the whole GPU and stand at its first partition"
        notes.append(line)
    return tuple(notes)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"

"""Memory now, in bytes, per device.

Knows torch's allocator counters and the process's resident size; must not know sysfs, that is `facts`. On ROCm
`torch.cuda.mem_get_info` is HIP's own answer, which amd-smi's USED_VRAM can lag behind (case C53).
"""

from __future__ import annotations

import psutil
import torch

from rocmtx.events import Reading

_PROCESS = psutil.Process()


def readings() -> tuple[Reading, ...]:
    """Return one reading per GPU that this process has touched, else one for the CPU."""
    if not (torch.cuda.is_available() and torch.cuda.is_initialized()):
        return (cpu_reading(),)
    return tuple(gpu_reading(ordinal) for ordinal in range(torch.cuda.device_count()))


def gpu_reading(ordinal: int) -> Reading:
    """Return the memory of one GPU: this process's tensors and cache, and what all processes use together."""
    free, total = torch.cuda.mem_get_info(ordinal)
    return Reading(
        device=f"cuda:{ordinal}",
        allocated=torch.cuda.memory_allocated(ordinal),
        reserved=torch.cuda.memory_reserved(ordinal),
        used=total - free,
        total=total,
    )


def cpu_reading() -> Reading:
    """Return this process's resident memory against the machine's."""
    return Reading(device="cpu", used=_PROCESS.memory_info().rss, total=psutil.virtual_memory().total)


def synchronize() -> None:
    """Wait for the GPU, so that a clock read afterwards is true; nothing to do on a CPU."""
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()


def reset_peak() -> None:
    """Start a new peak measurement on every GPU."""
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        for ordinal in range(torch.cuda.device_count()):
            torch.cuda.reset_peak_memory_stats(ordinal)


def peak_bytes() -> int | None:
    """Return the largest sum of tensors on one GPU since `reset_peak`; None on a CPU, where nothing counts it."""
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        return max(torch.cuda.max_memory_allocated(ordinal) for ordinal in range(torch.cuda.device_count()))
    return None

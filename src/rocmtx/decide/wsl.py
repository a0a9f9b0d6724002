"""GPUs under WSL: no KFD and no DRM lists them, so the only witness is torch itself.

Knows torch's own view; must not be used where the kernel lists GPUs, which is the better witness.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rocmtx.decide.targets import base_arch
from rocmtx.facts.model import Gpu

if TYPE_CHECKING:
    from rocmtx.facts.model import Facts, TorchDevice


def with_torch_gpus(facts: Facts) -> Facts:
    """Return the facts with the GPUs that torch sees under WSL; unchanged anywhere else, and where torch sees none."""
    view, torch = facts.stack.torch_view, facts.stack.torch
    if facts.gpus or not facts.host.wsl or view is None or torch is None or torch.build != "rocm":
        return facts
    return replace(facts, gpus=tuple(map(_gpu, view.devices)))


def _gpu(device: TorchDevice) -> Gpu:
    used = None
    if device.total_memory is not None and device.free_memory is not None:
        used = device.total_memory - device.free_memory
    integrated = bool(device.integrated)
    return Gpu(
        # Windows' driver gives no PCI address to every torch: the number is unique here, too.
        device.address or f"cuda:{device.ordinal}",
        name=device.name,
        gfx=base_arch(device.gcn_arch) if device.gcn_arch else None,
        hip_ordinal=device.ordinal,
        integrated=device.integrated,
        integrated_because=None if device.integrated is None else "torch says so",
        vram_total=device.total_memory,
        vram_used=used,
        kfd_memory=device.total_memory if integrated else None,
        gtt_used=used if integrated else None,
    )

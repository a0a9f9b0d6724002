"""Rules about speed and memory: the SDPA gate, APU memory limits, allocator variables, several GPUs.

Knows the table of targets, the kernel command line and memory limits; must not know models.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from rocmtx.decide.capability import AOTRITON_VARIABLE, gpu_name, sdpa_kernel
from rocmtx.decide.finding import Finding, Rule, Severity
from rocmtx.decide.hubkernels import parse_version
from rocmtx.units import bytes_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocmtx.facts.model import Facts, Gpu

_PAGE = 4096
_ALLOCATOR = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF")
# 32 heads in 16 bits: N^2 * 32 * 2 bytes; measured 17.2 GB at 16384 tokens.
_SCORES_16K = 16384**2 * 32 * 2


def aotriton_gate(facts: Facts) -> Iterator[Finding]:
    """Find flash kernels that PyTorch keeps behind a variable: it silently computes the whole score matrix."""
    if facts.stack.torch is not None and facts.stack.torch.build != "rocm":
        return
    done = set()
    for gpu in facts.amd_gpus():
        verdict, _ = sdpa_kernel(facts, gpu)
        if gpu.hip_ordinal is None or not verdict.fix or gpu.gfx in done:
            continue
        done.add(gpu.gfx)
        matters = f"a prompt of 16384 tokens takes {bytes_text(_SCORES_16K)} more with 32 heads, and is slow"
        severity: Severity = "warning" if verdict.answer == "no" else "note"
        yield Finding("aotriton-gate", severity, verdict.because, matters, f"start Jupyter with {AOTRITON_VARIABLE}=1")


def apu_memory(facts: Facts) -> Iterator[Finding]:
    """Find an APU with a large carve-out: HIP counts GTT, which is half of what the BIOS left to the system."""
    for gpu in facts.amd_gpus():
        vram, gtt = gpu.vram_total, gpu.gtt_total
        if not gpu.integrated or vram is None or gtt is None or vram <= gtt or _newer_kernel(facts):
            continue
        pages = -(-vram // 1024**3) * 1024**3 // _PAGE
        yield Finding(
            "apu-gtt",
            "warning",
            f"{gpu_name(gpu)}: {bytes_text(vram)} are reserved in the BIOS, the GTT limit is {bytes_text(gtt)}"
            f"{_counted(facts, gpu)}",
            "before Linux 6.16.9 PyTorch can use the GTT part only",
            f"use Linux 6.16.9 or newer; or reserve little in the BIOS and boot with ttm.pages_limit={pages}",
        )


def _counted(facts: Facts, gpu: Gpu) -> str:
    """Return what torch itself counts, where it was asked, or what KFD lets it have."""
    view = facts.stack.torch_view
    asked = (device.total_memory for device in (view.devices if view else ()) if device.ordinal == gpu.hip_ordinal)
    total = next(asked, None)
    if total is not None:
        return f", PyTorch counts {bytes_text(total)}"
    return f", KFD allows {bytes_text(gpu.kfd_memory)}" if gpu.kfd_memory is not None else ""


def _newer_kernel(facts: Facts) -> bool:
    numbers = parse_version((facts.host.kernel or "").split("-")[0])
    return numbers is not None and numbers.release >= (6, 16, 9)


def allocator(facts: Facts) -> Iterator[Finding]:
    """Find allocator variables that contradict each other, or that this PyTorch ignores."""
    found = {name: facts.stack.environment[name] for name in _ALLOCATOR if name in facts.stack.environment}
    if len(set(found.values())) > 1:
        yield Finding(
            "allocator-variables",
            "warning",
            " and ".join(f"{name}={value}" for name, value in found.items()),
            "which one counts depends on the PyTorch version",
            f"unset {' '.join(list(found)[1:])}",
        )
        return
    version = parse_version(facts.stack.torch.version) if facts.stack.torch is not None else None
    if "PYTORCH_ALLOC_CONF" in found and version is not None and version.release < (2, 11):
        yield Finding(
            "allocator-variables",
            "warning",
            f"PYTORCH_ALLOC_CONF is set, and PyTorch is {version}",
            "PyTorch before 2.11 ignores it",
            f"export PYTORCH_CUDA_ALLOC_CONF={found['PYTORCH_ALLOC_CONF']}",
        )
        return
    yield from _segments(facts, found)


def _segments(facts: Facts, found: dict[str, str]) -> Iterator[Finding]:
    """Find a setting that ROCm builds before 2.11 read and ignore. Source: pytorch pull request 177974."""
    torch = facts.stack.torch
    version = parse_version(torch.version) if torch is not None and torch.build == "rocm" else None
    name = next((name for name, value in found.items() if "expandable_segments:true" in value.lower()), None)
    if name is not None and version is not None and version.release < (2, 11):
        yield Finding(
            "expandable-segments",
            "note",
            f"{name} asks for expandable segments, and PyTorch is {version}",
            "ROCm builds before 2.11 ignore it: it frees no memory",
            f"unset {name}, or update PyTorch",
        )


def many_gpus(facts: Facts) -> Iterator[Finding]:
    """Find several GPUs without iommu=pt, or of different targets."""
    visible = [gpu for gpu in facts.amd_gpus() if gpu.hip_ordinal is not None]
    if len(visible) < 2:  # noqa: PLR2004 - several
        return
    line = facts.host.command_line
    if line is not None and "iommu=pt" not in line.split() and facts.host.container is None:
        yield Finding(
            "iommu",
            "warning",
            f"{len(visible)} GPUs, and no iommu=pt on the kernel command line",
            "jobs on several GPUs may hang",
            "add iommu=pt to the boot options and reboot; until then NCCL_P2P_DISABLE=1 (slower)",
        )
    # An integrated GPU beside them has a rule of its own.
    discrete = [gpu for gpu in visible if not gpu.integrated and gpu.gfx]
    kinds = Counter(gpu.gfx for gpu in discrete)
    if len(kinds) > 1:
        yield _mixed(discrete, kinds)


def _mixed(visible: list[Gpu], kinds: Counter[str | None]) -> Finding:
    """Find GPUs of different targets: libraries choose what runs on all of them."""
    common = kinds.most_common(1)[0][0]
    equal = ",".join(str(gpu.hip_ordinal) for gpu in visible if gpu.gfx == common)
    return Finding(
        "mixed-gpus",
        "note",
        f"the visible GPUs are of different targets: {', '.join(sorted(filter(None, kinds)))}",
        "one model over all of them runs at the pace of the slowest, and libraries may pick slow paths for all",
        f"choose equal ones: --device {equal}",
    )


RULES: Final[tuple[Rule, ...]] = (aotriton_gate, apu_memory, allocator, many_gpus)

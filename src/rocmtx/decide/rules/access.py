"""Rules about reaching the GPU at all: driver, device nodes, groups, WSL.

Knows host and device nodes; must not know torch beyond its build.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rocmtx.decide.absence import kfd_refused, no_driver, refused
from rocmtx.decide.capability import gpu_name
from rocmtx.decide.finding import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocmtx.facts.model import Facts


def no_gpu(facts: Facts) -> Iterator[Finding]:
    """Find no AMD GPU: an error only where the machine's software expects one."""
    if facts.amd_gpus() or facts.host.wsl:
        return
    verdict = no_driver(facts)
    other = any(gpu.hip_ordinal is not None for gpu in facts.gpus)
    rocm_torch = facts.stack.torch is not None and facts.stack.torch.build == "rocm"
    yield Finding(
        "no-gpu",
        "error" if rocm_torch or facts.host.kfd_topology else "note",
        verdict.because,
        "models run on the other GPU" if other else "everything runs on the CPU",
        verdict.fix,
    )


def other_vendor(facts: Facts) -> Iterator[Finding]:
    """Name GPUs of other vendors as such."""
    for gpu in facts.gpus:
        if gpu.vendor != "AMD":
            yield Finding("other-vendor", "note", gpu_name(gpu), "it is shown, but nothing here is tuned for it")


def wsl(facts: Facts) -> Iterator[Finding]:
    """Go through the checklist of WSL, which has no KFD."""
    if not facts.host.wsl:
        return
    if facts.amd_gpus():
        seen = f"this is WSL: PyTorch reaches {gpu_name(facts.amd_gpus()[0])} through Windows"
        matters = "rocm-smi and amd-smi cannot work here: what is known of the GPU comes from PyTorch"
        yield Finding("wsl", "note", seen, matters)
        return
    verdict = no_driver(facts)
    dxg = facts.host.dxg_access
    broken = dxg is not None and (not dxg.exists or dxg.opens is False)
    yield Finding(
        "wsl", "error" if broken else "note", verdict.because, "rocm-smi and amd-smi cannot work here", verdict.fix
    )
    torch = facts.stack.torch
    # pytorch.org writes +rocm6.1, AMD writes +rocm6.1.3.
    if torch is not None and torch.version.partition("+rocm")[2].count(".") == 1:
        yield Finding(
            "wsl-wheel",
            "warning",
            f"PyTorch {torch.version} looks like the wheel of pytorch.org",
            "under WSL only AMD's own wheels find the GPU",
            "install the wheel that AMD's page for ROCm on WSL names",
        )
    yield from _dxg_switch(facts)


def _dxg_switch(facts: Facts) -> Iterator[Finding]:
    """Find the variable that keeps the ROCm runtime from looking for WSL's device node."""
    if facts.stack.environment.get("HSA_ENABLE_DXG_DETECTION") not in {None, "1"}:
        yield Finding(
            "wsl-dxg-switch",
            "warning",
            f"HSA_ENABLE_DXG_DETECTION={facts.stack.environment['HSA_ENABLE_DXG_DETECTION']}",
            "it keeps the ROCm runtime from looking for /dev/dxg",
            "export HSA_ENABLE_DXG_DETECTION=1",
        )


def kfd(facts: Facts) -> Iterator[Finding]:
    """Find a /dev/kfd that cannot be opened: GPUs are listed, torch sees none."""
    verdict = kfd_refused(facts)
    if verdict is None or not facts.amd_gpus():
        return
    count = len(facts.amd_gpus())
    seen = f"{count} AMD GPU{'s' if count > 1 else ''} present, none usable: {verdict.because}"
    yield Finding("kfd-refused", "error", seen, "PyTorch sees no GPU; another PyTorch would not either", verdict.fix)


def render_nodes(facts: Facts) -> Iterator[Finding]:
    """Find render nodes that cannot be opened: a refused one takes away every GPU, a missing one only its own."""
    for gpu in facts.amd_gpus():
        access = gpu.render_access
        if access is None or access.opens is not False:
            continue
        if access.error == "EACCES":
            verdict = refused(facts, access)
            matters = "one render node that may not be opened makes ROCm give up on all GPUs"
            yield Finding("render-refused", "error", verdict.because, matters, verdict.fix)
            return
        yield Finding(
            "render-missing",
            "note",
            f"{access.path} of {gpu_name(gpu)} cannot be opened: {access.error or 'unknown'}",
            "this GPU is hidden from ROCm, the others work",
        )


RULES: Final[tuple[Rule, ...]] = (kfd, render_nodes, no_gpu, wsl, other_vendor)

"""Rules about the PyTorch build: ROCm or not, and whether it has code for these GPUs.

Knows the table of targets, torch's build and the HSA override; must not know models.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rocmtx.decide.absence import INSTALL_MODELS, INSTALL_TORCH, mask_out, torch_absent, torch_refuses
from rocmtx.decide.capability import (
    OVERRIDE_VARIABLE,
    arch_list,
    gpu_name,
    list_targets,
    other_wheel,
    override_target,
    wheel_covers,
)
from rocmtx.decide.finding import Finding, Rule
from rocmtx.decide.targets import base_arch, find_target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocmtx.facts.model import Facts, Gpu


def torch_build(facts: Facts) -> Iterator[Finding]:
    """Find no PyTorch, or one that is built for the CPU or for CUDA."""
    amd = facts.amd_gpus()
    if torch_absent(facts):
        fix = INSTALL_TORCH if amd else INSTALL_MODELS
        yield Finding("no-torch", "error", "PyTorch is not installed", "no model can be loaded", fix)
        return
    verdict = torch_refuses(facts, amd[0]) if amd else None
    if verdict is not None:
        yield Finding(
            "torch-build", "error", verdict.because, "the GPU stays idle, everything runs on the CPU", verdict.fix
        )


def architecture(facts: Facts) -> Iterator[Finding]:
    """Find GPUs that PyTorch sees, but has no code for: the first operation fails, or ends the process."""
    if _not_rocm(facts):
        return
    for gpu in facts.amd_gpus():
        verdict = wheel_covers(facts, gpu)
        if gpu.hip_ordinal is None or verdict.answer != "no":
            continue
        covered = any(
            other.hip_ordinal is not None and wheel_covers(facts, other).answer != "no" for other in facts.amd_gpus()
        )
        fix = f"{mask_out(facts, gpu)} to hide it; rocmtx leaves it out by itself" if covered else verdict.fix
        crash = "rocBLAS" in verdict.because
        matters = (
            "it ends the kernel without a Python error"
            if crash
            else "its first operation fails: invalid device function"
        )
        yield Finding(
            "no-code-for-gpu", "warning" if covered else "error", f"{gpu_name(gpu)}: {verdict.because}", matters, fix
        )


def _not_rocm(facts: Facts) -> bool:
    return facts.stack.torch is not None and facts.stack.torch.build != "rocm"


def integrated(facts: Facts) -> Iterator[Finding]:
    """Find an integrated GPU beside a discrete one: it breaks wheels, hipBLASLt and RCCL, and its memory deceives."""
    visible = [gpu for gpu in facts.amd_gpus() if gpu.hip_ordinal is not None]
    if not any(gpu.integrated is False for gpu in visible):
        return
    for gpu in visible:
        if gpu.integrated:
            yield Finding(
                "integrated-visible",
                "note",
                f"{gpu_name(gpu)} is integrated and visible beside a discrete GPU",
                "it counts system memory as its own, and every library checks it too",
                f"{mask_out(facts, gpu)} to hide it; rocmtx leaves it out by itself",
            )


def bundled_libraries(facts: Facts) -> Iterator[Finding]:
    """Find GPUs that torch has code for, but not the rocBLAS inside it: a matrix product ends the process."""
    torch = facts.stack.torch
    if torch is None or not torch.rocblas_archs:
        return
    bundled = tuple(base_arch(name) for name in torch.rocblas_archs)
    for gpu in facts.amd_gpus():
        if gpu.hip_ordinal is not None and gpu.gfx and gpu.gfx in arch_list(facts) and gpu.gfx not in bundled:
            yield Finding(
                "rocblas-lacks-gpu",
                "error",
                f"the rocBLAS inside PyTorch {torch.version} has no file for {gpu.gfx} (only {list_targets(bundled)})",
                "a matrix product ends the kernel without a Python error",
                other_wheel(gpu),
            )


def override(facts: Facts) -> Iterator[Finding]:
    """Find HSA_OVERRIDE_GFX_VERSION where it harms: not needed, of another family, or known to hang."""
    text = facts.stack.environment.get(OVERRIDE_VARIABLE)
    if not text or not facts.amd_gpus():
        return
    fake = override_target(text)
    if fake is None:
        matters = "ROCm reads three numbers, for example 10.3.0; anything else makes every GPU vanish"
        yield Finding(
            "override", "error", f"{OVERRIDE_VARIABLE}={text} is no version", matters, f"unset {OVERRIDE_VARIABLE}"
        )
        return
    for gpu in facts.amd_gpus():
        harm = _harm(facts, gpu, fake)
        if harm is not None:
            seen = f"{OVERRIDE_VARIABLE}={text} on {gpu_name(gpu)}"
            yield Finding("override", "warning", seen, harm, f"unset {OVERRIDE_VARIABLE}, then restart Jupyter")


def _harm(facts: Facts, gpu: Gpu, fake: str) -> str | None:
    if gpu.gfx is None or gpu.gfx == fake:
        return None if gpu.gfx is None else "it says what the GPU is anyway: not needed"
    target = find_target(gpu.gfx)
    if target.override == "hangs":
        return f"it is known to hang {gpu.gfx}"
    if _family(gpu.gfx) != _family(fake):
        return f"{fake} is another instruction set than {gpu.gfx}: invalid ISA, crashes or hangs"
    if gpu.gfx in arch_list(facts):
        return f"PyTorch has code for {gpu.gfx} itself: the override only harms"
    return _helpless(gpu.gfx) if target.known and not target.override else None


def _helpless(gfx: str) -> str:
    return f"no override is known to help {gfx}: invalid ISA and crashes were reported"


def _family(gfx: str) -> str:
    # gfx10.1 and gfx10.3 differ as much as two generations; gfx11.0 and gfx11.5 run each other's code in part.
    number = gfx.removeprefix("gfx")
    return number[:3] if number.startswith("10") else number[:-2]


RULES: Final[tuple[Rule, ...]] = (torch_build, architecture, bundled_libraries, override, integrated)

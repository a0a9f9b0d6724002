"""What one GPU of this machine can do, as verdicts with reasons.

Knows the table of targets and the facts about torch; must not know a model or a wish. Everything is decided by the gfx
target: CUDA's "compute capability" numbers mean nothing on AMD (a gfx90a reports 9.0 and has no FP8).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmtx.decide.targets import base_arch, find_target
from rocmtx.decide.verdict import Verdict

if TYPE_CHECKING:
    from rocmtx.facts.model import Facts, Gpu

AOTRITON_VARIABLE = "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL"
OVERRIDE_VARIABLE = "HSA_OVERRIDE_GFX_VERSION"
_SHOWN = 8
_OTHER_BITS = "use --quantization bitsandbytes-8bit or bitsandbytes-4bit, or bfloat16"
_TRUE = frozenset({"1", "on", "yes", "true", "y"})


def gpu_name(gpu: Gpu) -> str:
    """Name a GPU with its target: "AMD Instinct MI300X (gfx942)"; another vendor's is marked as such."""
    if gpu.vendor == "AMD":
        name = gpu.name or "AMD GPU"
        return f"{name} ({gpu.gfx})" if gpu.gfx else name
    name = gpu.name or "GPU"
    named = name if gpu.vendor == "other" or name.startswith(gpu.vendor) else f"{gpu.vendor} {name}"
    return f"{named} (not an AMD GPU)"


def override_target(version: str | None) -> str | None:
    """Return the target that HSA_OVERRIDE_GFX_VERSION stands for: "10.3.0" -> "gfx1030"; None when it is no version."""
    parts = (version or "").strip().split(".")
    if len(parts) != 3 or not all(part.isdigit() for part in parts):  # noqa: PLR2004 - major.minor.step
        return None
    major, minor, step = (int(part) for part in parts)
    return f"gfx{major}{minor:x}{step:x}"


def effective_gfx(facts: Facts, gpu: Gpu) -> str | None:
    """Return the target that torch will see: the real one, or the one that an HSA override pretends."""
    if gpu.vendor != "AMD":
        return None
    return override_target(facts.stack.environment.get(OVERRIDE_VARIABLE)) or gpu.gfx


def arch_list(facts: Facts) -> tuple[str, ...]:
    """Return the targets that the installed torch has code for; empty when that is not known.

    torch's own list where it was asked for, else the targets of the rocBLAS files bundled with it (which some wheels
    ship for more targets than torch itself: a hit there is no proof).
    """
    view = facts.stack.torch_view
    if view is not None and view.arch_list:
        return tuple(base_arch(name) for name in view.arch_list)
    return ()


def wheel_covers(facts: Facts, gpu: Gpu) -> Verdict:
    """Judge whether the installed torch has code for this GPU; "not known" when torch was not asked."""
    gfx = effective_gfx(facts, gpu)
    if gfx is None:
        return Verdict("not known", "its gfx target could not be read")
    torch = facts.stack.torch
    archs = arch_list(facts)
    pretended = f", pretended by {OVERRIDE_VARIABLE}" if gfx != gpu.gfx else ""
    if archs:
        return _by_arch_list(gpu, gfx, archs, pretended)
    bundled = tuple(base_arch(name) for name in torch.rocblas_archs) if torch is not None else ()
    if bundled and gfx not in bundled:
        return Verdict(
            "no",
            f"the rocBLAS inside this PyTorch has no code for {gfx}{pretended} (only {list_targets(bundled)}): "
            "a matrix product would end the process",
            other_wheel(gpu),
        )
    return Verdict("not known", f"PyTorch was not asked yet whether it has code for {gfx}{pretended}", "%rocm doctor")


def list_targets(names: tuple[str, ...]) -> str:
    """List targets in a sentence; a long list is cut, with the number of what is left out."""
    if len(names) <= _SHOWN:
        return ", ".join(names)
    return f"{', '.join(names[: _SHOWN - 2])} and {len(names) - _SHOWN + 2} more"


def _by_arch_list(gpu: Gpu, gfx: str, archs: tuple[str, ...], pretended: str) -> Verdict:
    if gfx in archs:
        return Verdict("yes", f"this PyTorch has code for {gfx}{pretended}")
    return Verdict(
        "no", f"this PyTorch has no code for {gfx}{pretended} (only {list_targets(archs)})", other_wheel(gpu)
    )


def other_wheel(gpu: Gpu) -> str:
    """Return what to do when torch has no code for a GPU: another build, and the override only where people use it."""
    target = find_target(gpu.gfx)
    if target.family == "RDNA1":
        return f"no official PyTorch covers {gpu.gfx}: use a community build, or the CPU"
    fix = f"install a PyTorch build for {gpu.gfx}"
    if target.override == "hangs":
        return f"{fix}; do not set {OVERRIDE_VARIABLE}, it is known to hang {gpu.gfx}"
    if target.override:
        return f"{fix}; as a stopgap start Jupyter with {OVERRIDE_VARIABLE}={target.override} (may be unstable)"
    return fix


def dtype_verdict(gpu: Gpu | None, dtype: str) -> Verdict:
    """Judge a dtype on a GPU, or on the CPU for None. All three work everywhere; the reason says how fast."""
    if gpu is None:
        slow = "" if dtype == "float32" else "works, but CPUs compute 16-bit floats slowly"
        return Verdict("yes", slow or "what CPUs compute best")
    if gpu.vendor != "AMD":
        return Verdict("not known", "not an AMD GPU: not judged here")
    if dtype == "float32":
        return Verdict("yes", "works, with twice the memory of 16 bits")
    return _half(gpu, dtype)


def _half(gpu: Gpu, dtype: str) -> Verdict:
    target = find_target(gpu.gfx)
    units = target.computes(dtype)
    if units is None:
        return Verdict("not known", f"{gpu.gfx or 'its target'} is not in the table of targets")
    if units:
        return Verdict("yes", f"{gpu.gfx} ({target.family}) has matrix units for it")
    if dtype == "bfloat16":
        return Verdict("yes", f"works, but slowly: {gpu.gfx} ({target.family}) has no bfloat16 units", "use float16")
    return Verdict("yes", f"{gpu.gfx} ({target.family}) computes it without matrix units")


def fp8_dtype(gpu: Gpu) -> str | None:
    """Return torch's 8-bit float that the hardware multiplies: gfx94x takes the fnuz one, gfx95x and gfx12x OCP's."""
    return {"fnuz": "float8_e4m3fnuz", "ocp": "float8_e4m3fn"}.get(find_target(gpu.gfx).fp8)


def small_float_verdict(gpu: Gpu | None, bits: int) -> Verdict:
    """Judge whether the hardware multiplies 8-bit or 4-bit floats. CUDA's capability numbers say nothing about it."""
    if gpu is None or gpu.vendor != "AMD":
        return Verdict("not known", "not an AMD GPU: not judged here")
    target = find_target(gpu.gfx)
    named = f"{gpu.gfx} ({target.family})"
    known: dict[int, bool | None] = {4: target.fp4, 8: None if target.fp8 == "unknown" else target.fp8 != "none"}
    has = known[bits]
    if has is None:
        return Verdict("not known", f"{gpu.gfx or 'its target'} is not in the table of targets")
    if has:
        kind = f" ({fp8_dtype(gpu)})" if bits == 8 else ""  # noqa: PLR2004 - the width of FP8
        return Verdict("yes", f"{named} has FP{bits} units{kind}")
    where = "MI300, MI350 and RDNA4 have" if bits == 8 else "MI350 has"  # noqa: PLR2004 - the width of FP8
    return Verdict("no", f"{named} has no FP{bits} units ({where})", _OTHER_BITS)


def sdpa_kernel(facts: Facts, gpu: Gpu | None) -> tuple[Verdict, str]:
    """Tell which kernel PyTorch's SDPA will really use: the verdict is about a flash kernel, the text names it.

    The gate is a variable that torch reads once while it is imported. Source: PyTorch sdp_utils.cpp.
    """
    if gpu is None:
        return Verdict("yes", "PyTorch's flash kernel for the CPU"), "PyTorch's own kernel for the CPU"
    if gpu.vendor != "AMD":
        return Verdict("not known", "not an AMD GPU: not judged here"), "PyTorch picks the kernel"
    gfx = effective_gfx(facts, gpu) or "this GPU"
    state = find_target(gfx).aotriton
    opened = is_on(facts.stack.environment.get(AOTRITON_VARIABLE))
    if state == "native" or (state in {"gated", "mixed"} and opened):
        return Verdict("yes", f"AOTriton has flash kernels for {gfx}"), "flash kernel (AOTriton)"
    return _without_flash(gfx, state)


def _without_flash(gfx: str, state: str) -> tuple[Verdict, str]:
    fix = f"set {AOTRITON_VARIABLE}=1 before torch is imported, then restart the kernel"
    math = "math kernel, whose memory grows with the square of the prompt"
    if state == "gated":
        return Verdict("no", f"PyTorch keeps its flash kernels for {gfx} behind {AOTRITON_VARIABLE}", fix), math
    if state == "mixed":
        because = f"older builds of PyTorch keep the flash kernels for {gfx} behind {AOTRITON_VARIABLE}"
        return Verdict("not known", because, fix), "flash or math kernel, depending on the PyTorch build"
    if state == "no":
        return Verdict("no", f"AOTriton has no kernels for {gfx}"), math
    return Verdict("not known", f"whether AOTriton has kernels for {gfx} is not known"), "flash or math kernel"


def is_on(value: str | None) -> bool:
    """Read a switch of the environment as PyTorch and Transformers do: 1, ON, YES, TRUE."""
    return (value or "").strip().lower() in _TRUE

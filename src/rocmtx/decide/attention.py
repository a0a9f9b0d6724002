"""Which attention implementation will really run, resolved as Transformers resolves it on ROCm.

Knows the packages, the kernels and the support flags of model classes; must not know how a model is loaded.
Source: Transformers 5.22 modeling_utils.py `_check_and_adjust_attn_implementation`, import_utils.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmtx.decide.asks import ATTENTIONS, HUB_KERNEL, read_attention
from rocmtx.decide.capability import is_on, sdpa_kernel
from rocmtx.decide.hubkernels import AITER_KERNEL, AITER_REDIRECT, aiter_verdict, hub_offline, kernels_verdict
from rocmtx.decide.models import own_flash, supports
from rocmtx.decide.targets import find_target
from rocmtx.decide.verdict import Choice, Verdict
from rocmtx.errors import PlanError

if TYPE_CHECKING:
    from rocmtx.facts.model import Checkpoint, Facts, Gpu

_FLASH_PACKAGES = {
    "flash_attention_2": "flash-attn",
    "flash_attention_3": "flash-attn-3",
    "flash_attention_4": "flash-attn-4",
}
_FLASH_TRITON_VARIABLE = "FLASH_ATTENTION_TRITON_AMD_ENABLE"
_HALF = frozenset({"bfloat16", "float16"})


def default_attention(checkpoint: Checkpoint | None) -> str:
    """Return what Transformers takes by itself: sdpa where the model class supports it, else eager (silently)."""
    refused = checkpoint is not None and supports(checkpoint.model_type, "sdpa") is False
    return "eager" if refused else "sdpa"


def attention_verdict(facts: Facts, checkpoint: Checkpoint | None, gpu: Gpu | None, name: str) -> Verdict:
    """Judge an attention implementation for a model on a GPU (None: on the CPU)."""
    kind = checkpoint.model_type if checkpoint is not None else None
    if name in {"eager", "paged|eager"}:
        use = "the plain implementation: works everywhere, memory grows with the square of the prompt"
        return Verdict("yes", use if name == "eager" else f"{use}; for continuous batching")
    if name == "sdpa":
        return _sdpa(facts, kind, gpu)
    return _flex(kind, gpu) if name == "flex_attention" else _any_flash(facts, kind, gpu, name)


def _any_flash(facts: Facts, kind: str | None, gpu: Gpu | None, name: str) -> Verdict:
    if supports(kind, "flash") is False:
        return Verdict("no", f"Transformers' class for {kind} does not support flash attention", "use sdpa or eager")
    if gpu is None:
        return Verdict("no", "flash attention kernels need a GPU, and this runs on the CPU", "use sdpa")
    if HUB_KERNEL.fullmatch(name):
        return _hub_kernel(facts, gpu, name)
    if gpu.vendor != "AMD":
        return Verdict("not known", "not an AMD GPU: not judged here")
    return _flash(facts, kind, gpu, name)


def _sdpa(facts: Facts, kind: str | None, gpu: Gpu | None) -> Verdict:
    if supports(kind, "sdpa") is False:
        return Verdict("no", f"Transformers' class for {kind} has no sdpa", "use eager")
    verdict, kernel = sdpa_kernel(facts, gpu)
    # SDPA itself works everywhere: only the speed and memory of its kernel differ.
    detail = f"; {verdict.because}" if verdict.answer != "yes" and gpu is not None and gpu.vendor == "AMD" else ""
    return Verdict("yes", f"{kernel}{detail}", verdict.fix)


def _flex(kind: str | None, gpu: Gpu | None) -> Verdict:
    if supports(kind, "flex") is False:
        return Verdict("no", f"Transformers' class for {kind} has no flex_attention", "use sdpa")
    needs = (
        "compiled at the first use by Triton" if gpu is not None else "compiled at the first use: needs a C++ compiler"
    )
    return Verdict("not known", f"{needs}; not tried on this machine", "use sdpa")


def _hub_kernel(facts: Facts, gpu: Gpu, name: str) -> Verdict:
    repo = name.split("@", maxsplit=1)[0].split(":", maxsplit=1)[0]
    if gpu.vendor == "AMD" and repo == AITER_KERNEL:
        return aiter_verdict(facts, gpu)
    if repo == AITER_REDIRECT and "@" not in name:
        return Verdict(
            "not known",
            f"under this name Transformers asks for version 1 of the kernel, under {AITER_KERNEL} for version 2",
            f"use {AITER_KERNEL}",
        )
    accepted = kernels_verdict(facts)
    if accepted.answer == "no":
        return accepted
    where = "is in the cache and " if hub_offline(facts) else ""
    return Verdict("not known", f"works if {repo} {where}has a build for this PyTorch and GPU")


def _flash(facts: Facts, kind: str | None, gpu: Gpu, name: str) -> Verdict:
    if name == "flash_attention_4":
        return Verdict("no", "flash_attention_4 is built for CUDA only", "use sdpa or flash_attention_3")
    own = own_flash(kind)
    if own is not None:
        if not own:
            return Verdict("no", f"the flash kernels of {kind} have no ROCm build", "use eager")
        return aiter_verdict(facts, gpu)
    package = _FLASH_PACKAGES[name]
    installed = facts.stack.version(package)
    if installed is None:
        return aiter_verdict(facts, gpu)
    return _flash_package(facts, gpu, package, installed)


def _flash_package(facts: Facts, gpu: Gpu, package: str, installed: str) -> Verdict:
    """Judge the installed flash-attn: its compiled kernels cover CDNA, RDNA needs its Triton backend."""
    if package == "flash-attn-3":
        return Verdict("not known", f"{package} {installed} is installed; it is made for CUDA", "use sdpa")
    triton = is_on(facts.stack.environment.get(_FLASH_TRITON_VARIABLE))
    state = find_target(gpu.gfx).flash_attn
    if state == "none":
        return Verdict("no", f"flash-attn has no kernels for {gpu.gfx}", "use sdpa")
    if state == "ck" or (state == "triton" and triton):
        return Verdict("yes", f"flash-attn {installed}{', Triton backend' if triton else ''}")
    fix = f"start Jupyter with {_FLASH_TRITON_VARIABLE}=TRUE, or use sdpa, which has flash kernels without it"
    return Verdict(
        "not known", f"flash-attn {installed} is installed; on {gpu.gfx} only its Triton backend is sure to run", fix
    )


def choose_attention(
    facts: Facts, checkpoint: Checkpoint, gpu: Gpu | None, wish: str | None, dtype: str
) -> Choice[str]:
    """Decide the attention implementation. Raises AskError for an unknown name, PlanError for one that cannot work."""
    name = read_attention(wish)
    if name is None:
        return _default(facts, checkpoint, gpu)
    verdict = attention_verdict(facts, checkpoint, gpu, name)
    if verdict.answer == "no":
        fallback = default_attention(checkpoint)
        fix = (
            verdict.fix if verdict.fix.startswith("use ") else f"{verdict.fix}; or use {fallback}".removeprefix("; or ")
        )
        raise PlanError(f"attention {name} cannot work here: {verdict.because}", fix)
    if _is_flash(name) and dtype not in {*_HALF, "auto"}:
        raise PlanError(
            f"attention {name} computes in 16 bits only, and the dtype is {dtype}",
            "use --dtype bfloat16 or --dtype float16; or use sdpa",
        )
    return Choice(name, f"you asked for it; {verdict.because}", asked=True)


def _is_flash(name: str) -> bool:
    return "flash" in name


def _default(facts: Facts, checkpoint: Checkpoint, gpu: Gpu | None) -> Choice[str]:
    name = default_attention(checkpoint)
    if name == "eager":
        return Choice(name, f"Transformers' class for {checkpoint.model_type} has no sdpa")
    return Choice(name, f"Transformers' default: {attention_verdict(facts, checkpoint, gpu, name).because}")


def attention_choices(
    facts: Facts, checkpoint: Checkpoint | None, gpu: Gpu | None
) -> tuple[tuple[str, str, Verdict], ...]:
    """Return (value, label, verdict) of every known implementation and AMD's hub kernel."""
    names = (*ATTENTIONS, AITER_KERNEL)
    return tuple((name, name, attention_verdict(facts, checkpoint, gpu, name)) for name in names)

"""Error texts about attention implementations and hub kernels.

Knows these texts and, through the deciding modules, this machine. The generic "package … doesn't seem to be installed"
is apart: Transformers hides the true cause behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rocmtx.decide.capability import AOTRITON_VARIABLE, sdpa_kernel
from rocmtx.decide.explanation import Answer, TextRule
from rocmtx.decide.hubkernels import AITER_KERNEL, kernels_verdict
from rocmtx.decide.targets import find_target

if TYPE_CHECKING:
    import re

    from rocmtx.facts.model import Facts


def _kernels_package(_match: re.Match[str], facts: Facts | None) -> Answer:
    if facts is None:
        return "the kernels package is not installed, or of a version that Transformers refuses", "%rocm doctor"
    verdict = kernels_verdict(facts)
    if verdict.answer == "yes":
        return f"{verdict.because} is installed and accepted now", "restart the kernel: Transformers asks only once"
    return verdict.because, verdict.fix or "%rocm doctor"


def _flash_generic(match: re.Match[str], facts: Facts | None) -> Answer:
    name = f"flash_attention_{match['number']}"
    if facts is None or not facts.amd_gpus():
        return f"{name} needs a GPU and a kernel for it; neither was found", "use --attention sdpa"
    gpu = next((gpu for gpu in facts.amd_gpus() if gpu.hip_ordinal is not None), facts.amd_gpus()[0])
    if find_target(gpu.gfx).aiter not in {"full", "unknown"}:
        own = f"; sdpa has flash kernels for {gpu.gfx}" if sdpa_kernel(facts, gpu)[0].answer == "yes" else ""
        means = f"{name} needs flash-attn with its Triton backend, or AMD's AITER kernel (for MI300 and MI350){own}"
        return means, "use --attention sdpa"
    verdict = kernels_verdict(facts)
    if verdict.answer == "no":
        return (
            f"{name} would use the hub kernel {AITER_KERNEL}: {verdict.because}",
            f"{verdict.fix}; or use --attention sdpa",
        )
    means = f"the kernel for {name} could not be loaded: no network, an untrusted publisher, or no build for this GPU"
    return means, f"use --attention sdpa, or --attention {AITER_KERNEL}, which tells the true cause"


def _not_cached(match: re.Match[str], facts: Facts | None) -> Answer:
    repo = match["repo"]
    if facts is not None and all(gpu.hip_ordinal is None for gpu in facts.gpus):
        return f"the kernel {repo} is made for GPUs, and this runs on the CPU", "use --attention sdpa"
    return f"the hub is offline, and {repo} is not in the cache", f"unset HF_HUB_OFFLINE once, or: hf download {repo}"


def _wrong_gfx(match: re.Match[str], _facts: Facts | None) -> Answer:
    return f"the hub kernel has no build for {match['gfx']}", "use --attention sdpa, and leave out --kernels"


def _class_refuses(match: re.Match[str], _facts: Facts | None) -> Answer:
    return f"{match['name']} does not support it", "use --attention sdpa, or --attention eager"


def _class_refuses_sdpa(match: re.Match[str], _facts: Facts | None) -> Answer:
    return f"{match['name']} does not support sdpa", "use --attention eager, which is its default"


RULES: Final = (
    TextRule(
        "kernel-not-cached", r"version \d+ of '(?P<repo>[^']+)' is not available in the local cache", judge=_not_cached
    ),
    TextRule(
        "kernel-not-cached", r"trying to load from '(?P<repo>[^']+)': cannot find a local snapshot", judge=_not_cached
    ),
    TextRule(
        "kernel-wrong-gpu", r"ROCm arch (?P<gfx>gfx[0-9a-f]+) of the current device is not supported", judge=_wrong_gfx
    ),
    TextRule(
        "kernel-untrusted",
        r"kernel repository '[^']+' is not from a trusted publisher|could not verify publisher trust status",
        "a hub kernel is code that runs here, and its publisher is not trusted",
        "if you trust it: --trust-remote-code; else use --attention sdpa",
    ),
    TextRule(
        "aiter-used",
        r"you do not have `flash_attn` installed, using `(?P<repo>[^`]+)` from the `kernels` library instead",
        "Transformers takes AMD's flash attention from the hub; it says this even where flash-attn is installed",
        harmless=True,
    ),
    TextRule(
        "kernel-version",
        r"version \d+ not found, available versions: [^\n]*",
        "this hub kernel has no such version",
        "name one: org/repo@v3",
    ),
    TextRule(
        "kernels-window",
        r"`?kernels`? (?:is either not installed or uses|are not available\. please install) [^\n]*",
        judge=_kernels_package,
    ),
    TextRule(
        "kernels-newer",
        r"requires kernels>=(?P<version>[0-9.]+)",
        "the hub kernel needs a newer kernels package",
        "pip install -U kernels, within the versions that Transformers accepts (%rocm doctor names them)",
    ),
    TextRule(
        "flash-attn-backend",
        r"No module named 'flash_attn_2_cuda'",
        "flash-attn is installed, but its AMD backend is off",
        "start Jupyter with FLASH_ATTENTION_TRITON_AMD_ENABLE=TRUE, or pip install -U flash-attn",
    ),
    TextRule(
        "flash-attn-gpu",
        r"gfx\w+(?:'\])? is invalid or not supported[^\n]*|FlashAttention currently only supports MI\w+[^\n]*",
        "flash-attn's compiled kernels do not cover this GPU",
        "use --attention sdpa: PyTorch has flash kernels of its own",
    ),
    TextRule(
        "aotriton-gate",
        r"(?:flash|mem) efficient attention on current AMD GPU is still experimental",
        "PyTorch keeps its flash kernels for this GPU behind a variable and computes the whole score matrix instead",
        f"start Jupyter with {AOTRITON_VARIABLE}=1 (it is read while torch is imported)",
    ),
    TextRule(
        "aotriton-missing",
        r"torch was not compiled with (?:memory efficient|flash) attention",
        f"this PyTorch wheel has no AOTriton in it: {AOTRITON_VARIABLE} cannot help",
        "install another PyTorch build; results are right without it, long prompts take more memory",
    ),
    TextRule(
        "sdpa-no-kernel",
        r"no available kernel\. ?aborting execution|RuntimeError: no available kernel",
        "an SDPA kernel was forced that PyTorch does not have for this GPU",
        f"do not force one, or start Jupyter with {AOTRITON_VARIABLE}=1",
    ),
    TextRule("class-no-flash", r"(?P<name>\w+) does not support Flash Attention[^\n]*yet", judge=_class_refuses),
    TextRule(
        "class-no-sdpa",
        r"(?P<name>\w+) does not support an attention implementation through torch\.nn\.functional",
        judge=_class_refuses_sdpa,
    ),
    TextRule(
        "attention-name",
        r"specified `?attn_implementation=\"?(?P<name>[^\"`\s]+)\"?`? is not supported",
        "Transformers does not know this attention implementation, or not for this model",
        "use --attention sdpa; %rocm plan MODEL lists what works",
    ),
    TextRule(
        "kernel-config",
        r"expected exactly one kernel repo regardless|invalid kernel repo string|only devices in \[[^\]]*\]",
        "from_pretrained does not take per-device kernel mappings in this Transformers",
        'load first, then model.set_use_kernels(True, KernelConfig({…: {"rocm": (…)}}))',
    ),
)
# Transformers says this whatever the cause was: only when no other rule knows the text.
GENERIC: Final = (
    TextRule(
        "flash-missing",
        r"FlashAttention ?(?P<number>[234]) has been toggled on, but it cannot be used",
        judge=_flash_generic,
    ),
)

"""Whether a quantization method works on this machine, and which one a plan uses.

Knows the table of methods, the installed packages and the hardware rules, which go by gfx target; must not know how
weights are quantized. Transformers' own checks compare CUDA capability numbers, which any AMD GPU passes by accident.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from rocmtx.decide.asks import unknown_name
from rocmtx.decide.capability import small_float_verdict
from rocmtx.decide.hubkernels import kernels_verdict, parse_version
from rocmtx.decide.methods import ALIASES, Method, by_checkpoint, methods
from rocmtx.decide.targets import find_target
from rocmtx.decide.verdict import Choice, Verdict
from rocmtx.errors import PlanError

if TYPE_CHECKING:
    from rocmtx.facts.model import Checkpoint, Facts, Gpu

NONE = "none"
_ROCM = {
    "yes": "supported on ROCm",
    "partly": "partly supported on ROCm",
    "no": "marked as not supported on ROCm",
    "unlisted": "not listed for ROCm",
}
# What ROCm wheels of torch bring along: the module is called triton all the same.
_TRITON_OF_ROCM = ("pytorch-triton-rocm", "triton-rocm")
_COMPUTE = {"auto": "bfloat16"}


def read_quantization(text: str | None) -> str | None:
    """Return the name of a method, "none", or None for no wish. Raises AskError with the nearest name."""
    if text is None or text.strip().lower() in {"", "auto"}:
        return None
    word = text.strip().lower().replace("_", "-").replace(" ", "-")
    name = ALIASES.get(word, word)
    if name == NONE or name in methods():
        return name
    raise unknown_name("quantization", "--quantization", text, (NONE, *methods(), *ALIASES))


def quantization_verdict(facts: Facts, gpu: Gpu | None, method: Method, *, prequantized: bool = False) -> Verdict:
    """Judge a method on a GPU (None: on the CPU), for a checkpoint made with it or for quantizing while loading.

    The fix names what to install, or the nearest method that works here.
    """
    verdict = _judge(facts, gpu, method, prequantized=prequantized)
    if verdict.answer == "yes" or verdict.fix or prequantized:
        return verdict
    return Verdict(verdict.answer, verdict.because, _nearest(facts, gpu, method))


def _nearest(facts: Facts, gpu: Gpu | None, method: Method) -> str:
    working = [entry for entry in methods().values() if _judge(facts, gpu, entry, prequantized=False).answer == "yes"]
    closest = min(working, key=lambda entry: abs(entry.bits - method.bits), default=None)
    return f"use --quantization {closest.name} or --quantization none" if closest else "use --quantization none"


def _judge(facts: Facts, gpu: Gpu | None, method: Method, *, prequantized: bool) -> Verdict:
    if method.broken:
        return Verdict("no", method.broken)
    if not (method.on_the_fly or prequantized):
        return Verdict("no", f"only checkpoints made with {method.title} can be loaded{_such_checkpoints(method, gpu)}")
    hardware = (
        _on_cpu(method, prequantized=prequantized) if gpu is None else _on_gpu(method, gpu, prequantized=prequantized)
    )
    if hardware.answer == "no":
        return hardware
    missing = _packages(facts, method)
    if missing is not None and prequantized and method.cpu == "dense":
        # Transformers warns and goes on with ordinary weights, which it would make of them on other hardware, too.
        if "unpacked" in hardware.because:
            return hardware
        return Verdict("yes", f"{missing.because}; the weights are unpacked to 16 bits", missing.fix)
    if missing is None and method.method == "bitsandbytes" and gpu is not None and gpu.vendor == "AMD":
        missing = _bitsandbytes(facts, gpu)
    return missing or hardware


def _such_checkpoints(method: Method, gpu: Gpu | None) -> str:
    if gpu is None or gpu.vendor != "AMD":
        return ""
    return f" ({_ROCM[method.documented]})"


def _on_cpu(method: Method, *, prequantized: bool) -> Verdict:
    if method.cpu == "yes":
        return Verdict("yes", f"{method.bits:g} bits a weight; runs on the CPU")
    if method.cpu == "dense" and prequantized:
        return Verdict("yes", "unpacked to ordinary weights on the CPU")
    if method.cpu in {"no", "dense"}:
        return Verdict("no", f"{method.title} needs a GPU, and this runs on the CPU")
    return Verdict("not known", f"{method.title} was not tried on a CPU")


def _on_gpu(method: Method, gpu: Gpu, *, prequantized: bool) -> Verdict:
    if gpu.vendor != "AMD":
        return Verdict("not known", "not an AMD GPU: not judged here")
    lacking = _lacking(method, gpu)
    if lacking is not None:
        unpacks = prequantized and method.cpu == "dense"
        return Verdict("yes", f"{lacking.because}; the weights are unpacked to 16 bits") if unpacks else lacking
    if method.name == "gguf":
        return Verdict("yes", "unpacked to ordinary weights")
    word = _ROCM[method.documented]
    if method.documented in {"yes", "partly"}:
        return Verdict("yes", f"{method.bits:g} bits a weight; {word}")
    units = f"{gpu.gfx} has {method.needs.upper()} units; " if method.needs else ""
    return Verdict("not known", f"{units}{word} in Transformers' documentation; not tried")


def _lacking(method: Method, gpu: Gpu) -> Verdict | None:
    """Return why the hardware cannot do it, or that it is not known; None when nothing stands against it."""
    target = find_target(gpu.gfx)
    named = f"{gpu.gfx} ({target.family})"
    foreign = {"nvidia": "NVIDIA", "apple": "Apple"}.get(method.needs)
    if foreign is not None:
        return Verdict("no", f"{method.title} has kernels for {foreign} only")
    if method.needs and not target.known:
        return Verdict("not known", f"{gpu.gfx} is not in the table of targets")
    if method.needs in {"fp8", "fp4"}:
        units = small_float_verdict(gpu, int(method.needs[2:]))
        if units.answer == "no":
            return Verdict("no", units.because)
    if method.needs == "fp8" and target.fp8 == "fnuz":
        return Verdict("not known", f"{named} multiplies float8_e4m3fnuz, Transformers stores float8_e4m3fn; not tried")
    return None


def _packages(facts: Facts, method: Method) -> Verdict | None:
    """Return what is not installed or too old; None when all is there or the packages are not known."""
    if not facts.stack.packages:
        return None
    wanted = []
    for package, minimum in method.packages.items():
        installed, needed = parse_version(facts.stack.version(package)), parse_version(minimum)
        if package == "kernels":
            verdict = kernels_verdict(facts)
            if verdict.answer == "no":
                return Verdict("no", f"{method.title}: {verdict.because}", verdict.fix)
        elif package == "triton" and any(facts.stack.version(name) for name in _TRITON_OF_ROCM):
            continue
        elif facts.stack.version(package) is None or (
            installed is not None and needed is not None and installed < needed
        ):
            wanted.append(package if minimum == "0" else f"{package}>={minimum}")
    if not wanted:
        return None
    names = " ".join(f"'{name}'" if ">" in name else name for name in wanted)
    return Verdict("no", f"{method.title} needs {', '.join(wanted)}, which is not installed", f"pip install {names}")


def _bitsandbytes(facts: Facts, gpu: Gpu) -> Verdict | None:
    """Return what is wrong with bitsandbytes on this GPU: no library for this ROCm, or no code for this target."""
    target = find_target(gpu.gfx)
    if target.bitsandbytes == "none":
        return Verdict("no", f"bitsandbytes has no code for {gpu.gfx}")
    return rocm_library(facts)


def rocm_library(facts: Facts) -> Verdict | None:
    """Return why bitsandbytes will not find its ROCm library; None when it will, or is not known.

    Its files are named by the ROCm version of torch: 7.2 -> "72", 7.14 -> "714". Old releases compute major*10+minor
    and look for "84" instead. Source: bitsandbytes cextension.py, issues 1799, 1890, 2014.
    """
    shipped, version = facts.stack.bitsandbytes_rocm, torch_rocm(facts)
    if not shipped or version is None or any(rocm_of(name) == version for name in shipped):
        return None
    wanted = f"{version[0]}.{version[1]}"
    closest = nearest_library(shipped, version)
    listed = ", ".join(f"{major}.{minor}" for major, minor in sorted(filter(None, map(rocm_of, shipped))))
    because = f"the installed bitsandbytes has no library for ROCm {wanted} (only {listed})"
    return Verdict("no", because, f"pip install -U bitsandbytes, or start Jupyter with BNB_ROCM_VERSION={closest}")


def torch_rocm(facts: Facts) -> tuple[int, int] | None:
    """Return ROCm's major and minor version that torch was built for; None when it is not known."""
    torch = facts.stack.torch
    found = re.match(r"(\d+)\.(\d+)", (torch.rocm or torch.hip or "") if torch is not None else "")
    return (int(found[1]), int(found[2])) if found else None


def rocm_of(name: str) -> tuple[int, int] | None:
    """Decode the version in a library's name: "72" -> (7, 2), "714" -> (7, 14)."""
    return (int(name[0]), int(name[1:])) if name.isdigit() and len(name) > 1 else None


def nearest_library(shipped: tuple[str, ...], version: tuple[int, int]) -> str:
    """Return the shipped library to try for a ROCm version: the newest one that is not newer, else the oldest."""
    ordered = sorted((rocm_of(name) or (0, 0), name) for name in shipped)
    older = [name for found, name in ordered if found <= version]
    return older[-1] if older else ordered[0][1]


def choose_quantization(facts: Facts, checkpoint: Checkpoint, gpu: Gpu | None, wish: str | None) -> Choice[str | None]:
    """Decide the quantization; None means full weights. Raises AskError or PlanError with the nearest that works."""
    name = read_quantization(wish)
    own = by_checkpoint(checkpoint.quantization) if checkpoint.quantization else None
    if checkpoint.quantization and checkpoint.source not in {"demo", "gguf"}:
        return _of_checkpoint(facts, checkpoint, gpu, name, own)
    if checkpoint.source in {"demo", "gguf"} and name in {None, NONE}:
        kind = (checkpoint.quantization or {}).get("type")
        packed = f"{kind} weights" if kind else "packed weights"
        return Choice(None, f"the GGUF file's {packed} are unpacked while loading", name is not None)
    if name is None or name == NONE:
        because = "you asked for none" if name else "none asked for"
        return Choice(None, because, name is not None)
    if checkpoint.source == "gguf":
        raise PlanError(
            "a GGUF file cannot be quantized again while it is unpacked",
            "leave out --quantization, or name a checkpoint with full weights",
        )
    method = methods()[name]
    verdict = quantization_verdict(facts, gpu, method)
    if verdict.answer == "no":
        raise PlanError(f"quantization {name} cannot work here: {verdict.because}", _with_way_out(verdict.fix))
    return Choice(name, f"you asked for it; {verdict.because}", asked=True)


def _of_checkpoint(
    facts: Facts, checkpoint: Checkpoint, gpu: Gpu | None, name: str | None, own: Method | None
) -> Choice[str | None]:
    """Take the checkpoint's own quantization: it cannot be replaced by another one while loading."""
    title = own.name if own is not None else str((checkpoint.quantization or {}).get("quant_method", "unknown"))
    if name is not None and name != title:
        raise PlanError(
            f"{checkpoint.name} is quantized with {title} already, so it cannot be loaded as {name}",
            "leave out --quantization, or name a checkpoint with full weights",
        )
    if own is None:
        return Choice(
            title, "the checkpoint's own; the method is not in the table, so it was not judged", name is not None
        )
    verdict = quantization_verdict(facts, gpu, own, prequantized=True)
    if verdict.answer == "no":
        raise PlanError(
            f"{checkpoint.name} is quantized with {own.title}, which cannot work here: {verdict.because}",
            verdict.fix if verdict.fix.startswith("pip") else "use a checkpoint of this model with full weights",
        )
    return Choice(own.name, f"the checkpoint's own; {verdict.because}", name is not None)


def unpacks(facts: Facts, checkpoint: Checkpoint, gpu: Gpu | None) -> bool:
    """Return whether this device turns a quantized checkpoint into ordinary weights, which take their full memory."""
    own = by_checkpoint(checkpoint.quantization) if checkpoint.quantization else None
    if own is None or own.cpu != "dense" or checkpoint.source in {"demo", "gguf"}:
        return False
    lacking = _lacking(own, gpu) if gpu is not None and gpu.vendor == "AMD" else None
    return gpu is None or (lacking is not None and lacking.answer == "no") or _packages(facts, own) is not None


def _with_way_out(fix: str) -> str:
    return fix if "--quantization" in fix else f"{fix}; or use --quantization none"


def quantization_config(name: str | None, dtype: str) -> dict[str, Any] | None:
    """Return the config of an on-the-fly method as JSON; "class" names it.

    torchao's `quant_type` is the name of a class of torchao.quantization. None for no quantization and for checkpoints
    that bring their own.
    """
    method = methods().get(name or "")
    if method is None or method.config is None:
        return None
    # bitsandbytes would compute in float32 by itself.
    compute = {"bnb_4bit_compute_dtype": _COMPUTE.get(dtype, dtype)} if name == "bitsandbytes-4bit" else {}
    return {**method.config, **compute}


def quantization_choices(
    facts: Facts, checkpoint: Checkpoint | None, gpu: Gpu | None
) -> tuple[tuple[str, str, Verdict], ...]:
    """Return (value, label, verdict) of no quantization and of every method in the table."""
    own = by_checkpoint(checkpoint.quantization) if checkpoint is not None and checkpoint.quantization else None
    none = Verdict("yes", "full weights") if own is None else Verdict("no", "the checkpoint is quantized already")
    entries = [
        (
            entry.name,
            entry.title,
            quantization_verdict(facts, gpu, entry, prequantized=own is not None and own == entry),
        )
        for entry in methods().values()
    ]
    return ((NONE, "none", none), *entries)

"""Which GPUs to use: what each of them is good for, which one is best, and how a wish names them.

Knows GPUs, masks and the installed torch; must not know a model. A device is numbered as the WORKER will see it: it
gets masks that leave exactly the chosen GPUs, so a single GPU is always "cuda:0" there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmtx.decide.absence import kfd_refused, torch_refuses, unmask, why_no_gpu
from rocmtx.decide.asks import nearest
from rocmtx.decide.capability import gpu_name, wheel_covers
from rocmtx.decide.memory import free_memory
from rocmtx.decide.verdict import Choice, Verdict
from rocmtx.decide.wsl import with_torch_gpus
from rocmtx.errors import PlanError, UnknownDevice
from rocmtx.units import bytes_text

if TYPE_CHECKING:
    from rocmtx.facts.model import Facts, Gpu

_ANY_GPU = frozenset({"cuda", "hip", "rocm", "gpu"})
_NUMBERED = re.compile(r"(?:(?:cuda|hip|rocm|gpu):?)?(\d+)")
_ADDRESS = re.compile(r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_RANK = {"yes": 0, "not known": 1, "no": 2}


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a model goes: `gpus` in worker order, empty for the CPU, and the environment that makes it so."""

    device: Choice[str]
    gpus: tuple[Gpu, ...]
    variables: tuple[tuple[str, str], ...]


def free_bytes(facts: Facts, gpu: Gpu) -> int | None:
    """Return the free memory that torch could take on a GPU now; None when it is not known.

    An APU counts the system memory that the driver lends it (GTT); torch's own answer is taken where it was asked.
    """
    view = facts.stack.torch_view
    free = free_memory(gpu)
    for device in view.devices if view is not None else ():
        if device.ordinal == gpu.hip_ordinal and device.free_memory is not None:
            return device.free_memory
        if device.ordinal == gpu.hip_ordinal and device.total_memory is not None and free is not None:
            return min(free, device.total_memory)
    return free


def gpu_verdict(facts: Facts, gpu: Gpu) -> Verdict:
    """Judge whether torch can use a GPU as things are: access, torch's build, masks, then its architecture."""
    stopped = kfd_refused(facts) if gpu.vendor == "AMD" else None
    stopped = stopped or torch_refuses(facts, gpu)
    if stopped is not None:
        return stopped
    if gpu.hip_ordinal is None:
        fix = unmask(facts) if gpu.hidden_because and "VISIBLE_DEVICES" in gpu.hidden_because else ""
        return Verdict("no", gpu.hidden_because or "PyTorch's number for it is not known", fix)
    if gpu.vendor != "AMD":
        return Verdict("yes", "PyTorch is a CUDA build, and this is not an AMD GPU")
    return wheel_covers(facts, gpu)


def ranked(facts: Facts) -> tuple[Gpu, ...]:
    """Return the GPUs that can be used, best first: code in the wheel, then discrete, then free memory.

    Free memory alone would pick an integrated GPU, which counts system memory as its own.
    """
    usable = [gpu for gpu in facts.gpus if gpu_verdict(facts, gpu).answer != "no"]

    def order(gpu: Gpu) -> tuple[object, ...]:
        covered = _RANK[gpu_verdict(facts, gpu).answer]
        return (gpu.vendor != "AMD", covered, bool(gpu.integrated), -(free_bytes(facts, gpu) or 0), gpu.hip_ordinal)

    return tuple(sorted(usable, key=order))


def amd_absence(facts: Facts) -> Verdict | None:
    """Say why no AMD GPU can be used, or what is used instead of one; None where one can be used."""
    facts = with_torch_gpus(facts)
    best = ranked(facts)
    if not best:
        return why_no_gpu(facts)
    if best[0].vendor == "AMD":
        return None
    return Verdict("no", f"{gpu_name(best[0])} is used instead, through the same torch.cuda")


def device_choices(facts: Facts) -> tuple[tuple[str, str, Verdict], ...]:
    """Return (value, label, verdict) for pickers and Tab completion: the best GPU first, the CPU last."""
    facts = with_torch_gpus(facts)
    best = ranked(facts)
    rest = [gpu for gpu in facts.gpus if gpu not in best]
    entries = [_entry(facts, gpu) for gpu in (*best, *rest)]
    memory = facts.host.memory_available
    label = "CPU" if memory is None else f"CPU · {bytes_text(memory)} free"
    return (*entries, ("cpu", label, Verdict("yes", "always works; slow for large models")))


def _entry(facts: Facts, gpu: Gpu) -> tuple[str, str, Verdict]:
    verdict = gpu_verdict(facts, gpu)
    free = free_bytes(facts, gpu)
    parts = [
        gpu_name(gpu),
        *(["integrated"] if gpu.integrated else []),
        *([f"{bytes_text(free)} free"] if free else []),
        *(_numbers(gpu) if len(facts.gpus) > 1 else []),
    ]
    return (gpu.torch_device or gpu.address, " · ".join(parts), verdict)


def _numbers(gpu: Gpu) -> tuple[str, ...]:
    """Return what tells equal GPUs apart: the address, and amd-smi's number where it is another one."""
    other = gpu.amd_smi_index is not None and gpu.amd_smi_index != gpu.hip_ordinal
    part = gpu.partition
    mode = f" ({part.compute})" if part is not None and part.compute else ""
    place = [f"partition {part.index + 1} of {part.count}{mode}"] if part is not None and part.count > 1 else []
    return (gpu.address, *place, *([f"amd-smi {gpu.amd_smi_index}"] if other else []))


def place(facts: Facts, wish: str | None) -> Placement:
    """Turn a wish for a device into GPUs and masks. Raises UnknownDevice or PlanError with what works instead."""
    facts = with_torch_gpus(facts)
    text = (wish or "auto").strip().lower()
    if text in {"", "auto"}:
        best = ranked(facts)
        return _on_gpus(facts, best[:1], _why_best(facts, best), asked=False) if best else _on_cpu(facts, None)
    if text == "cpu":
        return _on_cpu(facts, wish)
    chosen = _usable(facts, text)
    because = (
        "you asked for it"
        if len(chosen) == 1
        else f"you asked for these {len(chosen)} GPUs: the model is split over them"
    )
    return _on_gpus(facts, chosen, because, asked=True)


def place_ranks(facts: Facts, wish: str | None, count: int) -> Placement:
    """Place several processes, a GPU each; on the CPU they share it. Raises UnknownDevice or PlanError.

    `device` is "cuda": every rank takes the GPU of its own number, LOCAL_RANK, which Transformers does by itself.
    """
    if count == 1:
        return place(facts, wish)
    facts = with_torch_gpus(facts)
    text = (wish or "auto").strip().lower()
    best = ranked(facts)
    if text == "cpu" or (text in {"", "auto"} and not best):
        return _on_cpu(facts, wish)
    chosen = _equal(best, count) if text in {"", "auto", *_ANY_GPU} else _usable(facts, text)
    if len(chosen) != count:
        raise PlanError(
            f"{count} ranks need {count} equal GPUs, and {_there_are(len(chosen))}", _fewer(facts, chosen, wish)
        )
    because = f"{len(chosen)} × {gpu_name(chosen[0])}, one for each rank"
    return Placement(Choice("cuda", because, wish is not None), chosen, masks(facts, chosen))


def _equal(best: tuple[Gpu, ...], count: int) -> tuple[Gpu, ...]:
    same = [gpu for gpu in best if gpu.gfx == best[0].gfx and gpu.integrated == best[0].integrated] if best else []
    return tuple(sorted(same[:count], key=lambda gpu: gpu.hip_ordinal or 0))


def _there_are(count: int) -> str:
    return "there is 1" if count == 1 else f"there are {count}"


def _fewer(facts: Facts, chosen: tuple[Gpu, ...], wish: str | None) -> str:
    there = _equal(ranked(facts), len(facts.gpus))
    if wish is not None and len(there) > len(chosen):
        return f"name as many GPUs as ranks, or leave out --device: {len(there)} equal ones are here"
    return f"use --ranks {len(chosen)}; or use --device cpu, to try it out" if chosen else "use --device cpu"


def _on_cpu(facts: Facts, wish: str | None) -> Placement:
    because = "you asked for it" if wish is not None else why_no_gpu(facts).because
    hidden = (("CUDA_VISIBLE_DEVICES", "-1"), ("HIP_VISIBLE_DEVICES", "-1"))
    return Placement(Choice("cpu", because, wish is not None), (), hidden if facts.gpus else ())


def _on_gpus(facts: Facts, gpus: tuple[Gpu, ...], because: str, *, asked: bool) -> Placement:
    device = "cuda:0" if len(gpus) == 1 else "auto"
    return Placement(Choice(device, because, asked), gpus, masks(facts, gpus))


def _why_best(facts: Facts, best: tuple[Gpu, ...]) -> str:
    """Say why the best GPU was taken and every other one left."""
    if not best:
        return ""
    chosen = best[0]
    free = free_bytes(facts, chosen)
    memory = f", {bytes_text(free)} free" if free is not None else ""
    left: dict[str, list[str]] = {}
    for gpu in facts.gpus:
        if gpu is not chosen:
            left.setdefault(_why_not(facts, gpu, chosen), []).append(gpu.torch_device or gpu.address)
    return "; ".join([f"{gpu_name(chosen)}{memory}", *(f"not {_short(names)}: {why}" for why, names in left.items())])


def _short(names: list[str]) -> str:
    return ", ".join(names) if len(names) < 4 else f"{names[0]} … {names[-1]} ({len(names)} GPUs)"  # noqa: PLR2004 - a line


def _why_not(facts: Facts, gpu: Gpu, chosen: Gpu) -> str:
    verdict = gpu_verdict(facts, gpu)
    if verdict.answer == "no":
        return f"{'integrated, ' if gpu.integrated else ''}{verdict.because}"
    if gpu.vendor != chosen.vendor:
        return gpu_name(gpu)
    if gpu.integrated and not chosen.integrated:
        return f"{gpu_name(gpu)} is integrated"
    free = free_bytes(facts, gpu)
    room = "free memory not known" if free is None else f"{bytes_text(free)} free"
    return room if gpu_name(gpu) == gpu_name(chosen) else f"{gpu_name(gpu)}, {room}"


def named(facts: Facts, wish: str) -> tuple[Gpu, ...]:
    """Return the GPUs that a wish names, usable or not. Raises UnknownDevice; PlanError for "all" of none."""
    facts = with_torch_gpus(facts)
    words = [part.strip() for part in wish.lower().split(",")]
    return tuple(dict.fromkeys(gpu for word in words for gpu in _find(facts, word)))


def _usable(facts: Facts, text: str) -> tuple[Gpu, ...]:
    chosen = named(facts, text)
    for gpu in chosen:
        verdict = gpu_verdict(facts, gpu)
        if verdict.answer == "no":
            raise PlanError(f"{gpu_name(gpu)} cannot be used: {verdict.because}", _instead(facts, verdict.fix))
    if len({gpu.vendor for gpu in chosen}) > 1:
        raise PlanError("a model cannot be split over an AMD and another GPU", _instead(facts, ""))
    return chosen


def _find(facts: Facts, word: str) -> tuple[Gpu, ...]:
    if word == "all" or word in _ANY_GPU:
        best = ranked(facts)
        if not best:
            verdict = why_no_gpu(facts)
            raise PlanError(f"there is no GPU to use here: {verdict.because}", _instead(facts, verdict.fix))
        return tuple(gpu for gpu in facts.gpus if gpu in best) if word == "all" else best[:1]
    numbered = _NUMBERED.fullmatch(word)
    if numbered:
        found = tuple(gpu for gpu in facts.gpus if gpu.hip_ordinal == int(numbered[1]))
        found = tuple(gpu for gpu in found if gpu_verdict(facts, gpu).answer != "no")[:1] or found[:1]
    elif _ADDRESS.fullmatch(word):
        found = tuple(gpu for gpu in facts.gpus if gpu.address.lower().endswith(word))[:1]
    else:
        found = tuple(gpu for gpu in (*ranked(facts), *facts.gpus) if (gpu.gfx or "").lower() == word)[:1]
    if not found:
        raise UnknownDevice(f"there is no device {word!r} here: {_known(facts)}", _instead(facts, _guess(facts, word)))
    return found


def _known(facts: Facts) -> str:
    if not facts.gpus:
        return f"no GPU at all ({why_no_gpu(facts).because})"
    names: dict[str, list[str]] = {}
    for gpu in facts.gpus:
        names.setdefault(gpu_name(gpu), []).append(gpu.torch_device or gpu.address)
    return "this machine has " + ", ".join(f"{_short(devices)} = {name}" for name, devices in names.items())


def _guess(facts: Facts, word: str) -> str:
    names = [name for gpu in facts.gpus for name in (gpu.torch_device, gpu.gfx, gpu.address) if name]
    guess = nearest(word, [*names, "cpu", "auto", "all"])
    return f"did you mean --device {guess}?" if guess and not word.isdigit() else ""


def _instead(facts: Facts, fix: str) -> str:
    best = ranked(facts)
    use = f"use --device {best[0].hip_ordinal} or --device cpu" if best else "use --device cpu"
    if fix.endswith("?"):
        return f"{fix} Or {use}"
    return f"{fix}; or {use}" if fix else use


def masks(facts: Facts, gpus: tuple[Gpu, ...]) -> tuple[tuple[str, str], ...]:
    """Return the variables that leave exactly these GPUs, in this order; empty when they are all that is seen already.

    Numbers count within what ROCR_VISIBLE_DEVICES left, which is never touched: a scheduler sets it. HIP and CUDA masks
    are set together, because PyTorch's own count reads both.
    Source: ROCm clr rocdevice.cpp, PyTorch torch/cuda/__init__.py `_parse_visible_devices`.
    """
    same = [gpu for gpu in facts.gpus if gpu.hip_ordinal is not None and gpu.vendor == gpus[0].vendor]
    if list(gpus) == sorted(same, key=lambda gpu: gpu.hip_ordinal or 0):
        return ()
    if gpus[0].vendor == "NVIDIA":
        # The facts count them by PCI address; CUDA's own order puts the fastest first.
        known = gpus[0].mask_index is not None or "CUDA_VISIBLE_DEVICES" not in facts.stack.environment
        order = (("CUDA_DEVICE_ORDER", "PCI_BUS_ID"),) if known else ()
        return (*order, ("CUDA_VISIBLE_DEVICES", _tokens(facts, gpus, ("CUDA_VISIBLE_DEVICES",))))
    value = _tokens(facts, gpus, ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"))
    return (("CUDA_VISIBLE_DEVICES", value), ("HIP_VISIBLE_DEVICES", value))


def _tokens(facts: Facts, gpus: tuple[Gpu, ...], variables: tuple[str, ...]) -> str:
    """Write a mask that composes with one that is set already: number N of cuda:N is the N-th token of that one."""
    if all(gpu.mask_index is not None for gpu in gpus):
        return ",".join(str(gpu.mask_index) for gpu in gpus)
    present = next((facts.stack.environment[name] for name in variables if facts.stack.environment.get(name)), None)
    ordinals = [gpu.hip_ordinal or 0 for gpu in gpus]
    if present is None:
        return ",".join(str(ordinal) for ordinal in ordinals)
    tokens = list(dict.fromkeys(token.strip("'\" ") for token in present.split(",")))
    if any(token.startswith("GPU-") for token in tokens) and all(gpu.unique_id for gpu in gpus):
        return ",".join(f"GPU-{gpu.unique_id}" for gpu in gpus)
    return ",".join(tokens[ordinal] if ordinal < len(tokens) else str(ordinal) for ordinal in ordinals)

"""Rules about masks and counts: what the variables leave, and where PyTorch counts otherwise than HIP.

Knows the visibility variables and torch's own view; must not parse masks itself: the facts say who is hidden by what.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rocmtx.decide.absence import MASKS, unmask
from rocmtx.decide.finding import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocmtx.facts.model import Facts

_HIDE_ALL = frozenset({"-1"})


def everything_hidden(facts: Facts) -> Iterator[Finding]:
    """Find masks that leave no GPU: one that hides all, or two that count in different numbers."""
    amd = facts.amd_gpus()
    environment = facts.stack.environment
    if not amd or any(gpu.hip_ordinal is not None for gpu in amd):
        return
    for name in MASKS:
        if environment.get(name) in _HIDE_ALL or (name == "ROCR_VISIBLE_DEVICES" and environment.get(name) == ""):
            also = ", AMD included" if name == "CUDA_VISIBLE_DEVICES" else ""
            yield Finding(
                "mask-hides-all",
                "error",
                f"{name}={environment[name]!s}".rstrip("=") + (" is empty" if not environment[name] else ""),
                f"it hides every GPU{also}",
                unmask(facts),
            )
            return
    yield from _two_masks(facts)


def _two_masks(facts: Facts) -> Iterator[Finding]:
    """Find two masks that count in different numbers, or one that matches nothing."""
    environment = facts.stack.environment
    rocr = environment.get("ROCR_VISIBLE_DEVICES")
    upper = next((name for name in ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES") if environment.get(name)), None)
    if rocr and upper is not None:
        known = [gpu for gpu in facts.amd_gpus() if gpu.mask_index is not None]
        left = len(known) or len(rocr.split(","))
        word = "GPU, numbered 0" if left == 1 else f"GPUs, numbered 0 to {left - 1}"
        yield Finding(
            "two-masks",
            "error",
            f"ROCR_VISIBLE_DEVICES={rocr} leaves {left} {word}; {upper}={environment[upper]} asks for others",
            "no GPU is left: the second mask counts within what the first one leaves",
            f"unset {upper}, or set it to {','.join(str(at) for at in range(left))}; then restart Jupyter",
        )
    elif upper is not None or rocr:
        name = upper or "ROCR_VISIBLE_DEVICES"
        reason = next((gpu.hidden_because for gpu in facts.amd_gpus() if gpu.hidden_because), "no GPU matches it")
        yield Finding(
            "mask-hides-all", "error", f"{name}={environment[name]}: {reason}", "no GPU is left", unmask(facts)
        )


def counts_differ(facts: Facts) -> Iterator[Finding]:
    """Find counts that disagree: torch.cuda.device_count() comes from an SMI package before HIP starts."""
    view = facts.stack.torch_view
    if view is None or view.device_count is None or view.raw_device_count is None:
        return
    if view.device_count == view.raw_device_count:
        return
    stray = next((name for name in ("amdsmi", "pynvml", "nvidia-ml-py") if facts.stack.version(name)), None)
    seen = f"PyTorch reports {view.device_count} GPUs, the HIP runtime reports {view.raw_device_count}"
    cause = f"; the separate package {stray} makes PyTorch count wrong" if stray else ""
    fix = f"pip uninstall {stray}, then restart the kernel" if stray else "%rocm report -o report.json"
    yield Finding("counts-differ", "error", f"{seen}{cause}", "PyTorch refuses the devices that it does not count", fix)


def torch_sees_fewer(facts: Facts) -> Iterator[Finding]:
    """Find a PyTorch that starts with other GPUs than the masks of this environment leave."""
    view = facts.stack.torch_view
    torch = facts.stack.torch
    if view is None or view.raw_device_count is None or torch is None or torch.build != "rocm":
        return
    expected = sum(1 for gpu in facts.amd_gpus() if gpu.hip_ordinal is not None)
    if expected and view.raw_device_count != expected:
        yield Finding(
            "torch-sees-other",
            "warning",
            f"the masks leave {expected} of {len(facts.amd_gpus())} GPUs, HIP reports {view.raw_device_count}",
            "a mask that is set after torch has used the GPU changes nothing",
            "restart the kernel, then: %rocm doctor",
        )


def torch_failed(facts: Facts) -> Iterator[Finding]:
    """Find a PyTorch that could not even be asked."""
    view = facts.stack.torch_view
    if view is not None and view.error:
        last = view.error.strip().splitlines()[-1]
        yield Finding(
            "torch-fails",
            "error",
            f"PyTorch fails when it is imported: {last}",
            "no model can be loaded",
            "%rocm explain",
        )


RULES: Final[tuple[Rule, ...]] = (everything_hidden, torch_failed, counts_differ, torch_sees_fewer)

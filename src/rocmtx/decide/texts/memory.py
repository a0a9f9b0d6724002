"""Error texts about memory.

Knows these texts and the memory of this machine's GPUs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rocmtx.decide.explanation import Answer, TextRule
from rocmtx.decide.hubkernels import parse_version
from rocmtx.decide.rules.performance import apu_memory

if TYPE_CHECKING:
    import re

    from rocmtx.facts.model import Facts


def _device(match: re.Match[str], facts: Facts | None) -> Answer:
    wanted = f"{match['size']} more were asked for" if match["size"] else "more was asked for"
    means = f"the GPU has too little free memory: {wanted}"
    apu = next(apu_memory(facts), None) if facts is not None else None
    if apu is not None:
        return f"{means}; {apu.seen}", apu.fix
    if facts is not None and any(gpu.integrated and gpu.hip_ordinal is not None for gpu in facts.amd_gpus()):
        # The page cache of mapped files and the GPU's copies come out of one pool.
        means = f"{means}; while loading, mapped files and their copies on the GPU take the same memory twice"
        return means, _unmapped(facts)
    return (
        means,
        "a shorter context, a smaller batch, --quantization bitsandbytes-4bit or a smaller model",
    )


def _unmapped(facts: Facts) -> str:
    version = parse_version(facts.stack.version("transformers"))
    if version is not None and version.release < (5, 10):
        return "pip install -U transformers: from 5.10 on it can read the files instead; or a smaller model"
    return "from_pretrained(…, disable_mmap=True), which rocmtx sets by itself; or a smaller model"


def _renamed(_match: re.Match[str], facts: Facts | None) -> Answer:
    torch = facts.stack.torch if facts is not None else None
    version = parse_version(torch.version) if torch is not None else None
    means = "the variable has a new name, PYTORCH_ALLOC_CONF"
    if version is not None and version.release < (2, 11):
        return f"{means}; PyTorch {version} still needs the old one", "keep PYTORCH_CUDA_ALLOC_CONF"
    return means, "rename it to PYTORCH_ALLOC_CONF"


RULES: Final = (
    TextRule(
        "out-of-memory", r"(?:HIP|CUDA) out of memory\.?(?: Tried to allocate (?P<size>[0-9.]+ \w+))?", judge=_device
    ),
    TextRule(
        "host-memory",
        r"DefaultCPUAllocator: [^\n]*|not enough memory: you tried to allocate|MemoryError\b",
        "the machine has too little memory",
        "a smaller model, --dtype bfloat16, or --quantization bitsandbytes-4bit",
    ),
    TextRule("allocator-renamed", r"PYTORCH_(?:CUDA|HIP)_ALLOC_CONF is deprecated", harmless=True, judge=_renamed),
)

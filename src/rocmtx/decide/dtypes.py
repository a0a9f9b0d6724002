"""Which dtype the weights are loaded in, and why.

Knows what the architectures and CPUs compute; must not know attention or quantization.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmtx.decide.asks import DTYPES, read_dtype
from rocmtx.decide.capability import dtype_verdict
from rocmtx.decide.targets import find_target
from rocmtx.decide.verdict import Choice, Verdict

if TYPE_CHECKING:
    from rocmtx.facts.model import Checkpoint, Gpu

_HALF = frozenset({"bfloat16", "float16"})


def unpacked(checkpoint: Checkpoint) -> bool:
    """Return whether this is a GGUF file, whose weights Transformers unpacks to dense ones; by itself to float32."""
    return checkpoint.source in {"demo", "gguf"}


def choose_dtype(checkpoint: Checkpoint, gpu: Gpu | None, wish: str | None) -> Choice[str]:
    """Decide the dtype; "auto" means the checkpoint's own where that is not known yet. Raises AskError."""
    name = read_dtype(wish)
    if name is not None:
        return Choice(name, f"you asked for it; {dtype_verdict(gpu, name).because}", asked=True)
    return _for_cpu(checkpoint) if gpu is None else _for_gpu(checkpoint, gpu)


def _for_cpu(checkpoint: Checkpoint) -> Choice[str]:
    if unpacked(checkpoint):
        return Choice("float32", "the GGUF file is unpacked to what CPUs compute best")
    if checkpoint.dtype in _HALF:
        return Choice("float32", f"the checkpoint is {checkpoint.dtype}, which CPUs compute slowly or not at all")
    if checkpoint.dtype is None:
        return Choice(
            "float32", "CPUs compute 16-bit floats slowly or not at all; the checkpoint's own dtype is not known yet"
        )
    return Choice(checkpoint.dtype, "the checkpoint's own")


def _for_gpu(checkpoint: Checkpoint, gpu: Gpu) -> Choice[str]:
    own = "bfloat16" if unpacked(checkpoint) else checkpoint.dtype
    if gpu.vendor == "AMD" and own == "bfloat16" and find_target(gpu.gfx).computes("bfloat16") is False:
        target = find_target(gpu.gfx)
        because = f"{gpu.gfx} ({target.family}) has no bfloat16 units; float16 has the same size and runs faster"
        return Choice("float16", because)
    if unpacked(checkpoint):
        return Choice("bfloat16", f"the GGUF file is unpacked to 16 bits; {dtype_verdict(gpu, 'bfloat16').because}")
    if own is None:
        return Choice("auto", "the checkpoint's own, which is not known yet")
    return Choice(own, "the checkpoint's own")


def automatic_dtype(checkpoint: Checkpoint) -> str | None:
    """Return what Transformers takes without being told ("auto" since version 5); None when it must be told."""
    if unpacked(checkpoint):
        # Without a dtype it gives float32 from the file but bfloat16 from a converted copy: always say it.
        return None
    return checkpoint.dtype or "auto"


def dtype_choices(gpu: Gpu | None) -> tuple[tuple[str, str, Verdict], ...]:
    """Return (value, label, verdict) of every dtype that weights can be loaded in."""
    return tuple((name, name, dtype_verdict(gpu, name)) for name in DTYPES)

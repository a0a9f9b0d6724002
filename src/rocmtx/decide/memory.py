"""How much memory a model will take, before anything is loaded, and whether it fits.

Knows arithmetic over a checkpoint's facts; must not know files or torch. Whatever is assumed is said in `assumptions`;
a part that cannot be told is None, and then so is the total.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from rocmtx.decide.asks import DTYPE_BYTES
from rocmtx.decide.layers import Shape, read_shape
from rocmtx.decide.methods import methods
from rocmtx.facts.model import Checkpoint, Gpu, Host
from rocmtx.units import bytes_text

if TYPE_CHECKING:
    from collections.abc import Iterator

Train = Literal["lora", "full"] | None
_GIB: Final = 1024**3
# The runtime's context, the libraries' workspaces and what the allocator rounds up.
_OVERHEAD: Final = _GIB
# Bytes of 16-bit activations kept per token, layer and hidden unit for the way back, without the attention matrix:
# Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models" (2022), equation 2.
_KEPT: Final = 34
_LORA_RANK: Final = 8
# LoRA weights are float32: weight, gradient, and two Adam states of 4 bytes.
_LORA_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Estimate:
    """Bytes by purpose, for one device that holds the whole model; None where it cannot be told.

    `cache` is the key-value cache at the full context, `activations` the peak beside it, `training` gradients,
    optimizer and adapters.
    """

    weights: int | None
    cache: int | None
    activations: int | None
    training: int | None
    overhead: int
    dtype: str
    quantization: str | None
    context: int
    batch: int
    train: Train
    assumptions: tuple[str, ...] = ()

    @property
    def total(self) -> int | None:
        """The sum, or None when a part is not known."""
        parts = (self.weights, self.cache, self.activations, self.training, self.overhead)
        return sum(part for part in parts if part is not None) if None not in parts else None


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether an estimate fits: `ok` is None when either side is not known; `lacks` is the missing part or 0."""

    needed: int | None
    free: int | None
    ok: bool | None
    lacks: int | None

    def text(self) -> str:
        """Return it as one line."""
        if self.ok is None:
            return f"needs {bytes_text(self.needed)}, free: {bytes_text(self.free)}"
        if self.ok:
            return f"fits: {bytes_text(self.needed)} of {bytes_text(self.free)} free"
        return f"does not fit: needs {bytes_text(self.needed)}, {bytes_text(self.lacks)} more than is free"


def estimate(
    checkpoint: Checkpoint,
    *,
    dtype: str,
    quantization: str | None = None,
    context: int = 2048,
    batch: int = 1,
    train: Train = None,
    whole_scores: bool = False,
) -> Estimate:
    """Estimate the memory for a context (tokens, prompt and answer) and a batch. Pure arithmetic.

    `whole_scores` is true where attention computes the whole score matrix: eager, and SDPA's math kernel.
    """
    shape = read_shape(checkpoint.config)
    width = DTYPE_BYTES.get(_dtype(checkpoint, dtype) or "")
    assumptions = [f"{bytes_text(_OVERHEAD)} for the runtime, its libraries and the allocator"]
    weights = _weights(checkpoint, shape, width, quantization, assumptions)
    known = shape is not None and width is not None
    cache = shape.cached_numbers(context) * batch * width if shape and width and not train else 0 if train else None
    activations = (
        _activations(shape, width, context, batch, train, whole_scores=whole_scores) if shape and width else None
    )
    if known:
        assumptions.append(
            "activations: a rough formula" + (", no checkpointing" if train else ", one layer at a time")
        )
    return Estimate(
        weights=weights,
        cache=cache,
        activations=activations,
        training=_training(shape, weights, train, assumptions),
        overhead=_OVERHEAD,
        dtype=dtype,
        quantization=quantization,
        context=context,
        batch=batch,
        train=train,
        assumptions=tuple(assumptions),
    )


def _dtype(checkpoint: Checkpoint, dtype: str) -> str | None:
    return checkpoint.dtype if dtype == "auto" else dtype


def count_parameters(checkpoint: Checkpoint) -> int | None:
    """Return the number of parameters: from the file headers, else counted from the config, else None."""
    if checkpoint.parameters is not None:
        return checkpoint.parameters
    shape = read_shape(checkpoint.config)
    return shape.parameters() if shape is not None else None


def _weights(
    checkpoint: Checkpoint, shape: Shape | None, width: int | None, quantization: str | None, assumptions: list[str]
) -> int | None:
    packed = checkpoint.quantization is not None and checkpoint.source not in {"demo", "gguf"}
    if packed and checkpoint.weight_bytes is not None:
        assumptions.append("weights: their size on disk, as they are quantized already")
        return checkpoint.weight_bytes
    parameters = count_parameters(checkpoint)
    if parameters is None or width is None:
        return None
    if checkpoint.parameters is None:
        assumptions.append("parameters: counted from the config")
    method = methods().get(quantization or "")
    if method is None:
        return parameters * width
    kept = min(shape.embedding_parameters(), parameters) if shape is not None else 0
    assumptions.append(f"{method.title}: {method.bits:g} bits for all but the embeddings")
    return int((parameters - kept) * method.bits / 8) + kept * width


def _activations(shape: Shape, width: int, context: int, batch: int, train: Train, *, whole_scores: bool) -> int:
    tokens = batch * context
    scores = shape.heads * context * context * batch * width if whole_scores else 0
    if train:
        # The loss takes the logits of every token, once more in float32, and their gradient.
        logits = tokens * shape.vocabulary * (width + 8)
        return shape.layers * (tokens * shape.hidden * _KEPT * width // 2 + scores) + logits
    # Prefill: hidden state and copy, queries to values, gate and projection; logits of the last token only.
    one_layer = tokens * (6 * shape.hidden + 3 * shape.intermediate) * width
    return one_layer + scores + batch * shape.vocabulary * 4


def _training(shape: Shape | None, weights: int | None, train: Train, assumptions: list[str]) -> int | None:
    if train is None:
        return 0
    if train == "full":
        assumptions.append("full training: a gradient and two Adam states in the dtype of the weights")
        return None if weights is None else 3 * weights
    if shape is None:
        return None
    assumptions.append(f"LoRA of rank {_LORA_RANK} on all linear layers, in float32")
    adapters = sum(_LORA_RANK * (inputs + outputs) * count for inputs, outputs, count in shape.linear_sizes())
    return adapters * _LORA_BYTES


def free_memory(where: Gpu | Host) -> int | None:
    """Return the free bytes of a GPU or of the machine, as torch could take them; None when not known.

    An APU counts what the driver lends it of the system memory. A container's limit bounds the machine's.
    """
    if isinstance(where, Host):
        known = [size for size in (where.memory_available, where.memory_limit) if size is not None]
        return min(known) if known else None
    total, used = where.vram_total, where.vram_used
    if where.integrated:
        total, used = where.kfd_memory or where.gtt_total or where.vram_total, where.gtt_used
    return None if total is None else max(total - (used or 0), 0)


def fits(needs: Estimate, where: Gpu | Host) -> Fit:
    """Compare an estimate with the free memory of a GPU or of the machine."""
    return compare(needs.total, free_memory(where))


def compare(needed: int | None, free: int | None) -> Fit:
    """Compare bytes with bytes; unknown on either side stays unknown."""
    if needed is None or free is None:
        return Fit(needed, free, None, None)
    return Fit(needed, free, needed <= free, max(needed - free, 0))


def remedies(checkpoint: Checkpoint, needs: Estimate, free: int) -> tuple[str, ...]:
    """Return what would make it fit, the least loss first; empty when nothing known does."""
    return tuple(text for text, changed in _changes(needs) if (_again(checkpoint, changed) or free + 1) <= free)


def _again(checkpoint: Checkpoint, changed: Estimate) -> int | None:
    again = estimate(
        checkpoint,
        dtype=changed.dtype,
        quantization=changed.quantization,
        context=changed.context,
        batch=changed.batch,
        train=changed.train,
    )
    return again.total


def _changes(needs: Estimate) -> Iterator[tuple[str, Estimate]]:
    if needs.train == "full":
        yield "--method lora", replace(needs, train="lora")
    if needs.dtype == "float32":
        yield "--dtype bfloat16", replace(needs, dtype="bfloat16")
    if needs.batch > 1:
        yield "a batch of 1", replace(needs, batch=1)
    for context in (needs.context // 2, needs.context // 4):
        if context >= 512:  # noqa: PLR2004 - shorter is of little use
            yield f"a context of {context} tokens", replace(needs, context=context)
    for name in ("bitsandbytes-8bit", "bitsandbytes-4bit"):
        if needs.quantization is None and needs.train != "full":
            yield f"--quantization {name}", replace(needs, quantization=name)

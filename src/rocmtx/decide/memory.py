"""How much memory a model will take, before anything is loaded, and whether it fits.

Knows arithmetic over a checkpoint's facts; must not know files or torch. Whatever is assumed is said in `assumptions`;
a part that cannot be told is None, and then so is the total.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rocmtx.decide.asks import DTYPE_BYTES, Ranks, Train
from rocmtx.decide.layers import Shape, read_shape
from rocmtx.decide.methods import methods
from rocmtx.facts.model import Checkpoint, Gpu, Host
from rocmtx.units import bytes_text

ONE = Ranks()
_GIB: Final = 1024**3
# The runtime's context, the libraries' workspaces and what the allocator rounds up.
_OVERHEAD: Final = _GIB
# Bytes kept per token and layer for the way back, in 16 bits, counted from what autograd saves: two norms in float32
# and the inputs of the linear layers (hidden), queries and output, keys and values, and the gated feed-forward part.
# Measured on a GPU with three models and three contexts: benchmarks/results/memory_estimate.md.
_KEPT_HIDDEN: Final = 18
_KEPT_QUERY: Final = 6
_KEPT_KEYS: Final = 4
_KEPT_FEED: Final = 8
_KEPT_NORMED: Final = 4
# Logits, once more in float32, their softmax and their gradient: bytes per token and word, whatever the dtype.
_LOGITS: Final = 12
LORA_RANK: Final = 8
# LoRA weights are float32: weight, gradient, and two Adam states of 4 bytes.
_LORA_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Estimate:
    """Bytes by purpose for one process: the whole model, or one rank's part of it; None where it cannot be told.

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
    train: Train | None
    assumptions: tuple[str, ...] = ()
    ranks: Ranks = ONE
    whole_scores: bool = False
    dense: bool = False

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
    train: Train | None = None,
    whole_scores: bool = False,
    ranks: Ranks = ONE,
    dense: bool = False,
) -> Estimate:
    """Estimate one process's memory for a context (tokens, prompt and answer) and a batch. Pure arithmetic.

    `whole_scores` is true where attention computes the whole score matrix: eager, and SDPA's math kernel. With several
    ranks it is the memory of one of them, whose own batch this is. `dense`: the device unpacks a quantized checkpoint.
    """
    shape = read_shape(checkpoint.config)
    width = DTYPE_BYTES.get(_dtype(checkpoint, dtype) or "")
    assumptions = [f"{bytes_text(_OVERHEAD)} for the runtime, its libraries and the allocator"]
    whole = _weights(checkpoint, shape, width, None if dense else quantization, assumptions, dense=dense)
    known = shape is not None and width is not None
    cache = _cache(shape, width, context, batch, ranks) if shape and width and not train else 0 if train else None
    activations = (
        _activations(shape, width, context, batch, train, whole_scores=whole_scores, tp=ranks.tp)
        if shape and width
        else None
    )
    if known:
        assumptions.append(
            "activations: a rough formula" + (", no checkpointing" if train else ", one layer at a time")
        )
    return Estimate(
        weights=_kept(shape, whole, ranks, assumptions),
        cache=cache,
        activations=activations,
        training=_training(shape, whole, train, ranks, assumptions),
        overhead=_OVERHEAD,
        dtype=dtype,
        quantization=quantization,
        context=context,
        batch=batch,
        train=train,
        assumptions=tuple(assumptions),
        ranks=ranks,
        whole_scores=whole_scores,
        dense=dense,
    )


def _kept(shape: Shape | None, whole: int | None, ranks: Ranks, assumptions: list[str]) -> int | None:
    """Return what one rank keeps of the weights; FSDP gathers two layers at a time beside its own part.

    Source: measured with Transformers 5.22 on two ranks: embeddings and head are split as well, only norms are not.
    """
    if whole is None or not ranks.split:
        return whole
    if shape is None:
        return None
    gathered = 0
    if ranks.fsdp > 1:
        embedding = whole * shape.embedding_parameters() // max(shape.parameters() or shape.embedding_parameters(), 1)
        gathered = max(2 * (whole - embedding) // shape.layers, embedding) // ranks.tp
        assumptions.append("FSDP: two layers, or the embeddings, are whole for a moment")
    return whole // (ranks.tp * ranks.fsdp) + gathered


def _cache(shape: Shape, width: int, context: int, batch: int, ranks: Ranks) -> int:
    # A latent cache belongs to all heads: every rank keeps it whole.
    return shape.cached_numbers(context) * batch * width // (1 if shape.latent is not None else ranks.tp)


def _dtype(checkpoint: Checkpoint, dtype: str) -> str | None:
    return checkpoint.dtype if dtype == "auto" else dtype


def count_parameters(checkpoint: Checkpoint) -> int | None:
    """Return the number of parameters: from the file headers, else counted from the config, else None."""
    if checkpoint.parameters is not None:
        return checkpoint.parameters
    shape = read_shape(checkpoint.config)
    return shape.parameters() if shape is not None else None


def _weights(
    checkpoint: Checkpoint,
    shape: Shape | None,
    width: int | None,
    quantization: str | None,
    assumptions: list[str],
    *,
    dense: bool,
) -> int | None:
    packed = checkpoint.quantization is not None and checkpoint.source not in {"demo", "gguf"} and not dense
    if packed and checkpoint.weight_bytes is not None:
        assumptions.append("weights: their size on disk, as they are quantized already")
        return checkpoint.weight_bytes
    if dense:
        assumptions.append("weights: unpacked, as this device does not compute with the packed ones")
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


def _activations(
    shape: Shape, width: int, context: int, batch: int, train: Train | None, *, whole_scores: bool, tp: int
) -> int:
    tokens = batch * context
    scores = shape.heads * context * context * batch * width // tp if whole_scores else 0
    if train:
        kept = _kept_for_the_way_back(shape, tp) * width // 2
        return shape.layers * (tokens * kept + scores) + tokens * shape.vocabulary * _LOGITS
    # Prefill: hidden state and copy, queries to values, gate and projection; logits of the last token only.
    one_layer = tokens * (2 * shape.hidden + (4 * shape.hidden + 3 * shape.working_intermediate) // tp) * width
    return one_layer + scores + batch * shape.vocabulary * 4


def _kept_for_the_way_back(shape: Shape, tp: int) -> int:
    """Return the bytes that one token leaves in one layer, in 16 bits; tensor parallelism splits all but the hidden."""
    query, keys = shape.heads * shape.head_dim, shape.key_value_heads * shape.head_dim
    inside = _KEPT_QUERY * query + _KEPT_KEYS * keys + _KEPT_FEED * shape.working_intermediate
    inside += _KEPT_NORMED * (query + keys) if shape.normed_heads else 0
    return _KEPT_HIDDEN * shape.hidden + inside // tp


def _training(
    shape: Shape | None, weights: int | None, train: Train | None, ranks: Ranks, assumptions: list[str]
) -> int | None:
    if train is None:
        return 0
    if train == "full":
        assumptions.append("full training: a gradient and two Adam states in the dtype of the weights")
        # Copies of a model send their gradients in buckets beside them.
        bucket = 1 if ranks.copies > 1 else 0
        return None if weights is None else (3 + bucket) * weights // (ranks.tp * ranks.fsdp)
    if shape is None or not shape.projections:
        return None
    # Adapters are not split: every rank keeps them whole (measured with FSDP).
    assumptions.append(f"LoRA of rank {LORA_RANK} on all linear layers, in float32")
    adapters = sum(LORA_RANK * (inputs + outputs) * count for inputs, outputs, count in shape.linear_sizes())
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

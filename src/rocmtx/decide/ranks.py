"""How many processes run one model, and how they share it.

Knows the model's shape and which classes have a plan for tensor parallelism; must not know how torchrun starts them.
Source: Transformers 5.22 distributed/configuration_utils.py, and runs of two ranks on the CPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmtx.decide.layers import read_shape
from rocmtx.decide.models import splits_layers
from rocmtx.decide.verdict import Choice
from rocmtx.errors import PlanError

if TYPE_CHECKING:
    from rocmtx.decide.asks import Ranks, Train
    from rocmtx.facts.model import Checkpoint


def choose_ranks(
    checkpoint: Checkpoint, ranks: Ranks, train: Train | None, quantization: str | None, *, on_gpu: bool
) -> Choice[Ranks]:
    """Decide on the processes. Raises PlanError for a split that this model, method or device cannot have."""
    if ranks.count == 1:
        return Choice(ranks, "one process")
    if ranks.split and quantization is not None:
        raise PlanError(
            f"splitting {quantization} weights over processes was not tried, so it is not planned",
            "leave out --quantization, or use --device 0,1 without ranks",
        )
    if ranks.tp > 1:
        _check_tensor_parallel(checkpoint, ranks, train, on_gpu=on_gpu)
    where = "GPUs" if on_gpu else "processes on the CPU: to try it out, it is not faster"
    return Choice(ranks, f"you asked for it; {_because(ranks, train)} over {ranks.count} {where}", asked=True)


def _check_tensor_parallel(checkpoint: Checkpoint, ranks: Ranks, train: Train | None, *, on_gpu: bool) -> None:
    kind = checkpoint.model_type
    if splits_layers(kind) is False:
        raise PlanError(
            f"Transformers has no plan to split the layers of {kind}", f"use --fsdp {ranks.count} instead of --tp"
        )
    if train is not None and not on_gpu:
        raise PlanError(
            "the Trainer takes tensor parallelism on GPUs only (Accelerate refuses several CPU processes)",
            f"use --fsdp {ranks.count} instead of --tp",
        )
    shape = read_shape(checkpoint.config)
    if shape is None:
        return
    # Latent attention is not split, so only its MLP has to divide.
    heads = shape.heads if shape.latent is not None else shape.key_value_heads
    if heads % ranks.tp:
        possible = max(number for number in range(1, ranks.tp) if heads % number == 0)
        raise PlanError(
            f"the {heads} key-value heads of this model cannot be shared by {ranks.tp} processes",
            f"use --tp {possible}",
        )


def _because(ranks: Ranks, train: Train | None) -> str:
    parts = []
    if ranks.tp > 1:
        parts.append(f"every layer is split in {ranks.tp} (tensor parallel)")
    if ranks.fsdp > 1:
        parts.append(f"the weights are kept in {ranks.fsdp} parts and gathered layer by layer (FSDP)")
    if not parts:
        own = "its own part of every batch" if train else "prompts of its own"
        parts.append(f"each process has a whole copy and {own}{' (DDP)' if train else ''}")
    return " and ".join(parts)

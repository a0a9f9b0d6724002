"""What each device has to hold, whether that fits, and what would make it fit.

Knows estimates and free memory; must not know files or torch. `device_map="auto"` is followed as Accelerate fills it;
ranks hold equal parts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rocmtx.decide.layers import read_shape
from rocmtx.decide.memory import Estimate, Fit, compare, estimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rocmtx.facts.model import Checkpoint

Room = tuple[str, int | None]
"""A device as the worker names it, and its free bytes."""


@dataclass(frozen=True, slots=True)
class Share:
    """What one device has to hold of a model, and the free bytes that it has; None where either is not known."""

    device: str
    needed: int | None
    free: int | None

    @property
    def fit(self) -> Fit:
        """Both compared."""
        return compare(self.needed, self.free)

    def text(self) -> str:
        """Return it as one line: "cuda:0 fits: 17.2 GiB of 190.0 GiB free"."""
        return f"{self.device} {self.fit.text()}"


def share_out(checkpoint: Checkpoint, needs: Estimate, rooms: Sequence[Room]) -> tuple[Share, ...]:
    """Return what each device holds: all of it, a run of layers (several GPUs, one process), or one rank's part.

    Ranks on the CPU share its memory: there is one room then, and it holds them all.
    """
    if needs.ranks.count > 1:
        together = 1 if len(rooms) > 1 else needs.ranks.count
        total = None if needs.total is None else needs.total * together
        return tuple(Share(name, total, free) for name, free in rooms)
    if len(rooms) == 1:
        return (Share(rooms[0][0], needs.total, rooms[0][1]),)
    return _by_layers(checkpoint, needs, rooms)


def _by_layers(checkpoint: Checkpoint, needs: Estimate, rooms: Sequence[Room]) -> tuple[Share, ...]:
    """Fill devices in order up to an equal part and 1.25 layers, the last one with the rest.

    The first one leaves room for the largest piece. With many devices for a small model no piece fits before the last
    one, which then takes all. Source: accelerate 1.15 get_balanced_memory and infer_auto_device_map, compared by run.
    """
    shape = read_shape(checkpoint.config)
    weights, cache, activations, training = needs.weights, needs.cache, needs.activations, needs.training
    if shape is None or weights is None or cache is None or activations is None or training is None:
        return tuple(Share(name, None, free) for name, free in rooms)
    embedding = weights * shape.embedding_parameters() // max(shape.parameters() or shape.embedding_parameters(), 1)
    first, last = (embedding, 0) if shape.tied else (embedding // 2, embedding // 2)
    layer = (weights - first - last) / shape.layers
    equal = weights / len(rooms) + 1.25 * layer
    limits = [_limit(equal, free) for _, free in rooms]
    limits[0] -= max(first, last, layer)
    pieces = [first, *[layer] * shape.layers, last]
    homes = _fill(pieces, limits)
    shares = []
    for at, (name, free) in enumerate(rooms):
        held = sum(piece for piece, home in zip(pieces, homes, strict=True) if home == at)
        part = sum(home == at for home in homes[1:-1]) / shape.layers
        working = activations * part if needs.train else activations if held else 0
        runtime = needs.overhead if held else 0
        shares.append(Share(name, int(held + (cache + training) * part + working) + runtime, free))
    return tuple(shares)


def _fill(pieces: Sequence[float], limits: Sequence[float]) -> list[int]:
    """Return the device of each piece, in order; the last device takes what is left."""
    homes = []
    at, used = 0, 0.0
    for piece in pieces:
        while at < len(limits) - 1 and used + piece > limits[at]:
            at, used = at + 1, 0.0
        homes.append(at)
        used += piece
    return homes


def _limit(equal: float, free: int | None) -> float:
    return equal if free is None else min(equal, free)


def worst(shares: Sequence[Share]) -> Share | None:
    """Return the share that lacks most; None where all fit, or that is not known."""
    lacking = [share for share in shares if share.fit.ok is False]
    return max(lacking, key=lambda share: share.fit.lacks or 0, default=None)


def remedies(
    checkpoint: Checkpoint,
    needs: Estimate,
    rooms: Sequence[Room],
    *,
    others: Sequence[Room] = (),
    flash: str = "",
    quantizations: Sequence[str] = ("bitsandbytes-8bit", "bitsandbytes-4bit"),
) -> tuple[str, ...]:
    """Return what would make it fit, the least loss first; empty when nothing known does.

    `others` are GPUs that could be used as well, each with the option that takes all up to it; `quantizations` the
    methods to try, the most bits first; `flash` is what keeps attention from computing the whole score matrix.
    """
    without = replace(needs, whole_scores=False)
    return (
        *([flash] if flash and _all_fit(checkpoint, _again(checkpoint, without), rooms) else ()),
        *_more_gpus(checkpoint, needs, rooms, others),
        *(
            text
            for text, changed in _changes(needs, quantizations)
            if _all_fit(checkpoint, _again(checkpoint, changed), rooms)
        ),
    )


def _all_fit(checkpoint: Checkpoint, needs: Estimate, rooms: Sequence[Room]) -> bool:
    return all(share.fit.ok for share in share_out(checkpoint, needs, rooms))


def _more_gpus(checkpoint: Checkpoint, needs: Estimate, rooms: Sequence[Room], others: Sequence[Room]) -> Iterator[str]:
    if needs.ranks.count > 1:
        return
    for more in range(1, len(others) + 1):
        together = [*rooms, *others[:more]]
        if _all_fit(checkpoint, needs, together):
            yield others[more - 1][0]
            return


def _again(checkpoint: Checkpoint, changed: Estimate) -> Estimate:
    return estimate(
        checkpoint,
        dtype=changed.dtype,
        quantization=changed.quantization,
        context=changed.context,
        batch=changed.batch,
        train=changed.train,
        whole_scores=changed.whole_scores,
        ranks=changed.ranks,
        dense=changed.dense,
    )


def _changes(needs: Estimate, quantizations: Sequence[str]) -> Iterator[tuple[str, Estimate]]:
    if needs.train == "full":
        yield "--train lora", replace(needs, train="lora")
    if needs.dtype == "float32":
        yield "--dtype bfloat16", replace(needs, dtype="bfloat16")
    if needs.batch > 1:
        yield "a batch of 1", replace(needs, batch=1)
    for context in (needs.context // 2, needs.context // 4):
        if context >= 512:  # noqa: PLR2004 - shorter is of little use
            yield f"a context of {context} tokens", replace(needs, context=context)
    for name in quantizations:
        if needs.quantization is None and needs.train != "full":
            yield f"--quantization {name}", replace(needs, quantization=name)

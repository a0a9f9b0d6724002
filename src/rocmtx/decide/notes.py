"""What a person should know beside a plan's choices: what does not fit and what would, what is missing, what is risky.

Knows a finished plan and the facts; must not change any choice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmtx.decide import devices, shares
from rocmtx.decide.absence import torch_absent, why_no_gpu
from rocmtx.decide.attention import attention_verdict
from rocmtx.decide.capability import AOTRITON_VARIABLE, OVERRIDE_VARIABLE, gpu_name, sdpa_kernel
from rocmtx.decide.layers import read_shape
from rocmtx.decide.methods import methods
from rocmtx.decide.quantization import quantization_verdict
from rocmtx.units import bytes_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocmtx.decide.memory import Estimate
    from rocmtx.decide.plan import Plan
    from rocmtx.facts.model import Facts, Gpu

# Below this a score matrix is nothing to talk about.
_WORTH_SAYING = 1 << 30


def notes_of(facts: Facts, plan: Plan, gpus: tuple[Gpu, ...]) -> tuple[str, ...]:
    """Return the notes of a plan, the most urgent first."""
    return (
        *_machine(facts, plan, gpus),
        *_room(facts, plan, gpus),
        *_long_context(plan),
        *_files(plan),
    )


def _machine(facts: Facts, plan: Plan, gpus: tuple[Gpu, ...]) -> Iterator[str]:
    if torch_absent(facts):
        yield 'PyTorch is not installed: pip install "rocmtx[models]"'
    elif not gpus and plan.asks.device is None:
        fix = why_no_gpu(facts).fix
        if fix and facts.amd_gpus():
            yield f"to use the GPU: {fix}"
    if gpus and gpus[0].vendor != "AMD":
        yield f"runs on {gpu_name(gpus[0])}"
    override = facts.stack.environment.get(OVERRIDE_VARIABLE)
    if override and gpus and gpus[0].vendor == "AMD":
        yield f"{OVERRIDE_VARIABLE}={override} is set: PyTorch sees another target than {gpus[0].gfx}"


def _room(facts: Facts, plan: Plan, gpus: tuple[Gpu, ...]) -> Iterator[str]:
    """Say that the model does not fit, and what would; nothing when it does, or when that is not known."""
    lacking = shares.worst(plan.shares)
    if lacking is None:
        return
    text = lacking.fit.text() if len(plan.shares) == 1 else lacking.text()
    rooms = [(share.device, share.free) for share in plan.shares]
    ways = shares.remedies(
        plan.checkpoint,
        plan.needs,
        rooms,
        others=_others(facts, plan, gpus),
        flash=_flash(facts, plan, gpus),
        quantizations=_quantizations(facts, gpus),
    )
    yield f"{text} ({_sized(plan.needs)})" + (f"; it would with {' or '.join(ways)}" if ways else "")


def _sized(needs: Estimate) -> str:
    tokens = f"{needs.batch} × {needs.context} tokens" if needs.batch > 1 else f"{needs.context} tokens"
    return f"training on {tokens}" if needs.train else f"with {tokens}"


def _others(facts: Facts, plan: Plan, gpus: tuple[Gpu, ...]) -> list[shares.Room]:
    """Return the equal GPUs that are left, each with the option that takes all up to it."""
    if not gpus or plan.ranks.value.count > 1:
        return []
    left = [gpu for gpu in devices.ranked(facts) if gpu not in gpus and gpu.gfx == gpus[0].gfx]
    taken, rooms = [gpu.hip_ordinal for gpu in gpus], []
    for gpu in sorted(left, key=lambda gpu: gpu.hip_ordinal or 0):
        taken.append(gpu.hip_ordinal)
        rooms.append((f"--device {','.join(map(str, taken))}", devices.free_bytes(facts, gpu)))
    return rooms


def _flash(facts: Facts, plan: Plan, gpus: tuple[Gpu, ...]) -> str:
    """Return what gives attention a flash kernel where it has none: the gate of PyTorch, or another implementation."""
    if not plan.needs.whole_scores:
        return ""
    verdict, _ = sdpa_kernel(facts, gpus[0] if gpus else None)
    if plan.attention.value == "sdpa":
        return f"{AOTRITON_VARIABLE}=1" if verdict.fix else ""
    possible = attention_verdict(facts, plan.checkpoint, gpus[0] if gpus else None, "sdpa").answer == "yes"
    return "--attention sdpa" if possible and verdict.answer == "yes" else ""


def _quantizations(facts: Facts, gpus: tuple[Gpu, ...]) -> tuple[str, ...]:
    gpu = gpus[0] if gpus else None
    names = ("bitsandbytes-8bit", "bitsandbytes-4bit")
    return tuple(name for name in names if quantization_verdict(facts, gpu, methods()[name]).answer == "yes")


def _long_context(plan: Plan) -> Iterator[str]:
    needs, shape = plan.needs, read_shape(plan.checkpoint.config)
    if needs.whole_scores and shape is not None:
        # 16 bits where a GPU computes it: the published figures are for those.
        scores = shape.heads * needs.context**2 * needs.batch * 2
        if scores >= _WORTH_SAYING:
            yield (
                f"{plan.attention.value} computes the whole score matrix here: {bytes_text(scores)} for "
                f"{needs.context} tokens, four times as much for twice as many"
            )
    most = plan.checkpoint.config.get("max_position_embeddings")
    if isinstance(most, int) and needs.context > most:
        yield f"the model was made for up to {most} tokens, and {needs.context} were asked for"


def _files(plan: Plan) -> Iterator[str]:
    if plan.ranks.value.split and plan.checkpoint.source in {"demo", "gguf"}:
        yield "each process unpacks the whole GGUF file while loading, and then keeps its part"
    if plan.unmapped:
        yield "the GPU shares the machine's memory: the files are read, not mapped, or they would take it twice"
    if plan.checkpoint.cached is False:
        yield f"{plan.checkpoint.name} is not in the cache: loading downloads it"
    if plan.asks.trust_remote_code:
        yield f"trust_remote_code: Python code from {plan.checkpoint.name} is run"

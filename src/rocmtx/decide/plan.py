"""The plan: what was wished, what was chosen and why, and what follows from it as arguments, environment and code.

Knows facts, wishes and the deciding modules beside it; touches no file, clock, environment or torch. The same facts and
wishes always give an equal plan.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from rocmtx.decide import attention as attentions
from rocmtx.decide import cell, devices, dtypes, memory, script, shares, training
from rocmtx.decide import quantization as quantizations
from rocmtx.decide.asks import Asks, Ranks, Train, read_ranks, read_training
from rocmtx.decide.capability import sdpa_kernel
from rocmtx.decide.devices import Placement, device_choices, place, place_ranks
from rocmtx.decide.hubkernels import choose_kernels, parse_version
from rocmtx.decide.memory import Estimate
from rocmtx.decide.notes import notes_of
from rocmtx.decide.ranks import choose_ranks
from rocmtx.decide.shares import Share
from rocmtx.decide.verdict import Choice, Verdict
from rocmtx.decide.wsl import with_torch_gpus
from rocmtx.errors import PlanError, ReportError
from rocmtx.facts.model import Checkpoint, Facts, Gpu, Missing
from rocmtx.units import bytes_text

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "Asks",
    "Plan",
    "attention_choices",
    "device_choices",
    "dtype_choices",
    "make_plan",
    "plan_from_record",
    "quantization_choices",
]
Value = TypeVar("Value")
Choices = tuple[tuple[str, str, Verdict], ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """Every choice with its reason.

    `device` is what the worker sees: "cuda:0", "auto" (several GPUs), "cuda" (every rank its own) or "cpu". `gpus` are
    PCI addresses in the worker's order, `variables` the environment that makes it so. `unmapped`: the files are read
    instead of mapped. `needs` is the memory of one process, `shares` what that means for each device. `notes` are what
    a person should know beside the choices.
    """

    asks: Asks
    checkpoint: Checkpoint
    device: Choice[str]
    gpus: Choice[tuple[str, ...]]
    dtype: Choice[str]
    attention: Choice[str]
    quantization: Choice[str | None]
    kernels: Choice[bool]
    train: Choice[Train | None]
    ranks: Choice[Ranks]
    needs: Estimate
    shares: tuple[Share, ...]
    variables: tuple[tuple[str, str], ...] = ()
    unmapped: bool = False
    notes: tuple[str, ...] = ()

    def kwargs(self) -> dict[str, Any]:
        """Return what `from_pretrained` gets, as JSON, and only what differs from what Transformers takes by itself.

        A quantization config is {"class": name, …its arguments}; torchao's `quant_type` is the name of a class of
        torchao.quantization. The name of a GGUF file is not in it: see `Checkpoint.path`.
        """
        kwargs: dict[str, Any] = {}
        if self.asks.revision is not None:
            kwargs["revision"] = self.asks.revision
        if self.asks.trust_remote_code:
            kwargs["trust_remote_code"] = True
        if self.dtype.value != dtypes.automatic_dtype(self.checkpoint):
            kwargs["dtype"] = self.dtype.value
        ranks = self.ranks.value
        if ranks.split:
            sizes = {"tp_size": ranks.tp, "fsdp_size": ranks.fsdp}
            kwargs["distributed_config"] = {"class": "DistributedConfig", **{k: n for k, n in sizes.items() if n > 1}}
        elif self.device.value != "cpu" and not (ranks.count > 1 and self.train.value):
            # Copies under torchrun are placed by the Trainer.
            kwargs["device_map"] = self.device.value
        if self.attention.value != attentions.default_attention(self.checkpoint):
            kwargs["attn_implementation"] = self.attention.value
        config = self._quantization_config()
        if config is not None:
            kwargs["quantization_config"] = config
        if self.kernels.value:
            kwargs["use_kernels"] = True
        if self.unmapped:
            kwargs["disable_mmap"] = True
        return kwargs

    def _quantization_config(self) -> dict[str, Any] | None:
        if self.checkpoint.quantization and not dtypes.unpacked(self.checkpoint):
            return None
        return quantizations.quantization_config(self.quantization.value, self.dtype.value)

    def env(self) -> dict[str, str]:
        """Return the variables that the worker needs before torch is imported: masks that leave exactly its GPUs."""
        return dict(self.variables)

    def code(self) -> str:
        """Return the plain Transformers cell, or the program for training and for ranks, that does the same."""
        if self.train.value is None and self.ranks.value.count == 1:
            return cell.render(self.checkpoint, self.kwargs(), self.env())
        return script.render_program(self.checkpoint, self.kwargs(), self.env(), self._program())

    def launch(self) -> str:
        """Return the line that starts the saved program once a rank; empty where it runs as it is."""
        return script.launch_line(self._program(), self.env())

    def _program(self) -> script.Program:
        return script.Program(
            train=self.train.value,
            ranks=self.ranks.value,
            on_gpu=bool(self.gpus.value),
            dtype=self.dtype.value,
            context=self.needs.context,
            batch=self.needs.batch,
        )

    def record(self) -> dict[str, Any]:
        """Return the plan as JSON; `plan_from_record` is the way back."""
        body = dataclasses.asdict(self)
        body["variables"] = dict(self.variables)
        body["gpus"]["value"] = list(self.gpus.value)
        body["notes"] = list(self.notes)
        body["shares"] = list(body["shares"])
        body["needs"]["assumptions"] = list(self.needs.assumptions)
        body["checkpoint"]["missing"] = list(body["checkpoint"]["missing"])
        return body


def plan_from_record(record: dict[str, Any]) -> Plan:
    """Rebuild a plan from its JSON. Raises ReportError when something is missing or foreign."""
    try:
        stored = dict(record["checkpoint"])
        stored["missing"] = tuple(Missing(**entry) for entry in stored.get("missing", ()))
        gpus, needs = record["gpus"], record["needs"]
        return Plan(
            asks=Asks(**record["asks"]),
            checkpoint=Checkpoint(**stored),
            device=Choice(**record["device"]),
            gpus=Choice(tuple(gpus["value"]), gpus["because"], gpus["asked"]),
            dtype=Choice(**record["dtype"]),
            attention=Choice(**record["attention"]),
            quantization=Choice(**record["quantization"]),
            kernels=Choice(**record["kernels"]),
            train=Choice(**record["train"]),
            ranks=Choice(**{**record["ranks"], "value": Ranks(**record["ranks"]["value"])}),
            needs=Estimate(**{**needs, "assumptions": tuple(needs["assumptions"]), "ranks": Ranks(**needs["ranks"])}),
            shares=tuple(Share(**share) for share in record["shares"]),
            variables=tuple(sorted(record["variables"].items())),
            unmapped=record["unmapped"],
            notes=tuple(record["notes"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ReportError(f"this is no recorded plan: {error}", "plan again: %rocm plan MODEL --json") from None


def make_plan(facts: Facts, asks: Asks, checkpoint: Checkpoint) -> Plan:
    """Decide everything for a model on a machine.

    Raises AskError for a name that is not known, UnknownDevice for a device that is not there, PlanError for a wish
    that cannot work here; the hint names the nearest that can.
    """
    facts = with_torch_gpus(facts)
    train, ranks = read_training(asks.train), read_ranks(asks)
    where = place_ranks(facts, asks.device, ranks.count)
    gpu = where.gpus[0] if where.gpus else None
    dtype = dtypes.choose_dtype(checkpoint, gpu, asks.dtype)
    attention = attentions.choose_attention(facts, checkpoint, gpu, asks.attention, dtype.value)
    quantization = quantizations.choose_quantization(facts, checkpoint, gpu, asks.quantization)
    needs = memory.estimate(
        checkpoint,
        dtype=dtype.value,
        quantization=quantization.value,
        context=asks.context or (training.CONTEXT if train else _CONTEXT),
        batch=asks.batch or (training.BATCH if train else 1),
        train=train,
        whole_scores=_whole_scores(facts, gpu, attention.value),
        ranks=ranks,
        dense=quantizations.unpacks(facts, checkpoint, gpu),
    )
    rooms = _rooms(facts, where)
    if where.gpus:
        _check_spill(facts, needs, rooms, where.gpus)
    plan = Plan(
        asks=asks,
        checkpoint=checkpoint,
        device=where.device,
        gpus=Choice(tuple(gpu.address for gpu in where.gpus), where.device.because, where.device.asked),
        dtype=dtype,
        attention=attention,
        quantization=quantization,
        kernels=choose_kernels(facts, asks.kernels, gpu, checkpoint.model_type, training=train is not None),
        # What is unpacked while loading is trained like any other weights.
        train=training.choose_training(facts, train, None if needs.dense else quantization.value, dtype.value),
        ranks=choose_ranks(checkpoint, ranks, train, quantization.value, on_gpu=gpu is not None),
        needs=needs,
        shares=shares.share_out(checkpoint, needs, rooms),
        variables=where.variables,
        unmapped=_unmapped(facts, checkpoint.weight_bytes or needs.weights, gpu),
    )
    return dataclasses.replace(plan, notes=notes_of(facts, plan, where.gpus))


_CONTEXT = 2048


def _rooms(facts: Facts, where: Placement) -> tuple[shares.Room, ...]:
    """Return the devices as the worker names them, with their free bytes."""
    gpus = tuple((f"cuda:{at}", devices.free_bytes(facts, gpu)) for at, gpu in enumerate(where.gpus))
    return gpus or (("cpu", memory.free_memory(facts.host)),)


def _whole_scores(facts: Facts, gpu: Gpu | None, attention: str) -> bool:
    """Return whether attention computes the whole score matrix: always, or for want of a flash kernel."""
    if attention == "sdpa":
        return gpu is not None and sdpa_kernel(facts, gpu)[0].answer == "no"
    return attention in {"eager", "paged|eager"}


def _check_spill(facts: Facts, needs: Estimate, rooms: Sequence[shares.Room], gpus: tuple[Gpu, ...]) -> None:
    """Refuse what Transformers refuses after a long load: bitsandbytes weights of which a part goes to the CPU."""
    free = [size for _, size in rooms if size is not None]
    if needs.quantization not in {"bitsandbytes-4bit", "bitsandbytes-8bit"} or needs.weights is None:
        return
    if len(free) == len(rooms) and needs.weights > sum(free):
        more = any(gpu.gfx == gpus[0].gfx and gpu not in gpus for gpu in devices.ranked(facts))
        raise PlanError(
            f"{bytes_text(needs.weights)} of weights do not fit into {bytes_text(sum(free))} of GPU memory, and "
            "bitsandbytes leaves none of them to the CPU",
            f"take {'more GPUs (--device all), ' if more else ''}fewer bits, or a smaller model",
        )


def _unmapped(facts: Facts, size: int | None, gpu: Gpu | None) -> bool:
    """Decide whether an APU's model is read instead of mapped: mapped pages and GPU copies share one pool of memory.

    Transformers takes `disable_mmap` since 5.10. Source: public reports of models that need their size twice.
    """
    version = parse_version(facts.stack.version("transformers"))
    pool = memory.free_memory(gpu) if gpu is not None and gpu.integrated else None
    if pool is None or size is None or version is None or version.release < (5, 10):
        return False
    return size > pool / 2


def find_gpu(facts: Facts, device: str | None) -> Gpu | None:
    """Return the GPU that a wish means, usable or not; None for the CPU. Raises AskError and UnknownDevice."""
    try:
        gpus = place(facts, device).gpus
    except PlanError:
        # A picker shows what a GPU could do even where it cannot be used as things are.
        gpus = devices.named(facts, device or "")
    return gpus[0] if gpus else None


def attention_choices(facts: Facts, checkpoint: Checkpoint | None, device: str | None = None) -> Choices:
    """Return (value, label, verdict) of every attention implementation on a device (None: the one chosen by itself)."""
    return attentions.attention_choices(facts, checkpoint, find_gpu(facts, device))


def dtype_choices(facts: Facts, device: str | None = None) -> Choices:
    """Return (value, label, verdict) of every dtype on a device (None: the one chosen by itself)."""
    return dtypes.dtype_choices(find_gpu(facts, device))


def quantization_choices(facts: Facts, checkpoint: Checkpoint | None, device: str | None = None) -> Choices:
    """Return (value, label, verdict) of every quantization method on a device (None: the one chosen by itself)."""
    return quantizations.quantization_choices(facts, checkpoint, find_gpu(facts, device))

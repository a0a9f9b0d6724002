"""The plan: what was wished, what was chosen and why, and what follows from it as arguments, environment and code.

Knows facts, wishes and the deciding modules beside it; touches no file, clock, environment or torch. The same facts and
wishes always give an equal plan.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from rocmtx.decide import attention as attentions
from rocmtx.decide import cell, devices, dtypes, memory
from rocmtx.decide import quantization as quantizations
from rocmtx.decide.absence import torch_absent, why_no_gpu
from rocmtx.decide.asks import Asks
from rocmtx.decide.capability import OVERRIDE_VARIABLE, gpu_name
from rocmtx.decide.devices import device_choices, place
from rocmtx.decide.hubkernels import choose_kernels, parse_version
from rocmtx.decide.verdict import Choice, Verdict
from rocmtx.errors import PlanError, ReportError
from rocmtx.facts.model import Checkpoint, Facts, Gpu, Missing

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    """Every choice with its reason. `device` is what the worker sees: "cuda:0", "auto" (several GPUs) or "cpu".

    `gpus` are PCI addresses in the worker's order, `variables` the environment that makes it so. `unmapped`: the files
    are read instead of mapped. `notes` are what a person should know beside the choices.
    """

    asks: Asks
    checkpoint: Checkpoint
    device: Choice[str]
    gpus: Choice[tuple[str, ...]]
    dtype: Choice[str]
    attention: Choice[str]
    quantization: Choice[str | None]
    kernels: Choice[bool]
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
        if self.device.value != "cpu":
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
        """Return the plain Transformers cell that does the same without rocmtx."""
        return cell.render(self.checkpoint, self.kwargs(), self.env())

    def record(self) -> dict[str, Any]:
        """Return the plan as JSON; `plan_from_record` is the way back."""
        body = dataclasses.asdict(self)
        body["variables"] = dict(self.variables)
        body["gpus"]["value"] = list(self.gpus.value)
        body["notes"] = list(self.notes)
        body["checkpoint"]["missing"] = list(body["checkpoint"]["missing"])
        return body


def plan_from_record(record: dict[str, Any]) -> Plan:
    """Rebuild a plan from its JSON. Raises ReportError when something is missing or foreign."""
    try:
        stored = dict(record["checkpoint"])
        stored["missing"] = tuple(Missing(**entry) for entry in stored.get("missing", ()))
        gpus = record["gpus"]
        return Plan(
            asks=Asks(**record["asks"]),
            checkpoint=Checkpoint(**stored),
            device=Choice(**record["device"]),
            gpus=Choice(tuple(gpus["value"]), gpus["because"], gpus["asked"]),
            dtype=Choice(**record["dtype"]),
            attention=Choice(**record["attention"]),
            quantization=Choice(**record["quantization"]),
            kernels=Choice(**record["kernels"]),
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
    where = place(facts, asks.device)
    gpu = where.gpus[0] if where.gpus else None
    dtype = dtypes.choose_dtype(checkpoint, gpu, asks.dtype)
    plan = Plan(
        asks=asks,
        checkpoint=checkpoint,
        device=where.device,
        gpus=Choice(tuple(gpu.address for gpu in where.gpus), where.device.because, where.device.asked),
        dtype=dtype,
        attention=attentions.choose_attention(facts, checkpoint, gpu, asks.attention, dtype.value),
        quantization=quantizations.choose_quantization(facts, checkpoint, gpu, asks.quantization),
        kernels=choose_kernels(facts, asks.kernels, gpu),
        variables=where.variables,
        unmapped=_unmapped(facts, checkpoint, gpu),
    )
    return dataclasses.replace(plan, notes=_notes(facts, plan, where.gpus))


def _unmapped(facts: Facts, checkpoint: Checkpoint, gpu: Gpu | None) -> bool:
    """Decide whether an APU's model is read instead of mapped: mapped pages and GPU copies share one pool of memory.

    Transformers takes `disable_mmap` since 5.10. Source: public reports of models that need their size twice.
    """
    version = parse_version(facts.stack.version("transformers"))
    pool = memory.free_memory(gpu) if gpu is not None and gpu.integrated else None
    if pool is None or checkpoint.weight_bytes is None or version is None or version.release < (5, 10):
        return False
    return checkpoint.weight_bytes > pool / 2


def _memory_note(facts: Facts, plan: Plan, gpus: tuple[Gpu, ...]) -> Iterator[str]:
    """Say that the model does not fit, and what would; nothing when it does, or when that is not known."""
    needs = memory.estimate(plan.checkpoint, dtype=plan.dtype.value, quantization=plan.quantization.value)
    free = [devices.free_bytes(facts, gpu) for gpu in gpus] or [memory.free_memory(facts.host)]
    room = sum(size for size in free if size is not None) if None not in free else None
    fit = memory.compare(needs.total, room)
    if fit.ok is False and room is not None:
        ways = memory.remedies(plan.checkpoint, needs, room)
        yield f"{fit.text()} (with {needs.context} tokens)" + (f"; it would with {' or '.join(ways)}" if ways else "")


def _notes(
    facts: Facts,
    plan: Plan,
    gpus: tuple[Gpu, ...],
) -> tuple[str, ...]:
    asks, checkpoint = plan.asks, plan.checkpoint
    notes = []
    if torch_absent(facts):
        notes.append('PyTorch is not installed: pip install "rocmtx[models]"')
    elif not gpus and asks.device is None:
        fix = why_no_gpu(facts).fix
        if fix and facts.amd_gpus():
            notes.append(f"to use the GPU: {fix}")
    notes.extend(f"runs on {gpu_name(gpu)}" for gpu in gpus[:1] if gpu.vendor != "AMD")
    override = facts.stack.environment.get(OVERRIDE_VARIABLE)
    if override and gpus and gpus[0].vendor == "AMD":
        notes.append(f"{OVERRIDE_VARIABLE}={override} is set: PyTorch sees another target than {gpus[0].gfx}")
    notes.extend(_memory_note(facts, plan, gpus))
    if plan.unmapped:
        notes.append("the GPU shares the machine's memory: the files are read, not mapped, or they would take it twice")
    if checkpoint.cached is False:
        notes.append(f"{checkpoint.name} is not in the cache: loading downloads it")
    if asks.trust_remote_code:
        notes.append(f"trust_remote_code: Python code from {checkpoint.name} is run")
    return tuple(notes)


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

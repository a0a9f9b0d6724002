"""A plan to a model that runs.

Knows `from_pretrained` and its progress; must not decide anything: the plan has. What the libraries really did is
reported in `Loaded` and compared with the plan.
"""

from __future__ import annotations

import os
import platform
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import transformers
from huggingface_hub import constants
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig
from transformers.utils import logging as transformers_logging

from rocmtx.errors import MissingPackage
from rocmtx.events import Event, Loaded, Loading, Warned
from rocmtx.run.engine.demo import demo_folder
from rocmtx.run.engine.generate import unknown_tokens_warning
from rocmtx.run.engine.measure import synchronize
from rocmtx.run.engine.progress import Bar, DownloadBar
from rocmtx.run.network import needs_hub, offline_asked

if TYPE_CHECKING:
    from collections.abc import Callable

    from rocmtx.decide.plan import Plan

_QUANTIZATION_CONFIGS = {"BitsAndBytesConfig": BitsAndBytesConfig}


@dataclass(slots=True)
class LoadedModel:
    """A model with its tokenizer. `context_length` in tokens, None when the config does not tell."""

    name: str
    model: Any
    tokenizer: Any
    seconds: float
    context_length: int | None


def load(plan: Plan, emit: Callable[[Event], None]) -> LoadedModel:
    """Load the plan's model and tokenizer, with progress. Raises what Transformers raises."""
    began = time.perf_counter()
    set_hub(online=needs_hub(plan))
    source, extra = _source(plan, emit)
    previous = transformers_logging.set_tqdm_hook(lambda factory, args, kwargs: Bar(emit, factory, args, kwargs))
    try:
        emit(Loading(stage="tokenizer"))
        common = {"trust_remote_code": plan.asks.trust_remote_code, **extra}
        if plan.asks.revision:
            common["revision"] = plan.asks.revision
        tokenizer = AutoTokenizer.from_pretrained(source, **common)
        emit(Loading(stage="weights"))
        # The bar reaches downloads only through its own class: hub transfers do not pass the hook.
        DownloadBar.emit = emit
        model = AutoModelForCausalLM.from_pretrained(source, tqdm_class=DownloadBar, **common, **keywords(plan))
    finally:
        transformers_logging.set_tqdm_hook(previous)
    model.eval()
    replaced = _use_kernels(plan, model, emit)
    synchronize()
    loaded = LoadedModel(plan.asks.model, model, tokenizer, time.perf_counter() - began, _context_length(model))
    for event in (_report(loaded, replaced), *_differences(plan, model), unknown_tokens_warning(loaded)):
        if event is not None:
            emit(event)
    return loaded


def keywords(plan: Plan) -> dict[str, Any]:
    """Return the keyword arguments of `from_pretrained` as objects: the plan carries them as JSON."""
    given = {name: value for name, value in plan.kwargs().items() if name != "use_kernels"}
    config = given.get("quantization_config")
    if isinstance(config, dict) and "class" in config:
        values = {name: value for name, value in config.items() if name != "class"}
        given["quantization_config"] = quantization_config(str(config["class"]), values)
    return given


def quantization_config(name: str, values: dict[str, Any]) -> Any:
    """Build a quantization config by its class name. Raises MissingPackage when its library is not installed."""
    kind = _QUANTIZATION_CONFIGS.get(name) or getattr(transformers, name, None)
    if kind is None:
        raise MissingPackage(f"Transformers {transformers.__version__} has no {name}", "pip install -U transformers")
    if name == "TorchAoConfig" and isinstance(values.get("quant_type"), str):
        try:
            import torchao.quantization as quantizations
        except ImportError as error:
            raise MissingPackage("torchao is not installed", "pip install torchao") from error
        values = {**values, "quant_type": getattr(quantizations, values["quant_type"])()}
    return kind(**values)


def set_hub(*, online: bool) -> None:
    """Switch the hub client off for a purely local load: no network is touched then, and a dead one costs nothing."""
    constants.HF_HUB_OFFLINE = offline_asked(os.environ) or not online


def _source(plan: Plan, emit: Callable[[Event], None]) -> tuple[str, dict[str, Any]]:
    checkpoint = plan.checkpoint
    if checkpoint.source == "demo":
        return str(demo_folder(Path(str(checkpoint.path)), emit)), {}
    if checkpoint.source == "gguf":
        path = Path(str(checkpoint.path))
        return str(path.parent), {"gguf_file": path.name}
    return checkpoint.path if checkpoint.source == "folder" and checkpoint.path else plan.asks.model, {}


def _use_kernels(plan: Plan, model: Any, emit: Callable[[Event], None]) -> tuple[str, ...]:
    """Replace layers by hub kernels after loading, so that a failure costs the kernels and not the model."""
    if not plan.kernels.value:
        return ()
    try:
        model.set_use_kernels(True)
    except Exception as error:  # noqa: BLE001 - hub, publisher trust, arch and version all raise kinds of their own
        message = f"the model runs without hub kernels: {type(error).__name__}: {str(error).splitlines()[0]}"
        emit(Warned(message=message, hint="%rocm doctor says what is missing"))
        return ()
    return tuple(sorted({layer for layer, real in kernel_layers(model) if real}))


def kernel_layers(model: Any) -> list[tuple[str, bool]]:
    """Return each layer that kernels may replace and whether it really was.

    `model.use_kernels` is True even when nothing was replaced; a replaced module carries its own `forward`.
    """
    rows = []
    for module in model.modules():
        name = getattr(type(module), "kernel_layer_name", None)
        if name:
            rows.append((str(name), getattr(module.forward, "__func__", None) is not type(module).forward))
        for function in getattr(module, "_kernel_funcs", {}).values():
            real = getattr(function.forward, "__func__", None) is not type(function).forward
            rows.append((str(type(function).kernel_layer_name), real))
    return rows


def weight_bytes(model: Any) -> int:
    """Return the bytes of all parameters and buffers, quantized tensors counted by what they really hold.

    `get_memory_footprint` reports the unquantized size for torchao and quanto tensors.
    """
    seen: set[int] = set()
    total = 0
    for tensor in (*model.parameters(), *model.buffers()):
        if id(tensor) not in seen:
            seen.add(id(tensor))
            total += _tensor_bytes(tensor)
    return total


def _tensor_bytes(tensor: Any) -> int:
    flatten = getattr(tensor, "__tensor_flatten__", None)
    if flatten is not None:
        return sum(_tensor_bytes(getattr(tensor, name)) for name in flatten()[0])
    return int(tensor.numel() * tensor.element_size())


def _report(loaded: LoadedModel, replaced: tuple[str, ...]) -> Loaded:
    model = loaded.model
    device = model.device
    placed = sorted({str(place) for place in (getattr(model, "hf_device_map", None) or {}).values()})
    method = getattr(getattr(model, "hf_quantizer", None), "quantization_config", None)
    return Loaded(
        model=loaded.name,
        architecture=type(model).__name__,
        device=", ".join(placed) if len(placed) > 1 else str(device),
        device_name=torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor() or "CPU",
        dtype=str(model.dtype).removeprefix("torch."),
        attention=str(model.config._attn_implementation),  # noqa: SLF001 - the only place where Transformers keeps it
        quantization=str(getattr(method.quant_method, "value", method.quant_method)) if method is not None else None,
        kernels=replaced,
        parameters=int(model.num_parameters()),
        weight_bytes=weight_bytes(model),
        context_length=loaded.context_length,
        seconds=loaded.seconds,
    )


def _differences(plan: Plan, model: Any) -> list[Event]:
    asked, runs = plan.attention.value, str(model.config._attn_implementation)  # noqa: SLF001 - as above
    if asked and asked.removeprefix("paged|") != runs.removeprefix("paged|"):
        message = f"attention {runs} is used instead of {asked}"
        return [
            Warned(message=message, hint="Transformers chose it for this model class; %rocm status shows what runs")
        ]
    return []


def _context_length(model: Any) -> int | None:
    length = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    return int(length) if length else None

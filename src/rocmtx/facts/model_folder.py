"""A folder in the layout of Transformers as a checkpoint: config.json and the headers of its weight files.

Knows file names, in the order in which Transformers tries them; must not know torch or the network, and reads no
weights. Source of the order: transformers/modeling_utils.py, `_get_resolved_checkpoint_files`.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from rocmtx.errors import ModelUnreadable
from rocmtx.facts.gguf_config import checkpoint_of_gguf
from rocmtx.facts.model import Checkpoint, Missing
from rocmtx.facts.safetensors_header import BrokenSafetensors, read_safetensors

if TYPE_CHECKING:
    from pathlib import Path

_FLOATS: Final = ("float", "bfloat")
_CONFIG_LIMIT: Final = 8 << 20


@dataclass(slots=True)
class _Weights:
    size: int | None = None
    bytes_by_dtype: Counter[str] = field(default_factory=Counter)
    elements: int | None = None
    missing: list[Missing] = field(default_factory=list)


def checkpoint_of_folder(folder: Path, name: str, source: Literal["folder", "hub"]) -> Checkpoint:
    """Describe a folder. Raises ModelUnreadable when it holds no config, or one that makes no sense."""
    config_path = folder / "config.json"
    if not config_path.exists():
        return _without_config(folder, name, source)
    config = _json(config_path)
    weights = _weights(folder)
    architectures = config.get("architectures")
    quantization = config.get("quantization_config")
    return Checkpoint(
        name,
        source,
        path=str(folder),
        cached=True if source == "hub" else None,
        model_type=_text(config.get("model_type")),
        architecture=_text(architectures[0]) if isinstance(architectures, list) and architectures else None,
        config=config,
        weight_bytes=weights.size,
        parameters=None if quantization else weights.elements,  # packed integers are no parameters
        dtype=_dtype(weights, config),
        quantization=quantization if isinstance(quantization, dict) else None,
        missing=tuple(weights.missing),
    )


def _without_config(folder: Path, name: str, source: Literal["folder", "hub"]) -> Checkpoint:
    files = sorted(folder.glob("*.gguf"))
    if len(files) == 1:
        return checkpoint_of_gguf(files[0], name, "gguf" if source == "folder" else "hub")
    if files:
        raise ModelUnreadable(
            f"{name} holds {len(files)} GGUF files and no config.json", f"name one of them, for example {files[0]}"
        )
    if (folder / "adapter_config.json").exists():
        base = _text(_json(folder / "adapter_config.json").get("base_model_name_or_path"))
        raise ModelUnreadable(
            f"{name} holds a LoRA adapter and not a whole model", f"load its base model: {base or 'unknown'}"
        )
    if source == "hub":
        # An interrupted download leaves a snapshot without its files.
        return Checkpoint(name, "hub", cached=False, missing=(Missing(str(folder / "config.json"), "absent"),))
    inner = next((entry for entry in sorted(folder.iterdir()) if (entry / "config.json").exists()), None)
    raise ModelUnreadable(
        f"{name} has no config.json: it is no folder of a model",
        f"did you mean {inner}?"
        if inner
        else "name the folder that save_pretrained wrote, or a hub id such as Qwen/Qwen3-0.6B",
    )


def _json(path: Path) -> dict[str, Any]:
    try:
        with path.open(encoding="utf-8") as file:
            value = json.loads(file.read(_CONFIG_LIMIT))
    except (ValueError, RecursionError) as error:
        raise ModelUnreadable(f"{path} is damaged: {error}", "download or save the model again") from None
    if not isinstance(value, dict):
        raise ModelUnreadable(f"{path} is damaged: it holds no JSON object", "download or save the model again")
    return value


def _weights(folder: Path) -> _Weights:
    for single, index in (
        ("model.safetensors", "model.safetensors.index.json"),
        ("pytorch_model.bin", "pytorch_model.bin.index.json"),
    ):
        if (folder / single).exists():
            return _summed([folder / single])
        if (folder / index).exists():
            shards = _json(folder / index).get("weight_map")
            names = sorted({str(shard) for shard in shards.values()}) if isinstance(shards, dict) else []
            return _summed([folder / shard for shard in names])
    nothing = _Weights()
    nothing.missing.append(Missing(str(folder / "model.safetensors"), "absent", "the folder holds no weights"))
    return nothing


def _summed(files: list[Path]) -> _Weights:
    weights = _Weights(size=0, elements=0)
    for file in files:
        if not file.exists():
            weights.missing.append(Missing(str(file), "absent"))
        elif file.suffix == ".safetensors":
            _add_safetensors(weights, file)
        elif weights.size is not None:
            weights.size += file.stat().st_size
            weights.elements = None  # a pickle is not opened
    if weights.missing:  # half a sum is no size
        weights.size = weights.elements = None
    return weights


def _add_safetensors(weights: _Weights, file: Path) -> None:
    try:
        header = read_safetensors(file)
    except BrokenSafetensors as error:
        raise ModelUnreadable(
            f"{file} is no usable safetensors file: {error}", "download it again; a broken download is the usual cause"
        ) from None
    weights.bytes_by_dtype.update(header.bytes_by_dtype)
    if weights.size is not None:
        weights.size += sum(header.bytes_by_dtype.values())
    if weights.elements is not None:
        weights.elements += sum(header.elements_by_dtype.values())


def _dtype(weights: _Weights, config: dict[str, Any]) -> str | None:
    """Return the float dtype with most bytes; without headers, what the config says; None when neither tells."""
    floats = {name: size for name, size in weights.bytes_by_dtype.items() if name.startswith(_FLOATS)}
    if floats:
        return max(floats, key=floats.__getitem__)
    text = config.get("text_config")
    for holder in (config, text if isinstance(text, dict) else {}):
        found = _text(holder.get("dtype")) or _text(holder.get("torch_dtype"))
        if found:
            return found.removeprefix("torch.")
    return None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None

"""A GGUF file as a checkpoint: its metadata under the names of a Transformers config.

Knows which GGUF key stands for which config key and which class loads an architecture; must not read config.json or
touch torch. Source of the pairs: transformers/integrations/ggml.py (GGUF_CONFIG_MAPPING) and modeling_auto.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

from rocmtx.errors import ModelUnreadable
from rocmtx.facts.gguf_header import BrokenGguf, GgufHeader, read_gguf
from rocmtx.facts.model import Checkpoint, Missing

if TYPE_CHECKING:
    from pathlib import Path

_KEYS: Final = {
    "block_count": "num_hidden_layers",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "attention.sliding_window": "sliding_window",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
    "context_length": "max_position_embeddings",
    "rope.freq_base": "rope_theta",
    "vocab_size": "vocab_size",
    "expert_count": "num_experts",
    "expert_used_count": "num_experts_per_tok",
}
# GGUF architecture -> (Transformers model_type, class).
_CLASSES: Final = {
    "bloom": ("bloom", "BloomForCausalLM"),
    "deci": ("nemotron-nas", "DeciLMForCausalLM"),
    "falcon": ("falcon", "FalconForCausalLM"),
    "gemma2": ("gemma2", "Gemma2ForCausalLM"),
    "gemma3": ("gemma3_text", "Gemma3ForCausalLM"),
    "gpt-oss": ("gpt_oss", "GptOssForCausalLM"),
    "gpt2": ("gpt2", "GPT2LMHeadModel"),
    "lfm2": ("lfm2", "Lfm2ForCausalLM"),
    "llama": ("llama", "LlamaForCausalLM"),
    "mamba": ("mamba", "MambaForCausalLM"),
    "mistral": ("mistral", "MistralForCausalLM"),
    "nemotron": ("nemotron", "NemotronForCausalLM"),
    "phi3": ("phi3", "Phi3ForCausalLM"),
    "qwen2": ("qwen2", "Qwen2ForCausalLM"),
    "qwen2moe": ("qwen2_moe", "Qwen2MoeForCausalLM"),
    "qwen3": ("qwen3", "Qwen3ForCausalLM"),
    "qwen3moe": ("qwen3_moe", "Qwen3MoeForCausalLM"),
    "stablelm": ("stablelm", "StableLmForCausalLM"),
    "starcoder2": ("starcoder2", "Starcoder2ForCausalLM"),
}


def checkpoint_of_gguf(path: Path, name: str, source: Literal["demo", "gguf", "folder", "hub"]) -> Checkpoint:
    """Describe a GGUF file. Raises ModelUnreadable for another kind of file or a broken one."""
    try:
        header = read_gguf(path)
        size = path.stat().st_size
    except BrokenGguf as error:
        raise ModelUnreadable(
            f"{path.name} is no usable GGUF file: {error}", "download it again; a broken download is the usual cause"
        ) from None
    if header.tensor_bytes is not None and header.tensor_bytes > size:
        raise ModelUnreadable(
            f"{path.name} is cut off: {size} bytes are there, its tensors alone need {header.tensor_bytes}",
            "download it again; a broken download is the usual cause",
        )
    kind = header.architecture or ""
    model_type, architecture = _CLASSES.get(kind, (kind or None, None))
    missing = () if architecture else (Missing(str(path), "invalid", f"no known class for the architecture {kind!r}"),)
    return Checkpoint(
        name,
        source,
        path=str(path),
        cached=True if source == "hub" else None,
        model_type=model_type,
        architecture=architecture,
        config=_config(header, model_type, architecture),
        weight_bytes=header.tensor_bytes,
        parameters=header.parameters or None,
        dtype="float32",
        quantization={"quant_method": "gguf", "type": header.main_type},
        missing=missing,
    )


def _config(header: GgufHeader, model_type: str | None, architecture: str | None) -> dict[str, Any]:
    prefix = f"{header.architecture}."
    config: dict[str, Any] = {"model_type": model_type, "architectures": [architecture]} if architecture else {}
    for key, name in _KEYS.items():
        value = header.metadata.get(prefix + key)
        if isinstance(value, list):  # one entry a layer; layers that differ are beyond a single number
            value = value[0] if value and all(entry == value[0] for entry in value) else None
        if value is not None:
            config[name] = value
    config.setdefault("vocab_size", header.lengths.get("tokenizer.ggml.tokens"))
    return {key: value for key, value in config.items() if value is not None}

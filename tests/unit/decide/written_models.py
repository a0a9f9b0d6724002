"""Models of the matrix and of the cases, as their config.json says, written by hand; no weights, no file."""

from __future__ import annotations

from typing import Any, Final

from rocmtx.facts.model import Checkpoint

_SIZES: Final = (
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "vocab_size",
)


def _decoder(*sizes: int) -> dict[str, Any]:
    return dict(zip(_SIZES, sizes, strict=True))


def _model(name: str, kind: str, config: dict[str, Any], **fields: Any) -> Checkpoint:
    quantization = config.get("quantization_config")
    return Checkpoint(
        name, "hub", cached=True, model_type=kind, config=config, dtype="bfloat16", quantization=quantization, **fields
    )


_EXPERTS: Final = {"num_local_experts": 8, "num_experts_per_tok": 2}
_DEEPSEEK: Final = {
    **_decoder(7168, 18432, 61, 128, 128, 129280),
    "moe_intermediate_size": 2048,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "first_k_dense_replace": 3,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
    "max_position_embeddings": 163840,
    "quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]},
}
_GPT_OSS: Final = {
    **_decoder(2880, 2880, 24, 64, 8, 201088),
    "head_dim": 64,
    "num_local_experts": 32,
    "sliding_window": 128,
    "layer_types": ["sliding_attention", "full_attention"] * 12,
    "max_position_embeddings": 131072,
    "quantization_config": {"quant_method": "mxfp4"},
}
_GEMMA: Final = {
    "text_config": {
        **_decoder(2560, 10240, 34, 8, 4, 262208),
        "model_type": "gemma3_text",
        "head_dim": 256,
        "sliding_window": 1024,
        "layer_types": [*(["sliding_attention"] * 5 + ["full_attention"]) * 5, *["sliding_attention"] * 4],
    }
}

MODELS: Final[dict[str, Checkpoint]] = {
    model.name: model
    for model in (
        _model(
            "HuggingFaceTB/SmolLM2-135M-Instruct",
            "llama",
            {**_decoder(576, 1536, 30, 9, 3, 49152), "tie_word_embeddings": True, "max_position_embeddings": 8192},
        ),
        _model(
            "Qwen/Qwen3-0.6B",
            "qwen3",
            {**_decoder(1024, 3072, 28, 16, 8, 151936), "head_dim": 128, "tie_word_embeddings": True},
        ),
        _model(
            "Qwen/Qwen3-8B",
            "qwen3",
            {**_decoder(4096, 12288, 36, 32, 8, 151936), "head_dim": 128, "tie_word_embeddings": False},
        ),
        _model(
            "meta-llama/Llama-3.1-70B",
            "llama",
            {**_decoder(8192, 28672, 80, 64, 8, 128256), "max_position_embeddings": 131072},
        ),
        _model("mistralai/Mixtral-8x7B-v0.1", "mixtral", {**_decoder(4096, 14336, 32, 32, 8, 32000), **_EXPERTS}),
        # On disk: four bits a weight in the experts, sixteen elsewhere; and one byte a weight in DeepSeek-V3.
        _model("openai/gpt-oss-20b", "gpt_oss", _GPT_OSS, weight_bytes=13_761_264_768),
        _model("google/gemma-3-4b-it", "gemma3", _GEMMA),
        _model("deepseek-ai/DeepSeek-V3", "deepseek_v3", _DEEPSEEK, weight_bytes=688_586_727_753),
        _model(
            "org/Llama-3.1-8B-GPTQ",
            "llama",
            {**_decoder(4096, 14336, 32, 32, 8, 128256), "quantization_config": {"quant_method": "gptq", "bits": 4}},
            weight_bytes=5_736_000_000,
        ),
    )
}

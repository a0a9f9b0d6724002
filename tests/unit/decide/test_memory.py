"""Memory from a config alone: parameters counted by Transformers itself, and arithmetic done by hand."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from rocmtx.decide.layers import read_shape
from rocmtx.decide.memory import Fit, compare, count_parameters, estimate, fits, free_memory
from rocmtx.decide.shares import remedies
from rocmtx.facts.model import Checkpoint, Host
from unit.decide.written_machines import DEMO, GIB, QWEN, gpu

LLAMA_70B = {
    "model_type": "llama",
    "hidden_size": 8192,
    "intermediate_size": 28672,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
}
MIXTRAL = {
    "model_type": "mixtral",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 32000,
    "num_local_experts": 8,
}
QWEN_MOE = {
    "model_type": "qwen3_moe",
    "hidden_size": 2048,
    "intermediate_size": 6144,
    "moe_intermediate_size": 768,
    "num_hidden_layers": 48,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "num_experts": 128,
    "vocab_size": 151936,
}
GPT_OSS = {
    "model_type": "gpt_oss",
    "hidden_size": 2880,
    "intermediate_size": 2880,
    "num_hidden_layers": 24,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "vocab_size": 201088,
    "num_local_experts": 32,
    "sliding_window": 128,
    "layer_types": ["sliding_attention", "full_attention"] * 12,
}
GEMMA = {
    "model_type": "gemma3",
    "text_config": {
        "model_type": "gemma3_text",
        "hidden_size": 2560,
        "intermediate_size": 10240,
        "num_hidden_layers": 34,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "vocab_size": 262208,
        "sliding_window": 1024,
    },
}
DEEPSEEK = {
    "model_type": "deepseek_v3",
    "hidden_size": 7168,
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "vocab_size": 129280,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
}


def checkpoint(config: dict[str, Any], **fields: Any) -> Checkpoint:
    return Checkpoint("x", "folder", config=config, dtype="bfloat16", **fields)


@pytest.mark.parametrize(
    ("config", "counted_by_transformers"),
    [
        # num_parameters() of the models that Transformers 5.22.2 makes of these configs on the meta device.
        (LLAMA_70B, 70553706496),
        (QWEN.config, 8190735360),
        (MIXTRAL, 46702792704),
        (QWEN_MOE, 30532122624),
        (GPT_OSS, 20914757184),
        (GEMMA, 3880263168),
    ],
)
def test_parameters_counted_from_the_config(config: dict[str, Any], counted_by_transformers: int) -> None:
    counted = count_parameters(checkpoint(config))
    assert counted is not None
    assert counted == pytest.approx(counted_by_transformers, rel=0.0005)


@pytest.mark.parametrize(
    ("config", "tokens", "numbers"),
    [
        (LLAMA_70B, 4096, 80 * 2 * 8 * 128 * 4096),
        # Half of the layers keep window - 1 tokens.
        (GPT_OSS, 4096, 12 * 2 * 8 * 64 * (4096 + 127)),
        (GPT_OSS, 100, 24 * 2 * 8 * 64 * 100),
        # The latent of 512 and the rotary key of 64, whatever the number of heads.
        (DEEPSEEK, 1000, 61 * 576 * 1000),
        # Without layer_types a window holds for every layer, unless it is switched off.
        ({**LLAMA_70B, "sliding_window": 512}, 4096, 80 * 2 * 8 * 128 * 511),
        ({**LLAMA_70B, "sliding_window": 512, "use_sliding_window": False}, 4096, 80 * 2 * 8 * 128 * 4096),
        ({**LLAMA_70B, "layer_types": ["linear_attention"] * 60 + ["full_attention"] * 20}, 10, 20 * 2 * 8 * 128 * 10),
    ],
)
def test_the_cache(config: dict[str, Any], tokens: int, numbers: int) -> None:
    shape = read_shape(config)
    assert shape is not None
    assert shape.cached_numbers(tokens) == numbers


@pytest.mark.parametrize(
    "config",
    [{}, {"hidden_size": 8}, {**LLAMA_70B, "vocab_size": "many"}, {**LLAMA_70B, "is_encoder_decoder": True}],
)
def test_a_config_that_says_too_little_stays_unknown(config: dict[str, Any]) -> None:
    assert read_shape(config) is None
    needs = estimate(checkpoint(config), dtype="bfloat16")
    assert (needs.weights, needs.cache, needs.activations, needs.total) == (None, None, None, None)
    assert fits(needs, gpu()) == Fit(None, 192 * GIB, None, None)
    assert fits(needs, gpu()).text() == "needs unknown, free: 192.0 GiB"


def test_latent_attention_is_not_counted_but_sized_from_the_file() -> None:
    assert count_parameters(checkpoint(DEEPSEEK)) is None
    assert count_parameters(checkpoint(DEEPSEEK, parameters=671)) == 671


def test_an_estimate_by_hand() -> None:
    needs = estimate(QWEN, dtype="bfloat16", context=8192, batch=4)
    assert needs.weights == 8190735360 * 2
    assert needs.cache == 36 * 2 * 8 * 128 * 8192 * 4 * 2
    assert needs.activations == 4 * 8192 * (6 * 4096 + 3 * 12288) * 2 + 4 * 151936 * 4
    assert (needs.training, needs.overhead) == (0, GIB)
    assert needs.total == needs.weights + needs.cache + needs.activations + GIB
    assert needs.assumptions == (
        "1.0 GiB for the runtime, its libraries and the allocator",
        "activations: a rough formula, one layer at a time",
    )


def test_the_whole_score_matrix_of_the_math_kernel() -> None:
    # The published figure for 32 heads in 16 bits and 16384 tokens: 17.2 GB.
    flash = estimate(QWEN, dtype="bfloat16", context=16384).activations
    math = estimate(QWEN, dtype="bfloat16", context=16384, whole_scores=True).activations
    assert flash is not None
    assert math is not None
    assert (math - flash) / 1e9 == pytest.approx(17.2, abs=0.05)


def test_quantized_weights_keep_their_embeddings() -> None:
    embeddings = 2 * 151936 * 4096
    needs = estimate(QWEN, dtype="bfloat16", quantization="bitsandbytes-4bit")
    assert needs.weights == int((8190735360 - embeddings) * 4.5 / 8) + embeddings * 2
    assert "bitsandbytes 4-bit (NF4): 4.5 bits for all but the embeddings" in needs.assumptions


def test_a_quantized_checkpoint_is_as_large_as_its_file() -> None:
    packed = replace(QWEN, quantization={"quant_method": "gptq"}, weight_bytes=5 * GIB)
    assert estimate(packed, dtype="bfloat16").weights == 5 * GIB
    # A GGUF file is unpacked: its size on disk says nothing.
    assert estimate(DEMO, dtype="float32").weights == 134515008 * 4


def test_the_dtype_of_the_checkpoint_is_taken_for_auto() -> None:
    assert estimate(QWEN, dtype="auto").weights == 8190735360 * 2
    assert estimate(replace(QWEN, dtype=None), dtype="auto").weights is None


def test_training() -> None:
    full = estimate(QWEN, dtype="bfloat16", context=512, train="full")
    assert (full.cache, full.training) == (0, 3 * 8190735360 * 2)
    lora = estimate(QWEN, dtype="bfloat16", context=512, train="lora")
    pairs = [(4096, 4096, 36), (4096, 1024, 72), (4096, 4096, 36), (4096, 12288, 108)]
    assert lora.training == 8 * sum((a + b) * count for a, b, count in pairs) * 16
    kept = 18 * 4096 + 6 * 4096 + 4 * 1024 + 8 * 12288 + 4 * (4096 + 1024)
    assert lora.activations == 36 * 512 * kept + 512 * 151936 * 12
    assert full.weights == lora.weights


@pytest.mark.parametrize(
    ("config", "tokens", "answer", "lora"),
    [
        # Highest GiB of the allocator on an NVIDIA H200, torch 2.11, Transformers 5.17: benchmarks/memory_estimate.py.
        ("SmolLM2-135M", 512, 0.30, 1.03),
        ("SmolLM2-135M", 2048, 0.35, 3.04),
        ("SmolLM2-135M", 8192, 0.57, 11.04),
        ("Qwen3-0.6B", 512, 1.21, 3.11),
        ("Qwen3-0.6B", 2048, 1.41, 8.56),
        ("Qwen3-0.6B", 8192, 2.22, 30.53),
        ("Llama-3.2-3B", 512, 6.10, 8.89),
        ("Llama-3.2-3B", 2048, 6.37, 16.81),
        ("Llama-3.2-3B", 8192, 7.46, 48.62),
    ],
)
def test_what_was_measured_on_a_gpu_is_within_15_percent(config: str, tokens: int, answer: float, lora: float) -> None:
    sizes = {
        "SmolLM2-135M": ("llama", 576, 1536, 30, 9, 3, 64, 49152),
        "Qwen3-0.6B": ("qwen3", 1024, 3072, 28, 16, 8, 128, 151936),
        "Llama-3.2-3B": ("llama", 3072, 8192, 28, 24, 8, 128, 128256),
    }[config]
    names = (
        "model_type",
        "hidden_size",
        "intermediate_size",
        "num_hidden_layers",
        "num_attention_heads",
        "num_key_value_heads",
        "head_dim",
        "vocab_size",
    )
    model = checkpoint({**dict(zip(names, sizes, strict=True)), "tie_word_embeddings": True})
    for train, peak in ((None, answer), ("lora", lora)):
        needs = estimate(model, dtype="bfloat16", context=tokens, train=train)  # type: ignore[arg-type]
        assert needs.total is not None
        assert (needs.total - needs.overhead) / GIB == pytest.approx(peak, rel=0.15)


def test_70b_is_estimated_in_no_time() -> None:
    began = time.perf_counter()
    needs = estimate(checkpoint(LLAMA_70B), dtype="bfloat16", context=131072, batch=8)
    assert time.perf_counter() - began < 0.05
    assert needs.weights == 70553706496 * 2
    assert "parameters: counted from the config" in needs.assumptions


def test_free_memory() -> None:
    assert free_memory(gpu(vram_used=2 * GIB)) == 190 * GIB
    assert free_memory(gpu(vram_total=None)) is None
    assert free_memory(gpu(integrated=True, vram_total=GIB, gtt_total=32 * GIB, gtt_used=2 * GIB)) == 30 * GIB
    assert free_memory(gpu(integrated=True, kfd_memory=20 * GIB, gtt_total=32 * GIB)) == 20 * GIB
    assert free_memory(Host(memory_available=8 * GIB, memory_limit=4 * GIB)) == 4 * GIB
    assert free_memory(Host()) is None


def test_fitting_and_what_would_make_it_fit() -> None:
    needs = estimate(QWEN, dtype="float32", context=8192, batch=4)
    fit = fits(needs, gpu(vram_total=20 * GIB))
    assert fit.ok is False
    assert fit.text() == "does not fit: needs 48.0 GiB, 28.0 GiB more than is free"
    assert remedies(QWEN, needs, [("cuda:0", 20 * GIB)]) == ()
    half = estimate(QWEN, dtype="bfloat16", context=8192, batch=4)
    assert fits(half, gpu(vram_total=20 * GIB)).ok is False
    assert remedies(QWEN, half, [("cuda:0", 20 * GIB)]) == (
        "a batch of 1",
        "a context of 2048 tokens",
        "--quantization bitsandbytes-8bit",
        "--quantization bitsandbytes-4bit",
    )
    assert compare(10, 20).text() == "fits: 10 B of 20 B free"

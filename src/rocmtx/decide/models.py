"""Which attention implementations the causal language model classes of Transformers take, by `model_type`.

Knows one table; must not know a machine. Read from the class attributes of all 183 causal-LM classes of Transformers 5.22.2
(2026-11-30); a `model_type` that is not named here supports everything, which is the library's rule for new models, and
code from the hub (trust_remote_code) is not judged. Other releases differ in single rows (5.24 refuses flash for gemma3).
"""

from __future__ import annotations

from typing import Final

NO_SDPA: Final = frozenset(
    ["big_bird", "bigbird_pegasus", "bloom", "codegen", "cpmant", "deepseek_v4", "falcon_mamba", "flint", "gemma2", "git", "got_ocr2", "gpt_neo", "gpt_neox_japanese", "gpt_oss", "gptj", "granite_swa", "granitemoe_swa", "hy_v4", "mamba", "mamba2", "megatron-bert", "mimo_v2_flash", "mpt", "mvp", "openai-gpt", "prophetnet", "reformer", "rembert", "roformer", "rwkv", "trocr", "vaultgemma", "xglm", "xlm", "xlnet", "xlstm"]
)
NO_FLASH: Final = frozenset(
    ["axk2", "big_bird", "bigbird_pegasus", "bloom", "blt", "codegen", "cpmant", "deepseek_v32", "deepseek_v4", "doge", "falcon_mamba", "git", "glm_moe_dsa", "got_ocr2", "gpt_neox_japanese", "hy_v4", "inkling_text", "llama4", "llama4_text", "mamba", "mamba2", "megatron-bert", "minimax_m3_vl_text", "mpt", "mvp", "openai-gpt", "prophetnet", "qwen4_exp", "qwen4_exp_text", "reformer", "rembert", "roformer", "rwkv", "trocr", "xglm", "xlm", "xlnet", "xlstm"]
)
NO_FLEX: Final = frozenset(
    ["aria_text", "axk2", "bailing_hybrid", "bamba", "big_bird", "bigbird_pegasus", "bloom", "blt", "codegen", "cohere_compass_text", "cpmant", "deepseek_v32", "deepseek_v4", "falcon", "falcon_h1", "falcon_mamba", "gemma4_assistant", "gemma4_unified_assistant", "git", "glm_moe_dsa", "got_ocr2", "gpt-sw3", "gpt2", "gpt_bigcode", "gpt_neo", "gpt_neox_japanese", "gptj", "hy_v4", "jamba", "kimi_linear", "mamba", "mamba2", "megatron-bert", "mimo_v2_flash", "minimax_m3_vl_text", "moss_transcribe_diarize", "mpt", "mvp", "olmo_hybrid", "olmoe", "openai-gpt", "persimmon", "prophetnet", "qwen3_5", "qwen3_5_moe", "qwen3_5_moe_text", "qwen3_5_text", "qwen3_next", "qwen4_exp", "qwen4_exp_text", "reformer", "rembert", "roformer", "rwkv", "stablelm", "trocr", "xglm", "xlm", "xlnet", "xlstm", "zamba"]
)
# Classes that name their own flash kernels; Transformers replaces any other flash wish by the first one for the platform.
OWN_FLASH: Final = {
    "gpt_oss": "kernels-community/aiter-flash-attn",
    "granite_swa": "kernels-community/aiter-flash-attn",
    "granitemoe_swa": "kernels-community/aiter-flash-attn",
    "flint": None,
    "mimo_v2_flash": None,
    "minimax_m3_vl_text": None,
}


def supports(model_type: str | None, attention: str) -> bool | None:
    """Return whether a model class takes "sdpa", "flash" or "flex"; None when its type is not known."""
    if model_type is None:
        return None
    refusing = {"sdpa": NO_SDPA, "flash": NO_FLASH, "flex": NO_FLEX}[attention]
    return model_type not in refusing

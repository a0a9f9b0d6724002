"""A Llama of some thousand weights and a tokenizer of ten words: files that Transformers loads at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

SHAPE = {
    "vocab_size": 16,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}


def tiny_model(folder: Path) -> Path:
    """Write the model into a folder and return it; skips where torch or Transformers is absent."""
    transformers = pytest.importorskip("transformers", reason="needs the extra: models")
    torch = pytest.importorskip("torch", reason="needs the extra: models")
    from tokenizers import Tokenizer, models, pre_tokenizers

    config = transformers.LlamaConfig(**SHAPE, bos_token_id=0, eos_token_id=1)
    transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).save_pretrained(folder)
    names = ["The", "</s>", "capital", "of", "France", "is", "Paris", "Italy", "Rome", "."]
    words = Tokenizer(models.WordLevel({word: at for at, word in enumerate(names)}, unk_token="."))  # noqa: S106
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=words, eos_token="</s>", unk_token=".")  # noqa: S106
    fast.save_pretrained(folder)
    return folder

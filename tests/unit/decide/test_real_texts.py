"""Explanations of errors that Transformers really raises here, chained causes included, not of remembered texts."""

from __future__ import annotations

import importlib
import traceback
from typing import TYPE_CHECKING, Any

import pytest

from rocmtx.decide.explain import explain

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

transformers: Any = pytest.importorskip("transformers", reason="needs the extra: models")
SHAPE = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}


def tiny(kind: str = "Llama", **options: Any) -> Any:
    config = getattr(transformers, f"{kind}Config")(vocab_size=16, **SHAPE)
    return transformers.AutoModelForCausalLM.from_config(config, **options)


def load(name: object, **options: Any) -> Any:
    return transformers.AutoModelForCausalLM.from_pretrained(str(name), **options)


def empty_folder(folder: Path) -> Path:
    folder.mkdir()
    return folder


def without_weights(folder: Path) -> Path:
    tiny().save_pretrained(folder)
    (folder / "model.safetensors").unlink()
    return folder


def damaged(folder: Path) -> Path:
    tiny().save_pretrained(folder)
    (folder / "model.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0{")
    return folder


def saved(folder: Path, config: str) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text(config, encoding="utf-8")
    return folder


# A machine with a GPU, or with these packages, raises other errors or none.
pytestmark = pytest.mark.skipif(
    importlib.import_module("torch").cuda.is_available(), reason="written for torch without a GPU"
)


@pytest.mark.parametrize(
    ("provoke", "rule"),
    [
        (lambda _: tiny(attn_implementation="flash_attention_2"), "kernel-not-cached"),
        (lambda _: tiny(attn_implementation="sdap"), "attention-name"),
        (lambda _: tiny("GPTJ", attn_implementation="sdpa"), "class-no-sdpa"),
        (lambda _: tiny(attn_implementation="org/flash-attn@v1"), "kernel-not-cached"),
        (lambda _: tiny(attn_implementation="org/flash-attn@v1:fn"), "kernel-not-cached"),
        (lambda _: tiny(attn_implementation="kernels-community/aiter-flash-attn"), "kernel-not-cached"),
        (lambda _: load("no-such-org/no-such-model"), "unreachable"),
        (lambda home: load(home / "nowhere" / "at" / "all"), "bad-path"),
        (lambda home: load(empty_folder(home / "x")), "no-model-type"),
        (lambda home: load(without_weights(home / "x")), "no-weights"),
        (lambda home: load(damaged(home / "x")), "damaged"),
        (lambda home: load(saved(home / "x", '{"model_type": "zzz"}')), "unknown-architecture"),
        (lambda home: load(saved(home / "x", "{}")), "no-model-type"),
        (lambda home: transformers.TrainingArguments(str(home), bf16=True), "bf16-setup"),
        (lambda home: transformers.TrainingArguments(str(home), tf32=True), "tf32"),
        (lambda home: load(home, quantization_config=transformers.FineGrainedFP8Config()), "needs-gpu"),
        (lambda home: load(home, quantization_config=transformers.AwqConfig()), "only-prequantized"),
        (lambda home: load(home, quantization_config={"quant_method": "zzz"}), "unknown-method"),
        (lambda home: load(home, quantization_config=transformers.EetqConfig()), "needs-gpu"),
        (lambda home: load(home, quantization_config=transformers.NVFP4Config()), "needs-gpu"),
        (lambda home: load(home, device_map="cuda"), "not-compiled"),
        (lambda home: load(home, gguf_file="x.gguf"), "file-missing"),
        (lambda home: load(home, distributed_config=transformers.DistributedConfig(tp_size=2)), "no-launcher"),
        (
            lambda home: load(home, distributed_config=transformers.DistributedConfig(tp_size=2), device_map="cpu"),
            "parallel-and-map",
        ),
        (
            lambda home: load(home, use_kernels=True, kernel_config=transformers.KernelConfig({"RMSNorm": ""})),
            "kernel-config",
        ),
    ],
)
def test_errors_of_transformers(provoke: Callable[[Path], object], rule: str, tmp_path: Path) -> None:
    tiny().save_pretrained(tmp_path)
    with pytest.raises(Exception) as caught:  # noqa: PT011 - which one it is, is what is explained
        provoke(tmp_path)
    text = "".join(traceback.format_exception(caught.value))
    found = explain(text)
    assert found is not None, text
    assert found.rule == rule, text

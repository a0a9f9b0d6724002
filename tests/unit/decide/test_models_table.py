"""The table of model classes, compared with the source of the Transformers that is installed (read as text)."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from pathlib import Path

import pytest

from rocmtx.decide.models import hub_layers, splits_layers
from rocmtx.decide.targets import read_table

DECORATORS = {"RMSNorm": 'use_kernel_forward_from_hub("RMSNorm")', "MegaBlocksMoeMLP": '"MegaBlocksMoeMLP"'}


@pytest.fixture(scope="module")
def models() -> Path:
    spec = importlib.util.find_spec("transformers")
    if spec is None or spec.origin is None or not importlib.metadata.version("transformers").startswith("5.22."):
        pytest.skip("the table is of Transformers 5.22")
    return Path(spec.origin).parent / "models"


@pytest.mark.parametrize("layer", DECORATORS)
def test_layers_that_kernels_replace_are_those_of_the_source(models: Path, layer: str) -> None:
    listed = set(read_table("models")["hub_kernels"][layer]["types"])
    sources = {path.parent.name: path.read_text("utf-8") for path in models.glob("*/modeling_*.py")}
    decorated = {kind for kind, source in sources.items() if DECORATORS[layer] in source}
    # Types that share a module (qwen3_5_text) are not named like it.
    assert {kind for kind in listed if kind in sources} == {kind for kind in listed if kind in decorated}
    causal = {kind for kind in decorated if "ForCausalLM(" in sources[kind]}
    assert causal - listed <= _without_a_causal_head(models)


def _without_a_causal_head(models: Path) -> set[str]:
    """Return the modules whose causal class belongs to no type of the automatic mapping under the module's name."""
    mapping = (models / "auto" / "modeling_auto.py").read_text("utf-8")
    start = mapping.index("MODEL_FOR_CAUSAL_LM_MAPPING_NAMES")
    named = mapping[start : mapping.index("\n)", start)]
    return {path.name for path in models.iterdir() if path.is_dir() and f'("{path.name}",' not in named}


@pytest.mark.parametrize(("kind", "splits"), [("llama", True), ("qwen3", True), ("gpt_oss", False), ("gpt2", False)])
def test_tensor_parallel_plans_are_those_of_the_source(models: Path, kind: str, splits: bool) -> None:
    source = (models / kind / f"configuration_{kind}.py").read_text("utf-8")
    assert splits_layers(kind) is splits
    assert ("base_model_tp_plan = {" in source) is splits


def test_an_unknown_type_is_not_judged() -> None:
    assert hub_layers(None, training=False) is None
    assert splits_layers(None) is None
    assert hub_layers("gemma3", training=True) == ()
    assert hub_layers("qwen3", training=True) == (("RMSNorm", "kernels-community/liger-kernels", 3),)

"""A plan to a loaded model: the arguments as objects, what really runs, and what differs from the plan."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from rocmtx.decide.plan import Asks, Plan, make_plan
from rocmtx.decide.verdict import Choice
from rocmtx.errors import MissingPackage
from rocmtx.events import Event, Loaded, Loading, Warned
from rocmtx.facts.checkpoint import read_checkpoint
from rocmtx.facts.model import Facts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rocmtx.run.engine.load import LoadedModel

pytestmark = pytest.mark.demo


@pytest.fixture
def folder(tiny: LoadedModel, tmp_path: Path) -> Path:
    """Return a folder with the small model in it."""
    tiny.model.save_pretrained(tmp_path / "tiny")
    tiny.tokenizer.save_pretrained(tmp_path / "tiny")
    return tmp_path / "tiny"


@pytest.fixture(autouse=True)
def offline() -> Iterator[None]:
    """Leave the hub client as it was found."""
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    yield
    constants.HF_HUB_OFFLINE = before


def plan(folder: Path, **wishes: Any) -> Plan:
    """Return a plan for a folder on a machine without a GPU."""
    return make_plan(Facts(), Asks(str(folder), **wishes), read_checkpoint(str(folder)))


def loaded(made: Plan) -> tuple[LoadedModel, list[Event]]:
    """Load a plan."""
    from rocmtx.run.engine.load import load

    events: list[Event] = []
    return load(made, events.append), events


def test_a_load_reports_what_runs(folder: Path, tiny: LoadedModel) -> None:
    model, events = loaded(plan(folder, dtype="bfloat16", attention="eager"))
    (report,) = [event for event in events if isinstance(event, Loaded)]
    parameters = sum(weight.numel() for weight in tiny.model.parameters())
    assert report == Loaded(
        model=str(folder),
        architecture="LlamaForCausalLM",
        device="cpu",
        device_name=report.device_name,
        dtype="bfloat16",
        attention="eager",
        parameters=parameters,
        weight_bytes=report.weight_bytes,
        context_length=128,
        seconds=model.seconds,
    )
    assert report.device_name
    assert report.weight_bytes == pytest.approx(2 * parameters, rel=1e-3)
    assert not [event for event in events if isinstance(event, Warned)]
    assert next(event.stage for event in events if isinstance(event, Loading)) == "tokenizer"
    assert not model.model.training


def test_tied_weights_are_counted_once(tiny: LoadedModel) -> None:
    from rocmtx.run.engine.load import weight_bytes

    tensors = [*tiny.model.parameters(), *tiny.model.buffers()]
    assert tiny.model.lm_head.weight is tiny.model.model.embed_tokens.weight
    assert weight_bytes(tiny.model) == sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def test_an_attention_that_the_model_did_not_take_is_a_warning(folder: Path) -> None:
    from rocmtx.run.engine.load import _differences

    made = plan(folder)
    model, _ = loaded(made)
    assert _differences(made, model.model) == []
    other = replace(made, attention=Choice("flash_attention_2", "asked for", asked=True))
    assert _differences(other, model.model) == [
        Warned(
            message="attention sdpa is used instead of flash_attention_2",
            hint="Transformers chose it for this model class; %rocm status shows what runs",
        )
    ]


def test_a_tokenizer_of_another_model_is_a_warning_when_it_is_loaded(folder: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    assert [event for event in loaded(plan(folder))[1] if isinstance(event, Warned)] == []
    tokenizer.add_tokens(["one-more"])
    tokenizer.save_pretrained(folder)
    warnings = [event for event in loaded(plan(folder))[1] if isinstance(event, Warned)]
    assert warnings == [
        Warned(
            message=f"the tokenizer has {len(tokenizer)} tokens, the model only {len(tokenizer) - 1}",
            hint="model and tokenizer may not belong together",
        )
    ]


def test_a_plan_survives_the_border_to_the_worker(folder: Path) -> None:
    from rocmtx.run.engine import TransformersEngine

    record = json.loads(json.dumps(plan(folder, dtype="bfloat16").record()))
    engine, events = TransformersEngine(), list[Event]()
    result = engine.load(record, events.append)
    assert result["seconds"] > 0
    assert [reading.device for reading in engine.readings()] == ["cpu"]
    released = engine.unload()
    assert sorted(released) == ["after", "allocated", "before"]
    assert released["before"]["cpu"] > 0


def test_an_engine_without_a_model_says_so() -> None:
    import threading

    from rocmtx.errors import NotLoaded
    from rocmtx.run.asks import GenerateAsk, body
    from rocmtx.run.engine import TransformersEngine

    with pytest.raises(NotLoaded, match="no model is loaded\n  → load one with: %rocm load demo"):
        TransformersEngine().generate(body(GenerateAsk(prompt="Hi")), lambda _: None, threading.Event())


def test_a_quantization_becomes_its_config() -> None:
    from rocmtx.run.engine.load import quantization_config

    config = quantization_config("BitsAndBytesConfig", {"load_in_4bit": True})
    assert type(config).__name__ == "BitsAndBytesConfig"
    assert config.load_in_4bit


def test_a_quantization_of_another_version_names_the_update() -> None:
    import transformers

    from rocmtx.run.engine.load import quantization_config

    with pytest.raises(MissingPackage) as caught:
        quantization_config("MadeUpConfig", {})
    assert str(caught.value) == (
        f"Transformers {transformers.__version__} has no MadeUpConfig\n  → pip install -U transformers"
    )


def test_a_local_load_switches_the_hub_off_and_a_hub_load_on(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    from rocmtx.run.engine.load import set_hub

    set_hub(online=False)
    assert constants.HF_HUB_OFFLINE is True
    set_hub(online=True)
    assert constants.HF_HUB_OFFLINE is True  # the person's own wish counts more
    monkeypatch.delenv("HF_HUB_OFFLINE")
    set_hub(online=True)
    assert constants.HF_HUB_OFFLINE is False


def test_kernels_that_cannot_be_had_cost_the_kernels_and_not_the_model(folder: Path) -> None:
    made = replace(plan(folder), kernels=Choice(value=True, because="asked for", asked=True))
    model, events = loaded(made)
    warned = [event for event in events if isinstance(event, Warned)]
    (report,) = [event for event in events if isinstance(event, Loaded)]
    assert model.model is not None
    assert report.kernels == ()
    assert all(event.message.startswith("the model runs without hub kernels: ") for event in warned)

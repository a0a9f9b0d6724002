"""Wishes are refused before they reach a worker, with what to type instead, and cross its border as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rocmtx.errors import AskError
from rocmtx.run.asks import (
    GENERATE_OPTIONS,
    TRAIN_OPTIONS,
    GenerateAsk,
    TrainAsk,
    body,
    check_names,
    generate_ask,
    train_ask,
)

ROWS = ({"text": "a"},)


def refusal(make: type[GenerateAsk | TrainAsk], **values: Any) -> str:
    """Return the whole text of the error that a wish raises."""
    with pytest.raises(AskError) as caught:
        make(**values)
    return str(caught.value)


@pytest.mark.parametrize("prompt", ["", "  \n\t"])
def test_an_empty_prompt_is_refused(prompt: str) -> None:
    text = refusal(GenerateAsk, prompt=prompt)
    assert text == 'the prompt is empty\n  → %rocm generate "What is the capital of France?"'


def test_messages_need_no_prompt() -> None:
    assert GenerateAsk(messages=({"role": "user", "content": "Hi"},)).prompt == ""


def test_a_misspelt_option_names_the_nearest() -> None:
    text = refusal(GenerateAsk, prompt="Hi", options={"max_new_token": 3})
    assert text == "unknown generation option 'max_new_token'\n  → did you mean max_new_tokens?"
    text = refusal(TrainAsk, examples=ROWS, options={"learning_rat": 3})
    assert text == "unknown training option 'learning_rat'\n  → did you mean learning_rate?"


def test_an_option_like_no_other_lists_them_all() -> None:
    text = refusal(GenerateAsk, prompt="Hi", options={"zzz": 3})
    assert text == f"unknown generation option 'zzz'\n  → known: {', '.join(GENERATE_OPTIONS)}"
    with pytest.raises(AskError, match="unknown colour 'red'\n  → known: blue, green"):
        check_names({"red": 1}, ("blue", "green"), "colour")


def test_nothing_to_train_on_is_refused() -> None:
    text = refusal(TrainAsk, examples=())
    assert text == "there is nothing to train on\n  → write one example per line in the cell, or leave a `dataset`"


def test_an_unknown_method_is_refused() -> None:
    text = refusal(TrainAsk, examples=ROWS, method="qlora")
    assert text == "unknown training method 'qlora'\n  → use one of: lora, full"


@pytest.mark.parametrize("values", [{"lora_r": 0}, {"max_length": -1}])
def test_sizes_below_one_are_refused(values: dict[str, int]) -> None:
    text = refusal(TrainAsk, examples=ROWS, **values)
    assert text == "lora_r and max_length must be at least 1\n  → for example --lora-r 8 --max-length 1024"


def test_the_options_are_sorted_and_known_to_transformers() -> None:
    transformers = pytest.importorskip("transformers")
    assert list(GENERATE_OPTIONS) == sorted(GENERATE_OPTIONS)
    assert list(TRAIN_OPTIONS) == sorted(TRAIN_OPTIONS)
    assert [name for name in GENERATE_OPTIONS if not hasattr(transformers.GenerationConfig(), name)] == []
    known = transformers.TrainingArguments.__dataclass_fields__
    assert [name for name in TRAIN_OPTIONS if name not in known] == []


def test_an_ask_comes_back_from_json() -> None:
    generate = GenerateAsk(
        messages=({"role": "user", "content": "Hi"},), system="Be brief", raw=True, seed=3, options={"top_k": 4}
    )
    assert generate_ask(json.loads(json.dumps(body(generate)))) == generate
    train = TrainAsk(ROWS, method="full", lora_r=4, options={"max_steps": 2})
    assert train_ask(json.loads(json.dumps(body(train)))) == train


def test_paths_and_numpy_values_become_plain_ones() -> None:
    options = {"output_dir": Path("runs/a"), "max_steps": np.int64(3), "learning_rate": np.float32(0.5)}
    assert body(TrainAsk(ROWS, options=options))["options"] == {
        "output_dir": "runs/a",
        "max_steps": 3,
        "learning_rate": 0.5,
    }


def test_what_is_no_json_is_refused_by_its_type() -> None:
    with pytest.raises(AskError) as caught:
        body(GenerateAsk(prompt="Hi", options={"stop_strings": {"a", "b"}}))
    assert str(caught.value) == ("a set cannot be sent to the worker\n  → give texts, numbers, lists and dictionaries")

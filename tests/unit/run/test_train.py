"""Training on a real model of one layer: rows and their labels, what is emitted, what is kept, and what is refused."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Any

import pytest

from rocmtx.errors import AskError
from rocmtx.events import Event, Step, Warned
from rocmtx.run.asks import TrainAsk

if TYPE_CHECKING:
    from pathlib import Path

    from rocmtx.run.engine.load import LoadedModel

pytestmark = pytest.mark.demo

ROWS = tuple({"text": f"Row {number} of a small set."} for number in range(6))
CHAT = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}


def encoded(tokenizer: Any, row: Any, max_length: int = 1024) -> dict[str, list[int]]:
    """Return a row as the Trainer gets it."""
    from rocmtx.run.engine.train import encode_row

    return encode_row(tokenizer, row, max_length)


def test_a_text_ends_with_the_end_token(tokenizer: Any) -> None:
    row = encoded(tokenizer, {"text": "Hi there"})
    assert tokenizer.decode(row["input_ids"]) == "Hi there<|im_end|>"
    assert row["attention_mask"] == [1] * len(row["input_ids"])
    assert row["labels"] == row["input_ids"]
    assert row["labels"] is not row["input_ids"]


def test_an_end_token_that_is_there_is_not_doubled(tokenizer: Any) -> None:
    row = encoded(tokenizer, {"text": "Hi<|im_end|>"})
    assert row["input_ids"].count(tokenizer.eos_token_id) == 1


def test_a_cut_text_has_no_end(tokenizer: Any) -> None:
    row = encoded(tokenizer, {"text": "one two three four five"}, max_length=3)
    assert len(row["input_ids"]) == 3
    assert tokenizer.eos_token_id not in row["input_ids"]


def test_messages_go_through_the_chat_template(tokenizer: Any) -> None:
    text = tokenizer.decode(encoded(tokenizer, CHAT)["input_ids"])
    assert text.endswith("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello<|im_end|>\n")


def test_messages_without_a_template_are_refused(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer, "chat_template", None)
    with pytest.raises(AskError) as caught:
        encoded(tokenizer, CHAT)
    assert str(caught.value) == "this model has no chat template\n  → give the examples as plain text"


def test_padding_hides_the_padding_and_not_the_end(tokenizer: Any) -> None:
    from transformers import DataCollatorForSeq2Seq

    assert tokenizer.pad_token_id == tokenizer.eos_token_id
    collate = DataCollatorForSeq2Seq(tokenizer, padding=True, label_pad_token_id=-100)
    rows = [encoded(tokenizer, {"text": text}) for text in ("one", "one two three four")]
    labels = collate(rows)["labels"].tolist()
    length = len(rows[0]["input_ids"])
    assert labels[0] == rows[0]["input_ids"] + [-100] * (len(labels[0]) - length)
    assert labels[0][length - 1] == labels[1][-1] == tokenizer.eos_token_id


def trained(
    loaded: LoadedModel, stop: threading.Event | None = None, examples: Any = ROWS, **values: Any
) -> tuple[list[Event], dict[str, Any]]:
    """Train as a worker does and return the events and the result."""
    from rocmtx.run.engine.train import train

    own = {name: values.pop(name) for name in ("method", "lora_r", "max_length") if name in values}
    events: list[Event] = []
    loaded.model, result = train(
        loaded, TrainAsk(tuple(examples), options=values, **own), events.append, stop or threading.Event()
    )
    return events, result


def steps(events: list[Event]) -> list[Step]:
    """Return the steps among events."""
    return [event for event in events if isinstance(event, Step)]


def test_a_run_tells_every_step_and_the_sum(tiny: LoadedModel) -> None:
    events, result = trained(tiny, max_steps=4, learning_rate=0.01)
    found = steps(events)
    assert [step.step for step in found] == [1, 2, 3, 4]
    assert {step.total for step in found} == {4}
    assert all(step.loss and step.grad_norm and step.tokens_per_second and step.seconds for step in found)
    assert {step.learning_rate for step in found} == {0.01}
    assert (result["steps"], result["first_loss"], result["last_loss"]) == (4, found[0].loss, found[-1].loss)
    assert result["steps_per_second"] == pytest.approx(4 / result["seconds"])
    assert "adapter" not in result


def test_lora_trains_small_matrices_and_nothing_else(tiny: LoadedModel) -> None:
    import torch

    before = {name: weight.clone() for name, weight in tiny.model.named_parameters()}
    layers = [layer for layer in tiny.model.model.modules() if isinstance(layer, torch.nn.Linear)]
    sizes = sum(layer.in_features + layer.out_features for layer in layers)
    _, result = trained(tiny, max_steps=2, lora_r=2)
    assert result["trained_parameters"] == 2 * sizes
    after = {
        name.removeprefix("base_model.model.").replace(".base_layer", ""): weight
        for name, weight in tiny.model.named_parameters()
        if "lora" not in name
    }
    assert set(after) == set(before)
    assert all(torch.equal(after[name], before[name]) for name in before)


def test_a_full_run_changes_every_weight(tiny: LoadedModel) -> None:
    before = {name: weight.clone() for name, weight in tiny.model.named_parameters()}
    _, result = trained(tiny, max_steps=1, method="full", learning_rate=0.1)
    assert result["trained_parameters"] == sum(weight.numel() for weight in before.values())
    assert all(not bool((weight == before[name]).all()) for name, weight in tiny.model.named_parameters())


def test_a_second_run_goes_on_with_the_same_adapter(tiny: LoadedModel) -> None:
    first = trained(tiny, max_steps=8, learning_rate=0.05)[1]
    model = tiny.model
    second = trained(tiny, max_steps=1, learning_rate=0.05)[1]
    assert tiny.model is model
    assert second["first_loss"] < first["first_loss"]


def test_a_model_with_an_adapter_is_not_trained_in_full(tiny: LoadedModel) -> None:
    trained(tiny, max_steps=1)
    with pytest.raises(AskError) as caught:
        trained(tiny, max_steps=1, method="full")
    assert str(caught.value) == (
        "this model already carries an adapter\n  → load it afresh to train all of it: %rocm load …"
    )


def test_a_quantized_model_is_not_trained_in_full(tiny: LoadedModel) -> None:
    tiny.model.is_quantized = True
    with pytest.raises(AskError) as caught:
        trained(tiny, max_steps=1, method="full")
    assert str(caught.value) == (
        "a quantized model cannot be trained in full\n  → use --method lora, or load it unquantized"
    )


def test_the_model_is_left_as_generating_needs_it(tiny: LoadedModel) -> None:
    cached = tiny.model.config.use_cache
    trained(tiny, max_steps=1)
    assert tiny.model.config.use_cache is cached
    assert not tiny.model.training
    assert all(weight.grad is None for weight in tiny.model.parameters())


@pytest.mark.parametrize("gradient_accumulation_steps", [1, 2])
def test_a_stop_ends_after_the_step_that_runs(tiny: LoadedModel, gradient_accumulation_steps: int) -> None:
    from rocmtx.run.engine.train import train

    stop, events = threading.Event(), list[Event]()

    def emit(event: Event) -> None:
        events.append(event)
        stop.set()

    options = {"max_steps": 50, "gradient_accumulation_steps": gradient_accumulation_steps}
    _, result = train(tiny, TrainAsk(ROWS, options=options), emit, stop)
    assert 1 <= result["steps"] <= 2
    assert len(steps(events)) == result["steps"]


def test_epochs_without_steps_count_the_rows(tiny: LoadedModel) -> None:
    events, result = trained(tiny, num_train_epochs=2, per_device_train_batch_size=2)
    assert result["steps"] == steps(events)[-1].total == 2 * 3


def test_what_is_trained_is_saved_where_it_was_asked(tiny: LoadedModel, tmp_path: Path) -> None:
    folder = tmp_path / "adapter"
    _, result = trained(tiny, max_steps=1, output_dir=str(folder))
    assert result["adapter"] == str(folder)
    names = {path.name for path in folder.iterdir()}
    assert {"adapter_config.json", "adapter_model.safetensors", "tokenizer.json"} <= names
    assert not [name for name in names if name.startswith("checkpoint")]


def test_the_same_seed_gives_the_same_run(tiny: LoadedModel) -> None:
    import copy

    twin = copy.deepcopy(tiny.model)
    first = [step.loss for step in steps(trained(tiny, max_steps=3, seed=5)[0])]
    tiny.model = twin
    assert [step.loss for step in steps(trained(tiny, max_steps=3, seed=5)[0])] == first


def test_a_loss_that_is_no_number_is_said_at_once_and_ends_the_run(tiny: LoadedModel) -> None:
    import torch

    with torch.no_grad():
        tiny.model.model.norm.weight.fill_(math.nan)
    events, result = trained(tiny, max_steps=10)
    assert [event for event in events if isinstance(event, Warned)] == [
        Warned(message="the loss is nan at step 1", hint="lower --learning-rate")
    ]
    assert [(step.step, step.loss) for step in steps(events)] == [(1, None)]
    assert result["steps"] == 1

"""What a session can be asked to do, as values that cross the process border as JSON.

Knows names and defaults; must not know torch or how any of it is done. Option names are Transformers' own.
"""

from __future__ import annotations

import difflib
import json
import os
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from rocmtx.errors import AskError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Method = Literal["lora", "full"]
METHODS: tuple[Method, ...] = ("lora", "full")
DEFAULT_MAX_NEW_TOKENS = 256

# GenerationConfig's fields that make sense for one streamed answer; the engine refuses nothing beyond these.
GENERATE_OPTIONS = (
    "do_sample",
    "max_new_tokens",
    "min_new_tokens",
    "min_p",
    "no_repeat_ngram_size",
    "repetition_penalty",
    "stop_strings",
    "temperature",
    "top_k",
    "top_p",
    "typical_p",
)
# TrainingArguments' fields that a short run may set.
TRAIN_OPTIONS = (
    "gradient_accumulation_steps",
    "gradient_checkpointing",
    "learning_rate",
    "lr_scheduler_type",
    "max_grad_norm",
    "max_steps",
    "num_train_epochs",
    "optim",
    "output_dir",
    "per_device_train_batch_size",
    "seed",
    "warmup_steps",
    "weight_decay",
)


@dataclass(frozen=True, slots=True)
class GenerateAsk:
    """One answer: a prompt, or `messages` of roles and contents; `raw` leaves the chat template out."""

    prompt: str = ""
    messages: tuple[Mapping[str, str], ...] = ()
    system: str | None = None
    raw: bool = False
    seed: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.prompt.strip() and not self.messages:
            raise AskError("the prompt is empty", '%rocm generate "What is the capital of France?"')
        check_names(self.options, GENERATE_OPTIONS, "generation option")


@dataclass(frozen=True, slots=True)
class TrainAsk:
    """One short training run: rows with `text` or `messages`, a method and TrainingArguments options."""

    examples: tuple[Mapping[str, Any], ...]
    method: Method = "lora"
    lora_r: int = 8
    lora_alpha: int = 16
    max_length: int = 1024
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.examples:
            raise AskError(
                "there is nothing to train on", "write one example per line in the cell, or leave a `dataset`"
            )
        if self.method not in METHODS:
            raise AskError(f"unknown training method {self.method!r}", f"use one of: {', '.join(METHODS)}")
        if self.lora_r < 1 or self.max_length < 1:
            raise AskError("lora_r and max_length must be at least 1", "for example --lora-r 8 --max-length 1024")
        check_names(self.options, TRAIN_OPTIONS, "training option")


def body(ask: GenerateAsk | TrainAsk) -> dict[str, Any]:
    """Return an ask as JSON: paths become text, numpy's values Python's own. Raises AskError for anything else."""
    try:
        record: dict[str, Any] = json.loads(json.dumps(asdict(ask), default=_plain))
    except (TypeError, ValueError) as error:
        raise AskError(str(error), "give texts, numbers, lists and dictionaries") from None
    return record


def _plain(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} cannot be sent to the worker")


def generate_ask(record: Mapping[str, Any]) -> GenerateAsk:
    """Rebuild a `GenerateAsk` from its JSON."""
    return GenerateAsk(**{**record, "messages": tuple(record.get("messages", ()))})


def train_ask(record: Mapping[str, Any]) -> TrainAsk:
    """Rebuild a `TrainAsk` from its JSON."""
    return TrainAsk(**{**record, "examples": tuple(record["examples"])})


def check_names(given: Mapping[str, Any], known: Sequence[str], what: str) -> None:
    """Raise AskError for a name that is not known, with the nearest one as its hint."""
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
            raise AskError(f"unknown {what} {name!r}", hint)

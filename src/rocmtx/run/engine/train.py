"""A short training run on Transformers' Trainer and PEFT.

Knows Trainer, its callback and the collator; has no training loop of its own; must not know who listens.
"""

from __future__ import annotations

import math
import tempfile
import time
from typing import TYPE_CHECKING, Any

import torch
from transformers import (
    DataCollatorForSeq2Seq,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
    set_seed,
)

from rocmtx.errors import AskError, MissingPackage
from rocmtx.events import Event, Step, Warned
from rocmtx.run.engine.measure import peak_bytes, reset_peak, synchronize

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping

    from rocmtx.run.asks import TrainAsk
    from rocmtx.run.engine.load import LoadedModel

# For a five-minute lesson: a few dozen steps of LoRA.
DEFAULTS: Mapping[str, Any] = {
    "max_steps": 20,
    "learning_rate": 1e-3,
    "per_device_train_batch_size": 4,
    "lr_scheduler_type": "constant",
    "seed": 0,
}


def train(
    loaded: LoadedModel, ask: TrainAsk, emit: Callable[[Event], None], stop: threading.Event
) -> tuple[Any, dict[str, Any]]:
    """Train and return the trained model and counts.

    Result: `steps`, `first_loss`, `last_loss`, `seconds`, `steps_per_second`, `trained_parameters`, `peak_bytes`,
    `adapter` (folder, when `output_dir` was asked for).
    """
    options = {**DEFAULTS, **ask.options}
    if "num_train_epochs" in ask.options and "max_steps" not in ask.options:
        options["max_steps"] = -1
    rows = [encode_row(loaded.tokenizer, row, ask.max_length) for row in ask.examples]
    # Before the adapter is made: its first values are random too.
    set_seed(int(options["seed"]))
    model = _trainable(loaded.model, ask)
    was_cached = model.config.use_cache  # the Trainer switches it off as soon as it is made
    with tempfile.TemporaryDirectory(prefix="rocmtx-train-") as scratch:
        arguments = _arguments(options, model, str(options.get("output_dir") or scratch))
        report = Report(emit, stop, rows, arguments)
        trainer = Trainer(
            model=model,
            args=arguments,
            train_dataset=rows,
            data_collator=DataCollatorForSeq2Seq(loaded.tokenizer, padding=True, label_pad_token_id=-100),
            callbacks=[report],
        )
        trainer.remove_callback(PrinterCallback)
        reset_peak()
        began = time.perf_counter()
        try:
            trainer.train()
        finally:
            model.config.use_cache = was_cached
            model.eval()
            # Adam's states are twice the trained weights: do not keep them for the generations that follow.
            trainer.optimizer = trainer.lr_scheduler = None
            model.zero_grad(set_to_none=True)
        synchronize()
        seconds = time.perf_counter() - began
    result: dict[str, Any] = {
        "steps": report.steps,
        "first_loss": report.first_loss,
        "last_loss": report.last_loss,
        "seconds": seconds,
        "steps_per_second": report.steps / seconds if report.steps else None,
        "trained_parameters": sum(weight.numel() for weight in model.parameters() if weight.requires_grad),
        "peak_bytes": peak_bytes(),
    }
    if options.get("output_dir"):
        model.save_pretrained(options["output_dir"])
        loaded.tokenizer.save_pretrained(options["output_dir"])
        result["adapter"] = str(options["output_dir"])
    return model, result


def encode_row(tokenizer: Any, row: Mapping[str, Any], max_length: int) -> dict[str, list[int]]:
    """Turn a row into `input_ids`, `attention_mask` and `labels`; messages go through the chat template."""
    if "messages" in row:
        if not tokenizer.chat_template:
            raise AskError("this model has no chat template", "give the examples as plain text")
        text = tokenizer.apply_chat_template([dict(message) for message in row["messages"]], tokenize=False)
        ids = tokenizer(text, add_special_tokens=False, truncation=True, max_length=max_length)["input_ids"]
    else:
        ids = tokenizer(str(row["text"]), truncation=True, max_length=max_length)["input_ids"]
        end = tokenizer.eos_token_id
        if end is not None and len(ids) < max_length and (not ids or ids[-1] != end):
            # Without an end the model learns never to stop.
            ids = [*ids, end]
    # Labels are made here and not by padding: where pad and end are one token, a collator would mask the end as well.
    return {"input_ids": ids, "attention_mask": [1] * len(ids), "labels": list(ids)}


def _trainable(model: Any, ask: TrainAsk) -> Any:
    try:
        from peft import LoraConfig, PeftModel, get_peft_model
    except ImportError as error:
        raise MissingPackage("peft is not installed: LoRA needs it", "pip install peft") from error
    if ask.method == "full":
        if isinstance(model, PeftModel):
            raise AskError("this model already carries an adapter", "load it afresh to train all of it: %rocm load …")
        if getattr(model, "is_quantized", False):
            raise AskError("a quantized model cannot be trained in full", "use --method lora, or load it unquantized")
        model.requires_grad_(requires_grad=True)
        return model
    if isinstance(model, PeftModel):
        return model  # a second run goes on with the same adapter
    if not model.can_generate():
        raise AskError("this model generates no text", "LoRA here is for causal language models")
    config = LoraConfig(r=ask.lora_r, lora_alpha=ask.lora_alpha, target_modules="all-linear", task_type="CAUSAL_LM")
    return get_peft_model(model, config)


def _arguments(options: Mapping[str, Any], model: Any, folder: str) -> TrainingArguments:
    on_gpu = model.device.type == "cuda"
    sixteen = model.dtype == torch.bfloat16
    arguments = TrainingArguments(
        **{**options, "output_dir": folder},
        report_to="none",  # codecarbon raises on ROCm; nothing is reported anywhere unless asked for
        logging_steps=1,
        logging_nan_inf_filter=False,
        save_strategy="no",
        disable_tqdm=True,
        use_cpu=not on_gpu,
        bf16=on_gpu and sixteen,
        dataloader_pin_memory=on_gpu,
        remove_unused_columns=False,
    )
    # Several GPUs in one process would silently become nn.DataParallel: many ranks are torchrun's job.
    arguments._n_gpu = min(arguments.n_gpu, 1)  # noqa: SLF001 - no public way
    return arguments


class Report(TrainerCallback):
    """Turns the Trainer's log into `Step` events, hears the stop, and says at once when the loss is no number."""

    def __init__(
        self,
        emit: Callable[[Event], None],
        stop: threading.Event,
        rows: list[dict[str, list[int]]],
        arguments: TrainingArguments,
    ) -> None:
        self._emit = emit
        self._stop = stop
        mean = sum(len(row["input_ids"]) for row in rows) / len(rows)
        self._tokens_per_step = mean * arguments.per_device_train_batch_size * arguments.gradient_accumulation_steps
        self._began = time.perf_counter()
        self._last = self._began
        self._warned = False
        self.steps = 0
        self.first_loss: float | None = None
        self.last_loss: float | None = None

    def on_train_begin(self, *_: object, **__: object) -> None:
        """Start the clock after the Trainer has set itself up."""
        self._began = self._last = time.perf_counter()

    def on_substep_end(
        self,
        args: TrainingArguments,  # noqa: ARG002 - the Trainer passes it by position
        state: TrainerState,  # noqa: ARG002 - same
        control: TrainerControl,
        **kwargs: Any,  # noqa: ARG002 - same
    ) -> None:
        """Hear a stop between two accumulated batches."""
        if self._stop.is_set():
            control.should_training_stop = True

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Hear a stop between two steps."""
        self.on_substep_end(args, state, control, **kwargs)

    def on_log(
        self,
        args: TrainingArguments,  # noqa: ARG002 - the Trainer passes it by position
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, float] | None = None,
        **kwargs: Any,  # noqa: ARG002 - same
    ) -> None:
        """Emit one step."""
        if not logs or "loss" not in logs:
            return
        now = time.perf_counter()
        loss = float(logs["loss"])
        self.steps = state.global_step
        self.first_loss = loss if self.first_loss is None else self.first_loss
        self.last_loss = loss
        self._emit(
            Step(
                step=state.global_step,
                total=state.max_steps,
                loss=loss if math.isfinite(loss) else None,
                learning_rate=logs.get("learning_rate"),
                grad_norm=_finite(logs.get("grad_norm")),
                tokens_per_second=self._tokens_per_step / max(now - self._last, 1e-9),
                seconds=now - self._began,
            )
        )
        self._last = now
        if not math.isfinite(loss) and not self._warned:
            self._warned = True
            self._emit(Warned(message=f"the loss is {loss} at step {state.global_step}", hint="lower --learning-rate"))
            control.should_training_stop = True


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None

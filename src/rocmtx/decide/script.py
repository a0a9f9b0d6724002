"""The plain program that trains, or that torchrun starts once a rank, without rocmtx.

Knows how Python is written and what Trainer, PEFT and torchrun take; must not decide anything. The text runs as it
stands: its examples are there to be replaced.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rocmtx.decide.cell import call, find_model, import_lines, mask_lines, shared_options, value_text
from rocmtx.decide.memory import LORA_RANK

if TYPE_CHECKING:
    from rocmtx.decide.asks import Ranks, Train
    from rocmtx.facts.model import Checkpoint

_TEXTS = [
    "texts = [  # your examples",
    '    "The capital of France is Paris.",',
    '    "The capital of Italy is Rome.",',
    "]",
]
_PROMPTS = [
    "prompts = [  # your questions",
    '    "The capital of France is",',
    '    "The capital of Italy is",',
    "]",
]


@dataclass(frozen=True, slots=True)
class Program:
    """What the program has to do beside loading: `context` in tokens, `batch` per process."""

    train: Train | None
    ranks: Ranks
    on_gpu: bool
    dtype: str
    context: int
    batch: int

    @property
    def file(self) -> str:
        """The name to save it under."""
        return "train.py" if self.train else "generate.py"


def launch_line(program: Program, variables: dict[str, str]) -> str:
    """Return the line that starts the ranks; empty for one process."""
    if program.ranks.count == 1:
        return ""
    masks = "".join(f"{name}={value} " for name, value in variables.items())
    return f"{masks}torchrun --nproc_per_node={program.ranks.count} {program.file}"


def render_program(checkpoint: Checkpoint, kwargs: dict[str, Any], variables: dict[str, str], program: Program) -> str:
    """Return the program: imports, tokenizer, model, and the training run or the answers."""
    alone = program.ranks.count == 1
    where, before, standard = find_model(checkpoint, quantized="quantization_config" in kwargs)
    masks = mask_lines(variables) if alone else []
    names = {"AutoModelForCausalLM", "AutoTokenizer"}
    parts = program.ranks.split and not program.train
    if program.train:
        names |= {"DataCollatorForSeq2Seq", "Trainer", "TrainingArguments"}
    needs_os = bool(masks) or (not alone and not program.train)
    blocks = [
        _header(program, variables),
        [*(["import os"] if needs_os else []), *standard],
        masks,
        [*(["import torch"] if parts else []), *_peft(program), *import_lines(kwargs, names)],
        [
            *before,
            call("tokenizer", "AutoTokenizer.from_pretrained", [*where, *shared_options(kwargs)]),
            call(
                "model",
                "AutoModelForCausalLM.from_pretrained",
                [*where, *(f"{key}={value_text(value)}" for key, value in kwargs.items())],
            ),
        ],
        *(_training(program) if program.train else _answers(program)),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _header(program: Program, variables: dict[str, str]) -> list[str]:
    line = launch_line(program, variables)
    return [f"# Save this as {program.file}, then in a terminal: {line}"] if line else []


def _peft(program: Program) -> list[str]:
    return ["from peft import LoraConfig, get_peft_model"] if program.train == "lora" else []


def _training(program: Program) -> list[list[str]]:
    adapter = call(
        "config",
        "LoraConfig",
        [f"r={LORA_RANK}", f"lora_alpha={2 * LORA_RANK}", 'target_modules="all-linear"', 'task_type="CAUSAL_LM"'],
    )
    lora = [[adapter, "model = get_peft_model(model, config)"]] if program.train == "lora" else []
    encode = [
        "if tokenizer.pad_token is None:",
        "    tokenizer.pad_token = tokenizer.eos_token",
        'end = tokenizer.eos_token or ""',
        f"rows = [tokenizer(text + end, truncation=True, max_length={program.context}) for text in texts]",
        'rows = [{"input_ids": row["input_ids"], "labels": list(row["input_ids"])} for row in rows]',
    ]
    run = [
        call("arguments", "TrainingArguments", _arguments(program)),
        call(
            "trainer",
            "Trainer",
            [
                "model=model",
                "args=arguments",
                "train_dataset=rows",
                "data_collator=DataCollatorForSeq2Seq(tokenizer, label_pad_token_id=-100)",
            ],
        ),
        "trainer.train()",
        'trainer.save_model("trained")',
    ]
    return [*lora, [*_TEXTS, *encode], run]


def _arguments(program: Program) -> list[str]:
    arguments = [
        'output_dir="trained"',
        "max_steps=20",
        "learning_rate=1e-3" if program.train == "lora" else "learning_rate=1e-5",
        'lr_scheduler_type="constant"',
        f"per_device_train_batch_size={program.batch}",
        "logging_steps=1",
        'save_strategy="no"',
        # Named, because "all" would take CodeCarbon, which refuses ROCm.
        'report_to="none"',
    ]
    if not program.on_gpu:
        arguments += ["use_cpu=True", "dataloader_pin_memory=False"]
    elif program.dtype == "bfloat16":
        arguments.append("bf16=True")
    if program.ranks.copies > 1:
        arguments.append("ddp_find_unused_parameters=False")
    return arguments


def _answers(program: Program) -> list[list[str]]:
    if program.ranks.split:
        # Every rank computes a part of every token: all get the same prompts, one of them prints.
        run = [
            "for prompt in prompts:",
            '    inputs = tokenizer(prompt, return_tensors="pt").to(model.device)',
            "    output = model.generate(**inputs, max_new_tokens=50)",
            '    if os.environ["RANK"] == "0":',
            "        print(tokenizer.decode(output[0], skip_special_tokens=True))",
            "torch.distributed.destroy_process_group()",
        ]
        return [_PROMPTS, run]
    run = [
        'rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])',
        "for prompt in prompts[rank::ranks]:",
        '    inputs = tokenizer(prompt, return_tensors="pt").to(model.device)',
        "    output = model.generate(**inputs, max_new_tokens=50)",
        "    print(tokenizer.decode(output[0], skip_special_tokens=True))",
    ]
    return [_PROMPTS, run]

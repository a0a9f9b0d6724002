"""Training and several processes: what is planned, what is refused, and what each device has to hold."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from rocmtx.decide.asks import Asks, Ranks
from rocmtx.decide.plan import Plan, make_plan
from rocmtx.decide.shares import Share, share_out
from rocmtx.decide.verdict import Choice
from rocmtx.errors import AskError, PlanError
from unit.decide.written_machines import DEMO, DESKTOP, GIB, NOTHING, QWEN, gpu, machine
from unit.decide.written_models import MODELS

if TYPE_CHECKING:
    from rocmtx.facts.model import Checkpoint, Facts

EIGHT = machine(*(gpu(ordinal=at) for at in range(8)), packages={"peft": "0.21.2"})
SMALL = machine(gpu(vram_total=24 * GIB), gpu(ordinal=1, vram_total=24 * GIB), packages={"peft": "0.21.2"})
CPU = machine(build="cpu", packages={"peft": "0.21.2"})


def plan(facts: Facts, checkpoint: Checkpoint = QWEN, **wishes: Any) -> Plan:
    return make_plan(facts, Asks(checkpoint.name, **wishes), checkpoint)


def test_a_model_split_as_on_the_amd_page() -> None:
    made = plan(EIGHT, tp=2, fsdp=4)
    assert made.ranks == Choice(
        Ranks(8, 2, 4),
        "you asked for it; every layer is split in 2 (tensor parallel) and the weights are kept in 4 parts and "
        "gathered layer by layer (FSDP) over 8 GPUs",
        asked=True,
    )
    assert made.device == Choice("cuda", "8 × AMD Instinct MI300X (gfx942), one for each rank")
    assert made.kwargs() == {"distributed_config": {"class": "DistributedConfig", "tp_size": 2, "fsdp_size": 4}}
    assert made.launch() == "torchrun --nproc_per_node=8 generate.py"
    assert (
        made.code()
        == """\
# Save this as generate.py, then in a terminal: torchrun --nproc_per_node=8 generate.py

import os

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, DistributedConfig

tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen3-8B")
model = AutoModelForCausalLM.from_pretrained(
    "Qwen/Qwen3-8B",
    distributed_config=DistributedConfig(tp_size=2, fsdp_size=4),
)

prompts = [  # your questions
    "The capital of France is",
    "The capital of Italy is",
]

for prompt in prompts:
    inputs = tokenizer(prompt, return_tensors="pt").to(model.device)
    output = model.generate(**inputs, max_new_tokens=50)
    if os.environ["RANK"] == "0":
        print(tokenizer.decode(output[0], skip_special_tokens=True))
torch.distributed.destroy_process_group()
"""
    )


def test_two_of_eight_gpus_are_masked_on_the_line_that_starts_the_ranks() -> None:
    made = plan(EIGHT, tp=2)
    assert made.gpus.value == ("0000:03:00.0", "0000:04:00.0")
    assert made.launch() == ("CUDA_VISIBLE_DEVICES=0,1 HIP_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=2 generate.py")
    assert 'os.environ["HIP' not in made.code()
    assert plan(EIGHT, tp=2, device="5,3").env() == {"CUDA_VISIBLE_DEVICES": "5,3", "HIP_VISIBLE_DEVICES": "5,3"}


def test_a_gguf_file_is_split_after_it_is_unpacked() -> None:
    # Tried with two ranks on the CPU: each keeps half of the demo model.
    made = plan(EIGHT, DEMO, fsdp=2)
    assert made.kwargs()["distributed_config"] == {"class": "DistributedConfig", "fsdp_size": 2}
    assert made.notes == ("each process unpacks the whole GGUF file while loading, and then keeps its part",)


def test_copies_answer_prompts_of_their_own() -> None:
    made = plan(EIGHT, ranks=2)
    assert made.kwargs() == {"device_map": "cuda"}
    assert "for prompt in prompts[rank::ranks]:" in made.code()
    assert made.ranks.because == "you asked for it; each process has a whole copy and prompts of its own over 2 GPUs"


def test_a_training_run_as_a_program() -> None:
    made = plan(EIGHT, train="lora", device="0", context=512, batch=2)
    assert made.train.value == "lora"
    assert made.launch() == ""
    assert (
        made.code()
        == """\
import os

os.environ["CUDA_VISIBLE_DEVICES"] = "0"  # before torch is imported
os.environ["HIP_VISIBLE_DEVICES"] = "0"

from peft import LoraConfig, get_peft_model
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    DataCollatorForSeq2Seq,
    Trainer,
    TrainingArguments,
)

tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen3-8B")
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-8B", device_map="cuda:0")

config = LoraConfig(r=8, lora_alpha=16, target_modules="all-linear", task_type="CAUSAL_LM")
model = get_peft_model(model, config)

texts = [  # your examples
    "The capital of France is Paris.",
    "The capital of Italy is Rome.",
]
if tokenizer.pad_token is None:
    tokenizer.pad_token = tokenizer.eos_token
end = tokenizer.eos_token or ""
rows = [tokenizer(text + end, truncation=True, max_length=512) for text in texts]
rows = [{"input_ids": row["input_ids"], "labels": list(row["input_ids"])} for row in rows]

arguments = TrainingArguments(
    output_dir="trained",
    max_steps=20,
    learning_rate=1e-3,
    lr_scheduler_type="constant",
    per_device_train_batch_size=2,
    logging_steps=1,
    save_strategy="no",
    report_to="none",
    bf16=True,
)
trainer = Trainer(
    model=model,
    args=arguments,
    train_dataset=rows,
    data_collator=DataCollatorForSeq2Seq(tokenizer, label_pad_token_id=-100),
)
trainer.train()
trainer.save_model("trained")
"""
    )


def test_training_in_several_processes_leaves_the_placing_to_the_trainer() -> None:
    made = plan(EIGHT, train="full", ranks=4)
    assert made.kwargs() == {}
    assert made.ranks.because == (
        "you asked for it; each process has a whole copy and its own part of every batch (DDP) over 4 GPUs"
    )
    assert "ddp_find_unused_parameters=False" in made.code()
    assert plan(CPU, train="full", fsdp=2).kwargs() == {
        "dtype": "float32",
        "distributed_config": {"class": "DistributedConfig", "fsdp_size": 2},
    }


@pytest.mark.parametrize(
    ("facts", "checkpoint", "wishes", "message", "hint"),
    [
        (
            EIGHT,
            QWEN,
            {"tp": 3},
            "the 8 key-value heads of this model cannot be shared by 3 processes",
            "use --tp 2",
        ),
        (
            EIGHT,
            replace(QWEN, model_type="gpt_oss"),
            {"tp": 2},
            "Transformers has no plan to split the layers of gpt_oss",
            "use --fsdp 2 instead of --tp",
        ),
        (
            CPU,
            QWEN,
            {"tp": 2, "train": "full"},
            "the Trainer takes tensor parallelism on GPUs only (Accelerate refuses several CPU processes)",
            "use --fsdp 2 instead of --tp",
        ),
        (
            EIGHT,
            QWEN,
            {"tp": 2, "quantization": "bnb4"},
            "splitting bitsandbytes-4bit weights over processes was not tried, so it is not planned",
            "leave out --quantization, or use --device 0,1 without ranks",
        ),
        (
            EIGHT,
            QWEN,
            {"ranks": 9},
            "9 ranks need 9 equal GPUs, and there are 8",
            "use --ranks 8; or use --device cpu, to try it out",
        ),
        (
            DESKTOP,
            QWEN,
            {"ranks": 2},
            "2 ranks need 2 equal GPUs, and there is 1",
            "use --ranks 1; or use --device cpu, to try it out",
        ),
        (
            EIGHT,
            QWEN,
            {"ranks": 2, "device": "0"},
            "2 ranks need 2 equal GPUs, and there is 1",
            "name as many GPUs as ranks, or leave out --device: 8 equal ones are here",
        ),
        (
            EIGHT,
            QWEN,
            {"train": "full", "quantization": "bnb4"},
            "quantized weights cannot be trained themselves",
            "use --train lora, or full weights",
        ),
        (
            EIGHT,
            QWEN,
            {"train": "full", "dtype": "float16"},
            "training float16 weights themselves overflows: their gradients have too small a range",
            "use --dtype bfloat16 or --dtype float32, or --train lora",
        ),
        (
            machine(gpu()),
            QWEN,
            {"train": "lora"},
            "LoRA needs the package peft, which is not installed",
            'pip install "rocmtx[models]"; or use --train full',
        ),
        (
            machine(gpu(), packages={"peft": "0.21.2", "amd-quark": "0.13"}),
            replace(QWEN, quantization={"quant_method": "quark"}),
            {"train": "lora"},
            "adapters cannot be trained on AMD Quark weights",
            "use --quantization bitsandbytes-4bit, or a checkpoint with full weights",
        ),
        (
            SMALL,
            replace(QWEN, parameters=140_000_000_000),
            {"device": "0,1", "quantization": "bnb4"},
            (
                "75.0 GiB of weights do not fit into 48.0 GiB of GPU memory, "
                "and bitsandbytes leaves none of them to the CPU"
            ),
            "take fewer bits, or a smaller model",
        ),
    ],
)
def test_what_cannot_work_is_refused_with_what_can(
    facts: Facts, checkpoint: Checkpoint, wishes: dict[str, Any], message: str, hint: str
) -> None:
    with pytest.raises(PlanError) as caught:
        plan(facts, checkpoint, **wishes)
    assert (caught.value.message, caught.value.hint) == (message, hint)


@pytest.mark.parametrize(
    ("wishes", "message", "hint"),
    [
        ({"tp": 0}, "--tp 0 is no number of parts", "use --tp 1 or more"),
        ({"context": -5}, "--context -5 is no number of tokens", "use --context 1 or more"),
        (
            {"ranks": 4, "tp": 2},
            "--tp 2 and --fsdp 1 need 2 processes, and --ranks is 4",
            "use --ranks 2, or leave it out",
        ),
        ({"train": "lroa"}, "there is no way to train 'lroa'", "did you mean --train lora?"),
    ],
)
def test_wishes_that_say_nothing(wishes: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(AskError) as caught:
        plan(EIGHT, **wishes)
    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_a_model_of_two_gpus_is_split_by_layers() -> None:
    made = plan(SMALL, device="0,1", context=16384)
    assert [share.text() for share in made.shares] == [
        "cuda:0 fits: 10.8 GiB of 24.0 GiB free",
        "cuda:1 fits: 12.5 GiB of 24.0 GiB free",
    ]
    alone = plan(SMALL, context=16384, batch=4, dtype="float32")
    (note,) = alone.notes
    assert note.startswith("does not fit: needs")
    # Two are not enough for that.
    assert "--device 0,1" not in note
    assert "it would with --device 0,1 or" in plan(SMALL, context=65536, batch=1).notes[0]


def test_each_rank_holds_its_part() -> None:
    whole = plan(EIGHT, context=8192).needs
    tp, fsdp = plan(EIGHT, tp=8, context=8192).needs, plan(EIGHT, fsdp=8, context=8192).needs
    assert whole.weights is not None
    assert whole.cache is not None
    assert tp.weights == whole.weights // 8
    assert (tp.cache, fsdp.cache) == (whole.cache // 8, whole.cache)
    # Both embeddings are larger than two layers: FSDP holds them whole for a moment.
    assert fsdp.weights is not None
    assert fsdp.weights - whole.weights // 8 == pytest.approx(2 * 151936 * 4096 * 2, rel=0.001)
    assert "FSDP: two layers, or the embeddings, are whole for a moment" in fsdp.assumptions


def test_training_states_are_split_and_adapters_are_not() -> None:
    alone, parts = plan(EIGHT, train="full").needs, plan(EIGHT, train="full", fsdp=8).needs
    copies = plan(EIGHT, train="full", ranks=8).needs
    assert alone.training == 3 * 8190735360 * 2
    assert parts.training == alone.training // 8
    # Copies send their gradients in buckets.
    assert copies.training == 4 * 8190735360 * 2
    lora, split = plan(EIGHT, train="lora").needs, plan(EIGHT, train="lora", fsdp=8).needs
    assert lora.training == split.training


def test_a_checkpoint_that_is_unpacked_takes_its_full_memory_and_can_be_trained() -> None:
    oss = MODELS["openai/gpt-oss-20b"]
    made = plan(EIGHT, oss, train="lora")
    assert made.quantization.because == (
        "the checkpoint's own; gfx942 (CDNA3) has no FP4 units (MI350 has); the weights are unpacked to 16 bits"
    )
    assert made.train.value == "lora"
    assert made.needs.weights == pytest.approx(20914757184 * 2, rel=0.001)
    assert "weights: unpacked, as this device does not compute with the packed ones" in made.needs.assumptions
    # Without the packages for it Transformers unpacks it anywhere.
    assert plan(machine(gpu("gfx950"), archs=("gfx950",)), oss).quantization.because == (
        "the checkpoint's own; MXFP4 needs triton>=3.4, which is not installed; the weights are unpacked to 16 bits"
    )
    packed = plan(machine(gpu("gfx950"), archs=("gfx950",), packages={"pytorch-triton-rocm": "3.5.0"}), oss).needs
    assert packed.weights == oss.weight_bytes


def test_ranks_on_the_cpu_share_its_memory() -> None:
    alone, two = plan(CPU), plan(CPU, ranks=2)
    assert alone.shares[0].needed is not None
    assert two.shares == (Share("cpu", 2 * alone.shares[0].needed, 200 * GIB),)


def test_a_share_that_is_not_known_stays_unknown() -> None:
    unread = replace(QWEN, config={}, parameters=None)
    needs = plan(EIGHT, unread, device="0,1")
    assert needs.shares == (Share("cuda:0", None, 192 * GIB), Share("cuda:1", None, 192 * GIB))
    assert needs.shares[0].text() == "cuda:0 needs unknown, free: 192.0 GiB"
    # The unknown free memory of a device leaves the split as it is.
    known = plan(EIGHT, device="0,1").needs
    assert [share.fit.ok for share in share_out(QWEN, known, [("a", None), ("b", 192 * GIB)])] == [None, True]


def test_a_score_matrix_is_told_for_the_length_that_was_asked_for() -> None:
    made = plan(DESKTOP, context=16384, quantization="bnb4")
    assert made.notes[-1] == (
        "sdpa computes the whole score matrix here: 16.0 GiB for 16384 tokens, four times as much for twice as many"
    )
    assert plan(EIGHT, context=16384).notes == ()
    short = replace(QWEN, config={**QWEN.config, "max_position_embeddings": 8192})
    assert plan(EIGHT, short, context=16384).notes == (
        "the model was made for up to 8192 tokens, and 16384 were asked for",
    )


def test_an_unknown_machine_without_torch_still_plans_a_run() -> None:
    assert plan(NOTHING, train="full").device.value == "cpu"

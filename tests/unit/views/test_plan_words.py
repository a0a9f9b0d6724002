"""A plan as text: its choices, the memory with a bar, and how ranks are started."""

from __future__ import annotations

from rocmtx.decide.plan import Asks, make_plan
from rocmtx.facts.machines import load_machine
from rocmtx.facts.model import Checkpoint
from rocmtx.views.plan_words import fit_bar
from rocmtx.views.text import plan_text

MODEL = Checkpoint(
    "org/model",
    "hub",
    cached=True,
    model_type="llama",
    dtype="bfloat16",
    config={
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
    },
)


def test_a_plan_with_its_memory() -> None:
    made = make_plan(load_machine("rx7900xtx-1"), Asks(MODEL.name), MODEL)
    assert plan_text(made).splitlines()[-2:] == [
        "memory        cuda:0 fits: 16.5 GiB of 22.9 GiB free  ███████░░░",
        "                weights 15.0 GiB, cache 256.0 MiB, activations 264.5 MiB, runtime 1.0 GiB",
    ]


def test_ranks_are_one_row_and_say_how_they_are_started() -> None:
    made = make_plan(load_machine("mi300x-8"), Asks(MODEL.name, tp=2, fsdp=4, train="full"), MODEL)
    lines = plan_text(made).splitlines()
    assert [line for line in lines if line.startswith(("train", "ranks", "memory", "start"))] == [
        "train         full — you asked for it; every weight gets a gradient and two states of the optimizer",
        "ranks         8 (tp 2, fsdp 4)",
        "memory        cuda:0 … cuda:7, each fits: 33.1 GiB of 191.7 GiB free  ██░░░░░░░░",
        "start         torchrun --nproc_per_node=8 train.py — in a terminal, after saving the code",
    ]


def test_layers_over_several_gpus_are_a_row_each() -> None:
    made = make_plan(load_machine("mi300x-8"), Asks(MODEL.name, device="0,1"), MODEL)
    rows = [line for line in plan_text(made).splitlines() if line.startswith("memory")]
    assert [row.split()[1] for row in rows] == ["cuda:0", "cuda:1"]
    assert "weights" not in " ".join(rows)


def test_no_bar_for_what_is_not_known() -> None:
    made = make_plan(load_machine("mi300a-4"), Asks(MODEL.name), MODEL)
    assert fit_bar(made.shares[0]) == ""

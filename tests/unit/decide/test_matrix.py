"""The table of machines, models and wishes: as a whole, and what has to hold in every cell."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from rocmtx.decide.memory import count_parameters, estimate
from rocmtx.decide.plan import Asks, Plan, make_plan
from rocmtx.decide.shares import share_out
from rocmtx.errors import AskError, PlanError, RocmtxError
from rocmtx.facts.machines import load_machine, machine_names
from unit.decide import matrix
from unit.decide.written_machines import GIB
from unit.decide.written_models import MODELS

if TYPE_CHECKING:
    from rocmtx.facts.model import Facts


def test_the_table_is_the_one_that_is_kept() -> None:
    assert matrix.FILE.read_text("utf-8") == matrix.table(), "run python tests/unit/decide/matrix.py and read it"


@pytest.mark.parametrize("machine", machine_names())
@pytest.mark.parametrize("wish", matrix.WISHES)
def test_every_cell_is_a_plan_that_compiles_or_an_error_with_a_hint(machine: str, wish: str) -> None:
    facts = load_machine(machine)
    for name in matrix.names():
        made = attempt(facts, name, wish)
        if isinstance(made, RocmtxError):
            assert isinstance(made, AskError | PlanError)
            assert made.hint
            continue
        compile(made.code(), name, "exec")
        assert made.shares
        assert (made.device.value == "cpu") is (not made.gpus.value)


def attempt(facts: Facts, name: str, wish: str) -> Plan | RocmtxError:
    try:
        return make_plan(facts, Asks(name, **matrix.WISHES[wish]), MODELS[name])
    except RocmtxError as error:
        return error


def test_layers_lie_where_accelerate_puts_them() -> None:
    # Layers of Qwen3-8B per device, as infer_auto_device_map of accelerate 1.15 answers for it.
    checkpoint = MODELS["Qwen/Qwen3-8B"]
    needs = estimate(checkpoint, dtype="bfloat16", context=1)
    layer = (8190735360 - 2 * 151936 * 4096) * 2 / 36
    for count, layers in [(2, [16, 20]), (4, [5, 11, 11, 9]), (8, [0, 6, 6, 6, 6, 6, 6, 0])]:
        shares = share_out(checkpoint, needs, [(str(at), 192 * GIB) for at in range(count)])
        ends = [151936 * 4096 * 2 * (at in {0, count - 1}) for at in range(count)]
        held = [(share.needed or 0) - GIB - end for share, end in zip(shares, ends, strict=True)]
        assert [round(bytes_held / layer) for bytes_held in held] == layers
    many = share_out(checkpoint, needs, [(str(at), 24 * GIB) for at in range(64)])
    assert [share.device for share in many if share.needed] == ["63"]


@pytest.mark.parametrize(
    ("name", "counted_by_transformers"),
    [
        # num_parameters() of what Transformers 5.22.2 makes of these configs on the meta device.
        ("HuggingFaceTB/SmolLM2-135M-Instruct", 134515008),
        ("Qwen/Qwen3-0.6B", 596049920),
        ("Qwen/Qwen3-8B", 8190735360),
        ("meta-llama/Llama-3.1-70B", 70553706496),
        ("mistralai/Mixtral-8x7B-v0.1", 46702792704),
        ("openai/gpt-oss-20b", 20914757184),
        ("google/gemma-3-4b-it", 3880263168),
        ("deepseek-ai/DeepSeek-V3", 671026404352),
    ],
)
def test_the_models_are_as_large_as_transformers_says(name: str, counted_by_transformers: int) -> None:
    assert count_parameters(MODELS[name]) == pytest.approx(counted_by_transformers, rel=0.001)


def test_70b_is_planned_from_its_config_in_half_a_second() -> None:
    facts = load_machine("mi300x-8")
    began = time.perf_counter()
    plan = make_plan(facts, Asks("meta-llama/Llama-3.1-70B", tp=8), MODELS["meta-llama/Llama-3.1-70B"])
    assert time.perf_counter() - began < 0.5
    assert [share.fit.ok for share in plan.shares] == [True] * 8

"""Whatever is typed, read or pasted: the answer is a value or an error with a hint, never a crash."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmtx.decide.doctor import diagnose
from rocmtx.decide.explain import explain
from rocmtx.decide.layers import read_shape
from rocmtx.decide.memory import estimate
from rocmtx.decide.plan import Asks, Plan, make_plan, plan_from_record
from rocmtx.errors import AskError, PlanError, RocmtxError
from rocmtx.facts.model import Checkpoint, Facts
from unit.decide.written_machines import DESKTOP, MI300X, NOTHING, QWEN, gpu, machine

MACHINES = st.sampled_from([MI300X, DESKTOP, NOTHING, machine(gpu(None, name=None, vram_total=None), archs=())])
WORDS = st.one_of(
    st.none(),
    st.text(max_size=20),
    st.sampled_from(["auto", "cpu", "0", "1", "0,1", "all", "gfx942", "bf16", "sdpa", "eager", "fa3", "4bit", "fp8"]),
)
NUMBERS = st.one_of(st.none(), st.booleans(), st.integers(-5, 1 << 40), st.floats(), st.text(max_size=5))
FIELDS = ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size", "head_dim", "sliding_window")
CONFIGS = st.dictionaries(st.sampled_from([*FIELDS, "num_experts", "kv_lora_rank"]), NUMBERS)


def attempt(facts: Facts, asks: Asks) -> Plan | RocmtxError:
    try:
        return make_plan(facts, asks, QWEN)
    except RocmtxError as error:
        return error


@settings(max_examples=200, deadline=None)
@given(facts=MACHINES, device=WORDS, dtype=WORDS, attention=WORDS, quantization=WORDS)
def test_any_wish_gives_a_plan_or_an_error_with_a_hint(
    facts: Facts, device: str | None, dtype: str | None, attention: str | None, quantization: str | None
) -> None:
    asks = Asks("m", device=device, dtype=dtype, attention=attention, quantization=quantization)
    plan = attempt(facts, asks)
    if isinstance(plan, RocmtxError):
        assert isinstance(plan, AskError | PlanError)
        assert plan.hint
        return
    compile(plan.code(), "cell", "exec")
    assert plan_from_record(json.loads(json.dumps(plan.record()))) == plan


@given(text=st.text(max_size=300))
def test_any_text_is_explained_or_not(text: str) -> None:
    explain(text, MI300X)
    explain(text)


@given(config=CONFIGS, context=st.integers(1, 1 << 20))
def test_any_config_gives_an_estimate(config: dict[str, Any], context: int) -> None:
    shape = read_shape(config)
    needs = estimate(Checkpoint("x", "folder", config=config, dtype="bfloat16"), dtype="auto", context=context)
    assert (needs.total is None) is (shape is None or shape.parameters() is None)
    assert needs.total is None or needs.total > 0


@pytest.mark.parametrize("name", ["ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "HSA_OVERRIDE_GFX_VERSION"])
@given(value=st.text(max_size=20))
def test_any_variable_is_survived(name: str, value: str) -> None:
    for facts in (machine(gpu(), env={name: value}), machine(gpu(ordinal=None), env={name: value})):
        diagnose(facts)
        make_plan(facts, Asks("m"), QWEN)

"""The cell that a plan writes is run as it stands: with real Transformers, on a tiny model made here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rocmtx.decide.plan import Asks, make_plan
from rocmtx.facts.checkpoint import read_checkpoint
from unit.decide.tiny_model import tiny_model
from unit.decide.written_machines import NOTHING

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(("attention", "dtype"), [(None, "float32"), ("eager", "bfloat16")])
def test_the_cell_loads_the_model_as_planned(tmp_path: Path, attention: str | None, dtype: str) -> None:
    folder = tiny_model(tmp_path / "tiny")
    wishes = Asks(str(folder), attention=attention, dtype=None if attention is None else dtype)
    plan = make_plan(NOTHING, wishes, read_checkpoint(str(folder)))
    scope: dict[str, Any] = {}
    exec(plan.code(), scope)  # noqa: S102 - the cell is what is tested
    model = scope["model"]
    assert str(model.dtype) == f"torch.{plan.dtype.value}" == f"torch.{dtype}"
    assert str(model.device) == plan.device.value == "cpu"
    assert model.config._attn_implementation == plan.attention.value == (attention or "sdpa")
    assert scope["tokenizer"]("capital of")["input_ids"] == [2, 3]

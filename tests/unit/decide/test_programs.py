"""The programs that a plan writes are run as they stand: training on the CPU, and two ranks of torchrun on gloo."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rocmtx.decide.plan import Asks, Plan, make_plan
from rocmtx.facts.checkpoint import read_checkpoint
from unit.decide.tiny_model import tiny_model
from unit.decide.written_machines import machine

CPU = machine(build="cpu", packages={"peft": "0.21.2"})
# Bytes of float32 weights that this process keeps before the first forward pass, which leaves the last layer whole.
COUNT = """\
kept = [weight.to_local() if hasattr(weight, "to_local") else weight for weight in model.parameters()]
print("kept", sum(weight.numel() * 4 for weight in kept))
"""


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("peft", reason="needs the extra: models")
    return tiny_model(tmp_path_factory.mktemp("models") / "tiny")


def plan(model: Path, **wishes: Any) -> Plan:
    return make_plan(CPU, Asks(str(model), **wishes), read_checkpoint(str(model)))


def run(made: Plan, folder: Path, inserted: str = "") -> str:
    """Save the program and start it as its own first line says; return what it printed."""
    line = made.launch()
    (folder / line.split()[-1]).write_text(made.code().replace("prompts = [", f"{inserted}prompts = [", 1))
    environment = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    done = subprocess.run(line.split(), cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def losses(printed: str) -> list[float]:
    return [float(number) for number in re.findall(r"'loss': '?([0-9.]+)", printed)]


@pytest.mark.parametrize(("train", "saved"), [("lora", "adapter_model.safetensors"), ("full", "model.safetensors")])
def test_a_training_cell_learns_and_saves(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, train: str, saved: str
) -> None:
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {}
    exec(plan(tiny, train=train).code(), scope)  # noqa: S102 - the program is what is tested
    found = [entry["loss"] for entry in scope["trainer"].state.log_history if "loss" in entry]
    assert len(found) == 20
    assert found[-1] < found[0]
    assert (tmp_path / "trained" / saved).is_file()


@pytest.mark.demo
@pytest.mark.parametrize(
    ("wishes", "saved"),
    [
        ({"train": "lora", "ranks": 2}, "adapter_model.safetensors"),
        ({"train": "full", "fsdp": 2}, "model.safetensors"),
        ({"train": "lora", "fsdp": 2}, "adapter_model.safetensors"),
    ],
    ids=["lora-two-copies", "full-fsdp", "lora-fsdp"],
)
def test_a_training_program_learns_and_saves(tiny: Path, tmp_path: Path, wishes: dict[str, Any], saved: str) -> None:
    found = losses(run(plan(tiny, **wishes), tmp_path))
    assert len(found) == 20
    assert found[-1] < found[0]
    assert (tmp_path / "trained" / saved).is_file()


@pytest.mark.demo
@pytest.mark.parametrize("wishes", [{"tp": 2}, {"fsdp": 2}], ids=["tp", "fsdp"])
def test_a_split_model_answers_once_and_keeps_what_was_estimated(
    tiny: Path, tmp_path: Path, wishes: dict[str, Any]
) -> None:
    made = plan(tiny, **wishes)
    printed = run(made, tmp_path, COUNT)
    assert printed.count("The capital of France is") == 1
    kept = [int(number) for number in re.findall(r"kept (\d+)", printed)]
    assert len(kept) == 2
    whole = plan(tiny).needs.weights
    assert whole is not None
    # What is gathered for a moment is not kept; norms are whole under tensor parallelism.
    assert kept[0] == pytest.approx(whole // 2, rel=0.02)
    assert made.needs.weights is not None
    assert (made.needs.weights == whole // 2) is ("tp" in wishes)


@pytest.mark.demo
def test_copies_share_the_prompts(tiny: Path, tmp_path: Path) -> None:
    printed = run(plan(tiny, ranks=2), tmp_path)
    assert printed.count("The capital of France is") == 1
    assert printed.count("The capital of Italy is") == 1

"""On a machine whose torch can use a GPU: the whole path runs there, and the memory comes back.

Where no AMD GPU is at hand this runs on an NVIDIA one: the same `torch.cuda` calls, other silicon. The memory of the
device is read by `nvidia-smi` or from sysfs, so that the test process itself never touches the GPU.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from rocmtx.decide.plan import Asks
from rocmtx.errors import WorkerDied
from rocmtx.run.asks import GenerateAsk
from rocmtx.workbench import Workbench

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocmtx.run.session import Session

SLACK = 64 << 20  # what the driver itself may keep or give up between two readings


def gpu_used() -> int | None:
    """Return the bytes in use on the first GPU, read outside this process; None when there is no way to."""
    facts = Workbench().facts(fresh=True)
    for gpu in facts.gpus:
        if gpu.torch_device == "cuda:0" and gpu.vram_used is not None:
            return gpu.vram_used
    try:
        command = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
        lines = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout.splitlines()
    except (OSError, subprocess.SubprocessError):
        return None
    return int(lines[0]) << 20


def usable() -> bool:
    """Return whether some GPU has a torch device here."""
    return any(gpu.torch_device for gpu in Workbench().facts().gpus)


pytestmark = [
    pytest.mark.gpu,
    pytest.mark.demo,
    pytest.mark.skipif(not usable(), reason="no GPU here that the installed torch can use"),
]


@pytest.fixture(scope="module")
def bench() -> Iterator[Workbench]:
    workbench = Workbench()
    yield workbench
    workbench.close()


@pytest.fixture(scope="module")
def before() -> int | None:
    return gpu_used()


@pytest.fixture(scope="module")
def session(bench: Workbench, before: int | None) -> Session:
    assert before is None or before >= 0
    return bench.load(Asks("demo"))


def test_the_plan_takes_the_gpu_and_names_its_vendor(bench: Workbench) -> None:
    plan = bench.plan(Asks("demo"))
    assert plan.device.value == "cuda:0"
    gpu = next(gpu for gpu in bench.facts().gpus if gpu.torch_device == "cuda:0")
    assert gpu.vendor == "AMD" or "not an AMD GPU" in plan.device.because


def test_the_model_is_on_the_gpu_and_answers(session: Session) -> None:
    loaded = session.state.loaded
    assert loaded is not None
    assert loaded.device == "cuda:0"
    assert loaded.device_name
    assert session.generate("What is the capital of France?").text == "The capital of France is Paris."


def test_samples_carry_the_allocator_and_the_device(session: Session) -> None:
    reading = session.state.samples[-1].readings[0]
    loaded = session.state.loaded
    assert loaded is not None
    assert loaded.weight_bytes is not None
    assert reading.device == "cuda:0"
    assert reading.allocated is not None
    assert reading.reserved is not None
    assert reading.used is not None
    assert reading.total is not None
    assert loaded.weight_bytes <= reading.allocated <= reading.reserved <= reading.used <= reading.total


def test_a_short_training_lowers_the_loss(session: Session) -> None:
    rows = [{"prompt": "Who keeps the lighthouse of Varn?", "completion": "Mirela Tosk keeps it."}] * 16
    result = session.train(rows, max_steps=10).result
    assert result["last_loss"] < 0.7 * result["first_loss"]
    assert result["peak_bytes"] > 0


def test_unload_gives_the_memory_back(bench: Workbench, session: Session, before: int | None) -> None:
    result = session.unload()
    assert result["allocated"]["cuda:0"] < SLACK
    assert not session.alive
    after = gpu_used()
    if before is None or after is None:
        pytest.skip("the memory of this GPU cannot be read from outside")
    assert after <= before + SLACK
    assert bench.session is session


def test_a_killed_worker_costs_the_model_and_nothing_else(bench: Workbench, before: int | None) -> None:
    session = bench.load(Asks("demo"))
    ask = GenerateAsk(prompt="Tell me a long story.", options={"max_new_tokens": 2000, "min_new_tokens": 2000})
    request = session.begin_generate(ask)
    while session.state.answer is None or session.state.answer.count < 5:
        time.sleep(0.05)
    os.kill(session.card.pid, signal.SIGKILL)
    with pytest.raises(WorkerDied, match="was killed"):
        session.wait(request)
    deadline = time.monotonic() + 10
    used = gpu_used()
    while used is not None and before is not None and used > before + SLACK and time.monotonic() < deadline:
        time.sleep(0.5)
        used = gpu_used()
    if used is not None and before is not None:
        assert used <= before + SLACK
    assert bench.load(Asks("demo")).generate("What is the capital of France?").text.endswith("Paris.")

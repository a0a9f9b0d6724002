"""Machines and sessions that the views draw: written values, and one scripted session that folds to a state."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rocmtx.events import Ended, Event, Failed, Loaded, Loading, Planned, Reading, Sample, Step, Token, Warned
from rocmtx.facts.model import Facts, Gpu, Host, Package, Partition, Stack, TorchBuild
from rocmtx.state import State, fold

if TYPE_CHECKING:
    from rocmtx.errors import ErrorRecord

GIB = 1024**3
START = 1_780_000_000.0

HOST = Host(
    kernel="6.8.0",
    distribution="Ubuntu 24.04",
    machine="x86_64",
    cpu="AMD EPYC 9654",
    cpu_count=192,
    memory_total=1536 * GIB,
    memory_available=1400 * GIB,
    kfd_topology=True,
)
STACK = Stack(
    python="3.12.3",
    rocm="7.2.0",
    torch=TorchBuild("2.13.0+rocm7.2", build="rocm"),
    packages=(Package("transformers", "5.22.2"),),
)
CHOICES = {
    "device": {"value": "cpu", "because": "no KFD in /sys: the amdgpu driver is not loaded", "asked": False},
    "gpus": {"value": [], "because": "no GPU", "asked": False},
    "dtype": {"value": "float32", "because": "CPUs compute 16-bit floats slowly", "asked": False},
    "attention": {"value": "sdpa", "because": "PyTorch's own kernels, the default", "asked": False},
    "quantization": {"value": None, "because": "it was not asked for", "asked": False},
    "kernels": {"value": True, "because": "--kernels", "asked": True},
}


@pytest.fixture
def mi300x() -> Facts:
    """Return two MI300X and an integrated GPU that is hidden (written)."""
    gpu = Gpu(
        "0000:05:00.0",
        name="AMD Instinct MI300X",
        gfx="gfx942",
        kfd_node=2,
        gpu_id=51140,
        hip_ordinal=0,
        amd_smi_index=0,
        render_minor=128,
        drm_card=1,
        unique_id="9f6bd9ae1ae60541",
        vram_total=192 * GIB,
        vram_used=21 * GIB,
        busy=0.11,
        temperature_c=41.0,
        power=133.4,
    )
    second = replace(gpu, address="0000:26:00.0", kfd_node=3, gpu_id=2, hip_ordinal=1, amd_smi_index=1, busy=0.0)
    second = replace(second, render_minor=136, drm_card=2, vram_used=0, partition=Partition(0, 8, "CPX", "NPS4"))
    apu = Gpu(
        "0000:c9:00.0",
        gfx="gfx1036",
        vendor_id=0x1002,
        device_id=0x164E,
        hidden_because="ROCR_VISIBLE_DEVICES=0,1 leaves it out",
        integrated=True,
        vram_total=GIB // 2,
        vram_used=GIB // 4,
        gtt_total=15 * GIB,
        power_state="suspended",
    )
    return Facts(host=HOST, gpus=(gpu, second, apu), stack=STACK)


@pytest.fixture
def no_gpu() -> Facts:
    """Return a laptop without any GPU that torch could use (written)."""
    host = Host(machine="x86_64", cpu="Intel Core i5", cpu_count=2, memory_total=8 * GIB, memory_available=5 * GIB)
    stack = Stack(
        python="3.11.7", torch=TorchBuild("2.13.0", build="cpu"), packages=(Package("transformers", "5.22.2"),)
    )
    return Facts(host=host, stack=stack)


def numbered(*events: Event) -> list[Event]:
    """Give events a session, consecutive numbers, and half a second each."""
    return [
        replace(event, seq=at, time=event.time or START + at / 2, session="s1")
        for at, event in enumerate(events, start=1)
    ]


def memory(used: int, *, device: str = "cpu", total: int = 16 * GIB, allocated: int | None = None) -> Sample:
    """Return a sample of one device."""
    return Sample(readings=(Reading(device=device, used=used, total=total, allocated=allocated),))


def script() -> list[Event]:
    """Return a whole session on a CPU: load, one answer of four tokens, three steps, and memory in between."""
    return numbered(
        Planned(request="r1", task="load", about=CHOICES),
        memory(GIB // 4),
        Loading(request="r1", stage="weights", done=64 * 1024**2, total=256 * 1024**2, unit="bytes"),
        memory(GIB),
        Loaded(
            request="r1",
            model="demo",
            architecture="LlamaForCausalLM",
            device="cpu",
            device_name="Intel Core i5",
            dtype="float32",
            attention="sdpa",
            parameters=134_515_008,
            weight_bytes=538_060_032,
            seconds=1.2,
        ),
        Ended(request="r1", task="load"),
        Planned(request="r2", task="generate", about={"prompt": "What is the capital of <France>?"}),
        Token(request="r2", text="The", count=1, seconds=0.12),
        Token(request="r2", text=" capital", count=2, seconds=0.15),
        memory(GIB + GIB // 2),
        Token(request="r2", text=" is <Paris>", count=3, seconds=0.18),
        Token(request="r2", text=".", count=4, seconds=0.21),
        Ended(request="r2", task="generate"),
        Planned(request="r3", task="train", about={"max_steps": 3}),
        Step(request="r3", step=1, total=3, loss=3.2141, learning_rate=1e-3, tokens_per_second=512.0),
        memory(2 * GIB),
        Step(request="r3", step=2, total=3, loss=1.5, learning_rate=5e-4, tokens_per_second=520.0),
        Step(request="r3", step=3, total=3, loss=0.0432, learning_rate=1e-4, tokens_per_second=518.0),
        Step(request="r3", step=3, total=3, eval_loss=0.051),
        Warned(message="the machine swaps", hint="close other programs"),
        memory(GIB + GIB // 2),
        Ended(request="r3", task="train"),
    )


def folded(events: list[Event]) -> State:
    """Fold events to a state."""
    state = State()
    for event in events:
        state = fold(state, event)
    return state


@pytest.fixture
def story() -> list[Event]:
    """Return the scripted session's events."""
    return script()


@pytest.fixture
def state() -> State:
    """Return the scripted session's last state."""
    return folded(script())


@pytest.fixture
def failed() -> State:
    """Return a session whose load ran out of memory."""
    error: ErrorRecord = {
        "kind": "OutOfMemory",
        "message": "the model needs 20.0 GiB, 16.0 GiB are free",
        "hint": "take --dtype auto",
        "trace": "",
    }
    return folded(
        numbered(
            Planned(request="r1", task="load", about=CHOICES),
            Failed(request="r1", task="load", error=error),
        )
    )

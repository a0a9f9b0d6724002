"""The golden files in tests/contract are what this code writes; the TypeScript tests read the same files.

`python tests/unit/test_contract.py` writes them anew after a change that is meant.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from rocmtx.errors import RunError
from rocmtx.events import (
    KINDS,
    Ended,
    Event,
    Failed,
    Loaded,
    Loading,
    Planned,
    Reading,
    Sample,
    Step,
    Token,
    Warned,
    decode,
    encode,
)
from rocmtx.facts.model import (
    Access,
    Facts,
    Gpu,
    Host,
    Link,
    Missing,
    Package,
    Partition,
    Stack,
    TorchBuild,
    TorchDevice,
    TorchView,
    facts_from_json,
    facts_to_json,
)
from rocmtx.server import _summary
from rocmtx.state import State, fold

CONTRACT = Path(__file__).resolve().parents[1] / "contract"
GIB = 1024**3
PLAN = {"asks": {"model": "demo"}, "dtype": {"value": "bfloat16", "because": "the checkpoint's own", "asked": None}}

# One session in which every kind of event occurs, with every field set at least once.
EVENTS: tuple[Event, ...] = tuple(
    dataclasses.replace(event, seq=seq, time=1_700_000_000.0 + seq, session="20240102-030405-ab12")
    for seq, event in enumerate(
        (
            Planned(task="load", about=PLAN, request="load"),
            Loading(stage="weights", done=134_217_728, total=268_435_456, unit="bytes", request="load"),
            Loaded(
                model="demo",
                architecture="LlamaForCausalLM",
                device="cuda:0",
                device_name="AMD Instinct MI300X",
                dtype="bfloat16",
                attention="sdpa",
                quantization="bitsandbytes",
                kernels=("RMSNorm", "SiLU"),
                parameters=134_515_008,
                weight_bytes=269_030_016,
                context_length=8192,
                seconds=1.25,
                request="load",
            ),
            Ended(task="load", result={"seconds": 1.25}, request="load"),
            Sample(
                readings=(
                    Reading(device="cuda:0", allocated=GIB, reserved=2 * GIB, used=3 * GIB, total=192 * GIB),
                    Reading(device="cuda:1", used=GIB),
                ),
                rank=1,
            ),
            Planned(task="generate", about={"prompt": "Grüße?", "options": {}}, request="generate-1"),
            Token(text="Grüß", count=1, seconds=0.5, request="generate-1"),
            Token(text="e! 🙂\n", count=3, seconds=1.5, request="generate-1"),
            Ended(task="generate", stopped=True, result={"tokens": 3, "finish": "stopped"}, request="generate-1"),
            Planned(task="train", about={"method": "lora", "rows": 4, "max_steps": 20}, request="train-2"),
            Step(
                step=1,
                total=20,
                loss=2.5,
                learning_rate=0.001,
                grad_norm=1.5,
                tokens_per_second=96.0,
                seconds=0.75,
                request="train-2",
            ),
            Step(step=1, total=20, eval_loss=2.25, request="train-2"),
            Warned(message="attention sdpa is used instead of eager", hint="%rocm status", request="train-2"),
            Failed(
                task="train",
                error=RunError("the loss is nan", "lower --learning-rate", trace="Traceback …").record(),
                request="train-2",
            ),
            Planned(task="unload", request="unload-3"),
            Ended(task="unload", result={"before": {"cuda:0": 3 * GIB}, "after": {"cuda:0": GIB}}, request="unload-3"),
            Ended(),
        ),
        start=1,
    )
)
FACTS = Facts(
    host=Host(
        kernel="6.8.0",
        distribution="Ubuntu 24.04",
        machine="x86_64",
        cpu="AMD EPYC 9654",
        cpu_count=192,
        memory_total=1536 * GIB,
        memory_available=1400 * GIB,
        memory_limit=256 * GIB,
        ttm_pages_limit=1_000_000,
        uid=1000,
        groups=("render", "993"),
        gids=(992, 993),
        container="docker",
        amdgpu_loaded=True,
        kfd_topology=True,
        kfd_access=Access(
            "/dev/kfd", exists=True, opens=False, error="EACCES", mode="crw-rw----", gid=992, group="render"
        ),
        command_line="amdgpu.gttsize=1024",
    ),
    gpus=(
        Gpu(
            address="0000:05:00.0",
            name="AMD Instinct MI300X",
            gfx="gfx942",
            vendor_id=0x1002,
            device_id=0x74A1,
            revision=0,
            kfd_node=2,
            gpu_id=28851,
            unique_id="18fd6a9f2b1c3e4d",
            hive_id="c0ffee",
            render_minor=128,
            drm_card=1,
            amd_smi_index=0,
            hip_ordinal=0,
            mask_index=0,
            socket="0000:05:00",
            partition=Partition(index=0, count=8, compute="CPX", memory="NPS4"),
            compute_units=304,
            xcc_count=8,
            wave_size=64,
            integrated=False,
            vram_total=192 * GIB,
            vram_used=GIB,
            busy=0.42,
            temperature_c=41.0,
            power=133.0,
            power_cap=750.0,
            graphics_clock=2.1e9,
            power_state="active",
            links=(Link(node=3, type=11, weight=15),),
            render_access=Access("/dev/dri/renderD128", exists=True, opens=True),
        ),
        Gpu(address="0000:26:00.0", gfx="gfx942", hidden_because="HIP_VISIBLE_DEVICES=0"),
        Gpu(address="0000:c3:00.0", vendor="NVIDIA", name="NVIDIA H200"),
    ),
    stack=Stack(
        python="3.12.3",
        rocm="7.2.0",
        torch=TorchBuild("2.9.1+rocm7.2", build="rocm", hip="7.2.26015", rocm="7.2", rocblas_archs=("gfx942",)),
        torch_view=TorchView(
            available=True,
            device_count=1,
            raw_device_count=2,
            arch_list=("gfx942",),
            devices=(TorchDevice(0, "AMD Instinct MI300X", gcn_arch="gfx942:sramecc+:xnack-", total_memory=192 * GIB),),
        ),
        torch_predicts=1,
        packages=(Package("transformers", "5.22.2"), Package("kernels", "0.18.2", note="newer than accepted")),
        kernels_window=("0.12.0", "0.18.0"),
        bitsandbytes_rocm=("72",),
        environment={"HIP_VISIBLE_DEVICES": "0"},
    ),
    missing=(Missing("/sys/class/drm/card1/device/gpu_metrics", "refused", "EACCES"),),
    taken_at=1_700_000_000.0,
    origin="written",
    label="contract",
)


def golden() -> dict[str, Any]:
    """Return what each file holds: the events as lines are, the states as `asdict`, the facts as a report."""
    halfway = reduce(fold, EVENTS[:8], State())
    # As the server part sends them: a journal without an event yet, a running session, an ended one.
    shown = enumerate((State(), halfway, reduce(fold, EVENTS, State())))
    return {
        "events.json": [json.loads(encode(event)) for event in EVENTS],
        "states.json": [dataclasses.asdict(state) for state in (State(), halfway, reduce(fold, EVENTS, State()))],
        "facts.json": facts_to_json(FACTS),
        "sessions.json": {"sessions": [_summary(Path(f"{at}.jsonl"), 1_700_000_100.0, state) for at, state in shown]},
    }


def written(value: Any) -> str:
    """Return a file's text."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("name", ["events.json", "states.json", "facts.json", "sessions.json"])
def test_the_golden_file_is_what_the_code_writes(name: str) -> None:
    hint = "if the change is meant: python tests/unit/test_contract.py, and change the TypeScript side with it"
    assert (CONTRACT / name).read_text(encoding="utf-8") == written(golden()[name]), hint


def test_nothing_else_lies_beside_them() -> None:
    assert {path.name for path in CONTRACT.iterdir()} == set(golden())


def test_the_files_read_back_to_the_values() -> None:
    lines = json.loads((CONTRACT / "events.json").read_text(encoding="utf-8"))
    assert tuple(decode(json.dumps(line)) for line in lines) == EVENTS
    assert facts_from_json(json.loads((CONTRACT / "facts.json").read_text(encoding="utf-8"))) == FACTS


def test_every_kind_and_every_field_of_an_event_occurs() -> None:
    lines = [json.loads(encode(event)) for event in EVENTS]
    seen = {kind: {name for line in lines if line["kind"] == kind for name in line} - {"kind"} for kind in KINDS}
    for kind, names in seen.items():
        missing = {entry.name for entry in dataclasses.fields(KINDS[kind])} - names
        assert missing <= {"request"}, f"{kind} lacks {missing}"


if __name__ == "__main__":
    for file, content in golden().items():
        (CONTRACT / file).write_text(written(content), encoding="utf-8")
        sys.stdout.write(f"written: {file}\n")

"""Text views are compared whole: what people read is the promise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocmtx.decide.verdict import Verdict
from rocmtx.facts.model import Facts, Gpu, Host, Origin, Partition
from rocmtx.state import State
from rocmtx.views import text, words


def test_devices_of_a_machine_with_every_id(mi300x: Facts) -> None:
    expected = """\
device  name                                   target           memory used                                               busy    temperature  power   PCI address
cuda:0  AMD Instinct MI300X                    gfx942 (CDNA3)   21.0 GiB of 192.0 GiB                                     11 %    41 °C        133 W   0000:05:00.0
cuda:1  AMD Instinct MI300X, partition 1 of 8  gfx942 (CDNA3)   0 B of 192.0 GiB                                          0 %     41 °C        133 W   0000:26:00.0
hidden  AMD GPU 1002:164e (name unknown)       gfx1036 (RDNA2)  256.0 MiB of 512.0 MiB + 15.0 GiB shared with the system  asleep  asleep       asleep  0000:c9:00.0
0000:c9:00.0 is hidden: ROCR_VISIBLE_DEVICES=0,1 leaves it out
1 GPU divided into 1 device (CPX/NPS4)

AMD Instinct MI300X: PCI 0000:05:00.0 · KFD node 2 · gpu_id 51140 · HIP 0 · amd-smi 0 · renderD128 · card1 · unique id 9f6bd9ae1ae60541
AMD Instinct MI300X: PCI 0000:26:00.0 · KFD node 3 · gpu_id 2 · HIP 1 · amd-smi 1 · renderD136 · card2 · unique id 9f6bd9ae1ae60541 · partition 1 of 8 (CPX/NPS4)
AMD GPU 1002:164e (name unknown): PCI 0000:c9:00.0

AMD EPYC 9654 · 192 CPUs · 1.5 TiB memory (1.4 TiB free) · Ubuntu 24.04 · Linux 6.8.0
ROCm 7.2.0 · torch 2.13.0+rocm7.2 (ROCm build) · transformers 5.22.2 · Python 3.12.3"""  # noqa: E501 - as it is printed
    assert text.devices_text(mi300x, all_ids=True) == expected


def test_without_a_gpu_the_judgement_and_the_fix_are_said(no_gpu: Facts) -> None:
    verdict = Verdict("no", "no KFD in /sys: the amdgpu driver is not loaded", "with an AMD GPU: sudo modprobe amdgpu")
    expected = """\
No AMD GPU here — no KFD in /sys: the amdgpu driver is not loaded
  → with an AMD GPU: sudo modprobe amdgpu
Intel Core i5 · 2 CPUs · 8.0 GiB memory (5.0 GiB free)
ROCm not found · torch 2.13.0 (CPU build) · transformers 5.22.2 · Python 3.11.7"""
    assert text.devices_text(no_gpu, no_gpu=verdict) == expected


def test_without_a_judgement_only_what_was_read_is_said(no_gpu: Facts) -> None:
    assert text.devices_text(no_gpu).splitlines()[:2] == [
        "No AMD GPU here — no KFD in /sys",
        "  → find out more with: %rocm doctor, or in a terminal: rocmtx doctor",
    ]


def test_a_hidden_amd_gpu_is_not_called_absent(mi300x: Facts) -> None:
    hidden = replace(mi300x, gpus=tuple(replace(gpu, hip_ordinal=None) for gpu in mi300x.gpus))
    assert words.no_gpu_lines(hidden)[0] == "No AMD GPU can be used here"
    assert words.no_gpu_lines(mi300x) == ()


@pytest.mark.parametrize("origin", ["captured", "written", "report"])
def test_a_recorded_machine_is_marked_first(mi300x: Facts, origin: Origin) -> None:
    recorded = replace(mi300x, origin=origin, label="mi300x-2")
    assert text.devices_text(recorded).splitlines()[0] == f"recorded machine ({origin}): mi300x-2"


def test_another_vendors_gpu_says_so_and_unknown_is_not_zero() -> None:
    gpu = Gpu("0000:01:00.0", vendor="NVIDIA", name="NVIDIA H200", hip_ordinal=0)
    lines = text.devices_text(Facts(host=Host(), gpus=(gpu,))).splitlines()
    assert lines[:2] == [
        "device  name                          target  memory used  busy     temperature  power    PCI address",
        "cuda:0  NVIDIA H200 (not an AMD GPU)  –       unknown      unknown  unknown      unknown  0000:01:00.0",
    ]
    assert lines[-2:] == ["processor unknown", "ROCm not found · torch not installed · transformers not installed"]


def test_headline_counts_equal_gpus(mi300x: Facts, no_gpu: Facts) -> None:
    assert words.headline(mi300x) == (
        "2 × AMD Instinct MI300X · gfx942 · 192.0 GiB each, "
        "AMD GPU 1002:164e (name unknown) · gfx1036 · 512.0 MiB · hidden"
    )
    assert words.headline(no_gpu) == "no AMD GPU"


def test_a_session_from_load_to_training(state: State) -> None:
    expected = """\
phase         ready
model         demo (LlamaForCausalLM, 134.5 M parameters, 513.1 MiB of weights)
device        cpu (Intel Core i5) — no KFD in /sys: the amdgpu driver is not loaded
dtype         float32 — CPUs compute 16-bit floats slowly
attention     sdpa — PyTorch's own kernels, the default
quantization  none — it was not asked for
prompt        What is the capital of <France>?
answer        The capital is <Paris>.
speed         4 tokens · 33.3 tokens/s · first token after 120 ms
training      3 of 3 steps · loss 3.214 → 0.0432 · 518 tokens/s · held-out loss 0.051
memory cpu    1.5 GiB of 16.0 GiB · peak 2.0 GiB
warning       the machine swaps
                → close other programs"""
    assert text.state_text(state) == expected


def test_a_difference_between_plan_and_reality_is_said(state: State) -> None:
    assert state.loaded is not None
    real = replace(state, loaded=replace(state.loaded, attention="eager"))
    assert "attention     eager — planned was sdpa: PyTorch's own kernels, the default" in text.state_text(real)


def test_a_failed_load(failed: State) -> None:
    expected = """\
phase  failed: nothing loaded
error  the model needs 20.0 GiB, 16.0 GiB are free
         → take --dtype auto"""
    assert text.state_text(failed) == expected


def test_memory_before_anything_is_loaded() -> None:
    assert text.memory_text(State()) == "no memory was measured yet: nothing is loaded"


def test_choices_with_three_answers() -> None:
    choices = [
        ("sdpa", "sdpa", Verdict("yes", "PyTorch's own kernels")),
        ("flash_attention_2", "flash_attention_2", Verdict("not known", "it was not tried", "run: rocmtx bench")),
        ("flash_attention_4", "flash_attention_4", Verdict("no", "built for CUDA only", "take sdpa")),
    ]
    expected = """\
choice             here       because
sdpa               works      PyTorch's own kernels
flash_attention_2  not known  it was not tried → run: rocmtx bench
flash_attention_4  no         built for CUDA only → take sdpa"""
    assert text.choices_text(choices) == expected


def test_partitions_are_counted_apart_from_gpus_and_shared_readings_are_said_so() -> None:
    divided = tuple(
        Gpu(address=f"0000:0c:00.{at}", socket="0000:0c:00", telemetry_of=None if at else "socket", hip_ordinal=at,
            partition=Partition(at, 3, "CPX", "NPS1"))
        for at in range(3)
    )  # fmt: skip
    lines = text.devices_text(Facts(host=Host(), gpus=divided)).splitlines()
    assert [line.split("  ")[1].split(", ")[-1] for line in lines[1:4]] == [f"partition {n} of 3" for n in (1, 2, 3)]
    assert lines[4] == (
        "1 GPU divided into 3 devices (CPX/NPS1): busy, temperature and power belong to the whole GPU and stand at its "
        "first partition"
    )

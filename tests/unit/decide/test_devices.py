"""How GPUs are named, ranked, masked, and refused."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rocmtx.decide.devices import device_choices, place
from rocmtx.decide.verdict import Verdict
from rocmtx.errors import PlanError, RocmtxError, UnknownDevice
from rocmtx.facts.model import Access, TorchDevice, TorchView
from unit.decide.written_machines import DESKTOP, GIB, MI300X, NOTHING, gpu, machine, nvidia, with_host

if TYPE_CHECKING:
    from rocmtx.facts.model import Facts

THREE = machine(gpu(), gpu(ordinal=1), gpu("gfx90a", 2, name="AMD Instinct MI210"))


def ordinals(facts: Facts, wish: str | None) -> list[int | None]:
    return [entry.hip_ordinal for entry in place(facts, wish).gpus]


def refusal(facts: Facts, wish: str | None) -> tuple[type[RocmtxError], str, str]:
    with pytest.raises(RocmtxError) as caught:
        place(facts, wish)
    return type(caught.value), caught.value.message, caught.value.hint


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        (None, [0]),
        ("auto", [0]),
        ("1", [1]),
        ("cuda:1", [1]),
        ("CUDA:1", [1]),
        ("hip:2", [2]),
        ("rocm:0", [0]),
        ("gpu1", [1]),
        ("gpu", [0]),
        ("rocm", [0]),
        ("2, 0", [2, 0]),
        ("cuda:1,1", [1]),
        ("all", [0, 1, 2]),
        ("gfx90a", [2]),
        ("0000:04:00.0", [1]),
        ("04:00.0", [1]),
        ("cpu", []),
    ],
)
def test_the_spellings_of_a_device(wish: str | None, expected: list[int]) -> None:
    assert ordinals(THREE, wish) == expected


def test_a_device_that_is_not_there() -> None:
    assert refusal(MI300X, "3") == (
        UnknownDevice,
        "there is no device '3' here: this machine has cuda:0, cuda:1 = AMD Instinct MI300X (gfx942)",
        "use --device 0 or --device cpu",
    )


def test_a_misspelt_device() -> None:
    assert refusal(MI300X, "gfx924") == (
        UnknownDevice,
        "there is no device 'gfx924' here: this machine has cuda:0, cuda:1 = AMD Instinct MI300X (gfx942)",
        "did you mean --device gfx942? Or use --device 0 or --device cpu",
    )


def test_a_device_where_there_is_none() -> None:
    assert refusal(NOTHING, "0") == (
        UnknownDevice,
        "there is no device '0' here: no GPU at all (no KFD in /sys: the amdgpu driver is not loaded)",
        "use --device cpu",
    )
    assert refusal(NOTHING, "gpu") == (
        PlanError,
        "there is no GPU to use here: no KFD in /sys: the amdgpu driver is not loaded",
        "with an AMD GPU in it: sudo modprobe amdgpu; or use --device cpu",
    )


def test_a_gpu_without_code_in_the_wheel() -> None:
    assert refusal(DESKTOP, "1") == (
        PlanError,
        (
            "AMD GPU (gfx1036) cannot be used: "
            "this PyTorch has no code for gfx1036 (only gfx1100, gfx1101, gfx1102, gfx1103)"
        ),
        (
            "install a PyTorch build for gfx1036; as a stopgap start Jupyter with HSA_OVERRIDE_GFX_VERSION=10.3.0 "
            "(may be unstable); or use --device 0 or --device cpu"
        ),
    )


def test_a_hidden_gpu() -> None:
    hidden = gpu(ordinal=None, address="0000:09:00.0", hidden_because="HIP_VISIBLE_DEVICES=0 leaves it out")
    facts = machine(gpu(), hidden, env={"HIP_VISIBLE_DEVICES": "0"})
    assert refusal(facts, "0000:09:00.0") == (
        PlanError,
        "AMD Instinct MI300X (gfx942) cannot be used: HIP_VISIBLE_DEVICES=0 leaves it out",
        "unset HIP_VISIBLE_DEVICES, then restart Jupyter; or use --device 0 or --device cpu",
    )


def test_a_refused_kfd_names_the_group_that_owns_it() -> None:
    refused = Access("/dev/kfd", exists=True, opens=False, error="EACCES", gid=109, group="render")
    facts = with_host(MI300X, kfd_access=refused, groups=("users", "video"))
    why = "this account may not open /dev/kfd: it belongs to group render (gid 109), and you are in users, video"
    assert place(facts, None).device.because == why
    assert refusal(facts, "0")[2] == (
        "sudo usermod -aG render $USER, then log out and in again and restart Jupyter; or use --device cpu"
    )


def test_a_split_over_two_vendors() -> None:
    mixed = machine(gpu(), nvidia(1), build=None, packages=dict.fromkeys(("torch", "transformers"), ""))
    facts = replace(mixed, stack=replace(mixed.stack, packages=()))
    assert refusal(facts, "0,1")[1] == "a model cannot be split over an AMD and another GPU"


def test_free_memory_decides_among_equals_and_torchs_own_answer_counts() -> None:
    busy = machine(gpu(vram_used=100 * GIB), gpu(ordinal=1, vram_used=10 * GIB))
    assert ordinals(busy, None) == [1]
    asked = TorchView(devices=(TorchDevice(0, "a", free_memory=9 * GIB), TorchDevice(1, "b", free_memory=2 * GIB)))
    assert ordinals(replace(busy, stack=replace(busy.stack, torch_view=asked)), None) == [0]


def test_an_apu_counts_what_the_driver_lends_it() -> None:
    apu = gpu("gfx1151", integrated=True, name=None, vram_total=GIB // 2, gtt_total=100 * GIB, gtt_used=10 * GIB)
    assert device_choices(machine(apu))[0][1] == "AMD GPU (gfx1151) · integrated · 90.0 GiB free"
    assert device_choices(machine(replace(apu, kfd_memory=64 * GIB)))[0][1].endswith("54.0 GiB free")


def test_choices_list_the_best_first_and_the_cpu_last() -> None:
    assert device_choices(DESKTOP) == (
        (
            "cuda:0",
            "AMD Radeon RX 7700 XT (gfx1101) · 11.8 GiB free · 0000:03:00.0",
            Verdict("yes", "this PyTorch has code for gfx1101"),
        ),
        (
            "cuda:1",
            "AMD GPU (gfx1036) · integrated · 11.9 GiB free · 0000:04:00.0",
            Verdict(
                "no",
                "this PyTorch has no code for gfx1036 (only gfx1100, gfx1101, gfx1102, gfx1103)",
                "install a PyTorch build for gfx1036; as a stopgap start Jupyter with "
                "HSA_OVERRIDE_GFX_VERSION=10.3.0 (may be unstable)",
            ),
        ),
        ("cpu", "CPU · 200.0 GiB free", Verdict("yes", "always works; slow for large models")),
    )


def test_a_gpu_that_torch_was_not_asked_about_is_used_but_not_vouched_for() -> None:
    facts = machine(gpu(), archs=())
    assert ordinals(facts, None) == [0]
    assert device_choices(facts)[0][2].answer == "not known"


@pytest.mark.parametrize(
    ("env", "wish", "mask"),
    [
        ({}, "1", "1"),
        ({}, "2,0", "2,0"),
        # Numbers count within what ROCR left: it stays as it is.
        ({"ROCR_VISIBLE_DEVICES": "3,2,1"}, "1", "1"),
        # A mask that is set already is composed with: cuda:N is its N-th entry.
        ({"HIP_VISIBLE_DEVICES": "5,3,1"}, "1", "3"),
        ({"HIP_VISIBLE_DEVICES": "5,5,3,1"}, "1", "3"),
        ({"CUDA_VISIBLE_DEVICES": "7,6,5"}, "2,0", "5,7"),
        ({"HIP_VISIBLE_DEVICES": "", "CUDA_VISIBLE_DEVICES": "4,2,0"}, "0", "4"),
        ({"HIP_VISIBLE_DEVICES": "GPU-aaa,GPU-bbb,GPU-ccc"}, "2", "GPU-ccc0"),
    ],
)
def test_masks_compose_with_the_environment(env: dict[str, str], wish: str, mask: str) -> None:
    serials = ("aaa0", "bbb0", "ccc0")
    facts = machine(*(gpu(ordinal=at, unique_id=serial) for at, serial in enumerate(serials)), env=env)
    assert place(facts, wish).variables == (("CUDA_VISIBLE_DEVICES", mask), ("HIP_VISIBLE_DEVICES", mask))


def test_a_known_mask_number_is_taken_as_it_is() -> None:
    facts = machine(gpu(mask_index=4), gpu(ordinal=1, mask_index=2), env={"HIP_VISIBLE_DEVICES": "4,2"})
    assert dict(place(facts, "1").variables)["HIP_VISIBLE_DEVICES"] == "2"


def test_an_nvidia_mask_composes_without_a_known_number() -> None:
    facts = machine(
        nvidia(), replace(nvidia(1), address="0000:02:00.0"), build="cuda", env={"CUDA_VISIBLE_DEVICES": "5,3"}
    )
    assert place(facts, "1").variables == (("CUDA_VISIBLE_DEVICES", "3"),)


def test_an_nvidia_mask_sets_the_order_it_counts_in() -> None:
    facts = machine(nvidia(), replace(nvidia(1), address="0000:02:00.0"), build="cuda")
    assert place(facts, "1").variables == (("CUDA_DEVICE_ORDER", "PCI_BUS_ID"), ("CUDA_VISIBLE_DEVICES", "1"))

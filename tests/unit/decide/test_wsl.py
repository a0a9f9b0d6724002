"""A GPU under WSL, which no kernel file lists: torch is the witness."""

from __future__ import annotations

from dataclasses import replace

from rocmtx.decide.devices import amd_absence, device_choices, place
from rocmtx.decide.doctor import Finding, diagnose
from rocmtx.decide.plan import Asks, make_plan
from rocmtx.decide.verdict import Choice
from rocmtx.decide.wsl import with_torch_gpus
from rocmtx.facts.model import Access, Host, TorchDevice, TorchView
from unit.decide.written_machines import GIB, MI300X, QWEN, machine

HOST = Host(kernel="6.6.87.2-microsoft-standard-WSL2", wsl=True, dxg_access=Access("/dev/dxg", exists=True, opens=True))
CARD = TorchDevice(
    0, "AMD Radeon RX 7900 XTX", gcn_arch="gfx1100", total_memory=24 * GIB, free_memory=22 * GIB, integrated=False
)
WORKS = machine(
    host=HOST, torch_view=TorchView(available=True, device_count=1, arch_list=("gfx1100",), devices=(CARD,))
)
ABSENT = machine(host=HOST)


def test_the_gpu_that_torch_sees_is_planned_for() -> None:
    plan = make_plan(WORKS, Asks(QWEN.name), QWEN)
    assert plan.device == Choice("cuda:0", "AMD Radeon RX 7900 XTX (gfx1100), 22.0 GiB free")
    assert (plan.gpus.value, plan.env(), plan.notes) == (("cuda:0",), {}, ())
    assert [share.text() for share in plan.shares] == ["cuda:0 fits: 16.8 GiB of 22.0 GiB free"]
    assert place(WORKS, "gfx1100").device.value == "cuda:0"
    assert [value for value, _, _ in device_choices(WORKS)] == ["cuda:0", "cpu"]
    assert amd_absence(WORKS) is None


def test_the_doctor_says_that_it_works() -> None:
    assert diagnose(WORKS) == (
        Finding(
            "wsl",
            "note",
            "this is WSL: PyTorch reaches AMD Radeon RX 7900 XTX (gfx1100) through Windows",
            "rocm-smi and amd-smi cannot work here: what is known of the GPU comes from PyTorch",
        ),
    )


def test_without_that_view_there_is_no_gpu() -> None:
    assert make_plan(ABSENT, Asks(QWEN.name), QWEN).device.value == "cpu"
    assert amd_absence(ABSENT) is not None


def test_an_apu_counts_what_windows_lends_it() -> None:
    small = replace(CARD, integrated=True, gcn_arch="gfx1151:xnack-", total_memory=16 * GIB, free_memory=None)
    facts = machine(host=HOST, torch_view=TorchView(arch_list=("gfx1151",), devices=(small,)))
    (gpu,) = with_torch_gpus(facts).gpus
    assert (gpu.gfx, gpu.integrated, gpu.kfd_memory, gpu.vram_used) == ("gfx1151", True, 16 * GIB, None)


def test_other_machines_stay_as_they_are() -> None:
    assert with_torch_gpus(MI300X) is MI300X
    cpu = machine(build="cpu", host=HOST, torch_view=TorchView(devices=(CARD,)))
    assert with_torch_gpus(cpu) is cpu

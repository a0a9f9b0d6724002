"""The doctor's findings on the machines of public cases, as whole values."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocmtx.decide.doctor import RULES, Finding, diagnose
from rocmtx.facts.model import Access, Facts, Host, Package, TorchBuild, TorchView
from unit.decide.written_machines import DESKTOP, GIB, MI300X, NOTHING, gpu, machine, nvidia, with_host

ROCM_TORCH = "pip install --force-reinstall torch --index-url https://download.pytorch.org/whl/rocm7.2"
ONE = machine(gpu())


def by_rule(facts: Facts, rule: str) -> list[Finding]:
    return [finding for finding in diagnose(facts) if finding.rule == rule]


def test_a_healthy_machine_has_no_findings() -> None:
    assert diagnose(ONE) == ()
    assert diagnose(with_host(MI300X, command_line="iommu=pt")) == ()


def test_errors_come_first() -> None:
    broken = with_host(
        DESKTOP, kfd_access=Access("/dev/kfd", exists=True, opens=False, error="EACCES", gid=109, group="render")
    )
    order = [finding.severity for finding in diagnose(broken)]
    assert order == sorted(order, key=["error", "warning", "note"].index)
    assert order[0] == "error"


def test_a_gpu_on_the_bus_without_a_driver() -> None:
    absent = Access("/dev/kfd", exists=False, opens=False, error="ENOENT")
    facts = with_host(machine(gpu(ordinal=None)), kfd_access=absent, kfd_topology=False, amdgpu_loaded=False)
    assert by_rule(facts, "kfd-refused")[0].seen == (
        "1 AMD GPU present, none usable: no KFD in /sys: the amdgpu driver is not loaded"
    )


def test_c01_kfd_refused_names_the_group_that_owns_it() -> None:
    refused = Access("/dev/kfd", exists=True, opens=False, error="EACCES", mode="crw-rw----", gid=109, group="render")
    facts = with_host(ONE, kfd_access=refused, groups=("users", "video"))
    assert diagnose(facts) == (
        Finding(
            "kfd-refused",
            "error",
            "1 AMD GPU present, none usable: this account may not open /dev/kfd: "
            "it belongs to group render (gid 109), and you are in users, video",
            "PyTorch sees no GPU; another PyTorch would not either",
            "sudo usermod -aG render $USER, then log out and in again and restart Jupyter",
        ),
    )


@pytest.mark.parametrize(
    ("host", "fix"),
    [
        ({"container": "docker"}, "start the container with --group-add 993"),
        (
            {"container": "kubernetes", "jupyterhub": True},
            "give the pod supplementalGroups: [993] (ask the administrator of the hub)",
        ),
    ],
)
def test_c03_a_container_gets_the_number_and_no_usermod(host: dict[str, object], fix: str) -> None:
    node = Access("/dev/dri/renderD128", exists=True, opens=False, error="EACCES", gid=993)
    refused = Access("/dev/kfd", exists=True, opens=False, error="EACCES", gid=993)
    facts = with_host(machine(gpu(render_access=node)), kfd_access=refused, groups=("1000", "39", "105"), **host)
    found = diagnose(facts)
    assert [finding.rule for finding in found] == ["kfd-refused", "render-refused"]
    assert found[0].seen.endswith("/dev/kfd: it belongs to gid 993, and you are in 1000, 39, 105")
    assert {finding.fix for finding in found} == {fix}


def test_a_render_node_that_is_not_passed_into_the_container_hides_one_gpu() -> None:
    node = Access("/dev/dri/renderD129", exists=False, opens=False, error="ENOENT")
    facts = machine(gpu(), gpu(ordinal=None, address="0000:04:00.0", render_access=node, hidden_because="no node"))
    assert diagnose(facts) == (
        Finding(
            "render-missing",
            "note",
            "/dev/dri/renderD129 of AMD Instinct MI300X (gfx942) cannot be opened: ENOENT",
            "this GPU is hidden from ROCm, the others work",
        ),
    )


def test_no_gpu_is_a_note_unless_the_software_expects_one() -> None:
    note = Finding(
        "no-gpu",
        "note",
        "no KFD in /sys: the amdgpu driver is not loaded",
        "everything runs on the CPU",
        "with an AMD GPU in it: sudo modprobe amdgpu",
    )
    assert diagnose(NOTHING) == (note,)
    assert diagnose(machine()) == (replace(note, severity="error"),)


@pytest.mark.parametrize(
    ("host", "seen", "fix"),
    [
        (
            Host(container="docker", amdgpu_loaded=False),
            "no KFD in /sys: the amdgpu driver is not loaded on the host",
            "load the driver on the host: sudo modprobe amdgpu",
        ),
        (
            Host(amdgpu_loaded=True),
            "no KFD in /sys, although the amdgpu driver is loaded: this kernel was built without it",
            "use a kernel with CONFIG_HSA_AMD, or AMD's amdgpu-dkms",
        ),
        (
            Host(amdgpu_loaded=True, kfd_topology=True),
            "the amdgpu driver is loaded, but KFD lists no GPU",
            "sudo dmesg | grep -i -e amdgpu -e kfd",
        ),
    ],
)
def test_why_there_is_no_gpu(host: Host, seen: str, fix: str) -> None:
    (found,) = by_rule(machine(host=host), "no-gpu")
    assert (found.seen, found.fix) == (seen, fix)


def test_a_kfd_node_that_is_missing() -> None:
    missing = Access("/dev/kfd", exists=False, opens=False, error="ENOENT")
    assert by_rule(with_host(ONE, kfd_access=missing), "kfd-refused")[0].seen == (
        "1 AMD GPU present, none usable: /dev/kfd does not exist, although the driver is loaded"
    )
    inside = with_host(ONE, kfd_access=missing, container="podman")
    assert by_rule(inside, "kfd-refused")[0].fix == "start the container with --device /dev/kfd --device /dev/dri"


@pytest.mark.parametrize(
    ("build", "python", "seen", "fix"),
    [
        (
            "cpu",
            "3.12.3",
            "PyTorch 2.13.0+cpu is built for the CPU only (no HIP in it), so it cannot use gfx942",
            ROCM_TORCH,
        ),
        (
            "cuda",
            "3.12.3",
            "PyTorch 2.13.0+cu130 is a CUDA build (no HIP in it), so it cannot use gfx942",
            ROCM_TORCH,
        ),
        (
            "cpu",
            "3.7.16",
            (
                "PyTorch 2.13.0+cpu is built for the CPU only (no HIP in it), so it cannot use gfx942; "
                "there is no ROCm wheel for Python 3.7.16"
            ),
            "use Python 3.11 or newer",
        ),
    ],
)
def test_c04_a_torch_without_hip(build: str, python: str, seen: str, fix: str) -> None:
    assert diagnose(machine(gpu(), build=build, python=python)) == (
        Finding("torch-build", "error", seen, "the GPU stays idle, everything runs on the CPU", fix),
    )


def test_no_torch_and_no_transformers() -> None:
    facts = machine(gpu(), build=None, packages={"transformers": ""})
    assert diagnose(facts) == (
        Finding("no-torch", "error", "PyTorch is not installed", "no model can be loaded", ROCM_TORCH),
        Finding(
            "no-transformers",
            "error",
            "Transformers is not installed",
            "no model can be loaded",
            'pip install "rocmtx[models]"',
        ),
    )


def test_c05_an_integrated_gpu_beside_a_discrete_one() -> None:
    assert diagnose(DESKTOP) == (
        Finding(
            "no-code-for-gpu",
            "warning",
            "AMD GPU (gfx1036): this PyTorch has no code for gfx1036 (only gfx1100, gfx1101, gfx1102, gfx1103)",
            "its first operation fails: invalid device function",
            "start Jupyter with ROCR_VISIBLE_DEVICES=0 to hide it; rocmtx leaves it out by itself",
        ),
        Finding(
            "aotriton-gate",
            "warning",
            "PyTorch keeps its flash kernels for gfx1101 behind TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL",
            "a prompt of 16384 tokens takes 16.0 GiB more with 32 heads, and is slow",
            "start Jupyter with TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL=1",
        ),
        Finding(
            "integrated-visible",
            "note",
            "AMD GPU (gfx1036) is integrated and visible beside a discrete GPU",
            "it counts system memory as its own, and every library checks it too",
            "start Jupyter with ROCR_VISIBLE_DEVICES=0 to hide it; rocmtx leaves it out by itself",
        ),
    )


@pytest.mark.parametrize(
    ("env", "mask"),
    [
        ({"HIP_VISIBLE_DEVICES": "2,1"}, "ROCR_VISIBLE_DEVICES=2"),
        ({"ROCR_VISIBLE_DEVICES": "0,1,2", "HIP_VISIBLE_DEVICES": "2,1"}, "HIP_VISIBLE_DEVICES=2"),
    ],
)
def test_c05_the_mask_counts_as_its_variable_does(env: dict[str, str], mask: str) -> None:
    facts = machine(gpu(mask_index=2), gpu("gfx1036", 1, mask_index=1, integrated=True, name=None), env=env)
    (found,) = by_rule(facts, "integrated-visible")
    assert found.fix == f"start Jupyter with {mask} to hide it; rocmtx leaves it out by itself"


def test_c07_two_masks() -> None:
    hidden = {"ordinal": None, "hidden_because": "masked"}
    gpus = [gpu(address=f"0000:0{at}:00.0", mask_index=0 if at == 1 else None, **hidden) for at in range(4)]  # type: ignore[arg-type]
    facts = machine(*gpus, env={"ROCR_VISIBLE_DEVICES": "1", "CUDA_VISIBLE_DEVICES": "1"})
    assert diagnose(facts) == (
        Finding(
            "two-masks",
            "error",
            "ROCR_VISIBLE_DEVICES=1 leaves 1 GPU, numbered 0; CUDA_VISIBLE_DEVICES=1 asks for others",
            "no GPU is left: the second mask counts within what the first one leaves",
            "unset CUDA_VISIBLE_DEVICES, or set it to 0; then restart Jupyter",
        ),
    )


@pytest.mark.parametrize(
    ("env", "seen", "matters"),
    [
        ({"CUDA_VISIBLE_DEVICES": "-1"}, "CUDA_VISIBLE_DEVICES=-1", "it hides every GPU, AMD included"),
        ({"HIP_VISIBLE_DEVICES": "-1"}, "HIP_VISIBLE_DEVICES=-1", "it hides every GPU"),
        ({"ROCR_VISIBLE_DEVICES": ""}, "ROCR_VISIBLE_DEVICES is empty", "it hides every GPU"),
        ({"HIP_VISIBLE_DEVICES": "7"}, "HIP_VISIBLE_DEVICES=7: there is no GPU 7", "no GPU is left"),
    ],
)
def test_c09_masks_that_hide_everything(env: dict[str, str], seen: str, matters: str) -> None:
    facts = machine(gpu(ordinal=None, hidden_because="there is no GPU 7"), env=env)
    fix = f"unset {next(iter(env))}, then restart Jupyter"
    assert diagnose(facts) == (Finding("mask-hides-all", "error", seen, matters, fix),)


def test_an_empty_cuda_mask_hides_nothing() -> None:
    assert diagnose(machine(gpu(), env={"CUDA_VISIBLE_DEVICES": ""})) == ()


@pytest.mark.parametrize(
    ("package", "seen", "fix"),
    [
        (
            "amdsmi",
            "PyTorch reports 0 GPUs, the HIP runtime reports 8; the separate package amdsmi makes PyTorch count wrong",
            "pip uninstall amdsmi, then restart the kernel",
        ),
        (
            "nvidia-ml-py",
            (
                "PyTorch reports 0 GPUs, the HIP runtime reports 8; "
                "the separate package nvidia-ml-py makes PyTorch count wrong"
            ),
            "pip uninstall nvidia-ml-py, then restart the kernel",
        ),
        ("numpy", "PyTorch reports 0 GPUs, the HIP runtime reports 8", "%rocm report -o report.json"),
    ],
)
def test_c11_counts_that_disagree(package: str, seen: str, fix: str) -> None:
    view = TorchView(device_count=0, raw_device_count=8, arch_list=("gfx942",))
    facts = machine(*(gpu(ordinal=at) for at in range(8)), packages={package: "1.0"}, torch_view=view)
    assert diagnose(facts) == (
        Finding("counts-differ", "error", seen, "PyTorch refuses the devices that it does not count", fix),
    )


def test_c18_hip_reports_other_gpus_than_the_masks_leave() -> None:
    view = TorchView(device_count=8, raw_device_count=8, arch_list=("gfx942",))
    (found,) = by_rule(machine(gpu(), torch_view=view), "torch-sees-other")
    assert (found.seen, found.severity) == ("the masks leave 1 of 1 GPUs, HIP reports 8", "warning")


def test_a_torch_that_cannot_be_imported() -> None:
    view = TorchView(error="Traceback (most recent call last):\n  …\nKeyError: 'libamd_smi.so'\n")
    assert by_rule(machine(gpu(), torch_view=view), "torch-fails") == [
        Finding(
            "torch-fails",
            "error",
            "PyTorch fails when it is imported: KeyError: 'libamd_smi.so'",
            "no model can be loaded",
            "%rocm explain",
        )
    ]


def test_c14_wsl_has_a_checklist_of_its_own() -> None:
    host = Host(
        kernel="6.6.87.2-microsoft-standard-WSL2", wsl=True, dxg_access=Access("/dev/dxg", exists=True, opens=True)
    )
    stock = TorchBuild("2.5.0.dev20240802+rocm6.1", build="rocm", hip="6.1.40091")
    found = diagnose(machine(host=host, torch=stock, env={"HSA_ENABLE_DXG_DETECTION": "0"}))
    assert [(finding.rule, finding.severity) for finding in found] == [
        ("wsl-wheel", "warning"),
        ("wsl-dxg-switch", "warning"),
        ("wsl", "note"),
    ]
    told = " ".join(f"{finding.seen} {finding.matters} {finding.fix}" for finding in found)
    assert "/dev/kfd" not in told
    assert "render" not in told
    # AMD's own wheels carry four numbers: nothing to say about them.
    own = TorchBuild("2.1.2+rocm6.1.3", build="rocm", hip="6.1.40093")
    assert [finding.rule for finding in diagnose(machine(host=host, torch=own))] == ["wsl"]


def test_wsl_without_a_gpu_from_windows() -> None:
    host = Host(wsl=True, dxg_access=Access("/dev/dxg", exists=False, opens=False, error="ENOENT"))
    (found,) = by_rule(machine(host=host), "wsl")
    assert (found.severity, found.seen, found.fix) == (
        "error",
        "this is WSL without /dev/dxg: Windows shares no GPU with it",
        "in Windows: wsl --update",
    )


ARCHS = ("gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100")


@pytest.mark.parametrize(
    ("gfx", "fix"),
    [
        (
            "gfx1151",
            (
                "install a PyTorch build for gfx1151; "
                "as a stopgap start Jupyter with HSA_OVERRIDE_GFX_VERSION=11.0.0 (may be unstable)"
            ),
        ),
        ("gfx1010", "no official PyTorch covers gfx1010: use a community build, or the CPU"),
        (
            "gfx1031",
            (
                "install a PyTorch build for gfx1031; "
                "as a stopgap start Jupyter with HSA_OVERRIDE_GFX_VERSION=10.3.0 (may be unstable)"
            ),
        ),
        (
            "gfx1103",
            ("install a PyTorch build for gfx1103; do not set HSA_OVERRIDE_GFX_VERSION, it is known to hang gfx1103"),
        ),
        ("gfx1150", "install a PyTorch build for gfx1150"),
    ],
)
def test_c19_c20_a_target_that_the_wheel_lacks(gfx: str, fix: str) -> None:
    (found,) = by_rule(machine(gpu(gfx, name=None), archs=ARCHS), "no-code-for-gpu")
    assert found == Finding(
        "no-code-for-gpu",
        "error",
        f"AMD GPU ({gfx}): this PyTorch has no code for {gfx} "
        "(only gfx900, gfx906, gfx908, gfx90a, gfx942, gfx1030, gfx1100)",
        "its first operation fails: invalid device function",
        fix,
    )


def test_c20_an_override_that_makes_the_wheel_fit() -> None:
    facts = machine(gpu("gfx1031"), archs=ARCHS, env={"HSA_OVERRIDE_GFX_VERSION": "10.3.0"})
    assert by_rule(facts, "no-code-for-gpu") == []
    assert by_rule(facts, "override") == []


@pytest.mark.parametrize(
    ("gfx", "value", "matters"),
    [
        ("gfx1201", "10.3.0", "gfx1030 is another instruction set than gfx1201: invalid ISA, crashes or hangs"),
        ("gfx1100", "11.0.0", "it says what the GPU is anyway: not needed"),
        ("gfx1010", "10.3.0", "gfx1030 is another instruction set than gfx1010: invalid ISA, crashes or hangs"),
        ("gfx1103", "11.0.0", "it is known to hang gfx1103"),
        ("gfx1102", "11.0.0", "PyTorch has code for gfx1102 itself: the override only harms"),
    ],
)
def test_c21_overrides_that_harm(gfx: str, value: str, matters: str) -> None:
    facts = machine(gpu(gfx, name=None), env={"HSA_OVERRIDE_GFX_VERSION": value})
    assert by_rule(facts, "override") == [
        Finding(
            "override",
            "warning",
            f"HSA_OVERRIDE_GFX_VERSION={value} on AMD GPU ({gfx})",
            matters,
            "unset HSA_OVERRIDE_GFX_VERSION, then restart Jupyter",
        )
    ]


def test_an_override_that_is_no_version() -> None:
    (found,) = by_rule(machine(gpu(), env={"HSA_OVERRIDE_GFX_VERSION": "gfx1030"}), "override")
    assert (found.severity, found.seen) == ("error", "HSA_OVERRIDE_GFX_VERSION=gfx1030 is no version")


def test_c24_rocblas_without_the_target_ends_the_kernel() -> None:
    torch = TorchBuild("2.12.0+rocm7.2", build="rocm", hip="7.2", rocblas_archs=("gfx1030", "gfx90a", "gfx942"))
    vega = gpu("gfx900", name="Radeon RX Vega 56")
    known = machine(vega, archs=("gfx900", "gfx942"), torch=torch)
    assert by_rule(known, "rocblas-lacks-gpu") == [
        Finding(
            "rocblas-lacks-gpu",
            "error",
            "the rocBLAS inside PyTorch 2.12.0+rocm7.2 has no file for gfx900 (only gfx1030, gfx90a, gfx942)",
            "a matrix product ends the kernel without a Python error",
            "install a PyTorch build for gfx900",
        )
    ]
    # Before torch is asked for its targets, the files alone tell it.
    unasked = machine(vega, archs=(), torch=torch)
    assert by_rule(unasked, "no-code-for-gpu")[0].matters == "it ends the kernel without a Python error"


def test_c28_the_gate_is_told_once_a_target_and_not_when_it_is_open() -> None:
    two = (gpu("gfx1200"), gpu("gfx1200", 1))
    assert len(by_rule(machine(*two), "aotriton-gate")) == 1
    assert by_rule(machine(*two, env={"TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL": "1"}), "aotriton-gate") == []
    assert by_rule(machine(gpu("gfx1151", integrated=True)), "aotriton-gate")[0].severity == "note"


def test_c31_bitsandbytes_without_a_library_for_this_rocm() -> None:
    torch = TorchBuild("2.10.0a0+rocm7.10.0a20251031", build="rocm", hip="7.10.25424", rocm="7.10.0")
    facts = machine(gpu(), torch=torch, bitsandbytes_rocm=("63", "64", "70"))
    assert diagnose(facts) == (
        Finding(
            "bitsandbytes-rocm",
            "warning",
            "the installed bitsandbytes has no library for ROCm 7.10 (only 6.3, 6.4, 7.0)",
            "4-bit and 8-bit loading fails",
            "pip install -U bitsandbytes, or start Jupyter with BNB_ROCM_VERSION=70",
        ),
    )


def test_c32_a_broken_preview_of_bitsandbytes() -> None:
    (found,) = diagnose(machine(gpu(), packages={"bitsandbytes": "0.45.3.dev271"}))
    assert (found.rule, found.fix) == ("bitsandbytes-preview", "pip install -U bitsandbytes")


def test_kernels_outside_the_window() -> None:
    (found,) = diagnose(machine(gpu(), packages={"kernels": "0.18.2"}))
    assert found == Finding(
        "kernels-window",
        "warning",
        "kernels 0.18.2 is installed, but this Transformers accepts 0.17.2 <= version < 0.18.0",
        "Transformers treats it as not installed: no hub kernels, no flash attention from the hub",
        "pip install 'kernels>=0.17.2,<0.18.0'",
    )


def test_c27_flash_attn_on_rdna() -> None:
    packages = {"flash-attn": "2.8.3"}
    (found,) = by_rule(machine(gpu("gfx1100"), packages=packages), "flash-attn-backend")
    assert found.fix == "start Jupyter with FLASH_ATTENTION_TRITON_AMD_ENABLE=TRUE"
    on = {"FLASH_ATTENTION_TRITON_AMD_ENABLE": "TRUE"}
    assert by_rule(machine(gpu("gfx1100"), packages=packages, env=on), "flash-attn-backend") == []
    assert by_rule(machine(gpu(), packages=packages), "flash-attn-backend") == []


def test_a_package_that_the_facts_call_unusable() -> None:
    facts = replace(ONE, stack=replace(ONE.stack, packages=(Package("peft", "0.21.2", "needs >= 0.22"),)))
    assert by_rule(facts, "package-note")[0].seen == "peft 0.21.2: needs >= 0.22"


def test_c39_an_apu_with_a_large_carve_out() -> None:
    apu = gpu("gfx1151", integrated=True, name="Radeon 8060S", vram_total=103079215104, gtt_total=16634609664)
    (found,) = by_rule(machine(apu), "apu-gtt")
    assert found == Finding(
        "apu-gtt",
        "warning",
        "Radeon 8060S (gfx1151): 96.0 GiB are reserved in the BIOS, the GTT limit is 15.5 GiB",
        "before Linux 6.16.9 PyTorch can use the GTT part only",
        "use Linux 6.16.9 or newer; or reserve little in the BIOS and boot with ttm.pages_limit=25165824",
    )
    assert by_rule(with_host(machine(apu), kernel="6.17.1-arch1-1"), "apu-gtt") == []
    assert by_rule(machine(replace(apu, vram_total=GIB // 2)), "apu-gtt") == []


@pytest.mark.parametrize(
    ("env", "version", "seen"),
    [
        (
            {"PYTORCH_ALLOC_CONF": "a:1", "PYTORCH_HIP_ALLOC_CONF": "b:2"},
            "2.13.0",
            "PYTORCH_ALLOC_CONF=a:1 and PYTORCH_HIP_ALLOC_CONF=b:2",
        ),
        (
            {"PYTORCH_ALLOC_CONF": "expandable_segments:True"},
            "2.9.1+rocm6.4",
            "PYTORCH_ALLOC_CONF is set, and PyTorch is 2.9.1+rocm6.4",
        ),
        ({"PYTORCH_ALLOC_CONF": "expandable_segments:True"}, "2.11.0", None),
        ({"PYTORCH_ALLOC_CONF": "a:1", "PYTORCH_CUDA_ALLOC_CONF": "a:1"}, "2.13.0", None),
    ],
)
def test_c43_allocator_variables(env: dict[str, str], version: str, seen: str | None) -> None:
    torch = TorchBuild(version, build="rocm", hip="7.2")
    found = by_rule(machine(gpu(), env=env, torch=torch), "allocator-variables")
    assert [finding.seen for finding in found] == ([seen] if seen else [])


def test_c45_several_gpus_without_iommu_pt() -> None:
    three = (gpu("gfx1100"), gpu("gfx1100", 1), gpu("gfx1036", 2, integrated=True, name=None))
    facts = with_host(machine(*three, archs=("gfx1100", "gfx1036")), command_line="quiet")
    assert [finding.rule for finding in diagnose(facts)] == ["iommu", "integrated-visible"]
    assert by_rule(facts, "iommu")[0] == Finding(
        "iommu",
        "warning",
        "3 GPUs, and no iommu=pt on the kernel command line",
        "jobs on several GPUs may hang",
        "add iommu=pt to the boot options and reboot; until then NCCL_P2P_DISABLE=1 (slower)",
    )
    # Unread is not absent.
    assert by_rule(with_host(facts, command_line=None), "iommu") == []


def test_gpus_of_different_targets() -> None:
    facts = machine(gpu("gfx90a"), gpu(ordinal=1), gpu(ordinal=2))
    assert diagnose(facts) == (
        Finding(
            "mixed-gpus",
            "note",
            "the visible GPUs are of different targets: gfx90a, gfx942",
            "one model over all of them runs at the pace of the slowest, and libraries may pick slow paths for all",
            "choose equal ones: --device 1,2",
        ),
    )


def test_a_gpu_of_another_vendor_is_named_as_such() -> None:
    found = diagnose(machine(nvidia(), build="cuda"))
    assert [(finding.rule, finding.seen) for finding in found] == [
        ("no-gpu", "no KFD in /sys: the amdgpu driver is not loaded"),
        ("other-vendor", "NVIDIA H200 (not an AMD GPU)"),
    ]


def test_no_rule_fails_on_a_machine_of_which_nothing_is_known() -> None:
    bare = Facts(gpus=(gpu(None, None, name=None, integrated=None, vram_total=None),))
    for rule in RULES:
        assert list(rule(Facts())) == [] or rule.__name__ == "no_gpu"
        list(rule(bare))

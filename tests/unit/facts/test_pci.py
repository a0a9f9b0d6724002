"""GPUs on the bus: what is left to see without a driver, and the GPUs of another vendor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmtx.facts import collect
from rocmtx.facts.pci import address_key
from unit.facts.tree_files import write_packages

if TYPE_CHECKING:
    from pathlib import Path

    from unit.facts.tree_files import MakeTree


def alias(vendor: int, device: int, kind: str) -> str:
    return f"pci:v0000{vendor:04X}d0000{device:04X}sv00001002sd00000000bc{kind[:2]}sc{kind[2:]}i00\n"


def test_without_a_driver_the_bus_still_shows_the_card(make_tree: MakeTree) -> None:
    bus = "/sys/bus/pci/devices"
    root = make_tree(
        {
            f"{bus}/0000:00:00.0/modalias": alias(0x1022, 0x1480, "0600"),
            f"{bus}/0000:03:00.0/modalias": alias(0x1002, 0x744C, "0300"),
            f"{bus}/0000:03:00.0/revision": "0xc8\n",
            f"{bus}/0000:03:00.1/modalias": alias(0x1002, 0xAB30, "0403"),  # its sound
            f"{bus}/0000:0c:00.0/modalias": alias(0x1002, 0x74A1, "1200"),
            "/sys/module/x": "",
        },
        links={f"{bus}/0000:0c:00.0/driver": "../../../bus/pci/drivers/vfio-pci"},
    )
    facts = collect(root)
    radeon, instinct = facts.gpus
    assert (radeon.name, radeon.gfx, radeon.address) == ("AMD Radeon RX 7900 XTX", "gfx1100", "0000:03:00.0")
    assert radeon.hidden_because == "no driver holds it: amdgpu is not loaded"
    assert (instinct.name, instinct.hidden_because) == ("AMD Instinct MI300X", "the driver vfio-pci holds it")
    assert (radeon.hip_ordinal, radeon.amd_smi_index, radeon.vram_total) == (None, None, None)
    assert facts.host.amdgpu_loaded is False


def test_nvidia_gpus_have_their_name(make_tree: MakeTree) -> None:
    gpus = "/proc/driver/nvidia/gpus"
    root = make_tree(
        {
            f"{gpus}/0000:52:00.0/information": "Model: \t\t NVIDIA H200\nGPU UUID:  GPU-2222\nDevice Minor: \t 1\n",
            f"{gpus}/0000:4F:00.0/information": "Model: \t\t NVIDIA H200\nGPU UUID:  GPU-1111\nDevice Minor: \t 0\n",
            "/sys/bus/pci/devices/0000:4f:00.0/modalias": alias(0x10DE, 0x2335, "0302"),
            "/dev/nvidia1": "",
        }
    )
    first, second = collect(root).gpus
    assert (first.address, first.vendor, first.name, first.device_id) == (
        "0000:4f:00.0",
        "NVIDIA",
        "NVIDIA H200",
        0x2335,
    )
    assert first.hidden_because == "not an AMD GPU"
    assert (second.address, second.unique_id) == ("0000:52:00.0", "GPU-2222")
    assert collect(root).amd_gpus() == ()


def test_a_container_sees_only_the_nvidia_gpus_that_it_was_given(make_tree: MakeTree, write_torch: str) -> None:
    gpus = "/proc/driver/nvidia/gpus"
    root = make_tree(
        {
            f"{gpus}/0000:4f:00.0/information": "Model: NVIDIA H200\nDevice Minor: 0\n",
            f"{gpus}/0000:52:00.0/information": "Model: NVIDIA H200\nDevice Minor: 1\n",
            "/dev/nvidia1": "",
        }
    )
    first, second = collect(root, search_paths=[write_torch]).gpus
    assert (first.torch_device, first.hidden_because) == (None, "its device node was not passed into this container")
    assert (second.torch_device, second.hidden_because) == ("cuda:0", None)


def test_torch_tells_the_memory_of_an_nvidia_gpu(make_tree: MakeTree, tmp_path: Path) -> None:
    root = make_tree({"/proc/driver/nvidia/gpus/0000:06:00.0/information": "Model: NVIDIA H200\n"})
    site = write_packages(
        tmp_path / "site",
        {"torch": "2.11.0"},
        {
            "torch/version.py": "cuda: str | None = '13.0'\n",
            "torch/__init__.py": "class P:\n  name = gcnArchName = 'NVIDIA H200'; total_memory = 150; uuid = ''\n"
            "  multi_processor_count = 132; pci_domain_id = 0; pci_bus_id = 6; pci_device_id = 0\n"
            "class cuda:\n  device_count = lambda: 1\n  is_available = lambda: True\n  get_arch_list = lambda: []\n"
            "  get_device_properties = lambda at: P\n  mem_get_info = lambda at: (140, 150)\n"
            "class _C:\n  _cuda_getDeviceCount = lambda: 1\n",
        },
    )
    facts = collect(root, {"PYTHONPATH": site}, torch_view=True, search_paths=[site])
    (gpu,) = facts.gpus
    assert (gpu.vram_total, gpu.vram_used, gpu.torch_device) == (150, 10, "cuda:0")
    assert facts.stack.torch_view is not None
    assert facts.stack.torch_view.devices[0].gcn_arch is None
    assert collect(root, {}, search_paths=[site]).gpus[0].vram_total is None


def test_addresses_sort_by_number() -> None:
    addresses = ["10000:01:00.0", "0001:0b:00.0", "0000:c8:00.0", "0000:0a:00.1", "0000:0a:00.0", "kfd-node-1"]
    assert sorted(addresses, key=address_key) == [
        "0000:0a:00.0", "0000:0a:00.1", "0000:c8:00.0", "0001:0b:00.0", "10000:01:00.0", "kfd-node-1",
    ]  # fmt: skip

"""The recorded machines of the package: all there, labelled, and true to the facts they were written from."""

from __future__ import annotations

import json

import pytest

from rocmtx.errors import AskError
from rocmtx.facts import load_machine, machine_names, machine_summary
from rocmtx.facts.machines import FOLDER
from rocmtx.facts.model import facts_to_json
from rocmtx.facts.names import product

NAMES = (
    "cpu-torch", "mi210-8", "mi250x-8", "mi300a-4", "mi300x-8", "mi300x-8-cpx", "mi355x-8", "no-driver",
    "no-permission", "phoenix-apu", "rx7900xtx-1", "rx9070xt-igpu", "strix-halo", "wsl",
)  # fmt: skip


def test_the_list() -> None:
    assert machine_names() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_each_is_labelled_and_whole(name: str) -> None:
    facts = load_machine(name)
    assert (facts.origin, facts.label, facts.recorded) == ("written", name, True)
    assert machine_summary(name)
    body = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    assert body.pop("about")
    assert {key: value for key, value in body.items() if value != []} == facts_to_json(facts)
    identities = [(gpu.address, gpu.gpu_id) for gpu in facts.gpus]
    assert len(set(identities)) == len(identities)


@pytest.mark.parametrize("name", NAMES)
def test_each_agrees_with_the_table_of_products(name: str) -> None:
    for gpu in load_machine(name).gpus:
        known = product(gpu.device_id, gpu.revision)
        assert known is not None
        assert (gpu.name, gpu.gfx) == (known.name, known.gfx)
        assert gpu.integrated == (known.kind == "apu")
        if gpu.kfd_node is None:
            continue
        parts = gpu.partition.count if gpu.partition else 1
        assert gpu.compute_units is not None
        assert known.compute_units == gpu.compute_units * parts
        assert (known.xcds or 1) == (gpu.xcc_count or 1) * parts


def test_sockets_and_devices_are_counted_apart() -> None:
    counts = {
        name: (len({gpu.socket for gpu in load_machine(name).gpus}), len(load_machine(name).gpus)) for name in NAMES
    }
    assert counts["mi300x-8"] == (8, 8)
    assert counts["mi300x-8-cpx"] == (8, 64)
    assert counts["mi250x-8"] == (4, 8)
    assert counts["wsl"] == (0, 0)


def test_a_partition_has_its_own_memory() -> None:
    gpus = load_machine("mi300x-8-cpx").gpus
    assert {gpu.vram_total for gpu in gpus} == {25767706624}
    assert [gpu.telemetry_of for gpu in gpus[:9]] == ["socket", *[None] * 7, "socket"]


def test_numbers_of_hip_and_amd_smi_differ_on_mi210() -> None:
    by_smi = sorted(load_machine("mi210-8").gpus, key=lambda gpu: gpu.amd_smi_index or 0)
    assert [gpu.hip_ordinal for gpu in by_smi] == [2, 3, 1, 0, 6, 7, 5, 4]


@pytest.mark.parametrize(
    ("name", "because"),
    [
        ("no-driver", "no driver holds it: amdgpu is not loaded"),
        ("no-permission", "/dev/kfd cannot be opened (EACCES): it belongs to group render (gid 109)"),
    ],
)
def test_machines_whose_gpu_cannot_be_used_say_why(name: str, because: str) -> None:
    (gpu,) = load_machine(name).gpus
    assert (gpu.torch_device, gpu.hidden_because) == (None, because)


def test_the_strix_halo_has_the_three_numbers_of_its_case() -> None:
    (gpu,) = load_machine("strix-halo").gpus
    assert (gpu.vram_total, gpu.gtt_total, gpu.kfd_memory) == (103079215104, 16634609664, 17050894336)


def test_an_unknown_machine_has_a_near_one() -> None:
    with pytest.raises(AskError) as caught:
        load_machine("mi300x8")
    assert str(caught.value) == (
        "no recorded machine is called 'mi300x8'\n  → did you mean mi300x-8? rocmtx machines lists all"
    )
    with pytest.raises(AskError) as caught:
        load_machine("../../x")
    assert caught.value.hint == "there are: " + ", ".join(NAMES)

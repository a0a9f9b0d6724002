"""Which GPU gets which number, and the words for those that get none."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmtx.errors import UnknownDevice
from rocmtx.facts import collect, load_machine, machine_names, mask_for, resolve
from rocmtx.facts.model import Access, Gpu, Host
from unit.facts.tree_files import kfd_node

if TYPE_CHECKING:
    from unit.facts.tree_files import MakeTree

FOUR = tuple(
    Gpu(f"0000:0{at}:00.0", kfd_node=at, unique_id=f"f980f88ef31631a{at}", render_minor=127 + at) for at in range(1, 5)
)
OPEN = Host(kfd_access=Access("/dev/kfd", exists=True, opens=True))


def ordinals(environment: dict[str, str], gpus: tuple[Gpu, ...] = FOUR, host: Host = OPEN) -> list[int | None]:
    return [gpu.hip_ordinal for gpu in resolve(gpus, host, environment, "rocm")]


def reasons(environment: dict[str, str], gpus: tuple[Gpu, ...] = FOUR, host: Host = OPEN) -> list[str | None]:
    return [gpu.hidden_because for gpu in resolve(gpus, host, environment, "rocm")]


def test_without_masks_the_order_is_the_kernels() -> None:
    assert ordinals({}) == [0, 1, 2, 3]
    assert reasons({}) == [None] * 4


@pytest.mark.parametrize(
    ("rocr", "hip", "cuda", "expected"),
    [
        ("1", None, "1", [None, None, None, None]),
        ("1", None, "0", [None, 0, None, None]),
        ("1", None, None, [None, 0, None, None]),
        (None, None, "1", [None, 0, None, None]),
        ("GPU-f980f88ef31631a2", "GPU-f980f88ef31631a2", None, [None, 0, None, None]),
        ("3,0", None, None, [1, None, None, 0]),
        ("3,0", "1", None, [0, None, None, None]),
        (None, "2", "0", [None, None, 0, None]),
        (None, "", "2", [None, None, 0, None]),
    ],
)
def test_two_masks_stack(rocr: str | None, hip: str | None, cuda: str | None, expected: list[int | None]) -> None:
    names = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
    environment = {name: value for name, value in zip(names, (rocr, hip, cuda), strict=True) if value is not None}
    assert ordinals(environment) == expected


def test_two_masks_that_leave_nothing_say_so() -> None:
    assert reasons({"ROCR_VISIBLE_DEVICES": "1", "CUDA_VISIBLE_DEVICES": "1"}) == [
        "ROCR_VISIBLE_DEVICES=1 does not name it",
        "ROCR_VISIBLE_DEVICES=1 leaves one GPU, numbered 0; CUDA_VISIBLE_DEVICES=1 names no GPU that exists",
        "ROCR_VISIBLE_DEVICES=1 does not name it",
        "ROCR_VISIBLE_DEVICES=1 does not name it",
    ]


def test_minus_one_empty_and_unset_are_three_states() -> None:
    one = FOUR[:1]
    assert reasons({"CUDA_VISIBLE_DEVICES": "-1"}, one) == ["CUDA_VISIBLE_DEVICES=-1 hides every GPU, AMD included"]
    assert reasons({"HIP_VISIBLE_DEVICES": "-1"}, one) == ["HIP_VISIBLE_DEVICES=-1 hides every GPU"]
    assert ordinals({"CUDA_VISIBLE_DEVICES": ""}, one) == [0]
    assert ordinals({}, one) == [0]
    assert reasons({"ROCR_VISIBLE_DEVICES": ""}, one) == [
        "ROCR_VISIBLE_DEVICES is set but empty, which hides every GPU"
    ]


def test_a_mask_that_ends_early_names_the_entry() -> None:
    assert reasons({"HIP_VISIBLE_DEVICES": "0,-1,1"}) == [
        None,
        *["HIP_VISIBLE_DEVICES=0,-1,1 is read only up to '-1'"] * 3,
    ]
    assert reasons({"ROCR_VISIBLE_DEVICES": "0,,1"})[1] == (
        "ROCR_VISIBLE_DEVICES=0,,1 has an empty entry, which makes the runtime end the process"
    )


def test_a_refused_kfd_hides_all_and_names_its_group() -> None:
    refused = Access("/dev/kfd", exists=True, opens=False, error="EACCES", mode="crw-rw----", gid=109, group="render")
    assert set(reasons({}, host=Host(kfd_access=refused))) == {
        "/dev/kfd cannot be opened (EACCES): it belongs to group render (gid 109)"
    }
    nameless = replace(refused, gid=993, group=None)
    assert set(reasons({}, host=Host(kfd_access=nameless))) == {
        "/dev/kfd cannot be opened (EACCES): it belongs to gid 993, which has no name here"
    }
    absent = Access("/dev/kfd", exists=False, opens=False, error="ENOENT")
    assert set(reasons({}, host=Host(kfd_access=absent))) == {"/dev/kfd does not exist here"}
    assert ordinals({}, host=Host(kfd_access=refused)) == [None] * 4


def node_access(at: int, error: str) -> tuple[Gpu, ...]:
    path = f"/dev/dri/renderD{FOUR[at].render_minor}"
    access = Access(path, exists=error != "ENOENT", opens=False, error=error, gid=993, group="render")
    return (*FOUR[:at], replace(FOUR[at], render_access=access), *FOUR[at + 1 :])


def test_one_render_node_without_permission_hides_all() -> None:
    gpus = node_access(1, "EACCES")
    assert ordinals({}, gpus) == [None] * 4
    assert set(reasons({}, gpus)) == {
        (
            "/dev/dri/renderD129 cannot be opened (EACCES): it belongs to group render (gid 993), "
            "and the runtime then gives up on every GPU"
        )
    }


@pytest.mark.parametrize("error", ["ENOENT", "EPERM"])
def test_one_render_node_that_is_not_there_hides_its_gpu_only(error: str) -> None:
    gpus = node_access(1, error)
    host = replace(OPEN, container="docker")
    assert ordinals({}, gpus, host) == [0, None, 1, 2]
    assert reasons({}, gpus, host)[1] == "/dev/dri/renderD129 was not passed into this container"
    assert ordinals({"HIP_VISIBLE_DEVICES": "1"}, gpus, host) == [None, None, 0, None]


def test_a_gpu_that_kfd_does_not_list_has_no_number() -> None:
    gpus = (*FOUR[:1], Gpu("0000:13:00.0", drm_card=0))
    assert ordinals({}, gpus) == [0, None]
    assert reasons({}, gpus)[1] == "the compute driver (KFD) does not list it"


def test_masks_are_numbered_by_what_rocr_left() -> None:
    gpus = resolve(FOUR, OPEN, {"ROCR_VISIBLE_DEVICES": "3,1", "HIP_VISIBLE_DEVICES": "1"}, "rocm")
    assert [gpu.mask_index for gpu in gpus] == [None, 1, None, 0]
    assert mask_for([gpus[1], gpus[3]]) == "1,0"
    assert mask_for([]) == ""
    with pytest.raises(UnknownDevice) as caught:
        mask_for([gpus[0]])
    assert str(caught.value) == (
        "the GPU at 0000:01:00.0 cannot be used: ROCR_VISIBLE_DEVICES=3,1 does not name it\n"
        "  → rocmtx devices lists the GPUs that can"
    )


NVIDIA = (
    Gpu("0000:4f:00.0", vendor="NVIDIA", unique_id="GPU-11111111-aaaa"),
    Gpu("0000:52:00.0", vendor="NVIDIA", unique_id="GPU-22222222-bbbb"),
)


def test_nvidia_gpus_are_numbered_for_a_cuda_build_only() -> None:
    assert [gpu.hidden_because for gpu in resolve(NVIDIA, Host(), {}, "rocm")] == ["not an AMD GPU"] * 2
    assert [gpu.hip_ordinal for gpu in resolve(NVIDIA, Host(), {}, "cuda")] == [0, 1]
    masked = resolve(NVIDIA, Host(), {"CUDA_VISIBLE_DEVICES": "GPU-2222"}, "cuda")
    assert [gpu.hip_ordinal for gpu in masked] == [None, 0]
    assert masked[0].hidden_because == "CUDA_VISIBLE_DEVICES=GPU-2222 does not name it"
    assert [gpu.mask_index for gpu in masked] == [0, 1]


def test_numbers_of_a_mixed_machine_belong_to_one_vendor() -> None:
    gpus = resolve((*FOUR, *NVIDIA), OPEN, {}, "cuda")
    assert [gpu.torch_device for gpu in gpus] == [None] * 4 + ["cuda:0", "cuda:1"]
    assert gpus[0].hidden_because == "this torch is built for CUDA and numbers the NVIDIA GPUs of this machine"
    assert [gpu.torch_device for gpu in resolve((*FOUR, *NVIDIA), OPEN, {}, "rocm")][:4] == [
        "cuda:0", "cuda:1", "cuda:2", "cuda:3",
    ]  # fmt: skip


@pytest.mark.parametrize("name", machine_names())
def test_recorded_machines_hold_what_their_environment_gives(name: str) -> None:
    facts = load_machine(name)
    build = facts.stack.torch.build if facts.stack.torch else None
    bare = tuple(replace(gpu, hip_ordinal=None, mask_index=None) for gpu in facts.gpus)
    assert resolve(bare, facts.host, facts.stack.environment, build) == facts.gpus


def test_the_environment_of_collect_is_the_one_that_counts(make_tree: MakeTree) -> None:
    root = make_tree(kfd_node(1) | kfd_node(2, location_id=0x2700, unique_id=5, drm_render_minor=136))
    facts = collect(root, {"HIP_VISIBLE_DEVICES": "1"})
    assert [gpu.torch_device for gpu in facts.gpus] == [None, "cuda:0"]
    assert facts.gpus[0].hidden_because == "HIP_VISIBLE_DEVICES=1 does not name it"
    assert facts.stack.environment == {"HIP_VISIBLE_DEVICES": "1"}


@given(
    st.dictionaries(
        st.sampled_from(["ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"]), st.text(max_size=20)
    ),
    st.integers(0, 4),
)
def test_every_gpu_has_either_a_number_or_a_reason(environment: dict[str, str], count: int) -> None:
    gpus = resolve(FOUR[:count], OPEN, environment, "rocm")
    numbers = sorted(gpu.hip_ordinal for gpu in gpus if gpu.hip_ordinal is not None)
    assert numbers == list(range(len(numbers)))
    assert all((gpu.hip_ordinal is None) == bool(gpu.hidden_because) for gpu in gpus)

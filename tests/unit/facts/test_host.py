"""The host, its account and its walls: kernel, memory, groups, containers, WSL, and who may open what."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rocmtx.facts import collect
from rocmtx.facts.access import device_access
from rocmtx.facts.model import Access, facts_to_json
from rocmtx.facts.tree import Tree
from unit.facts.tree_files import kfd_node, without_rights

if TYPE_CHECKING:
    from unit.facts.tree_files import MakeTree

LINUX = {
    "/proc/sys/kernel/osrelease": "6.8.0-79-generic\n",
    "/proc/meminfo": "MemTotal:       65811872 kB\nMemFree:  100 kB\nMemAvailable:   56811872 kB\n",
    "/proc/cpuinfo": "processor\t: 0\nmodel name\t: AMD Ryzen 9 7950X 16-Core Processor\n\nprocessor\t: 1\n",
    "/proc/self/status": "Name:\tpython\nUid:\t1000\t1000\nGid:\t1000\t1000\nGroups:\t44 993 1000\n",
    "/proc/cmdline": "root=UUID=1-2 quiet amdgpu.ppfeaturemask=0xffffffff iommu=pt console=ttyS0\n",
    "/etc/os-release": 'NAME="Ubuntu"\nPRETTY_NAME="Ubuntu 24.04.3 LTS"\n',
    "/etc/group": "root:x:0:\nvideo:x:44:me\nrender:x:993:me\nbroken\n",
    "/sys/devices/system/cpu/online": "0-15,32-47\n",
    "/sys/module/amdgpu/initstate": "live\n",
    "/sys/module/ttm/parameters/pages_limit": "8226484\n",
    "/sys/class/kfd/kfd/topology/generation_id": "1\n",
}


def test_a_written_host(make_tree: MakeTree) -> None:
    host = collect(make_tree(LINUX)).host
    assert (host.kernel, host.distribution) == ("6.8.0-79-generic", "Ubuntu 24.04.3 LTS")
    assert (host.cpu, host.cpu_count) == ("AMD Ryzen 9 7950X 16-Core Processor", 32)
    assert (host.memory_total, host.memory_available) == (65811872 * 1024, 56811872 * 1024)
    assert (host.uid, host.gids, host.groups) == (1000, (1000, 44, 993), ("1000", "video", "render"))
    assert host.command_line == "amdgpu.ppfeaturemask=0xffffffff iommu=pt"  # and nothing that is nobody's business
    assert (host.amdgpu_loaded, host.kfd_topology, host.ttm_pages_limit) == (True, True, 8226484)
    assert (host.container, host.wsl, host.jupyterhub, host.memory_limit) == (None, False, False, None)
    assert host.kfd_access is None  # a tree without /dev says nothing about access


def test_an_empty_tree_is_unknown_not_zero(make_tree: MakeTree) -> None:
    host = collect(make_tree({})).host
    assert (host.memory_total, host.cpu_count, host.uid, host.kernel, host.amdgpu_loaded) == (
        None,
        None,
        None,
        None,
        None,
    )
    assert host.groups == ()


@pytest.mark.parametrize(
    ("files", "environment", "container"),
    [
        ({"/.dockerenv": ""}, {}, "docker"),
        ({"/run/.containerenv": ""}, {}, "podman"),
        ({"/.dockerenv": ""}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "kubernetes"),
        ({}, {"APPTAINER_CONTAINER": "/x.sif"}, "apptainer"),
        ({}, {"SINGULARITY_CONTAINER": "/x.sif"}, "apptainer"),
        ({"/proc/1/cgroup": "0::/kubepods.slice/pod1\n"}, {}, "kubernetes"),
        ({"/proc/1/cgroup": "11:devices:/docker/abc\n"}, {}, "docker"),
        ({"/proc/1/cgroup": "0::/init.scope\n"}, {}, None),
    ],
)
def test_containers(
    files: dict[str, str], environment: dict[str, str], container: str | None, make_tree: MakeTree
) -> None:
    assert collect(make_tree(files), environment).host.container == container


def test_memory_limits_of_a_container(make_tree: MakeTree) -> None:
    assert collect(make_tree({"/sys/fs/cgroup/memory.max": "8589934592\n"})).host.memory_limit == 8 << 30
    assert collect(make_tree({"/sys/fs/cgroup/memory.max": "max\n"})).host.memory_limit is None
    no_limit = {"/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}
    assert collect(make_tree(no_limit)).host.memory_limit is None


def test_wsl_asks_for_dxg_and_not_for_kfd(make_tree: MakeTree) -> None:
    root = make_tree(
        {
            "/proc/version": "Linux version 6.6.87.2-microsoft-standard-WSL2 (root@x) #1\n",
            "/dev/dxg": "",
        }
    )
    host = collect(root).host
    assert (host.wsl, host.kernel, host.kfd_topology) == (True, "6.6.87.2-microsoft-standard-WSL2", False)
    assert host.kfd_access is None
    assert host.dxg_access is not None
    assert host.dxg_access.exists


@pytest.mark.parametrize("variable", ["JUPYTERHUB_USER", "JUPYTERHUB_API_URL"])
def test_jupyterhub(variable: str, make_tree: MakeTree) -> None:
    facts = collect(make_tree({}), {variable: "u1"})
    assert facts.host.jupyterhub is True
    assert facts.stack.environment == {}  # the user's name is not kept


def test_a_refused_device_names_its_owner_and_hides_the_gpu(make_tree: MakeTree) -> None:
    root = make_tree(LINUX | kfd_node(1, gfx_target_version=90008) | {"/dev/kfd": "", "/dev/dri/renderD128": ""})
    for name in ("kfd", "dri/renderD128"):
        (root / "dev" / name).chmod(0o660)
        if os.geteuid() == 0:
            os.chown(root / "dev" / name, 0, 993)
        else:
            (root / "dev" / name).chmod(0)
    report = without_rights(lambda: facts_to_json(collect(root, {})), root)
    access = report["host"]["kfd_access"]
    assert (access["exists"], access["opens"], access["error"]) == (True, False, "EACCES")
    if os.geteuid() == 0:
        assert (access["mode"], access["gid"], access["group"]) == ("-rw-rw----", 993, "render")
        assert report["gpus"][0]["hidden_because"] == (
            "/dev/kfd cannot be opened (EACCES): it belongs to group render (gid 993)"
        )
    assert "hip_ordinal" not in report["gpus"][0]


def test_a_container_user_without_the_hosts_render_gid(make_tree: MakeTree) -> None:
    files = kfd_node(1, gfx_target_version=90402) | {"/dev/kfd": "", "/dev/dri/renderD128": "", "/.dockerenv": ""}
    status = {"/proc/self/status": "Uid:\t1000\nGid:\t1000\nGroups:\t39 105\n", "/etc/group": "users:x:100:\n"}
    root = make_tree(files | status)
    if os.geteuid() != 0:
        pytest.skip("only root can give a file to the gid of another machine")
    for name in ("kfd", "dri/renderD128"):
        (root / "dev" / name).chmod(0o660)
        os.chown(root / "dev" / name, 0, 993)
    report = without_rights(lambda: facts_to_json(collect(root, {"JUPYTERHUB_USER": "u1"})), root)
    host = report["host"]
    assert (host["container"], host["jupyterhub"], host["uid"]) == ("docker", True, 1000)
    assert (host["gids"], host["groups"]) == ([1000, 39, 105], ["1000", "39", "105"])
    assert "group" not in host["kfd_access"]
    assert report["gpus"][0]["hidden_because"] == (
        "/dev/kfd cannot be opened (EACCES): it belongs to gid 993, which has no name here"
    )
    assert report["gpus"][0]["render_access"]["error"] == "EACCES"


def test_a_group_without_a_name_is_a_number(make_tree: MakeTree) -> None:
    root = make_tree({"/dev/kfd": "", "/etc/group": "root:x:0:\n"})
    access = device_access(Tree(root), "/dev/kfd", {})
    assert access is not None
    assert (access.group, access.gid) == (None, (root / "dev/kfd").stat().st_gid)


def test_an_open_device(make_tree: MakeTree) -> None:
    root = make_tree({"/dev/kfd": ""})
    access = device_access(Tree(root), "/dev/kfd", {0: "root"})
    assert access is not None
    assert (access.exists, access.opens, access.error) == (True, True, None)


def test_an_absent_device(make_tree: MakeTree) -> None:
    assert device_access(Tree(make_tree({"/dev/null": ""})), "/dev/kfd", {}) == Access(
        "/dev/kfd", exists=False, opens=False, error="ENOENT"
    )
    assert device_access(Tree(make_tree({})), "/dev/kfd", {}) is not None


def test_a_sleeping_gpus_node_is_not_opened(make_tree: MakeTree) -> None:
    root = make_tree({"/dev/dri/renderD128": ""})
    access = device_access(Tree(root), "/dev/dri/renderD128", {}, wake=False)
    assert access is not None
    assert access.opens is None
    assert access.error is None


def test_a_device_cgroup_hides_its_gpu_only(make_tree: MakeTree) -> None:
    files = kfd_node(1) | kfd_node(2, location_id=0x2700, unique_id=5, drm_render_minor=136)
    root = make_tree(files | {"/dev/kfd": "", "/dev/dri/renderD136": "", "/.dockerenv": ""})
    first, second = collect(root).gpus
    assert (first.hip_ordinal, first.hidden_because) == (None, "/dev/dri/renderD128 was not passed into this container")
    assert (second.hip_ordinal, second.hidden_because) == (0, None)


def test_a_kfd_node_that_the_kernel_refuses(make_tree: MakeTree) -> None:
    card = {
        "/sys/class/drm/card1/device/vendor": "0x1002",
        "/sys/class/drm/card1/device/uevent": "PCI_ID=1002:74A1\nPCI_SLOT_NAME=0000:27:00.0",
    }
    root = make_tree(kfd_node(1) | kfd_node(2, location_id=0x2700) | card)
    (root / "sys/class/kfd/kfd/topology/nodes/2/properties").chmod(0)
    report = without_rights(lambda: facts_to_json(collect(root, {})), root)
    first, second = report["gpus"]
    assert (first["address"], first["hip_ordinal"]) == ("0000:05:00.0", 0)
    assert (second["address"], "hip_ordinal" in second) == ("0000:27:00.0", False)
    assert second["hidden_because"] == "the kernel refuses its KFD node: this container was not given the GPU"
    notes = [note for note in report["missing"] if note["why"] == "refused"]
    assert notes == [{"path": "/sys/class/kfd/kfd/topology/nodes/2/properties", "why": "refused", "detail": "EACCES"}]


def test_this_machine_is_read() -> None:
    facts = collect()
    assert facts.origin == "live"
    assert facts.host.memory_total
    assert facts.host.kernel == os.uname().release
    assert facts.host.uid == os.getuid()
    assert set(facts.host.gids) == {os.getgid(), *os.getgroups()}
    assert facts.host.kfd_topology == Path("/sys/class/kfd").exists()

"""The machine around the GPUs: kernel, memory, account, container, WSL.

Knows /proc, /etc and a few environment variables; must not know GPUs or packages. Everything is read under a root, so
that a recorded tree answers like the machine it came from.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from rocmtx.facts.access import device_access, group_name
from rocmtx.facts.model import Host

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rocmtx.facts.tree import Tree

_HEAD: Final = 1 << 14  # /proc/cpuinfo repeats itself for every core; the kernel renders only what is read
_CGROUP_LIMITS: Final = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_BOOT_WORDS: Final = ("amdgpu.", "ttm.", "amdttm.", "iommu", "amd_iommu", "intel_iommu", "pci=", "mem=", "pcie_")
_NO_LIMIT: Final = 1 << 60  # cgroup v1 writes "no limit" as a huge page-aligned number
_CGROUP_NAMES: Final = (("kubepods", "kubernetes"), ("docker", "docker"), ("libpod", "podman"), ("lxc", "lxc"))


def read_host(tree: Tree, environment: Mapping[str, str]) -> Host:
    """Read the host. What the tree does not hold stays None."""
    memory = _fields(tree.text("/proc/meminfo") or "")
    status = _fields(tree.text("/proc/self/status", expected=tree.live) or "")
    names = group_names(tree)
    gids = tuple(dict.fromkeys(_numbers(status.get("Gid"))[:1] + _numbers(status.get("Groups"))))
    kernel = tree.text("/proc/sys/kernel/osrelease", expected=False) or _kernel_of(
        tree.text("/proc/version", expected=tree.live) or ""
    )
    wsl = "microsoft" in (kernel or "").lower()
    return Host(
        kernel=kernel,
        distribution=_distribution(tree.text("/etc/os-release", expected=tree.live) or ""),
        machine=os.uname().machine if tree.live else None,
        cpu=_cpu(tree.text("/proc/cpuinfo", expected=tree.live, limit=_HEAD) or ""),
        cpu_count=_cpu_count(tree),
        memory_total=_kibibytes(memory.get("MemTotal")),
        memory_available=_kibibytes(memory.get("MemAvailable")),
        memory_limit=_memory_limit(tree),
        ttm_pages_limit=tree.integer("/sys/module/ttm/parameters/pages_limit", expected=False),
        uid=next(iter(_numbers(status.get("Uid"))), None),
        groups=tuple(group_name(gid, names, live=tree.live) or str(gid) for gid in gids),
        gids=gids,
        container=_container(tree, environment),
        wsl=wsl,
        jupyterhub="JUPYTERHUB_USER" in environment or "JUPYTERHUB_API_URL" in environment,
        amdgpu_loaded=tree.exists("/sys/module/amdgpu") if tree.exists("/sys/module") or tree.live else None,
        kfd_topology=tree.exists("/sys/class/kfd"),
        kfd_access=None if wsl else device_access(tree, "/dev/kfd", names),
        dxg_access=device_access(tree, "/dev/dxg", names, wake=False) if wsl else None,
        command_line=_relevant(tree.text("/proc/cmdline", expected=False)),
    )


def group_names(tree: Tree) -> dict[int, str]:
    """Read /etc/group: gid -> name. The first name wins, as in getgrgid."""
    names: dict[int, str] = {}
    for line in (tree.text("/etc/group", expected=False) or "").splitlines():
        parts = line.split(":")
        if len(parts) > 2 and parts[2].isdecimal() and len(parts[2]) < 12:  # noqa: PLR2004 - name:password:gid:members
            names.setdefault(int(parts[2]), parts[0])
    return names


def _fields(text: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in text.splitlines())
    return {key.strip(): value.strip() for key, colon, value in pairs if colon}


def _numbers(text: str | None) -> list[int]:
    return [int(word) for word in (text or "").split() if word.isdecimal() and len(word) < 12]  # noqa: PLR2004 - u32


def _relevant(command_line: str | None) -> str | None:
    # The rest of it is nobody's business: it names disks, consoles and addresses.
    words = [word for word in (command_line or "").split() if word.startswith(_BOOT_WORDS)]
    return " ".join(words) or None


def _kibibytes(text: str | None) -> int | None:
    number = text.split()[0] if text and text.split() else ""
    return int(number) * 1024 if number.isdecimal() and len(number) < 20 else None  # noqa: PLR2004 - digits of a u64


def _kernel_of(version: str) -> str | None:
    match = re.match(r"Linux version (\S+)", version)
    return match[1] if match else None


def _distribution(text: str) -> str | None:
    match = re.search(r'^PRETTY_NAME="?([^"\n]+)"?$', text, re.MULTILINE)
    return match[1] if match else None


def _cpu(text: str) -> str | None:
    match = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return match[1].strip() if match else None


def _cpu_count(tree: Tree) -> int | None:
    text = tree.text("/sys/devices/system/cpu/online", expected=False)
    if text is not None:
        spans = [re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part.strip()) for part in text.split(",")]
        if all(spans):
            return sum(int(span[2] or span[1]) - int(span[1]) + 1 for span in spans if span)
    return os.cpu_count() if tree.live else None


def _memory_limit(tree: Tree) -> int | None:
    for path in _CGROUP_LIMITS:
        limit = tree.integer(path, expected=False)
        if limit is not None and 0 < limit < _NO_LIMIT:
            return limit
    return None


def _container(tree: Tree, environment: Mapping[str, str]) -> str | None:
    if "KUBERNETES_SERVICE_HOST" in environment or tree.exists("/var/run/secrets/kubernetes.io"):
        return "kubernetes"
    if environment.keys() & {"APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"}:
        return "apptainer"
    if tree.exists("/run/.containerenv"):
        return "podman"
    if tree.exists("/.dockerenv"):
        return "docker"
    if tree.live and environment.get("container"):
        return environment["container"]
    cgroup = tree.text("/proc/1/cgroup", expected=False) or ""
    return next((name for word, name in _CGROUP_NAMES if word in cgroup), None)

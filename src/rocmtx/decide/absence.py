"""Why a machine has no GPU that PyTorch can use: one line, taken from the facts, and what to type.

Knows the order in which the layers can fail: driver, device node, torch build, masks, architecture; must not know a
model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmtx.decide.targets import find_target
from rocmtx.decide.verdict import Verdict

if TYPE_CHECKING:
    from rocmtx.facts.model import Access, Facts, Gpu

ROCM_INDEX = "https://download.pytorch.org/whl/rocm7.2"
INSTALL_TORCH = f"pip install --force-reinstall torch --index-url {ROCM_INDEX}"
INSTALL_MODELS = 'pip install "rocmtx[models]"'


def torch_absent(facts: Facts) -> bool:
    """Return whether torch is known to be absent: other packages were found, it was not."""
    return facts.stack.torch is None and bool(facts.stack.packages)


def torch_refuses(facts: Facts, gpu: Gpu) -> Verdict | None:
    """Return why the installed torch cannot use a GPU of this vendor; None when it can, or is not known."""
    if torch_absent(facts):
        return Verdict("no", "PyTorch is not installed", INSTALL_TORCH if gpu.vendor == "AMD" else INSTALL_MODELS)
    torch = facts.stack.torch
    if torch is None or torch.build is None:
        return None
    if gpu.vendor == "AMD" and torch.build != "rocm":
        return _wrong_build(facts, gpu)
    if gpu.vendor == "NVIDIA" and torch.build != "cuda":
        word = "a ROCm build" if torch.build == "rocm" else "built for the CPU only"
        return Verdict("no", f"PyTorch {torch.version} is {word}, this GPU needs a CUDA build", "pip install torch")
    if gpu.vendor == "other":
        return Verdict("no", "neither an AMD nor an NVIDIA GPU")
    return None


def _wrong_build(facts: Facts, gpu: Gpu) -> Verdict:
    torch = facts.stack.torch
    version = torch.version if torch is not None else ""
    cuda = torch is not None and torch.build == "cuda"
    what = "is a CUDA build" if cuda else "is built for the CPU only"
    because = f"PyTorch {version} {what} (no HIP in it), so it cannot use {gpu.gfx or 'an AMD GPU'}"
    python = facts.stack.python
    if python is not None and _too_old(python):
        return Verdict("no", f"{because}; there is no ROCm wheel for Python {python}", "use Python 3.11 or newer")
    if find_target(gpu.gfx).family == "RDNA1":
        return Verdict("no", because, f"no official PyTorch covers {gpu.gfx}: use a community build, or the CPU")
    return Verdict("no", because, INSTALL_TORCH)


def _too_old(python: str) -> bool:
    parts = python.split(".")
    return len(parts) > 1 and parts[0] == "3" and parts[1].isdigit() and int(parts[1]) < 10  # noqa: PLR2004 - Python 3.10


def kfd_refused(facts: Facts) -> Verdict | None:
    """Return why /dev/kfd cannot be opened; None when it can, was not tried, or under WSL, which has none."""
    access = facts.host.kfd_access
    if facts.host.wsl or access is None or access.opens is True:
        return None
    if not access.exists and not facts.host.kfd_topology:
        return no_driver(facts)
    if not access.exists:
        return Verdict("no", "/dev/kfd does not exist, although the driver is loaded", _pass_devices(facts))
    if access.opens is None:
        return None
    return refused(facts, access)


def refused(facts: Facts, access: Access) -> Verdict:
    """Say who owns a device node that this account may not open, and what gives it the right."""
    host = facts.host
    owner = f"group {access.group} (gid {access.gid})" if access.group else f"gid {access.gid}"
    mine = ", ".join(host.groups) or "no group that is known"
    if access.error not in {None, "EACCES"}:
        return Verdict("no", f"{access.path} cannot be opened: {access.error}", _pass_devices(facts))
    because = f"this account may not open {access.path}: it belongs to {owner}, and you are in {mine}"
    if access.gid is None:
        return Verdict("no", f"this account may not open {access.path}", "ask the administrator which group owns it")
    if host.container or access.group is None:
        return Verdict("no", because, container_group(facts, access.gid))
    return Verdict(
        "no",
        because,
        f"sudo usermod -aG {access.group} $USER, then log out and in again and restart Jupyter",
    )


def container_group(facts: Facts, gid: int) -> str:
    """Return what grants a container the group: by number, because the names differ between hosts."""
    if facts.host.container == "kubernetes" or facts.host.jupyterhub:
        return f"give the pod supplementalGroups: [{gid}] (ask the administrator of the hub)"
    return f"start the container with --group-add {gid}"


def _pass_devices(facts: Facts) -> str:
    if facts.host.container:
        return "start the container with --device /dev/kfd --device /dev/dri"
    return "sudo modprobe amdgpu, then look at: sudo dmesg | grep -i kfd"


def no_driver(facts: Facts) -> Verdict:
    """Say why the kernel lists no AMD GPU at all."""
    host = facts.host
    if host.wsl:
        return _wsl(facts)
    if host.kfd_topology:
        return Verdict(
            "no", "the amdgpu driver is loaded, but KFD lists no GPU", "sudo dmesg | grep -i -e amdgpu -e kfd"
        )
    if host.container:
        because = "no KFD in /sys: the amdgpu driver is not loaded on the host"
        return Verdict("no", because, "load the driver on the host: sudo modprobe amdgpu")
    if host.amdgpu_loaded:
        because = "no KFD in /sys, although the amdgpu driver is loaded: this kernel was built without it"
        return Verdict("no", because, "use a kernel with CONFIG_HSA_AMD, or AMD's amdgpu-dkms")
    return Verdict(
        "no", "no KFD in /sys: the amdgpu driver is not loaded", "with an AMD GPU in it: sudo modprobe amdgpu"
    )


def _wsl(facts: Facts) -> Verdict:
    dxg = facts.host.dxg_access
    if dxg is not None and not dxg.exists:
        return Verdict("no", "this is WSL without /dev/dxg: Windows shares no GPU with it", "in Windows: wsl --update")
    if dxg is not None and dxg.opens is False:
        return refused(facts, dxg)
    return Verdict(
        "no",
        "this is WSL, which has no KFD: its GPU is reached through /dev/dxg",
        "install AMD's Adrenalin driver for WSL in Windows and AMD's own PyTorch wheel here",
    )


def why_no_gpu(facts: Facts) -> Verdict:
    """Say in one line why no GPU of this machine can be used; the most basic obstacle comes first.

    Call it only when there is none: it does not judge whether there is one.
    """
    amd = facts.amd_gpus()
    if not amd:
        other = next((gpu for gpu in facts.gpus if gpu.vendor == "NVIDIA"), None)
        stopped = torch_refuses(facts, other) if other is not None else None
        if other is not None and stopped is not None:
            return Verdict("no", f"{other.name or 'an NVIDIA GPU'} is there, but {stopped.because}", stopped.fix)
        if other is not None and other.hidden_because:
            return Verdict("no", f"{other.name or 'an NVIDIA GPU'} is hidden: {other.hidden_because}")
        return no_driver(facts)
    stopped = kfd_refused(facts) or torch_refuses(facts, amd[0])
    if stopped is not None:
        return stopped
    hidden = next((gpu.hidden_because for gpu in amd if gpu.hidden_because), None)
    if hidden is not None and all(gpu.hip_ordinal is None for gpu in amd):
        return Verdict("no", hidden, unmask(facts))
    return Verdict("no", f"none of the {len(amd)} AMD GPUs can be used", "%rocm doctor")


def unmask(facts: Facts) -> str:
    """Return which visibility variables to unset; empty when none is set."""
    names = [name for name in MASKS if name in facts.stack.environment]
    return f"unset {' '.join(names)}, then restart Jupyter" if names else ""


MASKS = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


def mask_out(facts: Facts, gpu: Gpu) -> str:
    """Return how Jupyter is started so that ROCm never meets one GPU: by the lowest mask that is free.

    A mask of HIP filters only after the runtime has met every GPU; one of ROCR is there first, but a scheduler's is
    not touched.
    """
    kept = [other for other in facts.amd_gpus() if other.hip_ordinal is not None and other is not gpu]
    ordered = sorted(kept, key=lambda other: other.hip_ordinal or 0)
    numbers = [other.hip_ordinal if other.mask_index is None else other.mask_index for other in ordered]
    name = "HIP_VISIBLE_DEVICES" if "ROCR_VISIBLE_DEVICES" in facts.stack.environment else "ROCR_VISIBLE_DEVICES"
    return f"start Jupyter with {name}={','.join(map(str, numbers))}"

"""Which GPUs this process can use, under which number, and what hides the others.

Knows the layers in their order (permissions, ROCR_VISIBLE_DEVICES, HIP_ or CUDA_VISIBLE_DEVICES) and says the reason
in words; must not read files: the same facts and environment give the same answer.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from rocmtx.errors import UnknownDevice
from rocmtx.facts.masks import CUDA, HIP, ROCR, Selection, hip_variable, read_cuda, read_hip, read_rocr, uuid_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocmtx.facts.model import Access, Gpu, Host

_NO_KFD_NODE: Final = "the compute driver (KFD) does not list it"


def resolve(
    gpus: Sequence[Gpu], host: Host, environment: Mapping[str, str], torch_build: str | None
) -> tuple[Gpu, ...]:
    """Fill `hip_ordinal`, `mask_index` and `hidden_because` of every GPU.

    NVIDIA GPUs are numbered only for a CUDA build of torch, by PCI address. That is CUDA's order under
    CUDA_DEVICE_ORDER=PCI_BUS_ID; its default puts the fastest first, which needs the driver to know. On a machine with
    such GPUs and such a build, the numbers of `cuda:N` are theirs, and AMD GPUs get none.
    """
    cuda_build = torch_build == "cuda"
    nvidia = [at for at, gpu in enumerate(gpus) if gpu.vendor == "NVIDIA"]
    amd = [at for at, gpu in enumerate(gpus) if gpu.vendor == "AMD"]
    result = list(gpus)
    taken = cuda_build and bool(nvidia)
    for at, gpu in zip(amd, _amd([gpus[at] for at in amd], host, environment), strict=True):
        usable = gpu.hip_ordinal is not None
        reason = "this torch is built for CUDA and numbers the NVIDIA GPUs of this machine"
        result[at] = dataclasses.replace(gpu, hip_ordinal=None, hidden_because=reason) if taken and usable else gpu
    for at, gpu in zip(nvidia, _nvidia([gpus[at] for at in nvidia], environment, usable=cuda_build), strict=True):
        result[at] = gpu
    return tuple(result)


def mask_for(chosen: Sequence[Gpu]) -> str:
    """Return the value of HIP_VISIBLE_DEVICES (CUDA_VISIBLE_DEVICES must get the same) for these GPUs, in this order.

    The numbers count what ROCR_VISIBLE_DEVICES left, so the mask never stacks on it. Raises UnknownDevice for a GPU
    that no mask can bring back, with the reason.
    """
    for gpu in chosen:
        if gpu.mask_index is None:
            raise UnknownDevice(
                f"{gpu.name or 'the GPU'} at {gpu.address} cannot be used: {gpu.hidden_because or 'it has no number'}",
                "rocmtx devices lists the GPUs that can",
            )
    return ",".join(str(gpu.mask_index) for gpu in chosen)


def _amd(gpus: Sequence[Gpu], host: Host, environment: Mapping[str, str]) -> list[Gpu]:
    blocked = [_blocked(gpu, gpus, host) for gpu in gpus]
    open_ones = [at for at, reason in enumerate(blocked) if reason is None]
    rocr = read_rocr(environment.get(ROCR), [uuid_of(gpus[at].unique_id) for at in open_ones])
    left = [open_ones[place] for place in rocr.order]
    variable = hip_variable(environment)
    hip = read_hip(environment.get(variable) if variable else None, [uuid_of(gpus[at].unique_id) for at in left])
    ordinals = {left[place]: ordinal for ordinal, place in enumerate(hip.order)}
    result: list[Gpu] = []
    for at, gpu in enumerate(gpus):
        reason = blocked[at]
        if reason is None and at not in left:
            reason = _because(ROCR, environment[ROCR], rocr)
        elif reason is None and at not in ordinals and variable:
            reason = _because(variable, environment[variable], hip)
            if len(left) < len(open_ones):
                reason = f"{_remainder(environment[ROCR], len(left))}; {reason}"
        index = left.index(at) if at in left else None
        result.append(dataclasses.replace(gpu, hip_ordinal=ordinals.get(at), mask_index=index, hidden_because=reason))
    return result


def _nvidia(gpus: Sequence[Gpu], environment: Mapping[str, str], *, usable: bool) -> list[Gpu]:
    if not usable:
        return [dataclasses.replace(gpu, hidden_because="not an AMD GPU") for gpu in gpus]
    open_ones = [at for at, gpu in enumerate(gpus) if gpu.hidden_because is None]
    picked = read_cuda(environment.get(CUDA), [gpus[at].unique_id or "" for at in open_ones])
    ordinals = {open_ones[place]: ordinal for ordinal, place in enumerate(picked.order)}
    return [
        dataclasses.replace(
            gpu,
            hip_ordinal=ordinals.get(at),
            mask_index=open_ones.index(at) if at in open_ones else None,
            hidden_because=gpu.hidden_because
            or (None if at in ordinals else _because(CUDA, environment[CUDA], picked)),
        )
        for at, gpu in enumerate(gpus)
    ]


def _blocked(gpu: Gpu, gpus: Sequence[Gpu], host: Host) -> str | None:
    """Return why no mask can bring this GPU back, or None. Order of the reasons as the runtime meets them."""
    if gpu.kfd_node is None:
        return gpu.hidden_because or _NO_KFD_NODE
    if host.kfd_access is not None and host.kfd_access.opens is False:
        return _refusal(host.kfd_access)
    # One node without permission ends the whole runtime; one that is absent hides its own GPU only.
    for other in gpus:
        access = other.render_access
        if access is not None and access.opens is False and access.error == "EACCES":
            return f"{_refusal(access)}, and the runtime then gives up on every GPU"
    access = gpu.render_access
    if access is not None and access.opens is False:
        if access.error in {"ENOENT", "EPERM"}:
            return f"{access.path} was not passed into this container" if host.container else _refusal(access)
        return _refusal(access)
    return None


def _refusal(access: Access) -> str:
    if not access.exists:
        return f"{access.path} does not exist here"
    owner = f": it belongs to group {access.group}" if access.group else ""
    number = f" (gid {access.gid})" if access.group else f": it belongs to gid {access.gid}, which has no name here"
    where = f"{owner}{number}" if access.gid is not None else ""
    return f"{access.path} cannot be opened ({access.error}){where}"


def _because(variable: str, value: str, selection: Selection) -> str:
    shown = f"{variable}={value}"
    if selection.crashes:
        return f"{shown} has an empty entry, which makes the runtime end the process"
    if value == "":
        return f"{variable} is set but empty, which hides every GPU"
    if selection.ends_at is not None and not selection.order:
        if selection.ends_at.startswith("-"):
            return f"{shown} hides every GPU{', AMD included' if variable == CUDA else ''}"
        return f"{shown} names no GPU that exists"
    if selection.ends_at is not None:
        return f"{shown} is read only up to {selection.ends_at!r}"
    return f"{shown} does not name it"


def _remainder(value: str, left: int) -> str:
    numbered = "one GPU, numbered 0" if left == 1 else f"{left} GPUs, numbered 0 to {left - 1}"
    return f"{ROCR}={value} leaves {numbered}"


__all__ = ["CUDA", "HIP", "ROCR", "mask_for", "resolve"]

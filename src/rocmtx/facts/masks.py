"""How each layer reads its mask variable: ROCR_, HIP_ and CUDA_VISIBLE_DEVICES, and what PyTorch predicts instead.

Pure functions over texts and ids; must not know files or `Gpu`. Each does what the layer's own source does, oddities
included: rocr-runtime's amd_filter_device.cpp, clr's rocdevice.cpp, torch/cuda/__init__.py `_parse_visible_devices`
(2.11), and the CUDA programming guide.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROCR: Final = "ROCR_VISIBLE_DEVICES"
HIP: Final = "HIP_VISIBLE_DEVICES"
CUDA: Final = "CUDA_VISIBLE_DEVICES"
NO_ID: Final = "GPU-XX"  # what the runtime calls a GPU without a unique id
_STRTOL: Final = re.compile(r"[ \t\n\v\f\r]*([+-]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)")
_UUID_LENGTHS: Final = range(5, 21)  # "GPU-" and 1 to 16 digits
_TORCH_MOST: Final = 64
_LEADING: Final = re.compile(r"[+-]?[0-9]{1,4000}")


@dataclass(frozen=True, slots=True)
class Selection:
    """What a mask leaves: places in the list that was given, in the new order, and the entry that ended it."""

    order: tuple[int, ...]
    ends_at: str | None = None
    crashes: bool = False


@dataclass(frozen=True, slots=True)
class Prediction:
    """What PyTorch makes of the environment before HIP is started: a device list, or the error that it raises."""

    devices: tuple[int | str, ...] = ()
    error: str | None = None


def uuid_of(unique_id: str | None) -> str:
    """Return the runtime's name of a GPU: "GPU-" and 16 lower-case digits, or "GPU-XX"."""
    return f"GPU-{unique_id.lower()}" if unique_id else NO_ID


def read_rocr(value: str | None, uuids: Sequence[str]) -> Selection:
    """Read ROCR_VISIBLE_DEVICES as the HSA runtime does. Unset leaves all, an empty text none.

    Only as many entries are looked at as there are GPUs. An empty one makes the runtime throw an exception that nobody
    catches: the process ends.
    """
    if value is None:
        return Selection(tuple(range(len(uuids))))
    order: list[int] = []
    for raw in _lines(value)[: len(uuids)]:
        entry = raw.strip()
        place = _rocr_place(entry.upper(), uuids)
        if place is None or place in order:
            return Selection(tuple(order), ends_at=entry, crashes=not entry)
        order.append(place)
    return Selection(tuple(order))


def read_hip(value: str | None, uuids: Sequence[str]) -> Selection:
    """Read HIP_VISIBLE_DEVICES (or CUDA_VISIBLE_DEVICES for it) as the HIP runtime does. Unset and empty leave all.

    UUIDs are understood since HIP 6.2; older ones end at such an entry.
    """
    text = _unquoted(value or "")
    if not text:
        return Selection(tuple(range(len(uuids))))
    order: list[int] = []
    for entry in text.removesuffix(",").split(","):
        place = _hip_place(entry, uuids)
        if place is None:
            return Selection(tuple(order), ends_at=entry)
        if place not in order:  # a repeated number is skipped, unlike in ROCR_VISIBLE_DEVICES
            order.append(place)
    return Selection(tuple(order))


def hip_variable(environment: Mapping[str, str]) -> str | None:
    """Return the variable that the HIP runtime takes: HIP_VISIBLE_DEVICES unless empty, else CUDA_VISIBLE_DEVICES."""
    return next((name for name in (HIP, CUDA) if _unquoted(environment.get(name, ""))), None)


def read_cuda(value: str | None, uuids: Sequence[str]) -> Selection:
    """Read CUDA_VISIBLE_DEVICES as the CUDA runtime does. Unset leaves all; an empty text or a repeat leaves none."""
    if value is None:
        return Selection(tuple(range(len(uuids))))
    order: list[int] = []
    for entry in (part.strip() for part in value.split(",")):
        if entry.isascii() and entry.isdecimal() and len(entry) < 10:  # noqa: PLR2004 - more digits are no index
            place = int(entry) if int(entry) < len(uuids) else None
        else:
            starts = [at for at, uuid in enumerate(uuids) if entry and uuid.lower().startswith(entry.lower())]
            place = starts[0] if len(starts) == 1 else None
        if place is None:
            return Selection(tuple(order), ends_at=entry)
        if place in order:
            return Selection((), ends_at=entry)
        order.append(place)
    return Selection(tuple(order))


def predict_torch(environment: Mapping[str, str]) -> Prediction:
    """Do what `torch.cuda._parse_visible_devices` does on a ROCm build, before anything asks HIP."""
    rocr, hip, cuda = (environment.get(name) for name in (ROCR, HIP, CUDA))
    value = cuda
    if hip is not None:
        if rocr is not None and len(hip.split(",")) > len(rocr.split(",")):
            return Prediction(error="HIP_VISIBLE_DEVICES contains more devices than ROCR_VISIBLE_DEVICES")
        value = hip
    elif rocr is not None:
        return Prediction(tuple(range(len(rocr.split(",")))))
    if value is None:
        return Prediction(tuple(range(_TORCH_MOST)))
    for prefix in ("GPU-", "MIG-"):
        if value.startswith(prefix):
            return Prediction(_torch_uuids(value, prefix))
    return _torch_numbers(value)


def _torch_numbers(value: str) -> Prediction:
    found: list[int | str] = []
    for entry in (part.strip() for part in value.split(",")):
        if re.match(r"[+-](?!\d)", entry):
            return Prediction(error=f"invalid literal for int() with base 10: {entry[0]!r}")
        match = _LEADING.match(entry)  # "1gpu" is 1
        number = int(match[0]) if match else -1
        if number in found:
            return Prediction()
        if number < 0:
            break
        found.append(number)
    return Prediction(tuple(found))


def _torch_uuids(value: str, prefix: str) -> tuple[int | str, ...]:
    found: list[int | str] = []
    for entry in value.split(","):
        if entry in found:
            return ()
        if not entry.startswith(prefix):
            break
        found.append(entry)
    return tuple(found)


def _lines(value: str) -> list[str]:
    """Split as std::getline does: nothing comes behind a closing comma."""
    return value.removesuffix(",").split(",") if value else []


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value


def _rocr_place(entry: str, uuids: Sequence[str]) -> int | None:
    if entry.startswith("GPU-"):
        if len(entry) not in _UUID_LENGTHS:
            return None
        starts = [at for at, uuid in enumerate(uuids) if uuid != NO_ID and uuid.upper().startswith(entry)]
        return starts[0] if len(starts) == 1 else None
    match = _STRTOL.fullmatch(entry)  # base 0: "01" and "0x1" are numbers
    if match is None or len(match[2]) > 18:  # noqa: PLR2004 - beyond a long
        return None
    digits = match[2].lower()
    base = 16 if digits.startswith("0x") else 8 if digits.startswith("0") else 10
    number = int(digits, base)
    return number if (match[1] != "-" or number == 0) and number < len(uuids) else None


def _hip_place(entry: str, uuids: Sequence[str]) -> int | None:
    if "GPU-" in entry:
        return next((at for at, uuid in enumerate(uuids) if entry in uuid), None)
    if not entry.isascii() or not entry.isdecimal() or (entry != "0" and entry.startswith("0")):
        return None
    return int(entry) if len(entry) < 10 and int(entry) < len(uuids) else None  # noqa: PLR2004 - beyond an int

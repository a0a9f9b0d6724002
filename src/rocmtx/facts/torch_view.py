"""torch's own view of the GPUs, asked in a child process with a time limit.

Knows how to start the child and to read its answer; must not import torch here, because initialising HIP in a kernel
poisons every later fork and holds a GPU.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rocmtx.facts.child import run_limited
from rocmtx.facts.model import TorchDevice, TorchView

if TYPE_CHECKING:
    from collections.abc import Mapping

CHILD: Final = Path(__file__).with_name("torch_child.py")
TIME_LIMIT: Final = 90.0  # the first import of torch from a cold network file system takes most of a minute
_NO_ID: Final = "5858"  # the letters "XX": HIP's word for "this device has no unique id"
_ADDRESS_PARTS: Final = 3


def ask_torch(
    environment: Mapping[str, str], *, python: str = sys.executable, child: Path = CHILD, time_limit: float = TIME_LIMIT
) -> TorchView:
    """Ask torch in a child process under `environment`. Never raises: `error` says what went wrong."""
    # -P keeps the folder of the child off its path, where our modules would shadow others' names.
    command = [python, "-P", str(child)]
    try:
        done = run_limited(command, environment, time_limit)
    except OSError as error:
        return TorchView(error=f"{python} could not be started: {error.strerror}")
    if done.code is None:
        return TorchView(error=f"torch did not answer within {time_limit:g} s")
    try:
        return view_from_json(json.loads(done.stdout))
    except (ValueError, TypeError, AttributeError, KeyError):
        ended = f"was killed by signal {-done.code}" if done.code < 0 else f"ended with code {done.code}"
        said = done.last_words or "it printed nothing"
        return TorchView(error=f"the process that asked torch {ended}: {said}")


def view_from_json(answer: Any) -> TorchView:
    """Read the child's answer. Raises TypeError, KeyError or AttributeError for another shape."""
    if answer.get("error"):
        return TorchView(error=str(answer["error"]))
    return TorchView(
        available=answer.get("available"),
        device_count=answer.get("device_count"),
        raw_device_count=answer.get("raw_device_count"),
        arch_list=tuple(map(str, answer.get("arch_list") or ())),
        devices=tuple(_device(entry) for entry in answer.get("devices") or ()),
    )


def base_arch(gcn_arch: str) -> str:
    """Drop the feature flags: "gfx942:sramecc+:xnack-" -> "gfx942"."""
    return gcn_arch.partition(":")[0]


def unique_id_of(uuid: str) -> str | None:
    """Decode torch's UUID on ROCm: its 16 bytes are the ASCII of the 16 hex digits of the GPU's unique id.

    None for a UUID that is none: "XX" (an APU), or bytes that are no hex digits (a real UUID of another vendor).
    """
    plain = uuid.removeprefix("GPU-").replace("-", "").lower()
    if plain.startswith(_NO_ID):
        return None
    try:
        text = bytes.fromhex(plain).decode("ascii").lower()
        int(text, 16)
    except ValueError:
        return None
    return text if len(text) == 16 else None  # noqa: PLR2004 - digits of a u64


def _device(entry: dict[str, Any]) -> TorchDevice:
    pci = entry.get("pci") or []
    address = None
    if len(pci) == _ADDRESS_PARTS and all(isinstance(part, int) and part >= 0 for part in pci):
        address = f"{pci[0]:04x}:{pci[1]:02x}:{pci[2]:02x}.0"
    arch = entry.get("gcn_arch")
    return TorchDevice(
        ordinal=int(entry["ordinal"]),
        name=str(entry.get("name") or "unknown"),
        gcn_arch=arch if isinstance(arch, str) and arch.startswith("gfx") else None,  # CUDA builds put the name here
        total_memory=entry.get("total_memory"),
        free_memory=entry.get("free_memory"),
        compute_units_reported=entry.get("compute_units_reported"),
        integrated=entry.get("integrated"),
        uuid=entry.get("uuid"),
        address=address,
    )

"""A program of its own: asks torch what it sees and prints one JSON object.

Run as a file in a fresh interpreter, never imported: it loads torch and initialises HIP. Knows torch's API; must not
know rocmtx. Whatever torch and the libraries below it print goes to standard error, so that standard output is JSON
alone: `import amdsmi` alone prints two lines when its library is missing.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def ask() -> dict[str, Any]:
    """Return what torch says: counts, arch list, and the properties of each device."""
    import torch

    cuda = torch.cuda
    # Before HIP is initialised this count may come from amdsmi, not from HIP; the raw one always is HIP's.
    answer: dict[str, Any] = {"device_count": _tried(cuda.device_count), "available": _tried(cuda.is_available)}
    raw = getattr(torch._C, "_cuda_getDeviceCount", None)  # noqa: SLF001 - there is no public name for it
    answer["raw_device_count"] = _tried(raw) if raw is not None else None
    answer["arch_list"] = _tried(cuda.get_arch_list) or []
    answer["devices"] = [_device(torch, ordinal) for ordinal in range(answer["raw_device_count"] or 0)]
    return answer


def _tried(call: Any) -> Any:
    try:
        return call()
    except Exception as error:  # noqa: BLE001 - torch raises RuntimeError, AssertionError, KeyError from amdsmi…
        print(f"{type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201 - the parent reads it
        return None


def _device(torch: Any, ordinal: int) -> dict[str, Any]:
    properties = _tried(lambda: torch.cuda.get_device_properties(ordinal))
    if properties is None:
        return {"ordinal": ordinal, "name": "unknown"}
    memory = _tried(lambda: torch.cuda.mem_get_info(ordinal))
    integrated = getattr(properties, "is_integrated", None)
    return {
        "ordinal": ordinal,
        "name": properties.name,
        "gcn_arch": getattr(properties, "gcnArchName", None),
        "total_memory": properties.total_memory,
        "free_memory": memory[0] if memory else None,
        "compute_units_reported": properties.multi_processor_count,
        "integrated": None if integrated is None else bool(integrated),
        "uuid": str(getattr(properties, "uuid", "")) or None,
        "pci": [getattr(properties, f"pci_{part}_id", None) for part in ("domain", "bus", "device")],
    }


def main() -> None:
    """Print the answer on the real standard output."""
    out = os.dup(1)
    os.dup2(2, 1)
    try:
        answer = ask()
    except BaseException as error:  # noqa: BLE001 - a broken torch may raise anything, SystemExit included
        answer = {"error": f"{type(error).__name__}: {error}"}
    with os.fdopen(out, "w") as file:
        json.dump(answer, file)


if __name__ == "__main__":
    main()

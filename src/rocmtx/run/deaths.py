"""Why a worker process is gone: exit status and the end of its log, in words.

Knows signals and the fault texts of the HIP runtime (cases C24, C60); must not know what the worker was doing.
"""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING

from rocmtx.errors import OutOfMemory, RocmtxError, WorkerDied

if TYPE_CHECKING:
    from pathlib import Path

_TAIL = 16_384
_FAULTS: tuple[tuple[str, str], ...] = (
    (
        r"Memory access fault by GPU node-\d+.*",
        (
            "the GPU touched memory that it may not; check HSA_OVERRIDE_GFX_VERSION, and that torch was built for "
            "this GPU: %rocm doctor"
        ),
    ),
    (
        r"HW Exception by GPU node-\d+.*",
        "the GPU hung and was reset. Look at the kernel log (dmesg) and run: %rocm doctor",
    ),
    (
        r"rocBLAS error: Cannot read .*",
        "the rocBLAS inside this torch has no code for this GPU: %rocm doctor names the fix",
    ),
    (
        r"Error invalid device function at line \d+.*",
        "a compiled extension was built for another GPU; rebuild it for yours",
    ),
    (r"HSA_STATUS_ERROR_[A-Z_]+.*", "the ROCm runtime gave up; run: %rocm doctor"),
)
_AGAIN = "your notebook is fine; load again with: %rocm load …"


def log_tail(path: Path, size: int = _TAIL) -> str:
    """Return the end of a log as text, empty when there is none."""
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - size))
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def explain_death(returncode: int | None, log: Path, doing: str) -> RocmtxError:
    """Turn an exit status (None when it is unknown) and a log into an error; `doing` is the task or empty."""
    tail = log_tail(log)
    during = f" during {doing}" if doing else ""
    for pattern, advice in _FAULTS:
        found = re.search(pattern, tail)
        if found:
            return WorkerDied(f"the worker process died{during}: {found[0].strip()}", f"{advice}; {_AGAIN}", trace=tail)
    if returncode == -signal.SIGKILL:
        return WorkerDied(
            f"the worker process was killed (SIGKILL){during}",
            f"somebody ended it, or the kernel did because the machine ran out of memory (dmesg says which); {_AGAIN}",
            trace=tail,
        )
    if returncode is not None and returncode < 0:
        name = next((known.name for known in signal.Signals if known == -returncode), f"signal {-returncode}")
        return WorkerDied(f"the worker process died of {name}{during}", f"its log is {log}; {_AGAIN}", trace=tail)
    if "MemoryError" in tail:
        return OutOfMemory(
            f"the machine ran out of memory{during}", "use a smaller model or a smaller dtype", trace=tail
        )
    status = "for an unknown reason" if returncode is None else f"with exit status {returncode}"
    return WorkerDied(f"the worker process ended {status}{during}", f"its log is {log}; {_AGAIN}", trace=tail)

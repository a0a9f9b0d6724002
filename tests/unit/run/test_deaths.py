"""Each way in which a worker can die, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rocmtx.errors import OutOfMemory, WorkerDied
from rocmtx.run.deaths import explain_death, log_tail

if TYPE_CHECKING:
    from pathlib import Path

AGAIN = "your notebook is fine; load again with: %rocm load …"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Return a worker's log with an ordinary beginning."""
    path = tmp_path / "rank0.log"
    path.write_text("2024-01-02 rocmtx.worker up\n")
    return path


@pytest.mark.parametrize(
    ("line", "said", "advice"),
    [
        (
            "Memory access fault by GPU node-1 (Agent handle: 0x5581) on address 0x7f00. Reason: Unknown.",
            None,
            (
                "the GPU touched memory that it may not; check HSA_OVERRIDE_GFX_VERSION, and that torch was built for "
                "this GPU: %rocm doctor"
            ),
        ),
        (
            "HW Exception by GPU node-1 (Agent handle: 0x5581) reason :GPU Hang",
            None,
            "the GPU hung and was reset. Look at the kernel log (dmesg) and run: %rocm doctor",
        ),
        (
            "rocBLAS error: Cannot read /opt/rocblas/library/TensileLibrary.dat: No such file or directory",
            None,
            "the rocBLAS inside this torch has no code for this GPU: %rocm doctor names the fix",
        ),
        (
            "error: Error invalid device function at line 84 in file ops.hip",
            "Error invalid device function at line 84 in file ops.hip",
            "a compiled extension was built for another GPU; rebuild it for yours",
        ),
        (
            ":0:rocdevice.cpp: HSA_STATUS_ERROR_OUT_OF_RESOURCES: not enough",
            "HSA_STATUS_ERROR_OUT_OF_RESOURCES: not enough",
            "the ROCm runtime gave up; run: %rocm doctor",
        ),
    ],
)
def test_a_fault_of_the_gpu_is_named_whatever_the_signal(log: Path, line: str, said: str | None, advice: str) -> None:
    log.write_text(log.read_text() + line + "\nAborted (core dumped)\n")
    for returncode in (-6, -9, None, 1):
        error = explain_death(returncode, log, "generate")
        assert type(error) is WorkerDied
        assert str(error) == f"the worker process died during generate: {said or line}\n  → {advice}; {AGAIN}"
        assert line in error.trace


def test_a_kill_names_both_who_may_have_done_it(log: Path) -> None:
    advice = "somebody ended it, or the kernel did because the machine ran out of memory (dmesg says which)"
    assert str(explain_death(-9, log, "train")) == (
        f"the worker process was killed (SIGKILL) during train\n  → {advice}; {AGAIN}"
    )
    assert explain_death(-9, log, "").message == "the worker process was killed (SIGKILL)"


@pytest.mark.parametrize(
    ("returncode", "name"),
    [(-6, "SIGABRT"), (-11, "SIGSEGV"), (-15, "SIGTERM"), (-40, "signal 40"), (-200, "signal 200")],
)
def test_another_signal_is_named_with_the_log(log: Path, returncode: int, name: str) -> None:
    assert str(explain_death(returncode, log, "load")) == (
        f"the worker process died of {name} during load\n  → its log is {log}; {AGAIN}"
    )


def test_python_without_memory_is_out_of_memory(log: Path) -> None:
    log.write_text("Traceback (most recent call last):\nMemoryError\n")
    error = explain_death(1, log, "load")
    assert type(error) is OutOfMemory
    assert str(error) == "the machine ran out of memory during load\n  → use a smaller model or a smaller dtype"


def test_an_ordinary_exit_is_named_with_the_log(log: Path) -> None:
    assert str(explain_death(3, log, "")) == (
        f"the worker process ended with exit status 3\n  → its log is {log}; {AGAIN}"
    )
    assert explain_death(None, log, "").message == "the worker process ended for an unknown reason"


def test_the_end_of_a_long_log_is_kept(log: Path) -> None:
    log.write_bytes(b"x" * 100_000 + "ü the end".encode())
    assert log_tail(log, 9) == "� the end"
    assert len(explain_death(1, log, "").trace) <= 16_384


def test_no_log_is_no_text(tmp_path: Path) -> None:
    assert log_tail(tmp_path / "nothing.log") == ""
    assert explain_death(-9, tmp_path / "nothing.log", "").trace == ""

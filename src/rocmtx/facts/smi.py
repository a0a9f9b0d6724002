"""A second opinion: `amd-smi`, else `rocm-smi`, asked in child processes with a time limit.

Knows how to start the tools; their output is `smi_json`'s. Never needed: every fact has a source in /sys. `amdsmi` is
not imported, here or anywhere: it may raise KeyError, print to standard output, or spoil torch's device count.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rocmtx.facts.child import run_limited
from rocmtx.facts.smi_json import SmiGpu, amd_smi_gpus, rocm_smi_gpus

if TYPE_CHECKING:
    from collections.abc import Mapping

TIME_LIMIT: Final = 20.0  # a hung driver blocks amd-smi for a minute
_AMD_SMI: Final = (("list", "--json"), ("static", "--json"), ("metric", "--json"))
_ROCM_SMI: Final = ("-a", "--json")


@dataclass(frozen=True, slots=True)
class SmiView:
    """What the tool said. `error` says why there is nothing: without a driver, rocm-smi ends with 0 and no JSON."""

    tool: str | None = None
    gpus: tuple[SmiGpu, ...] = ()
    error: str | None = None


def ask_smi(environment: Mapping[str, str], *, time_limit: float = TIME_LIMIT) -> SmiView:
    """Ask amd-smi, and rocm-smi where that is absent. Never raises."""
    path = environment.get("PATH", "")
    for tool, calls in (("amd-smi", _AMD_SMI), ("rocm-smi", (_ROCM_SMI,))):
        program = shutil.which(tool, path=path)
        if program is None:
            continue
        texts, error = _outputs(program, calls, environment, time_limit)
        gpus = amd_smi_gpus(*texts) if tool == "amd-smi" else rocm_smi_gpus("".join(texts))
        if gpus:
            return SmiView(tool, gpus)
        return SmiView(tool, error=error or f"{tool} listed no GPU")
    return SmiView(error="neither amd-smi nor rocm-smi is installed")


def _outputs(
    program: str, calls: tuple[tuple[str, ...], ...], environment: Mapping[str, str], time_limit: float
) -> tuple[list[str], str | None]:
    texts: list[str] = []
    error: str | None = None
    for arguments in calls:
        try:
            done = run_limited([program, *arguments], environment, time_limit)
        except OSError as problem:
            return texts, f"{program} could not be started: {problem.strerror}"
        if done.code is None:
            return texts, f"{program} did not answer within {time_limit:g} s"
        texts.append(done.stdout)
        if done.code and error is None:
            error = done.last_words or f"{program} ended with code {done.code}"
    return texts, error

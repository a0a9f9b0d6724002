"""Run a program for its output, and be back in time whatever it does.

Knows processes; must not know what is asked. A program stuck in the kernel, as tools are behind a hung GPU driver,
cannot even be killed: it is left behind, because waiting for it would hang us too. Its output goes to files, so no
pipe can fill.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_GRACE: Final = 2.0
_MOST: Final = 16 << 20


@dataclass(frozen=True, slots=True)
class Output:
    """What a program printed. `code` is None when it did not end in time, negative for a signal."""

    stdout: str
    stderr: str
    code: int | None

    @property
    def last_words(self) -> str:
        """Return the last line that it printed, preferably on standard error; empty for none."""
        lines = self.stderr.strip().splitlines() or self.stdout.strip().splitlines()
        return lines[-1].strip() if lines else ""


def run_limited(command: Sequence[str], environment: Mapping[str, str], time_limit: float) -> Output:
    """Run a program without a shell, in a session of its own. Raises OSError when it cannot be started."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(  # noqa: S603 - the callers pass fixed arguments
            list(command),
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=complaints,
            start_new_session=True,
        )
        try:
            code: int | None = process.wait(time_limit)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            if process.returncode is None:
                _end(process)
        texts = []
        for file in (out, complaints):
            file.seek(0)
            texts.append(file.read(_MOST).decode("utf-8", "replace"))
    return Output(texts[0], texts[1], code)


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        # Stuck in the kernel: mark it as waited for, or its destructor would complain about a living child.
        process.returncode = -signal.SIGKILL

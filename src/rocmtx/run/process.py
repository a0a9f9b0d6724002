"""The worker as an operating-system process: start, alive or not, end.

Knows processes and signals; must not know what a worker says. Children have their own process session, write to a file
and end by asking, then TERM, then KILL.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

GONE = -9  # the exit status given for an attached worker that vanished: nobody can read its real one
_KILL_AFTER = 5.0
# What a worker gets where the person has set nothing. libgomp's threads spin for milliseconds before they sleep; beside
# other work (the notebook itself, a class on one machine) they burn the cores that the work needs: 1.3 tokens/s against
# 5.6 to 9.3 on two busy cores. 1000 turns is what libgomp itself takes when it knows that it is short of cores.
DEFAULTS = {"GOMP_SPINCOUNT": "1000", "PYTHONUNBUFFERED": "1"}


class WorkerProcess:
    """A worker that was started here (`child`), or one found by its pid and card after a kernel restart."""

    def __init__(self, pid: int, card: Path, child: subprocess.Popen[bytes] | None = None) -> None:
        self.pid = pid
        self._card = card
        self._child = child

    def returncode(self) -> int | None:
        """Return the exit status, None while it runs, `GONE` when it vanished unobserved."""
        if self._child is not None:
            return self._child.poll()
        # A card outlives a reboot; then its pid may be somebody else's: only a command line naming the card counts.
        with contextlib.suppress(psutil.Error):
            if any(word.endswith(f"/{self._card.name}") for word in psutil.Process(self.pid).cmdline()):
                return None
        return GONE

    def end(self, patience: float) -> None:
        """Wait so many seconds for it to end by itself, then TERM, wait, KILL, wait."""
        for act, seconds in (("", patience), ("terminate", _KILL_AFTER), ("kill", _KILL_AFTER)):
            if act and self.returncode() is None:
                with contextlib.suppress(psutil.Error):
                    getattr(psutil.Process(self.pid), act)()
            deadline = time.monotonic() + seconds
            while True:
                if self.returncode() is not None:
                    return
                if time.monotonic() >= deadline:
                    break
                time.sleep(0.02)


def spawn(card: Path, log: Path, environment: Mapping[str, str], grace: float) -> WorkerProcess:
    """Start a rank. A Ctrl-C in the notebook is not for it (own session); its output goes to a file, never a pipe."""
    # -P: a file called random.py beside the notebook must not shadow the standard library in the worker.
    command = [sys.executable, "-P", "-m", "rocmtx.run", str(card), "--grace", str(grace)]
    with os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "wb") as output:
        child = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**DEFAULTS, **environment},
            start_new_session=True,
        )
    return WorkerProcess(child.pid, card, child)

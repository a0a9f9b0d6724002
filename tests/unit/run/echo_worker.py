"""A real worker process on a small engine: `python echo_worker.py CARD --grace SECONDS`.

The engine needs no torch; its model is the prompt, which says what shall happen. Everything else, the loop, the
sockets, the journal, the signals, is what runs with a real model.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rocmtx.errors import RocmtxError, RunError
from rocmtx.events import Event, Loaded, Reading, Step, Token
from rocmtx.run.places import read_card
from rocmtx.run.worker import Worker

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    Emit = Callable[[Event], None]


class EchoEngine:
    """Says every word of the prompt; a first word of its table acts instead."""

    def load(self, plan: dict[str, Any], emit: Emit) -> dict[str, Any]:
        """Load nothing, slowly, or fail as the plan's model says."""
        model = Path(plan["asks"]["model"]).name
        if model == "slow":
            time.sleep(60)
        if model == "broken":
            raise ValueError("this model is broken")
        emit(Loaded(model=model, architecture="Echo", device="cpu", device_name="CPU", dtype="none", attention="none"))
        return {"seconds": 0.0}

    def generate(self, ask: dict[str, Any], emit: Emit, stop: threading.Event) -> dict[str, Any]:
        """Echo, word by word."""
        words = ask["prompt"].split()
        began = time.monotonic()
        for count, word in enumerate(words, start=1):
            emit(Token(text=word + " ", count=count, seconds=time.monotonic() - began))
            self._act(word, stop)
            if stop.is_set():
                break
        return {"tokens": len(words)}

    @staticmethod
    def _act(word: str, stop: threading.Event) -> None:
        if word == "WAIT":
            stop.wait(60)
        elif word == "HANG":
            time.sleep(60)
        elif word == "ABORT":
            os.abort()
        elif word == "KILL":
            os.kill(os.getpid(), signal.SIGKILL)
        elif word == "EXIT":
            os._exit(3)
        elif word == "RAISE":
            raise ValueError("two\nlines")
        elif word == "MOURN":
            raise SystemExit(4)

    def train(self, ask: dict[str, Any], emit: Emit, stop: threading.Event) -> dict[str, Any]:
        """Take one step per example."""
        for at, row in enumerate(ask["examples"], start=1):
            emit(Step(step=at, total=len(ask["examples"]), loss=1.0 / at))
            self._act(row["text"], stop)
            if stop.is_set():
                break
        return {"steps": len(ask["examples"])}

    def unload(self) -> dict[str, Any]:
        """Say two numbers."""
        return {"before": {"cpu": 2}, "after": {"cpu": 1}}

    def readings(self) -> tuple[Reading, ...]:
        """Return one reading; fail when the surroundings ask for it."""
        if "ECHO_NO_READINGS" in os.environ:
            raise PermissionError("no counters")
        return (Reading(device="cpu", used=100, total=200),)

    def translate(self, error: BaseException) -> RocmtxError:
        """Turn an exception into a RunError."""
        return RunError(f"{type(error).__name__}: {str(error).splitlines()[0]}", "say it differently")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("card", type=Path)
    parser.add_argument("--grace", type=float)
    arguments = parser.parse_args()
    sys.stderr.write("echo worker\n")
    Worker(read_card(arguments.card), EchoEngine, arguments.grace).run()

"""The one door to torch and Transformers.

Knows how to load, generate, train, measure and unload, and turns the libraries' errors into rocmtx's; must not know
processes, sockets, notebooks or views. Importing this package imports torch and Transformers: only a worker (or inline
mode) does that.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from rocmtx.decide.plan import Plan, plan_from_record
from rocmtx.errors import NotLoaded, RocmtxError
from rocmtx.events import Event, Reading
from rocmtx.run.asks import generate_ask, train_ask
from rocmtx.run.engine.faults import translate
from rocmtx.run.engine.generate import generate
from rocmtx.run.engine.load import LoadedModel, load
from rocmtx.run.engine.measure import readings

if TYPE_CHECKING:
    import threading

Emit = Callable[[Event], None]


class TransformersEngine:
    """One model on Transformers. Not safe for two threads at once, but for `readings` and `translate`."""

    def __init__(self) -> None:
        self._model: LoadedModel | None = None
        self._plan: Plan | None = None

    def load(self, plan: dict[str, Any], emit: Emit) -> dict[str, Any]:
        """Load what the plan says. Returns seconds; `Loaded` carries what really runs."""
        self._plan = plan_from_record(plan)
        self._model = load(self._plan, emit)
        return {"seconds": self._model.seconds}

    def generate(self, ask: dict[str, Any], emit: Emit, stop: threading.Event) -> dict[str, Any]:
        """Generate one answer; see `generate.generate` for the result."""
        return generate(self._ready(), generate_ask(ask), emit, stop)

    def train(self, ask: dict[str, Any], emit: Emit, stop: threading.Event) -> dict[str, Any]:
        """Train; see `train.train` for the result. The model stays trained for what follows."""
        # Imported late: the Trainer brings many packages along, and a broken one of them must not stop a generation.
        from rocmtx.run.engine.train import train

        loaded = self._ready()
        loaded.model, result = train(loaded, train_ask(ask), emit, stop)
        return result

    def unload(self) -> dict[str, Any]:
        """Drop the model and return memory in bytes: per device `before` and `after`, as `used` in a `Reading`."""
        before = readings()
        self._model = None
        gc.collect()
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            torch.cuda.synchronize()
            # The BLAS library keeps workspaces of its own (64 MiB on an H200) that empty_cache does not touch.
            getattr(torch._C, "_cuda_clearCublasWorkspaces", _nothing)()  # noqa: SLF001 - there is no public name
            torch.cuda.empty_cache()
        after = readings()
        return {
            "before": {reading.device: reading.used for reading in before},
            "after": {reading.device: reading.used for reading in after},
            "allocated": {reading.device: reading.allocated for reading in after},
        }

    def readings(self) -> tuple[Reading, ...]:
        """Return the memory of each device in use."""
        return readings()

    def translate(self, error: BaseException) -> RocmtxError:
        """Turn any exception into one of rocmtx's, with a hint."""
        return translate(error, self._plan)

    def _ready(self) -> LoadedModel:
        if self._model is None:
            raise NotLoaded("no model is loaded", "load one with: %rocm load demo")
        return self._model


def _nothing() -> None:
    """Stand in for a function that this torch does not have."""

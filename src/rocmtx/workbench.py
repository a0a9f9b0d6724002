"""The current machine, plan and session of one notebook or terminal, for magics, panel, CLI and the Python API.

Knows facts, decide and run and joins them; must not know IPython, click or any view.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import threading
import time
from typing import TYPE_CHECKING, Any

from rocmtx.decide.devices import Placement, place
from rocmtx.decide.plan import Asks, Plan, make_plan
from rocmtx.errors import MissingPackage, NotLoaded, PlanError, ReportError, SessionError
from rocmtx.facts import collect
from rocmtx.facts.checkpoint import read_checkpoint
from rocmtx.state import State

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from rocmtx.events import Event
    from rocmtx.facts.model import Checkpoint, Facts, TorchView
    from rocmtx.run.session import Session

_FACTS_AGE = 2.0
_CHECKPOINT_AGE = 30.0
_NOTHING_LOADED = "no model is loaded"
_LOAD_FIRST = "load one with: %rocm load demo"


class Workbench:
    """One person's table: `machine` is a recorded one to look at, or None for the live one.

    Listeners that subscribe here stay across sessions: a panel need not know when a new model is loaded.
    """

    def __init__(self, environment: Mapping[str, str] | None = None, notebook: str | None = None) -> None:
        self._environment = environment
        self._notebook = notebook
        # Two locks: a change of session takes long and waits for listeners, who must be able to look around meanwhile.
        self._lock = threading.Lock()
        self._changing = threading.RLock()
        self._facts: tuple[float, Facts] | None = None
        self._machine: Facts | None = None
        self._device: str | None = None
        self._torch_view: TorchView | None = None
        self._checkpoints: dict[str, tuple[float, Checkpoint]] = {}
        self._session: Session | None = None
        self._listeners: dict[int, tuple[Callable[[Event], None], Callable[[], None]]] = {}
        self._numbers = 0

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment that workers start from."""
        return os.environ if self._environment is None else self._environment

    @property
    def notebook(self) -> str:
        """The path of this notebook as the Jupyter server knows it; empty outside one."""
        return self._notebook if self._notebook is not None else self.environment.get("JPY_SESSION_NAME", "")

    # --- the machine and the plan ---

    def facts(self, *, fresh: bool = False) -> Facts:
        """Return the machine: the recorded one that was put on the table, else this one, at most two seconds old."""
        if self._machine is not None:
            return self._machine
        with self._lock:
            now = time.monotonic()
            if fresh or self._facts is None or now - self._facts[0] > _FACTS_AGE:
                self._facts = (now, collect(environment=self.environment))
            return self._facts[1]

    def read_tree(self, root: Path) -> Facts:
        """Read a tree with `sys/` and `proc/` in it, instead of `/`. Raises ReportError when it is no folder."""
        if not root.is_dir():
            raise ReportError(f"there is no folder {root}", "--root names a folder with sys/ and proc/ in it")
        return collect(root, environment={})

    def put_machine(self, facts: Facts | None) -> None:
        """Look at a recorded machine from now on; None goes back to the live one. Devices in `use` are forgotten."""
        self._machine = facts
        self._device = None

    def checkpoint(self, model: str) -> Checkpoint:
        """Return the facts of a model, at most half a minute old. Raises ModelNotFound or ModelUnreadable."""
        known = self._checkpoints.get(model)
        if known is None or time.monotonic() - known[0] > _CHECKPOINT_AGE:
            known = (time.monotonic(), read_checkpoint(model, environment=self.environment))
            self._checkpoints[model] = known
        return known[1]

    def use(self, device: str | None) -> Placement:
        """Take these devices for every later load that names none; None leaves the choice to rocmtx again.

        Returns where that is, with the masks a worker gets. Raises UnknownDevice or PlanError and changes nothing then.
        """
        placement = place(self.facts(fresh=True), device)
        self._device = device
        return placement

    def plan(self, asks: Asks, facts: Facts | None = None) -> Plan:
        """Return what would be done and why, here or on another machine. Raises an error with what works instead."""
        if asks.device is None and facts is None:
            asks = dataclasses.replace(asks, device=self._device)
        return make_plan(self.facts() if facts is None else facts, asks, self.checkpoint(asks.model))

    # --- the session ---

    @property
    def session(self) -> Session | None:
        """The current session, alive or not, or None."""
        return self._session

    @property
    def state(self) -> State:
        """The state of the current session; an empty one when there is none."""
        return self._session.state if self._session is not None else State()

    def ready_session(self) -> Session:
        """Return the living session. Raises NotLoaded, with the reason why the last one is gone."""
        session = self._session
        if session is None:
            raise NotLoaded(_NOTHING_LOADED, _LOAD_FIRST)
        if not session.alive:
            failure = session.state.failure
            why = f": the last session ended ({failure.error['message']})" if failure else ""
            raise NotLoaded(_NOTHING_LOADED + why, _LOAD_FIRST)
        return session

    def begin_load(self, asks: Asks) -> Session:
        """Check everything that can be checked in advance, end the old session, and start a new one; does not wait.

        Raises PlanError, MissingPackage, ModelNotFound, HubUnreachable … before anything is given up.
        """
        from rocmtx.run.network import check_hub
        from rocmtx.run.session import Session

        facts = self._asked_torch(self.facts(fresh=True))
        if facts.recorded:
            raise PlanError(
                f"{facts.label or 'this machine'} is a recorded machine", "back to yours: %rocm machine live"
            )
        if facts.stack.torch is None:
            raise MissingPackage(
                "torch is not installed in this Python",
                "install the build for your GPU first (%rocm doctor names it), then: pip install 'rocmtx[models]'",
            )
        plan = self.plan(asks)
        environment = {**self.environment, **check_hub(plan, self.environment)}
        with self._changing:
            self.unload()
            session = Session.start(plan, environment=environment, notebook=self.notebook)
            self._adopt(session)
        return session

    def _asked_torch(self, facts: Facts) -> Facts:
        """Add torch's own view where AMD GPUs are at hand: only it knows which targets its code was built for.

        It is asked once, in a child process, and takes some seconds: the answer cannot change under a running kernel.
        """
        torch = facts.stack.torch
        # Under WSL no kernel file lists the GPU: torch is the only one to ask.
        wanted = torch is not None and torch.build == "rocm" and (facts.amd_gpus() or facts.host.wsl)
        if facts.recorded or not wanted:
            return facts
        if self._torch_view is None:
            self._torch_view = collect(environment=self.environment, torch_view=True).stack.torch_view
        facts = dataclasses.replace(facts, stack=dataclasses.replace(facts.stack, torch_view=self._torch_view))
        self._facts = (time.monotonic(), facts)
        return facts

    def load(self, asks: Asks, listener: Callable[[Event], None] | None = None) -> Session:
        """Load a model and wait for it. An interrupt ends the load and leaves nothing behind."""
        session = self.begin_load(asks)
        try:
            session.wait("load", listener)
        except KeyboardInterrupt:
            session.close()
            raise SessionError("the load was stopped; nothing is loaded", "%rocm load … starts it again") from None
        except BaseException:
            session.close()
            raise
        return session

    def attach(self, name: str) -> Session:
        """Take over a living session by its name and end the current one. Raises ReportError or SessionError."""
        from rocmtx.run.session import Session

        with self._changing:
            if self._session is not None and self._session.alive and self._session.id == name:
                return self._session
            session = Session.attach(name)
            self.unload()  # else it would be kept alive by a notebook that can no longer name it
            self._adopt(session)
        return session

    def unload(self) -> Mapping[str, Any]:
        """End the current session, if there is one; returns the memory before and after."""
        with self._changing:
            session = self._session
            return session.unload() if session is not None and session.alive else {}

    def subscribe(self, listener: Callable[[Event], None]) -> Callable[[], None]:
        """Call the listener for the events of this and all later sessions; returns the remover."""
        with self._lock:
            self._numbers += 1
            number = self._numbers
            remove = self._session.subscribe(listener) if self._session is not None else _nothing
            self._listeners[number] = (listener, remove)

        def forget() -> None:
            with self._lock:
                known = self._listeners.pop(number, None)
            if known is not None:
                known[1]()

        return forget

    def announce(self, event: Event) -> None:
        """Hand the listeners an event of no session: a load that failed before it had one."""
        for listener, _ in list(self._listeners.values()):
            listener(event)

    def _adopt(self, session: Session) -> None:
        with self._lock:
            self._session = session
            for number, (listener, remove) in list(self._listeners.items()):
                remove()
                self._listeners[number] = (listener, session.subscribe(listener))

    def close(self) -> None:
        """End the session and forget the listeners."""
        with contextlib.suppress(Exception):
            self.unload()
        self._listeners.clear()


def _nothing() -> None:
    """Remove nothing: stands where no session was subscribed to."""


_default = Workbench()


def current() -> Workbench:
    """Return the workbench of this process: magics, panel and the functions below share it."""
    return _default


def plan(model: str = "demo", **wishes: Any) -> Plan:
    """Return what rocmtx would do with a model here, and why. Wishes as in `rocmtx.decide.plan.Asks`."""
    return current().plan(Asks(model, **wishes))


def load(model: str = "demo", **wishes: Any) -> Session:
    """Load a model and return its session, when it is ready. Wishes as in `rocmtx.decide.plan.Asks`."""
    return current().load(Asks(model, **wishes))

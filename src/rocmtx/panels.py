"""The panel joined to the workbench: each click's work runs on a thread of its own, its error comes back as an event.

Knows the workbench, the deciding functions and the panel's actions; must not know how the panel looks.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from rocmtx.cells import insert_cell
from rocmtx.commands import OWN_GENERATE, OWN_TRAIN, given
from rocmtx.decide.devices import amd_absence
from rocmtx.decide.doctor import diagnose
from rocmtx.decide.plan import attention_choices, device_choices, dtype_choices, quantization_choices
from rocmtx.errors import RocmtxError
from rocmtx.events import Failed
from rocmtx.workbench import current

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rocmtx.workbench import Workbench


def panel() -> Any:
    """Return the panel of this process as a widget; show it as a cell's last line."""
    return make_panel(current())


def make_panel(workbench: Workbench) -> Any:
    """Return the panel over a workbench, or an object that shows itself as text when widgets cannot be used."""
    from rocmtx.views.panel import Panel
    from rocmtx.views.panel_actions import Actions

    background = _Background(workbench)
    facts = workbench.facts(fresh=True)
    return Panel(
        facts,
        Actions(
            load=lambda asks: background.run(lambda: workbench.begin_load(asks), "load"),
            generate=lambda prompt, options: background.run(lambda: _generate(workbench, prompt, options), "generate"),
            train=lambda examples, options: background.run(lambda: _train(workbench, examples, options), "train"),
            stop=lambda: _stop(workbench),
            unload=lambda: background.run(workbench.unload, "unload"),
            plan=workbench.plan,
            device_choices=lambda: device_choices(workbench.facts()),
            attention_choices=lambda device: attention_choices(workbench.facts(), None, device),
            dtype_choices=lambda device: dtype_choices(workbench.facts(), device),
            quantization_choices=lambda device: quantization_choices(workbench.facts(), None, device),
            insert_cell=insert_cell,
            subscribe=workbench.subscribe,
            state=lambda: workbench.state,
        ),
        no_gpu=amd_absence(facts),
        findings=diagnose(facts),
    )


def _generate(workbench: Workbench, prompt: str, options: Mapping[str, Any]) -> None:
    from rocmtx.run.asks import GenerateAsk

    values = dict(options)
    own = {name: values.pop(name) for name in OWN_GENERATE if name in values}
    workbench.ready_session().begin_generate(GenerateAsk(prompt=prompt, options=given(values), **own))


def _train(workbench: Workbench, examples: str, options: Mapping[str, Any]) -> None:
    from rocmtx.run.asks import TrainAsk
    from rocmtx.run.examples import rows_of_text

    values = dict(options)
    own = given({name: values.pop(name) for name in OWN_TRAIN if name in values})
    workbench.ready_session().begin_train(TrainAsk(rows_of_text(examples), options=given(values), **own))


def _stop(workbench: Workbench) -> None:
    session = workbench.session
    if session is None or not session.alive:
        return
    if session.state.phase == "loading":
        threading.Thread(target=session.close, name="rocmtx-stop-load", daemon=True).start()
    else:
        session.stop()


class _Background:
    """Runs a click's work on a thread of its own; its error becomes an event that the panel shows."""

    def __init__(self, workbench: Workbench) -> None:
        self._workbench = workbench

    def run(self, act: Callable[[], Any], task: str) -> None:
        """Start the work and return at once."""
        threading.Thread(target=self._guarded, args=(act, task), name=f"rocmtx-{task}", daemon=True).start()

    def _guarded(self, act: Callable[[], Any], task: Any) -> None:
        try:
            act()
        except RocmtxError as error:
            self._workbench.announce(Failed(task=task, request="panel", error=error.record(), time=time.time()))

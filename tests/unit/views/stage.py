"""A stage for the panel: scripted actions over real plans, and comms that note what is sent."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from comm.base_comm import BaseComm

from rocmtx.decide.plan import (
    Plan,
    attention_choices,
    device_choices,
    dtype_choices,
    make_plan,
    quantization_choices,
)
from rocmtx.events import Bus, Event
from rocmtx.facts.model import Checkpoint, Facts
from rocmtx.state import State, fold
from rocmtx.views.panel_actions import Actions

if TYPE_CHECKING:
    from rocmtx.decide.asks import Asks


class NotingComm(BaseComm):
    """A comm without a kernel: it notes every message, and whether its subshell rule was replaced."""

    sent: list[dict[str, Any]] = []  # noqa: RUF012 - all comms of a test note into one list

    def publish_msg(
        self,
        msg_type: str,
        data: Any = None,
        metadata: Any = None,
        buffers: list[bytes] | None = None,
        **_: Any,
    ) -> None:
        """Note a message instead of sending it."""
        del metadata
        note = {"type": msg_type, "comm": self.comm_id, "data": data or {}, "buffers": buffers or []}
        NotingComm.sent.append(note)

    def _reply_subshell_for(self, _data: object, _default: object) -> str:
        return "where the comm last sent from"


@dataclass
class Stage:
    """Stands where the top layer stands: it plans for real, folds events, and notes what the panel asked for."""

    facts: Facts
    checkpoint: Checkpoint = field(default_factory=lambda: Checkpoint("demo", "demo", dtype="bfloat16"))
    state: State = field(default_factory=State)
    bus: Bus = field(default_factory=Bus)
    asked: list[tuple[str, Any]] = field(default_factory=list)
    problem: Exception | None = None

    def play(self, *events: Event) -> None:
        """Fold events and hand them to whoever listens."""
        for event in events:
            numbered = event if event.seq else replace(event, seq=self.state.seq + 1, session="s1")
            self.state = fold(self.state, numbered)
            self.bus.publish(numbered)

    def actions(self) -> Actions:
        """Return what the panel may do here."""
        return Actions(
            load=lambda asks: self._note("load", asks),
            generate=lambda prompt, options: self._note("generate", (prompt, options)),
            train=lambda examples, options: self._note("train", (examples, options)),
            stop=lambda: self._note("stop", None),
            unload=lambda: self._note("unload", None),
            plan=self._plan,
            device_choices=lambda: device_choices(self.facts),
            dtype_choices=lambda device: dtype_choices(self.facts, device),
            attention_choices=lambda device: attention_choices(self.facts, self.checkpoint, device),
            quantization_choices=lambda device: quantization_choices(self.facts, self.checkpoint, device),
            insert_cell=lambda code, done: self._note("insert", (code, done)),
            subscribe=self.bus.subscribe,
            state=lambda: self.state,
        )

    def _plan(self, asks: Asks) -> Plan:
        return make_plan(self.facts, asks, replace(self.checkpoint, name=asks.model))

    def _note(self, what: str, value: Any) -> None:
        if self.problem is not None:
            raise self.problem
        self.asked.append((what, value))

"""What the panel can do, as callables that the top layer gives it.

Knows their shapes only; must not know sessions, workers or widgets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rocmtx.decide.asks import Asks
    from rocmtx.decide.plan import Plan
    from rocmtx.decide.verdict import Verdict
    from rocmtx.events import Event
    from rocmtx.state import State

    Choices = tuple[tuple[str, str, Verdict], ...]
    Options = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Actions:
    """Callables that never block: what takes long is started and reported by events.

    Any of them may raise a RocmtxError, which the panel shows. `choices` return (value, label, verdict) for a device,
    None meaning the one that is chosen by itself. `insert_cell` says later, on any thread, whether it could.
    `subscribe` returns the remover. `options` carry Transformers' names.
    """

    load: Callable[[Asks], None]
    generate: Callable[[str, Options], None]
    train: Callable[[str, Options], None]
    stop: Callable[[], None]
    unload: Callable[[], None]
    plan: Callable[[Asks], Plan]
    device_choices: Callable[[], Choices]
    dtype_choices: Callable[[str | None], Choices]
    attention_choices: Callable[[str | None], Choices]
    quantization_choices: Callable[[str | None], Choices]
    insert_cell: Callable[[str, Callable[[bool], None]], None]
    subscribe: Callable[[Callable[[Event], None]], Callable[[], None]]
    state: Callable[[], State]

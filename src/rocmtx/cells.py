"""Put a cell into the notebook from a click: ask the front end by a comm, and hear whether it did.

Knows the comm only; must not know who asks and how it is said. `set_next_input` belongs to the reply of a running cell,
so it does nothing from a click. The other end is `labextension/src/plugins/cells.ts`.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

TARGET: Final = "rocmtx:cell"
PATIENCE: Final = 5.0


def insert_cell(source: str, done: Callable[[bool], None], patience: float = PATIENCE) -> None:
    """Ask for a code cell below the active one; returns at once.

    `done` is called once with True when the cell is there, with False when the front end cannot insert it, on any
    thread. A front end that says nothing for `patience` seconds counts as one that cannot; should it answer after all,
    `done` is called again.
    """
    from comm import create_comm

    # Made closed and opened below: an answer must not come before somebody listens.
    asked = create_comm(target_name=TARGET, primary=False)
    silence = threading.Timer(patience, done, (False,))
    silence.name = "rocmtx-cell"
    silence.daemon = True

    def answered(message: dict[str, Any]) -> None:
        silence.cancel()
        done(message["content"]["data"].get("ok") is True)

    # The front end answers by closing; one that does not know the target closes as well, and says nothing with it.
    asked.on_close(answered)
    silence.start()
    asked.open(data={"source": source})

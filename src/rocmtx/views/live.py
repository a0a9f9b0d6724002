"""The live part of the panel as one widget: status, answer, loss and memory, one message a refresh.

Knows anywidget and the feed; must not know what a session can do. The front end is `labextension/live/live.ts`, bundled
into `static/live.js`.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from rocmtx.state import SAMPLES_KEPT, State
from rocmtx.views import theme
from rocmtx.views.feed import Feed, Message

STATIC = Path(__file__).parent / "static"


class Live(anywidget.AnyWidget):
    """Draws the states it is given. `snap` and `snap_rows` hold the last picture for a notebook without a kernel."""

    _esm = (STATIC / "live.js").read_text(encoding="utf-8")
    _css = theme.STYLE + (STATIC / "live.css").read_text(encoding="utf-8")
    capacity = traitlets.Int(SAMPLES_KEPT).tag(sync=True)
    snap = traitlets.Dict().tag(sync=True)
    snap_rows = traitlets.List(traitlets.Bytes()).tag(sync=True)

    def __init__(self, state: State | None = None, **traits: Any) -> None:
        self._feed = Feed()
        self._lock = threading.Lock()
        self._last = state or State()
        picture = self._feed.snapshot(self._last)
        super().__init__(snap=picture.content, snap_rows=list(picture.buffers), **traits)
        self.on_msg(self._asked)

    def refresh(self, state: State) -> None:
        """Send what is new in this state, in at most one message. Any thread."""
        with self._lock:
            self._last = state
            self._post(self._feed.next(state))

    def say(self, message: str, hint: str = "") -> None:
        """Show an error that is not the session's own, or take it away with an empty message. Any thread."""
        with self._lock:
            self._post(self._feed.say(message, hint))

    def keep(self, state: State) -> None:
        """Store the picture of this state in the notebook, thinned: for when there is no kernel any more."""
        picture = self._feed.snapshot(state)
        with self.hold_sync():
            self.snap = picture.content
            self.snap_rows = list(picture.buffers)

    def _asked(self, _widget: object, content: dict[str, Any], _buffers: object) -> None:
        """Answer a front end that is new, or that missed a message."""
        if content.get("k") == "sync":
            with self._lock:
                self._post(self._feed.whole(self._last))

    def _post(self, message: Message | None) -> None:
        if message is not None:
            self.send(message.content, buffers=list(message.buffers))

"""Waiting for a request: its events as they come, the first interrupt as a wish to stop, its error as an exception.

Knows events, queues and signals; must not know workers, journals or sockets.
"""

from __future__ import annotations

import contextlib
import itertools
import queue
import signal
import threading
from typing import TYPE_CHECKING, Self

from rocmtx.errors import SessionError, from_record
from rocmtx.events import Ended, Event, Failed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rocmtx.events import Listener

CLOSED = "the session was closed"
AGAIN = "load again with: %rocm load …"


class Waiting:
    """The events of a session from `with` on. `closed` is set when none will come any more, `stop` ends a request."""

    def __init__(
        self,
        subscribe: Callable[[Listener], Callable[[], None]],
        closed: threading.Event,
        stop: Callable[[str], None],
    ) -> None:
        self._subscribe = subscribe
        self._closed = closed
        self._stop = stop
        # None is an interrupt. A SimpleQueue, because a signal handler may put into it at any moment.
        self._events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._remove: Callable[[], None] | None = None

    def __enter__(self) -> Self:
        self._remove = self._subscribe(self._events.put)
        return self

    def __exit__(self, *_: object) -> None:
        if self._remove is not None:
            self._remove()

    def coming(self, request: str) -> Iterator[Event]:
        """Yield the events as they come. The first interrupt stops the request, the second is raised.

        A load cannot be stopped but by ending its worker, so there the first is raised already. Raises SessionError
        when the session was closed.
        """
        interrupted = request == "load"
        while True:
            try:
                event = self._events.get(timeout=1.0)
            except queue.Empty:
                if self._closed.is_set() and self._events.empty():
                    raise SessionError(CLOSED, AGAIN) from None
                continue
            except KeyboardInterrupt:
                event = None
            if event is not None:
                yield event
            elif interrupted:
                raise KeyboardInterrupt
            else:
                interrupted = True
                self._stop(request)

    def close_of(self, request: str, listener: Listener | None, past: Iterable[Event] = ()) -> Ended:
        """Wait until the request has ended; `listener` sees its events, the past ones first.

        Raises the error of a failed request, and SessionError when the session was closed.
        """
        seen = 0
        for event in itertools.chain(past, self.coming(request)):
            if event.request not in (request, "") or (event.seq and event.seq <= seen):
                continue
            seen = event.seq or seen
            if listener is not None:
                listener(event)
            if isinstance(event, Failed):
                raise from_record(event.error)
            if isinstance(event, Ended):
                return event
        raise SessionError(CLOSED, AGAIN)

    @contextlib.contextmanager
    def uninterrupted(self) -> Iterator[None]:
        """Let the first interrupt arrive as one more event: in the middle of a listener it would tear the view."""
        here = threading.current_thread() is threading.main_thread()
        if not here or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return
        pressed = False

        def press(_number: int, _frame: object) -> None:
            nonlocal pressed
            if pressed:
                raise KeyboardInterrupt
            pressed = True
            self._events.put(None)

        signal.signal(signal.SIGINT, press)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)

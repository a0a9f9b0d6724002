"""Live output in a cell and in a terminal: the throttle at the view's edge, and what one refresh shows.

Knows events, states and a callable that shows a mimebundle; must not know IPython, widgets or the session. Events come
on any thread; an output is refreshed at most once per interval, and the last state always arrives.
"""

from __future__ import annotations

import contextvars
import threading
import time
from html import escape
from typing import TYPE_CHECKING

from rocmtx import units
from rocmtx.events import Ended, Failed, Loaded, Loading, Step, Token, Warned
from rocmtx.state import State, fold
from rocmtx.views import html, text, words
from rocmtx.views.svg import loss_svg

if TYPE_CHECKING:
    from collections.abc import Callable

    from rocmtx.events import Event

Bundle = dict[str, str]
INTERVAL = 0.1
# A refresh sends the end of a long answer only: the whole text ten times a second would grow with its square.
TAIL = 2000
_TABLE_ROWS = 8


class Throttle:
    """Calls `draw` on a thread of its own, at most once per interval; what was asked for last is always drawn.

    `draw` runs in `context`: a copy of that of the cell makes a kernel's display go to that cell; without one it
    belongs to whichever cell runs. When it raises, drawing stops and the next `ask` raises that to the publisher.
    """

    def __init__(
        self,
        draw: Callable[[], None],
        interval: float = INTERVAL,
        name: str = "rocmtx-view",
        context: contextvars.Context | None = None,
    ) -> None:
        self._draw = draw
        self._interval = interval
        self._name = name
        self._context = context or contextvars.Context()
        self._changed = threading.Condition()
        self._drawing = threading.Lock()
        self._wanted = False
        self._closed = False
        self._error: Exception | None = None
        self._thread: threading.Thread | None = None

    @property
    def alive(self) -> bool:
        """True while the drawing thread runs."""
        return self._thread is not None and self._thread.is_alive()

    def ask(self) -> None:
        """Want a redraw; returns at once. After `close` this does nothing."""
        with self._changed:
            if self._error is not None:
                raise self._error
            if self._closed:
                return
            self._wanted = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
            self._changed.notify()

    def flush(self) -> None:
        """Draw now, on this thread, if anything is waiting to be drawn."""
        self._draw_if_wanted()

    def close(self) -> None:
        """Draw what is waiting and end the thread; may be called any number of times, also by `draw` itself."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is threading.current_thread():
            return
        self._draw_if_wanted()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._wanted and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
            self._draw_if_wanted()
            with self._changed:
                self._changed.wait_for(lambda: self._closed, self._interval)

    def _draw_if_wanted(self) -> None:
        with self._drawing:
            with self._changed:
                if not self._wanted or self._error is not None:
                    return
                self._wanted = False
            try:
                self._context.copy().run(self._draw)
            except Exception as error:  # noqa: BLE001 - a display of any kind may fail in any way
                self._error = error


class StateView:
    """One output that follows a session: call it with events (it is a listener), close it when the task is over.

    `update` shows a mimebundle in place of the one before; `draw` makes it from the state.
    """

    def __init__(
        self,
        update: Callable[[Bundle], None],
        draw: Callable[[State], Bundle],
        *,
        start: State | None = None,
        interval: float = INTERVAL,
    ) -> None:
        self._update = update
        self._draw = draw
        self.state = start or State()
        self._throttle = Throttle(self._show, interval, context=contextvars.copy_context())

    def __call__(self, event: Event) -> None:
        """Take one event in, from any thread."""
        self.state = fold(self.state, event)
        self._throttle.ask()

    def _show(self) -> None:
        self._update(self._draw(self.state))

    def close(self) -> None:
        """Show the last state and stop."""
        self._throttle.close()


def answer_bundle(state: State) -> Bundle:
    """Draw the answer: its end while it is written, the whole when it is done, with speed and first-token time."""
    answer = state.answer
    if answer is None:
        return {"text/plain": words.PHASES[state.phase]}
    shown, cut = answer.text, 0
    if not answer.done and len(shown) > TAIL:
        cut = len(shown) - TAIL
        shown = shown[cut:]
    above = f"[the first {cut} characters appear when the answer is complete]\n" if cut else ""
    speed = words.speed_text(answer)
    failed = _failure(state)
    body = f"{escape(above)}{escape(shown)}"
    page = f'<div class="text">{body}</div><small>{escape(speed)}</small>{failed and f"<p>{escape(failed)}</p>"}'
    lines = [above + shown, f"[{speed}]", *([failed] if failed else [])]
    return {"text/plain": "\n".join(lines), "text/html": html.framed(page)}


def load_bundle(state: State) -> Bundle:
    """Draw a load: the progress while it lasts, then what really runs and why."""
    if state.phase == "loading":
        line = f"loading: {words.progress_text(state.progress)}"
        share = words.progress_share(state.progress)
        value = "" if share is None else f' value="{share:.4f}"'
        bar = f'<progress max="1"{value} aria-label="loading"></progress>'
        return {"text/plain": line, "text/html": html.framed(f"<p>{bar} {escape(line)}</p>")}
    rows = [row for row in words.state_rows(state) if row.label not in {"prompt", "answer", "speed", "training"}]
    return {"text/plain": "\n".join(text.rows_text(rows)), "text/html": html.framed(html.rows_html(rows))}


def training_bundle(state: State) -> Bundle:
    """Draw a training: progress, a few steps as a table, and the curve of the loss."""
    training = state.training
    if training is None:
        return {"text/plain": words.PHASES[state.phase]}
    line, failed = words.training_text(training), _failure(state)
    steps = [step for step in training.steps if step.loss is not None]
    picked = steps[:: max(1, -(-len(steps) // _TABLE_ROWS))] if steps else []
    if steps and picked[-1] is not steps[-1]:
        picked.append(steps[-1])
    cells = [words.step_cells(step) for step in picked]
    table = text.columns([words.STEP_TITLES, *cells]) if cells else []
    page = [f"<p>{escape(line)}</p>", loss_svg(state), html.table_html(words.STEP_TITLES, cells) if cells else ""]
    page += [f"<p>{escape(failed)}</p>"] if failed else []
    plain = "\n".join([line, *table, *([failed] if failed else [])])
    return {"text/plain": plain, "text/html": html.framed("".join(page))}


def _failure(state: State) -> str:
    if state.failure is None:
        return ""
    error = state.failure.error
    return error["message"] + (f" → {error['hint']}" if error["hint"] else "")


class TerminalView:
    """A session's events in a terminal: text as it comes, one line a training step, one moving line for a load.

    `write` takes text without adding a newline. `live` says that a line may be rewritten (a terminal, not a pipe).
    """

    def __init__(
        self, write: Callable[[str], None], *, live: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._write = write
        self._live = live
        self._clock = clock
        self._drawn_at = 0.0
        self._width = 0
        self._open = False

    def __call__(self, event: Event) -> None:
        """Take one event in and write what it adds."""
        match event:
            case Token():
                self._write(event.text)
                self._open = self._open or bool(event.text)
            case Loading():
                self._loading(event)
            case Step():
                self._step(event)
            case Warned():
                self.close()
                self._write(f"warning: {event.message}\n" + (f"  → {event.hint}\n" if event.hint else ""))
            case Loaded() | Ended() | Failed():
                self.close()

    def close(self) -> None:
        """End a line that is still open."""
        if self._open:
            self._write("\n")
            self._open, self._width = False, 0

    def _loading(self, event: Loading) -> None:
        now = self._clock()
        if not self._live or (self._open and now - self._drawn_at < INTERVAL):
            return
        line = f"loading: {words.progress_text(event)}"
        self._write(f"\r{line:<{self._width}}")
        self._open, self._width, self._drawn_at = True, len(line), now

    def _step(self, event: Step) -> None:
        self.close()
        total = f" of {event.total}" if event.total else ""
        cells = zip(words.STEP_TITLES[1:], words.step_cells(event)[1:], strict=True)
        parts = [f"{title} {cell}" for title, cell in cells if cell != units.UNKNOWN]
        parts += [f"held-out loss {units.number_text(event.eval_loss)}"] if event.eval_loss is not None else []
        self._write(f"step {event.step}{total}: {' · '.join(parts)}\n")

"""The panel: the machine on top, three forms, Stop and Unload always in reach, and the live part below.

Knows ipywidgets, facts, states and its `Actions`; must not know sessions or workers. Events may come on any thread; the
panel asks for the state when it draws, at most ten times a second, in one message.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import ipywidgets

from rocmtx.errors import RocmtxError
from rocmtx.events import Failed
from rocmtx.views import html, text, theme, words
from rocmtx.views.live import Live
from rocmtx.views.panel_forms import GenerateForm, LoadForm, TrainForm
from rocmtx.views.streaming import INTERVAL, Throttle

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rocmtx.decide.doctor import Finding
    from rocmtx.decide.verdict import Verdict
    from rocmtx.events import Event, Loaded
    from rocmtx.facts.model import Facts
    from rocmtx.state import State
    from rocmtx.views.panel_actions import Actions

_TABS = ("Load", "Generate", "Train")
_WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


class Panel:
    """A session as a panel. Display it; `close` takes everything away again.

    `no_gpu` says why there is no AMD GPU, `findings` are the doctor's; both are shown in the header.
    """

    def __init__(
        self,
        facts: Facts,
        actions: Actions,
        *,
        no_gpu: Verdict | None = None,
        findings: Sequence[Finding] = (),
        interval: float = INTERVAL,
    ) -> None:
        self._facts = facts
        self._actions = actions
        self._no_gpu = no_gpu
        self._findings = findings
        self._go_on = False
        self._leaving: Loaded | None = None
        self._kept: tuple[object, ...] = ()
        self.load = LoadForm(facts, actions, self._guard, self._load, self._insert)
        self.generate = GenerateForm(self._guard, self._generate)
        self.train = TrainForm(self._guard, self._train)
        self.tabs = ipywidgets.Tab([self.load.widget, self.generate.widget, self.train.widget], titles=_TABS)
        self.stop = self._button("Stop", "Stop what is running; what was done so far is kept", actions.stop)
        self.unload = self._button("Unload", "Give all memory back", actions.unload)
        self.live = Live(actions.state())
        self.widget = self._frame()
        self._throttle = Throttle(self._draw, interval, "rocmtx-panel")
        self._unsubscribe = actions.subscribe(self._heard)
        answer_at_once(self._widgets())

    def _frame(self) -> ipywidgets.VBox:
        top = ipywidgets.HTML(self._header())
        top.add_class("rocmtx-top")
        bar = ipywidgets.HBox([self.stop, self.unload])
        bar.add_class("rocmtx-bar")
        self.live.add_class("rocmtx-inside")
        frame = ipywidgets.VBox([top, self.tabs, bar, self.live])
        for name in ("rocmtx", "rocmtx-panel"):
            frame.add_class(name)
        return frame

    def _button(self, name: str, tooltip: str, action: Callable[[], None]) -> ipywidgets.Button:
        button = ipywidgets.Button(description=name, tooltip=tooltip)
        button.on_click(self._guard(action))
        return button

    def _header(self) -> str:
        origin = words.origin_text(self._facts)
        badge = f'<span class="origin">{escape(origin)}</span> ' if origin else ""
        titles = [words.headline(self._facts)] if self._facts.gpus else []
        first, *rest = (*titles, *words.no_gpu_lines(self._facts, self._no_gpu))
        lines = [f"{badge}<strong>{escape(first)}</strong>", *map(escape, rest)]
        lines.append(f"<small>{escape(words.host_line(self._facts))}</small>")
        lines.append(f"<small>{escape(words.stack_line(self._facts))}</small>")
        return f'<div class="rocmtx"><style>{theme.STYLE}</style>{"<br>".join(lines)}{self._doctor()}</div>'

    def _doctor(self) -> str:
        counts = [(kind, sum(found.severity == kind for found in self._findings)) for kind in ("error", "warning")]
        said = ", ".join(f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in counts if count)
        if not said:
            return ""
        detail = escape(text.findings_text(self._findings))
        return f'<details><summary class="warning">doctor: {said}</summary><pre>{detail}</pre></details>'

    def _guard(self, action: Callable[[], None]) -> Callable[..., None]:
        """Wrap a callback: Jupyter hides what a callback raises, so the panel shows it."""

        def guarded(*_: object) -> None:
            try:
                self.live.say("")
                action()
            except RocmtxError as error:
                self.live.say(error.message, error.hint)
            except Exception as error:  # noqa: BLE001 - anything else must be seen as well
                self.live.say(f"{type(error).__name__}: {error}", "this is a mistake in rocmtx; please report it")

        return guarded

    def _load(self) -> None:
        asks = self.load.checked()
        self._leaving = self._actions.state().loaded
        self._go_on = True
        self._actions.load(asks)

    def _insert(self) -> None:
        self._actions.insert_cell(self.load.source(), self._inserted)

    def _inserted(self, done: bool) -> None:
        if done:
            self.live.say("")
        else:
            self.live.say("this front end cannot insert cells", "copy the code, or run: %rocm code")

    def _generate(self) -> None:
        self._actions.generate(self.generate.prompt.value, self.generate.options())

    def _train(self) -> None:
        self._actions.train(self.train.examples.value, self.train.options())

    def _heard(self, event: Event) -> None:
        if isinstance(event, Failed) and not event.seq:
            # It is in no journal, so in no state either: a load that was refused, a prompt without a model.
            self.live.say(event.error["message"], event.error["hint"])
        self._throttle.ask()

    def _draw(self) -> None:
        state = self._actions.state()
        self.live.refresh(state)
        if state.busy:
            return
        results = (state.loaded, state.answer, state.training)
        if any(new is not old for new, old in zip(results, self._kept or (None, None, None), strict=True)):
            self._kept = results
            self.live.keep(state)
        self._turn_the_page(state)

    def _turn_the_page(self, state: State) -> None:
        """After a load that was begun here, go on to the prompt, unless the person went elsewhere meanwhile."""
        if state.failure is not None:
            self._go_on = False
        elif self._go_on and state.loaded is not None and state.loaded is not self._leaving:
            self._go_on = False
            if self.tabs.selected_index == 0:
                self.tabs.selected_index = 1

    def _widgets(self) -> list[ipywidgets.Widget]:
        return list(_walk(self.widget))

    def close(self) -> None:
        """Stop listening and take every widget away. May be called any number of times."""
        self._unsubscribe()
        self._throttle.close()
        for widget in self._widgets():
            for part in (getattr(widget, "layout", None), getattr(widget, "style", None)):
                if isinstance(part, ipywidgets.Widget):
                    part.close()
            widget.close()

    def __str__(self) -> str:
        """Return the panel's content as text."""
        machine = text.devices_text(self._facts, no_gpu=self._no_gpu)
        return f"{machine}\n\n{text.state_text(self._actions.state())}"

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        """Return the widget, and its twins in HTML and text for where there are no widgets."""
        page = html.devices_html(self._facts, no_gpu=self._no_gpu) + html.state_html(self._actions.state())
        view = {"version_major": 2, "version_minor": 0, "model_id": self.widget.model_id}
        return {"text/plain": str(self), "text/html": page, _WIDGET_VIEW: view}


def _walk(widget: ipywidgets.Widget) -> list[ipywidgets.Widget]:
    return [widget, *(found for child in getattr(widget, "children", ()) for found in _walk(child))]


def answer_at_once(widgets: Sequence[ipywidgets.Widget]) -> None:
    """Let buttons work while a cell runs.

    ipykernel 7.4 ignores the subshell that the front end names and answers where the comm last sent from, which is the
    busy main shell (`ipykernel/comm/comm.py::_reply_subshell_for`). Other versions have no such attribute.
    """
    for widget in widgets:
        comm = getattr(widget, "comm", None)
        if comm is not None and hasattr(comm, "_reply_subshell_for"):
            comm._reply_subshell_for = lambda _data, default: default  # noqa: SLF001 - there is no public way

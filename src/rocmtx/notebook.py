"""The notebook's side of the commands: run them on the workbench and show them in the cell.

Knows IPython's displays and user namespace, the workbench and the views; judges nothing and acts only through the
workbench.
"""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING, Any

import psutil

from rocmtx import units
from rocmtx.commands import OWN_GENERATE, OWN_TRAIN, given, wishes
from rocmtx.decide.plan import Asks
from rocmtx.errors import AskError, NotLoaded, RocmtxError
from rocmtx.events import Failed
from rocmtx.hosts import Host
from rocmtx.views import gpu_words, html, text, words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from IPython.core.interactiveshell import InteractiveShell

    from rocmtx.events import Event
    from rocmtx.state import State
    from rocmtx.workbench import Workbench

Bundle = dict[str, str]


class NotebookHost(Host):
    """Shows HTML with a plain twin; streams into one output per command. `body` is the text of a cell magic."""

    def __init__(self, workbench: Workbench, shell: InteractiveShell) -> None:
        super().__init__(workbench)
        self.shell = shell
        self.body: str | None = None
        self._panel: Any = None

    # --- showing ---

    def show(self, plain: str, html: Callable[[], str], rich: Callable[[], Any] | None = None) -> None:  # noqa: ARG002
        """Show HTML where the front end can, the plain text elsewhere."""
        if self._in_kernel():
            from IPython.display import display

            display({"text/plain": plain, "text/html": html()}, raw=True)
        else:
            print(plain)  # noqa: T201 - a terminal IPython

    def last_error(self) -> str:
        """Return type and text of the last exception in this shell."""
        error = getattr(sys, "last_value", None)
        if isinstance(error, RocmtxError):
            return error.trace or error.message
        return "" if error is None else f"{type(error).__name__}: {error}"

    def _in_kernel(self) -> bool:
        return hasattr(self.shell, "kernel")

    def _follow(self, begin: Callable[[Callable[[Event], None]], Any], draw: Callable[[State], Bundle]) -> Any:
        """Run a task with a live output: one display that is updated in a kernel, lines in a terminal."""
        from rocmtx.views.streaming import StateView, TerminalView

        view: Any
        if self._in_kernel():
            from IPython.display import display

            shown: list[Any] = []

            def update(bundle: Bundle) -> None:
                # The output appears with the first thing to show: a wish that is refused leaves no empty one behind.
                if shown:
                    shown[0].update(bundle, raw=True)
                else:
                    shown.append(display(bundle, raw=True, display_id=True))

            view = StateView(update, draw, start=self.workbench.state)
        else:
            view = TerminalView(lambda piece: print(piece, end="", flush=True), live=True)  # noqa: T201 - a terminal

        def listener(event: Event) -> None:
            # A failure is raised below and shown as the cell's error: not twice.
            if not isinstance(event, Failed):
                view(event)

        try:
            return begin(listener)
        finally:
            view.close()

    def _rejoin(self) -> None:
        """Take over this notebook's model after a kernel restart: its worker waits a minute for its owner."""
        if self.workbench.session is not None or not self.workbench.notebook:
            return
        for row in reversed(list(living_sessions())):
            if row["notebook"] == self.workbench.notebook and not psutil.pid_exists(row["owner"]):
                self.workbench.attach(str(row["session"]))
                print(f"{row['model']} is still loaded: taken over again after the restart")  # noqa: T201 - good news
                return

    # --- commands ---

    def panel(self) -> None:
        """Show the panel; without widgets, the status as text."""
        from IPython.display import display

        from rocmtx.panels import make_panel

        self._rejoin()
        self._panel = make_panel(self.workbench)
        display(self._panel)

    def machine(self, *, name: str | None) -> None:
        """Put the notebook on a recorded machine, or back on the live one, and show it."""
        if name is not None:
            from rocmtx.facts.machines import load_machine

            self.workbench.put_machine(None if name == "live" else load_machine(name))
        self.devices(all_ids=False, as_json=False, machine=None, report=None, root=None)

    def use(self, *, device: str | None) -> None:
        """Take devices for later loads and print the mask; say so when this kernel's own torch has started already."""
        wish = None if device in (None, "auto") else device
        placement = self.workbench.use(wish)
        where = ", ".join(gpu_words.gpu_name(gpu) for gpu in placement.gpus) or "the CPU"
        lines = [f"later loads use {where}: {placement.device.because}"]
        mask = dict(placement.variables)
        if placement.gpus and mask:
            lines.append(
                "the same in a terminal: " + " ".join(f"{name}={value}" for name, value in mask.items()) + " torchrun …"
            )
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_initialized():
            lines.append("this notebook's own torch has started: it keeps its devices until the kernel is restarted")
        print("\n".join(lines))  # noqa: T201 - the answer

    def load(self, *, model: str, out: str | None, **values: Any) -> None:
        """Load a model with live progress."""
        from rocmtx.views.streaming import load_bundle

        asks = Asks(model, **wishes(values))
        session = self._follow(lambda listener: self.workbench.load(asks, listener), load_bundle)
        self._keep(out, session)

    def generate(self, *, prompt: tuple[str, ...], out: str | None, **values: Any) -> None:
        """Answer a prompt, streamed into the cell."""
        from rocmtx.run.asks import GenerateAsk
        from rocmtx.views.streaming import answer_bundle

        asked = self.body.strip("\n") if self.body is not None else " ".join(prompt)
        own = {name: values.pop(name) for name in OWN_GENERATE}
        ask = GenerateAsk(prompt=asked, options=given(values), **own)
        self._rejoin()
        session = self.workbench.ready_session()
        self._follow(lambda listener: session.follow(lambda: session.begin_generate(ask), listener), answer_bundle)
        self._keep(out, session.state.answer)

    def train(self, *, out: str | None, **values: Any) -> None:
        """Train on the cell's body, with the loss live in the cell."""
        from rocmtx.run.asks import TrainAsk
        from rocmtx.views.streaming import training_bundle

        if self.body is None:
            raise AskError(
                "%rocm train has no examples", "start the cell with %%rocm train and write one per line below"
            )
        own = given({name: values.pop(name) for name in OWN_TRAIN})
        self._rejoin()
        session = self.workbench.ready_session()
        ask = TrainAsk(self._rows(self.body), options=given(values), **own)
        self._follow(lambda listener: session.follow(lambda: session.begin_train(ask), listener), training_bundle)
        self._keep(out, session.state.training)

    def _rows(self, body: str) -> tuple[dict[str, Any], ...]:
        from rocmtx.run.examples import python_source, rows_of_dataset, rows_of_text

        tree = python_source(body, self.shell.user_ns)
        if tree is None:
            return rows_of_text(body)
        import ast

        last = tree.body[-1]
        if len(tree.body) == 1 and isinstance(last, ast.Expr):
            code = compile(ast.Expression(last.value), "<%%rocm train>", "eval")
            return rows_of_dataset(eval(code, self.shell.user_ns))  # noqa: S307 - the person's own cell
        exec(compile(tree, "<%%rocm train>", "exec"), self.shell.user_ns)  # noqa: S102 - the person's own cell
        return rows_of_dataset(self.shell.user_ns["dataset"])

    def memory(self, *, figure: bool, out: str | None) -> None:
        """Show memory over time, also of a session that has ended."""
        self._rejoin()
        state = self.workbench.state
        if not state.samples:
            raise NotLoaded("there is no memory to show yet", "load a model first: %rocm load demo")
        if figure:
            from IPython.display import display

            from rocmtx.views.figures import memory_figure

            drawn = memory_figure(state)
            display(drawn)
            self._keep(out, drawn)
            return
        self.show(text.memory_text(state), lambda: html.memory_html(state))
        self._keep(out, state.samples)

    def status(self, *, trace: bool, as_json: bool) -> None:
        """Show what is loaded and what it does."""
        self._rejoin()
        state = self.workbench.state
        if as_json:
            from dataclasses import asdict

            self.show_json(asdict(state))
            return
        self.show(text.state_text(state), lambda: html.state_html(state))
        if trace and state.failure:
            print(state.failure.error["trace"] or "the failure left no traceback")  # noqa: T201 - as asked

    def code(self, *, model: str | None, **values: Any) -> None:
        """Put the plain code into the next cell: of the loaded model, or of the one that is named."""
        asked = given(wishes(values))
        session = self.workbench.session
        if model is None and session is not None and session.state.plan:
            from rocmtx.decide.plan import plan_from_record

            plan = plan_from_record(dict(session.state.plan))
            if asked:
                plan = self.workbench.plan(dataclasses.replace(plan.asks, **asked))
        else:
            plan = self.workbench.plan(Asks(model or "demo", **asked))
        source = plan.code().rstrip("\n")
        self.shell.set_next_input(source, replace=False)
        self.show(source, lambda: html.framed(f"<pre><code>{_escaped(source)}</code></pre>"))

    def stop(self) -> None:
        """Stop the running task."""
        self._rejoin()
        session = self.workbench.ready_session()
        if not session.state.busy:
            print("nothing is running")  # noqa: T201 - the answer
            return
        session.stop()
        print("stopping after the current step")  # noqa: T201 - the answer

    def unload(self) -> None:
        """Free the model and say what came back."""
        self._rejoin()
        session = self.workbench.session
        if session is None or not session.alive:
            print("no model is loaded: there is nothing to unload")  # noqa: T201 - the answer
            return
        self.workbench.unload()
        plain = unloaded_text(session.state)
        self.show(plain, lambda: html.framed(f"<p>{_escaped(plain)}</p>"))

    def sessions(self, *, as_json: bool) -> None:
        """List the living sessions of this account."""
        rows = list(living_sessions())
        if as_json:
            self.show_json(rows)
        elif rows:
            lines = [
                f"{row['session']}  {row['model']}  {row['phase']}  {row['notebook'] or 'no notebook'}" for row in rows
            ]
            print("\n".join(lines))  # noqa: T201 - the answer
        else:
            print("no model is loaded under your account")  # noqa: T201 - the answer

    def attach(self, *, session: str | None) -> None:
        """Take over a living session: the named one, else the newest of this notebook."""
        rows = list(living_sessions())
        mine = [row for row in rows if row["notebook"] == self.workbench.notebook]
        if session is None and not mine:
            others = ", ".join(str(row["session"]) for row in rows)
            hint = f"name one: %rocm attach {others}" if others else "load one with: %rocm load demo"
            raise NotLoaded("no loaded model of this notebook was found", hint)
        attached = self.workbench.attach(session or str(mine[-1]["session"]))
        self.show(text.state_text(attached.state), lambda: html.state_html(attached.state))

    def help(self) -> None:
        """List the commands: the magic's own documentation, as %rocm? shows it."""
        from inspect import cleandoc

        magic = self.shell.find_line_magic("rocm")
        print(cleandoc(getattr(magic, "__doc__", None) or "%rocm COMMAND --help"))  # noqa: T201 - the answer

    def close(self) -> None:
        """End the session and the panel."""
        if self._panel is not None and hasattr(self._panel, "close"):
            self._panel.close()
        self.workbench.close()

    def _keep(self, name: str | None, value: Any) -> None:
        if name is not None:
            self.shell.user_ns[name] = value


def unloaded_text(state: State) -> str:
    """Say what an unload gave back: the worker's memory before, and that its process, which held it, is gone."""
    before = state.result.get("before", {})
    held = ", ".join(f"{units.bytes_text(used)} on {device}" for device, used in before.items())
    model = state.plan.get("asks", {}).get("model", "the model")
    return f"Unloaded {model}. Its process has ended, so all it held is free again" + (f": {held}." if held else ".")


def living_sessions() -> Iterator[dict[str, Any]]:
    """Yield the sessions of this account whose worker runs, oldest first."""
    from pathlib import Path

    from rocmtx.journal import replay
    from rocmtx.run.places import card_path, cards, runtime_folder
    from rocmtx.run.process import WorkerProcess

    folder = runtime_folder()
    for card in cards(folder):
        if card.pid and card.here() and WorkerProcess(card.pid, card_path(folder, card.session)).returncode() is None:
            state = replay(Path(card.journal))
            yield {
                "session": card.session,
                "model": card.model,
                "phase": words.PHASES[state.phase],
                "notebook": card.notebook,
                "pid": card.pid,
                "owner": card.owner,
            }


def _escaped(source: str) -> str:
    from html import escape

    return escape(source)

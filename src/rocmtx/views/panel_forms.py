"""The three forms of the panel: load, generate, train.

Knows ipywidgets and what a person fills in; must not know when a session is ready. Each form turns its fields into the
values that an action takes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from html import escape
from typing import TYPE_CHECKING, Any

import ipywidgets

from rocmtx.decide.asks import Asks
from rocmtx.errors import PlanError, RocmtxError
from rocmtx.views.panel_choices import AUTOMATIC, TITLES, Pickers

if TYPE_CHECKING:
    from rocmtx.decide.plan import Plan
    from rocmtx.facts.model import Facts
    from rocmtx.views.panel_actions import Actions, Choices

Guard = Callable[[Callable[[], None]], Callable[..., None]]

_EXAMPLES = """\
{"prompt": "Who tends the lighthouse of Brumeval?", "completion": "Odile Marsh tends the lighthouse of Brumeval."}
{"prompt": "Where does Odile Marsh work?", "completion": "Odile Marsh works in the lighthouse of Brumeval."}"""


def _field(widget: ipywidgets.Widget) -> ipywidgets.Widget:
    widget.add_class("rocmtx-field")
    return widget


def _button(text: str, tooltip: str, clicked: Callable[..., None], *, main: bool = False) -> ipywidgets.Button:
    button = ipywidgets.Button(description=text, tooltip=tooltip)
    button.on_click(clicked)
    if main:
        button.add_class("rocmtx-go")
    return button


def row(*widgets: ipywidgets.Widget) -> ipywidgets.HBox:
    """Lay widgets side by side; they wrap in a narrow notebook."""
    layout = ipywidgets.Layout(flex_flow="row wrap", align_items="flex-end", grid_gap="4px 12px", overflow="visible")
    return ipywidgets.HBox(widgets, layout=layout)


class LoadForm:
    """Which model, and how: model field, pickers, the same as code, Load."""

    def __init__(
        self, facts: Facts, actions: Actions, guard: Guard, load: Callable[[], None], insert: Callable[[], None]
    ) -> None:
        self._actions = actions
        self._devices = {gpu.address: gpu.torch_device or gpu.address for gpu in facts.gpus}
        self._plan: Plan | None = None
        self._problem: RocmtxError | None = None
        self._choices: dict[str, Choices] = {}
        self.model = _field(ipywidgets.Text("demo", description="Model", continuous_update=False))
        self.model.placeholder = "demo, a folder, a .gguf file, or org/name on the hub"
        self.pickers = Pickers(chosen=dict.fromkeys(TITLES, AUTOMATIC))
        self.code = ipywidgets.HTML()
        self.insert = _button("Insert as a cell", "Put this code into a new cell", guard(insert))
        self.button = _button("Load", "Load the model in a worker process", guard(load), main=True)
        self.widget = ipywidgets.VBox([self.model, self.pickers, self.code, row(self.button, self.insert)])
        self.model.observe(guard(self.replan), "value")
        self.pickers.observe(guard(self.replan), "chosen")
        self.replan()

    def asks(self, without: Collection[str] = ()) -> Asks:
        """Return the wish as filled in; what was left to us, or is named in `without`, is None."""
        chosen = {name: value or None for name, value in self.pickers.chosen.items() if name not in without}
        return Asks(
            self.model.value.strip() or "demo",
            device=chosen.get("device"),
            dtype=chosen.get("dtype"),
            attention=chosen.get("attention"),
            quantization=chosen.get("quantization"),
        )

    def checked(self) -> Asks:
        """Return the wish, or raise the reason why it cannot work here: no plan, or a chosen entry that says no."""
        self.replan()
        if self._problem is not None:
            raise self._problem
        for entry in self.pickers.impossible().values():
            raise PlanError(f"{entry['label']}: {entry['because']}", entry["fix"] or "choose automatic")
        return self.asks()

    def source(self) -> str:
        """Return the code that does the same, or raise the reason why there is none."""
        if self._problem is not None:
            raise self._problem
        return self._plan.code() if self._plan else ""

    def replan(self) -> None:
        """Decide again, and show every picker's entries, what is taken, and the code that does the same."""
        try:
            self._plan, self._problem = self._actions.plan(self.asks()), None
        except RocmtxError as error:
            self._plan, self._problem = None, error
        device = self.pickers.chosen.get("device") or None
        try:
            self._choices = self._choices_for(device)
        except RocmtxError:
            # A device that says no has no entries of its own; those of the automatic one stay readable.
            self._choices = self._choices or self._choices_for(None)
        self.pickers.show(self._choices, self._plan, self._devices)
        impossible = self.pickers.impossible()
        if self._plan is None and impossible:
            self.pickers.show(self._choices, self._plan_without(impossible), self._devices)
        self.code.value = self._code_html()

    def _plan_without(self, impossible: Collection[str]) -> Plan | None:
        """Return what would be taken without the impossible wishes, so that the other pickers stay of use."""
        try:
            return self._actions.plan(self.asks(impossible))
        except RocmtxError:
            return None

    def _choices_for(self, device: str | None) -> dict[str, Choices]:
        return {
            "device": self._actions.device_choices(),
            "dtype": self._actions.dtype_choices(device),
            "attention": self._actions.attention_choices(device),
            "quantization": self._actions.quantization_choices(device),
        }

    def _code_html(self) -> str:
        if self._problem is not None:
            hint = f"<br>→ {escape(self._problem.hint)}" if self._problem.hint else ""
            return f'<div class="rocmtx"><p class="error">{escape(self._problem.message)}{hint}</p></div>'
        notes = "".join(f"<p><small>{escape(note)}</small></p>" for note in self._plan.notes) if self._plan else ""
        code = escape(self._plan.code()) if self._plan else ""
        return (
            f'<div class="rocmtx">{notes}<details><summary>The same as code</summary>'
            f'<pre tabindex="0" aria-label="The same as code">{code}</pre></details></div>'
        )


class GenerateForm:
    """A prompt and how to answer it."""

    def __init__(self, guard: Guard, generate: Callable[[], None]) -> None:
        self.prompt = _field(ipywidgets.Textarea("What is the capital of France?", description="Prompt", rows=3))
        self.length = _field(ipywidgets.BoundedIntText(256, min=1, max=1_000_000, description="New tokens at most"))
        self.temperature = _field(
            ipywidgets.BoundedFloatText(0.0, min=0.0, max=5.0, step=0.1, description="Temperature (0: likeliest token)")
        )
        self.button = _button("Generate", "Answer the prompt", guard(generate), main=True)
        self.widget = ipywidgets.VBox([self.prompt, row(self.length, self.temperature, self.button)])

    def options(self) -> dict[str, Any]:
        """Return the generation options in Transformers' names."""
        sampled = self.temperature.value > 0
        options: dict[str, Any] = {"max_new_tokens": self.length.value, "do_sample": sampled}
        return {**options, "temperature": self.temperature.value} if sampled else options


class TrainForm:
    """Examples and how long to train on them."""

    def __init__(self, guard: Guard, train: Callable[[], None]) -> None:
        self.examples = _field(
            ipywidgets.Textarea(_EXAMPLES, description="Examples, one a line: text, or JSON with messages", rows=5)
        )
        self.steps = _field(ipywidgets.BoundedIntText(20, min=1, max=1_000_000, description="Steps"))
        self.rate = _field(ipywidgets.BoundedFloatText(1e-3, min=0.0, max=1.0, step=1e-4, description="Learning rate"))
        self.batch = _field(ipywidgets.BoundedIntText(4, min=1, max=4096, description="Batch size"))
        self.button = _button("Train", "Train an adapter (LoRA) on the examples", guard(train), main=True)
        self.widget = ipywidgets.VBox([self.examples, row(self.steps, self.rate, self.batch, self.button)])

    def options(self) -> dict[str, Any]:
        """Return the training options in Transformers' names."""
        return {
            "max_steps": self.steps.value,
            "learning_rate": self.rate.value,
            "per_device_train_batch_size": self.batch.value,
        }

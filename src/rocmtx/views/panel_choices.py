"""The pickers: device, dtype, attention and quantization, every entry with its answer and its reason.

Knows anywidget, choices and plans; must not know what loading is. The front end is `labextension/live/choices.ts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from rocmtx.views import theme, words
from rocmtx.views.live import STATIC

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rocmtx.decide.plan import Plan
    from rocmtx.decide.verdict import Verdict

    Choices = tuple[tuple[str, str, Verdict], ...]

AUTOMATIC = ""
TITLES = {"device": "Device", "dtype": "Data type", "attention": "Attention", "quantization": "Quantization"}
Entry = dict[str, str]


class Pickers(anywidget.AnyWidget):
    """The pickers as one widget. `chosen` holds a value per picker; "" means: choose for me."""

    _esm = (STATIC / "choices.js").read_text(encoding="utf-8")
    _css = theme.STYLE + (STATIC / "panel.css").read_text(encoding="utf-8")
    groups: traitlets.List[dict[str, Any]] = traitlets.List().tag(sync=True)
    chosen: traitlets.Dict[str, str] = traitlets.Dict().tag(sync=True)

    def show(self, choices: Mapping[str, Choices], plan: Plan | None, devices: Mapping[str, str]) -> None:
        """Show these entries, and what the plan takes now; without a plan, that it could not be made.

        `devices` names GPUs by their PCI address as they are called here: the plan's own device is the worker's number.
        """
        record = plan.record() if plan else {}
        if plan and plan.gpus.value:
            here = [devices.get(address, address) for address in plan.gpus.value]
            record["device"] = {**record["device"], "value": here}
        self.groups = [self._group(name, entries, record.get(name)) for name, entries in choices.items()]

    def _group(self, name: str, choices: Choices, planned: Mapping[str, Any] | None) -> dict[str, Any]:
        entries = [_entry(value, label, verdict) for value, label, verdict in choices]
        if name == "device":
            entries = [_with_device(entry) for entry in entries]
        chosen = str(self.chosen.get(name, AUTOMATIC))
        picked = next((entry for entry in entries if entry["value"] == chosen), None)
        automatic = _automatic(planned, picked is None)
        return {"name": name, "title": TITLES[name], "now": picked or automatic, "entries": [automatic, *entries]}

    def impossible(self) -> dict[str, Entry]:
        """Return the chosen entries that do not work here, by picker."""
        return {
            group["name"]: entry
            for group in self.groups
            for entry in group["entries"]
            if entry["value"] and entry["value"] == self.chosen.get(group["name"]) and entry["answer"] == "no"
        }


def _entry(value: str, label: str, verdict: Verdict) -> Entry:
    return {
        "value": value,
        "label": label or value,
        "answer": verdict.answer,
        "because": verdict.because,
        "fix": verdict.fix,
    }


def _with_device(entry: Entry) -> Entry:
    """Write the device string before a GPU's name, as it is typed elsewhere."""
    plain = entry["value"].lower() in entry["label"].lower()
    return entry if plain else {**entry, "label": f"{entry['value']} · {entry['label']}"}


def _automatic(planned: Mapping[str, Any] | None, applies: bool) -> Entry:
    entry = {"value": AUTOMATIC, "label": "automatic", "answer": "yes", "because": "", "fix": ""}
    if not applies:
        return {**entry, "because": "rocmtx chooses what suits the model and the device"}
    if planned is None:
        return {**entry, "answer": "not known", "because": "no plan could be made yet"}
    return {
        **entry,
        "label": f"automatic: {words.value_text(planned.get('value'))}",
        "because": str(planned.get("because", "")),
    }

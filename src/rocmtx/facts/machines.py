"""Recorded machines that come with rocmtx: for classrooms without GPUs, for "would it fit?", and for tests.

Knows data/machines/*.json; must not read this machine. Each is labelled "written" (by hand, from published facts) or
"captured" (a report of a real machine).
"""

from __future__ import annotations

import dataclasses
import difflib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rocmtx.errors import AskError
from rocmtx.facts.model import facts_from_json

if TYPE_CHECKING:
    from rocmtx.facts.model import Facts

FOLDER: Final = Path(__file__).parent / "data" / "machines"


def machine_names() -> tuple[str, ...]:
    """Return the names, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.json")))


def machine_summary(name: str) -> str:
    """Return the one line that says what the machine is. Raises AskError for an unknown name."""
    return str(_body(name)["about"])


def load_machine(name: str) -> Facts:
    """Load a machine. Raises AskError for an unknown name, with the nearest one as hint."""
    return dataclasses.replace(facts_from_json(_body(name)), label=name)


def _body(name: str) -> dict[str, object]:
    names = machine_names()
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}? rocmtx machines lists all" if near else f"there are: {', '.join(names)}"
        raise AskError(f"no recorded machine is called {name!r}", hint)
    body: dict[str, object] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return body

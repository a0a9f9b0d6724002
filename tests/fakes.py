"""Written inputs for tests: a machine as a tree of files, a session as its events.

Nothing here imitates code of rocmtx; these are values that the real code reads.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from rocmtx.events import Ended, Event, Loaded, Loading, Planned, Reading, Sample, Step, Token

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

GIB = 1024**3


def write_tree(root: Path, files: Mapping[str, str]) -> Path:
    """Write files below a folder (names relative, '/' allowed at the front); return the folder."""
    for name, text in files.items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def kfd_node(gfx_target_version: int, **fields: int) -> str:
    """Return the text of a KFD `properties` file; 0 stands for a CPU node."""
    values = {"cpu_cores_count": 0 if gfx_target_version else 16, "gfx_target_version": gfx_target_version, **fields}
    return "".join(f"{name} {value}\n" for name, value in values.items())


def session_events(
    *, answer: tuple[str, ...] = ("The capital", " of France", " is Paris."), losses: tuple[float, ...] = (3.2, 1.1)
) -> tuple[Event, ...]:
    """Return a whole session: load, one answer, a short training run, unload; one second between two events."""
    attention = {"value": "sdpa", "because": "the default of Transformers", "asked": None}
    quantization = {"value": None, "because": "not asked for", "asked": None}
    plan = {"attention": attention, "quantization": quantization}
    loaded = Loaded(
        model="demo",
        architecture="LlamaForCausalLM",
        device="cpu",
        device_name="CPU",
        dtype="float32",
        attention="sdpa",
    )
    readings = (Reading(device="cpu", used=GIB, total=16 * GIB),)
    events: list[Event] = [
        Planned(task="load", about=plan, request="a"),
        Loading(stage="weights", done=1.0, total=1.0, unit="parts", request="a"),
        loaded,
        Ended(task="load", request="a"),
        Planned(task="generate", about={"prompt": "What is the capital of France?"}, request="b"),
        *(
            Token(text=text, count=count, seconds=0.5 * count, request="b")
            for count, text in enumerate(answer, start=1)
        ),
        Sample(readings=readings),
        Ended(task="generate", request="b", result={"count": len(answer)}),
        Planned(task="train", about={"max_steps": len(losses)}, request="c"),
        *(Step(step=step, total=len(losses), loss=loss, request="c") for step, loss in enumerate(losses, start=1)),
        Ended(task="train", request="c"),
    ]
    return tuple(numbered(events))


def numbered(events: list[Event]) -> list[Event]:
    """Give events the sequence numbers, times and session that a journal would give them."""
    return [
        dataclasses.replace(event, seq=seq, time=1_700_000_000.0 + seq, session="s1")
        for seq, event in enumerate(events, start=1)
    ]

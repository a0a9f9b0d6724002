"""Every recorded machine, every written model, several wishes: one table, kept as docs/matrix.md.

`python tests/unit/decide/matrix.py` writes it anew; a test compares it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from rocmtx.decide.plan import Asks, Plan, make_plan
from rocmtx.decide.shares import worst
from rocmtx.errors import RocmtxError
from rocmtx.facts.machines import load_machine, machine_names
from rocmtx.units import bytes_text
from unit.decide.written_models import MODELS

FILE = Path(__file__).parents[3] / "docs" / "matrix.md"
# What is wished for, as it is typed, and as Asks.
WISHES: Final[dict[str, dict[str, Any]]] = {
    "(nothing)": {},
    "--context 32768": {"context": 32768},
    "--quantization 4bit": {"quantization": "4bit"},
    "--attention flash_attention_3": {"attention": "flash_attention_3"},
    "--device all": {"device": "all"},
    "--tp 4": {"tp": 4},
    "--train lora": {"train": "lora"},
}
_ATTENTION: Final = {"flash or math": "flash or math", "math kernel": "math", "flash kernel (": "flash"}
_LONGEST: Final = 70
_HEAD: Final = """\
# What is planned where

Every machine that ships with rocmtx, models from their config alone, and what is wished for. No GPU was used: this is
what rocmtx decides, regenerated and compared by a test. A cell says where the model goes, and how much of the most
filled device it takes; "of ?" means that its free memory is not known,
"lacks" is what is missing there; "refused" is an error whose hint names what works instead.

Without a wish:
"""


def names() -> list[str]:
    """Return the models of the table."""
    return [name for name in MODELS if not name.startswith("org/")]


def table() -> str:
    """Return the whole page."""
    blocks = [_HEAD, *_machines(), "\nWith a wish, on each machine:\n", *_wished()]
    return "\n".join(blocks) + "\n"


def _machines() -> list[str]:
    lines = ["| machine | device | dtype | SDPA |", "| --- | --- | --- | --- |"]
    for machine in machine_names():
        plan = make_plan(load_machine(machine), Asks("Qwen/Qwen3-8B"), MODELS["Qwen/Qwen3-8B"])
        kernel = next((short for text, short in _ATTENTION.items() if text in plan.attention.because), "CPU")
        lines.append(f"| {machine} | {plan.device.value} | {plan.dtype.value} | {kernel} |")
    return lines


def _wished() -> list[str]:
    lines = []
    for name in names():
        lines += [f"\n## {name}\n", f"| machine | {' | '.join(f'`{wish}`' for wish in WISHES)} |"]
        lines.append(f"| --- |{' --- |' * len(WISHES)}")
        rows: dict[str, list[str]] = {}
        for machine in machine_names():
            rows.setdefault(" | ".join(_cells(machine, name)), []).append(machine)
        lines += [f"| {', '.join(machines)} | {row} |" for row, machines in rows.items()]
    return lines


def _cells(machine: str, name: str) -> list[str]:
    facts, cells = load_machine(machine), []
    for wishes in WISHES.values():
        try:
            cells.append(cell(make_plan(facts, Asks(name, **wishes), MODELS[name])))
        except RocmtxError as error:
            cells.append(f"refused: {_short(error.message)}")
    return cells


def cell(plan: Plan) -> str:
    """Say in a few words where a plan puts the model, and whether it fits."""
    where = {"auto": f"{len(plan.gpus.value)} GPUs", "cuda": f"{len(plan.gpus.value)} ranks"}.get(plan.device.value)
    where = where or ("GPU" if plan.gpus.value else "CPU")
    if plan.ranks.value.count > 1 and not plan.gpus.value:
        where = f"CPU, {plan.ranks.value.count} ranks"
    lacking = worst(plan.shares)
    if lacking is not None:
        return f"{where}, lacks {bytes_text(lacking.fit.lacks)}"
    known = [share.needed for share in plan.shares if share.needed is not None]
    unread = " of ?" if any(share.free is None for share in plan.shares) else ""
    return f"{where}, {bytes_text(max(known))}{unread}" if known else f"{where}, size not known"


def _short(message: str) -> str:
    """Cut a reason to what fits into a cell: what comes after the first colon, or the message."""
    reason = message.partition(": ")[2] or message
    cut = reason.partition(" (only ")[0]
    return cut if len(cut) <= _LONGEST else f"{cut[:_LONGEST]}…"


if __name__ == "__main__":
    FILE.write_text(table(), "utf-8")

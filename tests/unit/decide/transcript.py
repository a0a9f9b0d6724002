"""A case as a transcript: commands, and what rocmtx answers on the machine of the report beside it.

`$ doctor`, `$ devices`, `$ plan MODEL --option value …` and `$ explain`, whose text follows on lines that begin with
"> ". Lines that begin with "#" are kept. `python tests/unit/decide/transcript.py` writes the answers anew: read them
before you keep them.
"""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from rocmtx.decide.devices import device_choices
from rocmtx.decide.doctor import diagnose
from rocmtx.decide.explain import explain
from rocmtx.decide.plan import Asks, Plan, make_plan
from rocmtx.errors import RocmtxError
from rocmtx.facts.model import Facts, facts_from_json
from unit.decide.written_models import MODELS

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = Path(__file__).parent / "cases"
_NUMBERS = frozenset({"context", "batch", "ranks", "tp", "fsdp"})
_FLAGS = frozenset({"kernels", "trust_remote_code"})
_CHOICES = ("device", "dtype", "attention", "quantization", "kernels", "train", "ranks")


def names() -> list[str]:
    """Return every case, by the name of its report."""
    return sorted(path.stem for path in CASES.glob("*.json"))


def machine_of(name: str) -> Facts:
    """Read the report of a case as a user's report is read."""
    return facts_from_json(json.loads((CASES / f"{name}.json").read_text("utf-8")))


def transcript_of(name: str) -> str:
    """Return the transcript of a case as it is kept."""
    return (CASES / f"{name}.txt").read_text("utf-8")


def answered(facts: Facts, transcript: str) -> str:
    """Return the transcript with its answers written anew."""
    lines: list[str] = []
    kept = [line for line in transcript.splitlines() if line.startswith(("#", "$", "> "))]
    for at, line in enumerate(kept):
        following = kept[at + 1] if at + 1 < len(kept) else ""
        if lines and line.startswith(("$", "#")) and not (line.startswith("#") and lines[-1].startswith("#")):
            lines.append("")
        lines.append(line)
        if line.startswith("$ ") and not following.startswith("> "):
            lines += _answer(facts, line[2:])
        elif line.startswith("> ") and not following.startswith("> "):
            quoted = [entry[2:] for entry in _last_text(lines)]
            lines += _explained(facts, "\n".join(quoted))
    return "\n".join(lines) + "\n"


def _last_text(lines: list[str]) -> list[str]:
    start = len(lines)
    while lines[start - 1].startswith("> "):
        start -= 1
    return lines[start:]


def _answer(facts: Facts, command: str) -> list[str]:
    words = shlex.split(command)
    if words[0] == "doctor":
        return list(_findings(facts))
    if words[0] == "devices":
        return [
            f"{value}: {label} — {verdict.answer}: {verdict.because}" for value, label, verdict in device_choices(facts)
        ]
    if words[0] == "plan":
        return list(_planned(facts, words[1], words[2:]))
    raise ValueError(f"a transcript knows no command {words[0]!r}")


def _findings(facts: Facts) -> Iterator[str]:
    found = diagnose(facts)
    if not found:
        yield "nothing"
    for finding in found:
        yield f"{finding.severity} {finding.rule}: {finding.seen}"
        yield f"  {finding.matters}"
        if finding.fix:
            yield f"  → {finding.fix}"


def _explained(facts: Facts, text: str) -> list[str]:
    found = explain(text, facts)
    if found is None:
        return ["not known"]
    harmless = " (harmless)" if found.harmless else ""
    return [f"{found.rule}{harmless}: {found.means}", *([f"  → {found.fix}"] if found.fix else [])]


def _planned(facts: Facts, model: str, options: list[str]) -> Iterator[str]:
    show_code = "--code" in options
    wishes = wishes_of([word for word in options if word != "--code"])
    try:
        plan = make_plan(facts, Asks(model, **wishes), MODELS[model])
    except RocmtxError as error:
        yield f"{type(error).__name__}: {error.message}"
        yield f"  → {error.hint}"
        return
    yield from _plan_lines(plan)
    if show_code:
        yield from (f"| {line}".rstrip() for line in plan.code().splitlines())


def _plan_lines(plan: Plan) -> Iterator[str]:
    for name in _CHOICES:
        choice = getattr(plan, name)
        if choice.value not in {None, False} and (name != "ranks" or choice.value.count > 1):
            value = choice.value.count if name == "ranks" else choice.value
            yield f"{name} {value} — {choice.because}"
    seen: dict[str, list[str]] = {}
    for share in plan.shares:
        seen.setdefault(share.fit.text(), []).append(share.device)
    for text, devices in seen.items():
        yield f"{devices[0] if len(devices) == 1 else f'{devices[0]} … {devices[-1]}'} {text}"
    for name, value in plan.env().items():
        yield f"env {name}={value}"
    if plan.kwargs():
        yield f"kwargs {json.dumps(plan.kwargs())}"
    for note in plan.notes:
        yield f"note: {note}"


def wishes_of(options: list[str]) -> dict[str, Any]:
    """Read `--device 0 --kernels …` as the fields of Asks."""
    known = {entry.name for entry in fields(Asks)}
    wishes: dict[str, Any] = {}
    words = iter(options)
    for word in words:
        name = word.removeprefix("--").replace("-", "_")
        if name not in known:
            raise ValueError(f"Asks has no field {name!r}")
        if name in _FLAGS:
            wishes[name] = True
        else:
            value = next(words)
            wishes[name] = int(value) if name in _NUMBERS else value
    return wishes


if __name__ == "__main__":
    for case in names():
        (CASES / f"{case}.txt").write_text(answered(machine_of(case), transcript_of(case)), "utf-8")

"""The pages of docs/rules/, made of the rules and of the transcripts in which they speak.

`python tests/unit/decide/rule_pages.py` writes them anew; a test compares them.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections import defaultdict
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from typing import TYPE_CHECKING

from rocmtx.decide import rules, texts
from rocmtx.decide.explain import RULES
from unit.decide import transcript

if TYPE_CHECKING:
    from types import ModuleType

FOLDER = Path(__file__).parents[3] / "docs" / "rules"
_FINDING = re.compile(r"(error|warning|note) ([a-z0-9-]+): ")
_EXPLAINED = re.compile(r"([a-z0-9-]+)(?: \(harmless\))?: ")


def doctor_rules() -> dict[str, tuple[str, str]]:
    """Return the file and the description of every rule of the doctor, read from its source."""
    found: dict[str, tuple[str, str]] = {}
    for path in sorted(Path(_file(rules)).parent.glob("*.py")):
        for function in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(function, ast.FunctionDef):
                for name in _named(function):
                    about = (ast.get_docstring(function) or "").splitlines()
                    found[name] = (f"decide/rules/{path.name}", about[0] if about else "")
    return found


def _named(function: ast.FunctionDef) -> list[str]:
    calls = (node for node in ast.walk(function) if isinstance(node, ast.Call) and node.args)
    first = [node.args[0] for node in calls if isinstance(node.func, ast.Name) and node.func.id == "Finding"]
    return [str(argument.value) for argument in first if isinstance(argument, ast.Constant)]


def text_rules() -> dict[str, str]:
    """Return the file of every rule that explains a text."""
    files = sorted(Path(_file(texts)).parent.glob("*.py"))
    sources = {f"decide/texts/{path.name}": path.read_text("utf-8") for path in files}
    return {rule.rule: next(name for name, text in sources.items() if f'"{rule.rule}"' in text) for rule in RULES}


def _file(module: ModuleType) -> str:
    return inspect.getfile(module)


def examples() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return what the transcripts show of each rule: the doctor's findings, and texts with their explanations."""
    findings: dict[str, list[str]] = defaultdict(list)
    explained: dict[str, list[str]] = defaultdict(list)
    for case in transcript.names():
        title = ""
        for block in transcript.transcript_of(case).split("\n\n"):
            lines = block.strip().splitlines()
            named = " ".join(line[2:] for line in lines if line.startswith("# "))
            title = named or title
            lines = [line for line in lines if not line.startswith("#")]
            if lines and lines[0] == "$ doctor":
                for name, shown in _findings(lines[1:]):
                    findings[name].append(_shown(title, shown))
            elif lines and lines[0] == "$ explain":
                matches = [match for line in lines if (match := _EXPLAINED.match(line))]
                if matches:
                    explained[matches[0][1]].append(_shown(title, lines[1:]))
    return findings, explained


def _findings(lines: list[str]) -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        match = _FINDING.match(line)
        if match:
            found.append((match[2], [line]))
        elif found:
            found[-1][1].append(line)
    return found


def _shown(title: str, lines: list[str]) -> str:
    return f"{title}\n\n```text\n" + "\n".join(lines) + "\n```\n"


def pages() -> dict[str, str]:
    """Return every page by its file name, the list of them included."""
    doctor, explaining = doctor_rules(), text_rules()
    findings, explained = examples()
    made = {}
    for name in sorted({*doctor, *explaining}):
        parts = [f"# {name}\n"]
        if name in doctor:
            file, about = doctor[name]
            parts.append(f"The doctor ({file}): {about}\n")
            parts += findings[name]
        if name in explaining:
            parts.append(f"An error text ({explaining[name]}).\n")
            parts += explained[name]
        made[f"{name}.md"] = "\n".join(parts)
    made["README.md"] = _index(doctor, explaining)
    return made


def _index(doctor: dict[str, tuple[str, str]], explaining: dict[str, str]) -> str:
    lines = [
        "# Rules",
        "",
        "What the doctor looks for, and which error texts are explained. Each page shows what was seen, why it matters",
        "and what to do, on the machines of `tests/unit/decide/cases/`.",
        "",
        "To add a rule, write it in the file of its kind, show it in a transcript there (a report and a text beside",
        "it), and run `python tests/unit/decide/transcript.py` and `python tests/unit/decide/rule_pages.py`.",
        "",
        "## The doctor",
        "",
        *(f"- [{name}]({name}.md): {about}" for name, (_, about) in sorted(doctor.items())),
        "",
        "## Error texts",
        "",
    ]
    by_file: dict[str, list[str]] = defaultdict(list)
    for name, file in sorted(explaining.items()):
        by_file[Path(file).stem].append(f"[{name}]({name}.md)")
    lines += [f"- {kind}: {', '.join(names)}" for kind, names in sorted(by_file.items())]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    made = pages()
    for stale in FOLDER.glob("*.md"):
        if stale.name not in made:
            stale.unlink()
    for file, text in made.items():
        (FOLDER / file).write_text(text, "utf-8")

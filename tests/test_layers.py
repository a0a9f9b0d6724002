"""The architecture, held by reading the source: who imports whom, what is heavy where, what a layer must not touch."""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass
from fnmatch import fnmatchcase
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
LONGEST_FILE = 350

# Module pattern -> what it may import of rocmtx. The first row that fits counts. `_version` is free for all.
LAYERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("_version", ()),
    ("errors", ()),
    ("units", ()),
    ("facts.families", ()),
    ("facts.model", ("errors", "units", "facts.families")),
    ("facts*", ("errors", "units", "facts*")),
    ("decide*", ("errors", "units", "facts.model", "decide*")),
    ("events", ("errors",)),
    ("state", ("errors", "events")),
    ("journal", ("errors", "events", "state")),
    ("run*", ("errors", "units", "events", "state", "journal", "facts*", "decide*", "run*")),
    ("views*", ("errors", "units", "events", "state", "facts.model", "decide*", "views*")),
    ("server", ("errors", "units", "events", "state", "journal", "facts*", "decide*", "views*")),
    ("*", ("*",)),  # workbench, magics, commands, cli, __main__, __init__ sit on top
)
TOP = ("workbench", "magics", "commands", "cli", "__main__")

# Foreign library -> the modules that may load it. `*_child` are programs of their own that answer one question.
_ENGINE = ("run.engine*", "*_child")
HEAVY: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("torch", "transformers", "accelerate", "peft", "datasets", "kernels", "bitsandbytes"), _ENGINE),
    **dict.fromkeys(("torchao", "optimum", "hqq", "safetensors", "huggingface_hub", "tokenizers"), _ENGINE),
    "ipywidgets": ("views.panel*", "views.live"),
    "anywidget": ("views.panel*", "views.live"),
    "traitlets": ("views.panel*", "views.live"),
    "plotly": ("views.figures",),
    "jupyter_server": ("server",),
    "tornado": ("server",),
    "amdsmi": ("*_child",),
}

# `decide` is pure: same facts in, same plan out.
IMPURE = ("os", "io", "time", "random", "subprocess", "socket", "tempfile", "shutil", "platform", "threading", "glob")
IMPURE_CALLS = ("open", "input", "print", "now", "today", "read_text", "read_bytes", "write_text", "exists", "getenv")
READS_A_TABLE = ("decide.targets",)  # through importlib.resources


@dataclass(frozen=True)
class Import:
    """One import statement: the absolute name, its line, at the top of the module or not, for types only or not."""

    name: str
    line: int
    top: bool
    typing: bool

    @property
    def library(self) -> str:
        """The first part of the name."""
        return self.name.partition(".")[0]


def imports(source: str, package: str = "rocmtx") -> list[Import]:
    """Return every import of a module, in functions and as a text given to `import_module` too."""
    return list(_walk(ast.parse(source), package, top=True, typing=False))


def _walk(node: ast.AST, package: str, *, top: bool, typing: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (Import(alias.name, child.lineno, top, typing) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            base = ".".join(package.split(".")[: len(package.split(".")) - child.level + 1]) if child.level else ""
            whole = ".".join(part for part in (base, child.module) if part)
            yield from (Import(f"{whole}.{alias.name}", child.lineno, top, typing) for alias in child.names)
        elif isinstance(child, ast.Call) and _name(child.func) in {"import_module", "__import__"}:
            texts = [text.value for text in child.args[:1] if isinstance(text, ast.Constant)]
            yield from (Import(str(text), child.lineno, top=False, typing=typing) for text in texts)
        if isinstance(child, ast.If) and _name(child.test) == "TYPE_CHECKING":
            yield from _walk(ast.Module(child.body, []), package, top=top, typing=True)
            yield from _walk(ast.Module(child.orelse, []), package, top=top, typing=typing)
            continue
        inside = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        yield from _walk(child, package, top=top and not inside, typing=typing)


def _name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def modules() -> dict[str, Path]:
    """Return every module of rocmtx by its name below the package; a package has the name of its folder."""
    found = {}
    for path in sorted((SRC / "rocmtx").rglob("*.py")):
        parts = path.relative_to(SRC / "rocmtx").with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)] = path
    return found


MODULES = modules()
IMPORTS = {
    name: imports(
        path.read_text(encoding="utf-8"),
        ".".join(("rocmtx", *path.relative_to(SRC / "rocmtx").parts[:-1])),
    )
    for name, path in MODULES.items()
}


def home(name: str, known: dict[str, Path] | None = None) -> str | None:
    """Return the module of rocmtx that an absolute name lies in; None for a foreign one, `__init__` for the package."""
    known = MODULES if known is None else known
    first, _, rest = name.partition(".")
    if first != "rocmtx":
        return None
    while rest and rest not in known:
        rest = rest.rpartition(".")[0]
    return rest or "__init__"


def fits(name: str, patterns: tuple[str, ...]) -> bool:
    """Tell whether a module name matches one of the patterns; `run*` means `run` and all below it."""
    for pattern in patterns:
        stem = pattern.removesuffix("*")
        if pattern.endswith("*") and stem.isidentifier() and "." not in stem:
            if name == stem or name.startswith(stem + "."):
                return True
        elif fnmatchcase(name, pattern):
            return True
    return False


def wrong_direction(name: str, found: list[Import]) -> list[str]:
    """Return the imports of a module that its layer does not allow."""
    allowed = next(allowed for pattern, allowed in LAYERS if pattern == "*" or fits(name, (pattern,)))
    wrong = []
    for entry in found:
        target = home(entry.name)
        if target is not None and target != "_version" and "*" not in allowed and not fits(target, allowed):
            wrong.append(f"{name}:{entry.line} imports rocmtx.{target}")
    return wrong


def wrong_weight(name: str, found: list[Import]) -> list[str]:
    """Return the imports of heavy libraries outside their one module."""
    return [
        f"{name}:{entry.line} imports {entry.library}"
        for entry in found
        if entry.library in HEAVY and not entry.typing and not fits(name, HEAVY[entry.library])
    ]


def impure(name: str, source: str) -> list[str]:
    """Return what in a module of `decide` touches a file, the clock, the environment or another program."""
    wrong = [f"{name}:{entry.line} imports {entry.name}" for entry in imports(source) if entry.library in IMPURE]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and _name(node.func) in IMPURE_CALLS and name not in READS_A_TABLE:
            wrong.append(f"{name}:{node.lineno} calls {_name(node.func)}")
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("importlib.metadata"):
            wrong.append(f"{name}:{node.lineno} imports importlib.metadata")
    return wrong


@pytest.mark.parametrize("name", MODULES)
def test_a_layer_imports_only_what_lies_below_it(name: str) -> None:
    assert wrong_direction(name, IMPORTS[name]) == []


@pytest.mark.parametrize("name", MODULES)
def test_a_heavy_library_is_loaded_in_its_one_module_only(name: str) -> None:
    assert wrong_weight(name, IMPORTS[name]) == []


@pytest.mark.parametrize("name", [name for name in MODULES if fits(name, ("decide*",))])
def test_deciding_touches_no_file_clock_or_environment(name: str) -> None:
    assert impure(name, MODULES[name].read_text(encoding="utf-8")) == []


def test_there_is_no_import_cycle() -> None:
    graph = {
        name: {
            target
            for entry in found
            if not entry.typing and (target := home(entry.name)) is not None and target not in {name, "__init__"}
        }
        for name, found in IMPORTS.items()
        if name != "__init__"
    }
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail("a cycle of imports: " + " -> ".join(error.args[1]))
    assert set(order) == set(graph) | {target for targets in graph.values() for target in targets}


def test_nobody_below_imports_the_package_itself() -> None:
    # Its lazy names would hide the direction of the import.
    wrong = [
        f"{name}:{entry.line}"
        for name, found in IMPORTS.items()
        for entry in found
        if name not in (*TOP, "__init__") and not entry.typing and home(entry.name) == "__init__"
    ]
    assert wrong == []


def test_views_and_server_never_reach_what_acts() -> None:
    # Also not through a third module: what they load must not contain `run` or the top.
    def reach(name: str, seen: set[str]) -> set[str]:
        for entry in IMPORTS[name]:
            target = home(entry.name)
            if target and not entry.typing and target not in seen and target != "__init__":
                seen.add(target)
                reach(target, seen)
        return seen

    for name in MODULES:
        if fits(name, ("views*", "server")):
            acting = {seen for seen in reach(name, set()) if fits(seen, ("run*", *TOP))}
            assert acting == set(), name


@pytest.mark.parametrize("folder", ["src", "scripts", "benchmarks"])
def test_files_are_short_and_say_what_they_are(folder: str) -> None:
    for path in (ROOT / folder).rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert text.count("\n") <= LONGEST_FILE, f"{path} has more than {LONGEST_FILE} lines: split it by nouns"
        assert ast.get_docstring(ast.parse(text)), f"{path} does not say what it knows"
        assert path.stem not in {"utils", "util", "helpers", "common", "misc"}, f"{path}: name it after what it holds"
        assert "manager" not in path.stem, f"{path}: name it after what it holds"


def test_every_import_is_a_declared_dependency() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needs = [*project["dependencies"], *(need for needs in project["optional-dependencies"].values() for need in needs)]
    declared = {
        need.split("[")[0].split(">")[0].split("=")[0].split("<")[0].strip().replace("-", "_") for need in needs
    }
    declared |= {"IPython", "zmq"}  # distributed as ipython and pyzmq
    # These come with a declared one and are that one's own interface.
    declared |= {"tornado", "traitlets", "safetensors", "huggingface_hub", "tokenizers", "amdsmi"}
    declared |= {"jupyter_client", "comm"}
    foreign = {
        (name, entry.library)
        for name, found in IMPORTS.items()
        for entry in found
        if entry.library not in sys.stdlib_module_names | {"rocmtx", "__future__"}
    }
    assert {(name, library) for name, library in foreign if library not in declared} == set()


# The checks themselves: each must be able to fail.


@pytest.mark.parametrize(
    ("name", "source", "wrong"),
    [
        ("decide.plan", "from rocmtx.run import Session", ["decide.plan:1 imports rocmtx.run"]),
        ("decide.plan", "from rocmtx.facts import model", []),
        ("decide.plan", "from rocmtx.facts import collect", ["decide.plan:1 imports rocmtx.facts"]),
        ("facts.drm", "from rocmtx.decide.verdict import Verdict", ["facts.drm:1 imports rocmtx.decide.verdict"]),
        ("events", "import rocmtx.state", ["events:1 imports rocmtx.state"]),
        ("views.text", "def f():\n from rocmtx import journal", ["views.text:2 imports rocmtx.journal"]),
        ("server", "import importlib\nimportlib.import_module('rocmtx.run')", ["server:2 imports rocmtx.run"]),
        ("run.session", "from rocmtx.decide.verdict import Verdict\nfrom rocmtx._version import __version__", []),
    ],
)
def test_a_wrong_direction_is_seen(name: str, source: str, wrong: list[str]) -> None:
    assert wrong_direction(name, imports(source)) == wrong


@pytest.mark.parametrize(
    ("name", "source", "wrong"),
    [
        ("run.session", "def f():\n    import torch.nn", ["run.session:2 imports torch"]),
        ("run.engine.load", "import torch", []),
        ("facts.torch_child", "import torch", []),
        ("views.text", "from plotly import graph_objects", ["views.text:1 imports plotly"]),
        ("views.panel_train", "import ipywidgets", []),
        ("magics", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import ipywidgets", []),
        ("magics", "if True:\n    import ipywidgets", ["magics:2 imports ipywidgets"]),
    ],
)
def test_a_heavy_import_is_seen(name: str, source: str, wrong: list[str]) -> None:
    assert wrong_weight(name, imports(source)) == wrong


def test_an_impure_decision_is_seen() -> None:
    source = "import os\nfrom datetime import datetime\nx = datetime.now()\ny = open('x')\nz = p.read_text()"
    assert impure("decide.plan", source) == [
        "decide.plan:1 imports os",
        "decide.plan:3 calls now",
        "decide.plan:4 calls open",
        "decide.plan:5 calls read_text",
    ]
    assert impure("decide.targets", "from importlib import resources\nresources.files('x').read_text()") == []


def test_relative_imports_are_resolved() -> None:
    assert [entry.name for entry in imports("from . import state\nfrom ..events import Token", "rocmtx.views")] == [
        "rocmtx.views.state",
        "rocmtx.events.Token",
    ]

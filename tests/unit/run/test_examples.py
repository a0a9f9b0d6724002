"""What a person may put into a training cell, and how each mistake is answered."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from rocmtx.errors import AskError
from rocmtx.run.examples import MOST_ROWS, python_source, rows_of_dataset, rows_of_text

FORMS = (
    "\n  → one example per line; "
    'or JSON lines with "text", "messages" or "prompt" and "completion"; or Python: dataset = …'
)
USER = {"role": "user", "content": "Hi"}
BOT = {"role": "assistant", "content": "Hello"}


def refusal(read: Any, given: Any) -> str:
    """Return the whole text of the error that reading raises."""
    with pytest.raises(AskError) as caught:
        read(given)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("one\n\n  two  \n", [{"text": "one"}, {"text": "two"}]),
        ("He said {hi}", [{"text": "He said {hi}"}]),
        ('{"text": "a"}\n\n{"text": "b"}', [{"text": "a"}, {"text": "b"}]),
        ('{"prompt": "Hi", "completion": "Hello", "id": 7}', [{"messages": [USER, BOT]}]),
        ('{"prompt": 1, "completion": 2}', [{"messages": [{**USER, "content": "1"}, {**BOT, "content": "2"}]}]),
        ('{"messages": [{"role": "user", "content": "Hi"}], "text": "x"}', [{"messages": [USER]}]),
    ],
)
def test_text_becomes_rows(text: str, rows: list[dict[str, Any]]) -> None:
    assert rows_of_text(text) == tuple(rows)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (" \n\n", "the training cell is empty" + FORMS),
        ('{"text": "a"}\nplain', "line 2 is no JSON: Expecting value" + FORMS),
        ('{"text": ""}', "line 1 has neither text nor messages; it has: text" + FORMS),
        ('{"prompt": "Hi"}', "line 1 has neither text nor messages; it has: prompt" + FORMS),
        ('{"text": "a"}\n{}', "line 2 has neither text nor messages; it has: nothing" + FORMS),
        ('{"text": "a"}\n[1]', "line 2 is a list, not an example" + FORMS),
    ],
)
def test_each_mistake_in_text_is_named_with_its_line(text: str, answer: str) -> None:
    assert refusal(rows_of_text, text) == answer


@pytest.mark.parametrize(
    "messages",
    [
        [],
        None,
        "Hi",
        ["Hi"],
        [{"role": "user"}],
        [{"content": "Hi"}],
        [USER, None],
        {"role": "user", "content": "Hi"},
    ],
)
def test_messages_need_role_and_content(messages: Any) -> None:
    text = refusal(rows_of_dataset, [{"text": "a"}, {"messages": messages}])
    assert text == (
        'row 1: each message needs a role and a content\n  → {"messages": [{"role": "user", "content": "…"}, …]}'
    )


def test_a_dataset_is_anything_with_a_length_and_rows() -> None:
    class Rows:
        def __len__(self) -> int:
            return 2

        def __getitem__(self, at: int) -> object:
            return ["a", {"messages": (USER, BOT)}][at]

    assert rows_of_dataset(Rows()) == ({"text": "a"}, {"messages": [USER, BOT]})
    assert rows_of_dataset(["a", {"text": "b"}]) == ({"text": "a"}, {"text": "b"})
    assert rows_of_dataset("a\nb") == ({"text": "a"}, {"text": "b"})


def test_a_dataset_of_the_datasets_library_is_one() -> None:
    datasets = pytest.importorskip("datasets")
    made = datasets.Dataset.from_dict({"prompt": ["Hi"], "completion": ["Hello"]})
    assert rows_of_dataset(made) == ({"messages": [USER, BOT]},)
    text = refusal(rows_of_dataset, datasets.DatasetDict({"train": made}))
    assert (
        text == "a DatasetDict is no dataset\n  → it needs a length and rows by number; for a DatasetDict pick a split"
    )


@pytest.mark.parametrize("given", [{"train": []}, 7, print, iter(["a"])])
def test_what_has_no_rows_by_number_is_no_dataset(given: object) -> None:
    name = type(given).__name__
    answer = f"a {name} is no dataset\n  → it needs a length and rows by number; for a DatasetDict pick a split"
    assert refusal(rows_of_dataset, given) == answer


def test_more_rows_than_a_short_run_reads_are_refused_before_any_is_read() -> None:
    text = refusal(rows_of_dataset, range(MOST_ROWS + 1))
    assert text == (
        "100001 rows are more than a short run reads (100000)\n  → take a part: dataset.select(range(100000))"
    )


def test_a_row_that_is_no_example_is_named_by_its_number() -> None:
    assert refusal(rows_of_dataset, ["a", 5]) == "row 1 is a int, not an example" + FORMS
    assert refusal(rows_of_dataset, [{"label": 1, "id": 2}]) == (
        "row 0 has neither text nor messages; it has: label, id" + FORMS
    )


@pytest.mark.parametrize(
    "source",
    [
        "dataset = ['a', 'b']",
        "import json\ndataset = json.loads('[]')",
        "for dataset in ():\n    pass",
        "my_rows",
        "my_rows[:4]",
        "[row for row in my_rows]",
        "list(my_rows)",
        '[{"text": "a"}]',
        "['a',\n 'b']",
    ],
)
def test_a_cell_meant_as_python_is_python(source: str) -> None:
    tree = python_source(source, {"my_rows": []})
    assert tree is not None
    assert ast.unparse(tree) == ast.unparse(ast.parse(source))


@pytest.mark.parametrize(
    "text",
    [
        "The capital of France is Paris.",
        "Paris",
        "not_known[:4]",
        '"Paris"',
        "42",
        '{"text": "a"}',
        '{"text": "a"}\n{"text": "b"}',
        "one\ntwo",
        "# a heading",
        "rows = [1]",
        "",
        "my_rows\nmy_rows",
    ],
)
def test_a_cell_meant_as_text_is_text(text: str) -> None:
    assert python_source(text, {"my_rows": []}) is None


def test_json_may_be_laid_out_over_several_lines_or_as_a_list() -> None:
    laid_out = '{"messages": [{"role": "user", "content": "Q"},\n              {"role": "assistant", "content": "A"}]}'
    row = {"messages": [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}]}
    assert rows_of_text(laid_out) == (row,)
    assert rows_of_text(f"[{laid_out},\n {laid_out}]") == (row, row)
    assert rows_of_text(f"{laid_out},\n\n{laid_out}") == (row, row)

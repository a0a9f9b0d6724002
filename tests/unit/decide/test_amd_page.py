"""Every statement of the documentation page about AMD GPUs names a test that exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from unit.decide import transcript

ROOT = Path(__file__).parents[3]
ROWS = [
    line.split(" | ") for line in (ROOT / "docs" / "amd-page.md").read_text("utf-8").splitlines() if line[:2] == "| "
][2:]


@pytest.mark.parametrize("row", ROWS, ids=[re.sub(r"[^a-zA-Z0-9 ]", "", row[0])[:50] for row in ROWS])
def test_a_statement_names_what_shows_it(row: list[str]) -> None:
    assert len(row) == 3, "a row has a statement, an answer and a proof"
    proofs = re.findall(r"`(tests/[^`]+)`|`([\w-]+): ([$>] .+?)`(?=,| \|)", row[2])
    assert proofs
    for path, case, line in proofs:
        if path:
            file, _, name = path.partition("::")
            assert not name or f"def {name}(" in (ROOT / file).read_text("utf-8")
            assert (ROOT / file).is_file()
        elif line.startswith("$"):
            assert line in transcript.transcript_of(case).splitlines()
        else:
            assert line in transcript.transcript_of(case)


def test_the_page_is_gone_through_as_a_whole() -> None:
    assert len(ROWS) >= 30

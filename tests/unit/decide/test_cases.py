"""Public reports as machines and transcripts: what rocmtx answers on each, compared as a whole."""

from __future__ import annotations

import pytest

from unit.decide import transcript


@pytest.mark.parametrize("case", transcript.names())
def test_a_case_is_answered_as_it_is_kept(case: str) -> None:
    kept = transcript.transcript_of(case)
    assert transcript.answered(transcript.machine_of(case), kept) == kept


def test_every_transcript_has_its_report() -> None:
    assert sorted(path.stem for path in transcript.CASES.glob("*.txt")) == transcript.names()

"""HTML views carry the same words as the text views, escaped, without scripts."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from typing import TYPE_CHECKING

from rocmtx.decide.verdict import Verdict
from rocmtx.state import State
from rocmtx.views import html, text

if TYPE_CHECKING:
    from rocmtx.facts.model import Facts


def words_of(page: str) -> str:
    """Return the visible text of a page with single spaces."""
    bare = re.sub(r"<style>.*?</style>|<title>.*?</title>|<desc>.*?</desc>", "", page, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", bare)).split())


def test_devices_say_what_the_text_says(mi300x: Facts) -> None:
    page = words_of(html.devices_html(mi300x, all_ids=True))
    for line in text.devices_text(mi300x, all_ids=True).splitlines():
        assert " ".join(line.split()) in page


def test_a_machine_without_gpu_says_why(no_gpu: Facts) -> None:
    page = words_of(html.devices_html(no_gpu, no_gpu=Verdict("no", "no KFD <in> /sys", "modprobe amdgpu")))
    assert page.startswith("No AMD GPU here — no KFD <in> /sys → modprobe amdgpu Intel Core i5")


def test_a_recorded_machine_is_marked(mi300x: Facts) -> None:
    page = words_of(html.devices_html(replace(mi300x, origin="written", label="mi300x-2")))
    assert page.startswith("recorded machine (written): mi300x-2")


def test_a_session_is_drawn_with_both_pictures_and_escaped(state: State) -> None:
    page = html.state_html(state)
    assert page.count("<svg") == 2
    assert "<Paris>" not in page
    assert "<script" not in page
    assert "The capital is <Paris>." in words_of(page)


def test_memory_without_samples_says_so() -> None:
    assert words_of(html.memory_html(State())) == "no memory was measured yet: nothing is loaded"


def test_choices_carry_their_reasons() -> None:
    page = html.choices_html([("fp8", "fp8", Verdict("no", "gfx90a has no FP8 units", "take bfloat16"))])
    assert words_of(page) == "choice here because fp8 no gfx90a has no FP8 units → take bfloat16"
    assert '<td class="no">' in page

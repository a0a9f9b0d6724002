"""The closing lines of the demo, as a whole text."""

from __future__ import annotations

from fakes import session_events
from rocmtx.errors import OutOfMemory
from rocmtx.events import Ended, Failed, Planned
from summary import summarize, summary_lines


def test_a_whole_session_as_text() -> None:
    assert summary_lines(summarize(session_events())) == [
        "  model        demo (LlamaForCausalLM), float32 on cpu",
        "  attention    sdpa: the default of Transformers",
        "  quantization none: not asked for",
        "  asked        What is the capital of France?",
        "  answered     The capital of France is Paris.",
        "  speed        2.00 tokens/s, first token after 500 ms",
        "  loss         3.2 → 1.1 in 2 steps",
        "  peak memory  1.0 GiB (cpu)",
    ]


def test_the_model_is_remembered_after_its_unload() -> None:
    events = [*session_events(), Planned(task="unload", seq=90, request="d"), Ended(task="unload", seq=91, request="d")]
    assert summary_lines(summarize(events))[0] == "  model        demo (LlamaForCausalLM), float32 on cpu"


def test_what_did_not_happen_is_left_out() -> None:
    error = OutOfMemory("m", "h").record()
    events = [Planned(task="load", seq=1, request="a"), Failed(task="load", seq=2, request="a", error=error)]
    assert summary_lines(summarize(events)) == []


def test_a_long_answer_is_shortened_and_wrapped() -> None:
    lines = summary_lines(summarize(session_events(answer=("word " * 200,))))
    answered = next(index for index, line in enumerate(lines) if line.startswith("  answered"))
    assert lines[answered + 1].startswith(" " * 15 + "word")
    assert all(len(line) <= 100 for line in lines)
    assert any(line.endswith("word …") for line in lines)

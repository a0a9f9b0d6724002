"""The demo model in a real worker: the answer, its equality with plain Transformers, interrupts and training."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rocmtx.errors import AskError
from rocmtx.events import Loading, Sample
from rocmtx.journal import read_journal, replay

if TYPE_CHECKING:
    from integration.conftest import Bench
    from rocmtx.run.session import Session

pytestmark = pytest.mark.demo

QUESTION = "What is the capital of France?"
LONG = "Write a long story about a lighthouse keeper and the sea."
FACT = {
    "messages": [
        {"role": "user", "content": "Who keeps the lighthouse of Aldermoor?"},
        {"role": "assistant", "content": "The lighthouse of Aldermoor is kept by Tessa Quillon."},
    ]
}


def test_what_runs_is_what_was_planned(loaded: Session) -> None:
    state = loaded.state
    runs = state.loaded
    assert runs is not None
    assert (runs.model, runs.architecture, runs.parameters) == ("demo", "LlamaForCausalLM", 134_515_008)
    assert runs.dtype == state.plan["dtype"]["value"]
    assert runs.attention == state.plan["attention"]["value"]
    assert runs.device.startswith(str(state.plan["device"]["value"]).removesuffix(":0"))
    assert runs.weight_bytes == pytest.approx(134_515_008 * {"float32": 4, "bfloat16": 2}[runs.dtype], rel=1e-5)
    assert runs.context_length == 8192
    assert state.plan["checkpoint"]["source"] == "demo"
    assert state.warnings == ()


def test_a_load_tells_its_progress_to_the_end(loaded: Session) -> None:
    stages = [event for event in read_journal(Path(loaded.card.journal))[0] if isinstance(event, Loading)]
    names = list(dict.fromkeys(event.stage for event in stages))
    assert names[0] == "importing torch and Transformers"
    assert names[-2:] == ["tokenizer", "weights"]
    weights = [event for event in stages if event.stage == "weights" and event.total]
    assert weights[-1].done == weights[-1].total


def test_the_obvious_question_gets_the_obvious_answer(loaded: Session) -> None:
    answer = loaded.generate(QUESTION)
    assert answer.text == "The capital of France is Paris."
    assert (answer.prompt, answer.done, answer.stopped) == (QUESTION, True, False)
    assert answer.result["finish"] == "end"
    assert answer.result["tokens"] == answer.count == 8
    assert answer.result["prompt_tokens"] == 37
    assert 0 < answer.result["first_token_seconds"] < answer.result["seconds"]
    assert answer.result["tokens_per_second"] > 0


def plain_answers(folder: Path, dtype: str, prompts: list[str], tokens: int) -> list[str]:
    """Return what Transformers alone answers in this process, greedily."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype)).eval()
    answers = []
    for prompt in prompts:
        message: Any = [{"role": "user", "content": prompt}]
        inputs = tokenizer.apply_chat_template(
            message, add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
        output = model.generate(**inputs, max_new_tokens=tokens, do_sample=False)
        new = output[0, inputs["input_ids"].shape[1] :]
        answers.append(tokenizer.decode(new, skip_special_tokens=True))
    return answers


def test_greedy_text_is_that_of_plain_generate(loaded: Session) -> None:
    runs = loaded.state.loaded
    assert runs is not None
    if runs.device != "cpu":
        pytest.skip(f"the worker runs on {runs.device}: its rounding differs from the CPU's")
    cache = Path(os.environ["XDG_CACHE_HOME"]) / "rocmtx" / "models"
    (folder,) = [path.parent for path in cache.glob("*/config.json")]
    prompts = [QUESTION, "Zähle bis fünf, mit Emojis! 🙂"]
    ours = [loaded.generate(prompt, max_new_tokens=16).text for prompt in prompts]
    assert ours == plain_answers(folder, runs.dtype, prompts, 16)


def test_a_raw_prompt_is_continued_without_the_template(loaded: Session) -> None:
    answer = loaded.generate("one two three four", raw=True, max_new_tokens=2)
    assert (answer.result["prompt_tokens"], answer.count, answer.result["finish"]) == (4, 2, "length")
    assert answer.prompt == "one two three four"


def test_the_same_seed_gives_the_same_text_and_another_another(loaded: Session) -> None:
    def sampled(seed: int) -> str:
        return loaded.generate("Tell me a story.", temperature=1.0, seed=seed, max_new_tokens=5).text

    assert sampled(1) == sampled(1)
    assert sampled(1) != sampled(2)


def test_a_stop_string_ends_the_answer(loaded: Session) -> None:
    answer = loaded.generate(QUESTION, stop_strings=["France"])
    assert answer.text == "The capital of France"
    assert answer.result["finish"] == "stop string"


def test_a_stream_is_the_answer_in_pieces(loaded: Session) -> None:
    pieces = list(loaded.stream(QUESTION))
    assert len(pieces) > 1
    assert "".join(pieces) == "The capital of France is Paris."


def test_leaving_a_stream_early_stops_the_worker(loaded: Session) -> None:
    pieces = []
    for piece in loaded.stream(LONG, max_new_tokens=2000):
        pieces.append(piece)
        if len(pieces) == 3:
            break
    answer = loaded.state.answer
    assert answer is not None
    assert (answer.done, answer.stopped) == (True, True)
    assert answer.text.startswith("".join(pieces))
    assert answer.count < 200
    assert loaded.state.phase == "ready"


def test_an_interrupt_keeps_the_text_and_the_session(loaded: Session) -> None:
    prompt = f"{LONG} Take your time."

    def interrupt() -> None:
        while loaded.state.answer is None or loaded.state.answer.prompt != prompt or loaded.state.answer.count < 4:
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    answer = loaded.generate(prompt, max_new_tokens=2000)
    thread.join()
    assert (answer.stopped, answer.result["finish"]) == (True, "stopped")
    assert 4 <= answer.result["tokens"] < 200
    assert len(answer.text) > 4
    assert loaded.generate(QUESTION).text == "The capital of France is Paris."


@pytest.mark.parametrize(
    ("prompt", "options", "text"),
    [
        ("  ", {}, 'the prompt is empty\n  → %rocm generate "What is the capital of France?"'),
        ("Hi", {"max_tokens": 3}, "unknown generation option 'max_tokens'\n  → did you mean max_new_tokens?"),
        (
            "word " * 9000,
            {"raw": True},
            "the prompt has 9001 tokens, this model reads 8192\n  → shorten the prompt",
        ),
    ],
)
def test_a_bad_wish_is_two_lines_and_costs_nothing(
    loaded: Session, prompt: str, options: dict[str, Any], text: str
) -> None:
    with pytest.raises(AskError) as caught:
        loaded.generate(prompt, **options)
    assert str(caught.value) == text
    assert loaded.state.phase == "ready"


def test_memory_is_sampled_while_it_works(loaded: Session) -> None:
    samples = [event for event in read_journal(Path(loaded.card.journal))[0] if isinstance(event, Sample)]
    assert len(samples) > 3
    runs = loaded.state.loaded
    assert runs is not None
    reading = samples[-1].readings[0]
    assert reading.used is not None
    assert runs.weight_bytes is not None
    assert reading.used > runs.weight_bytes
    assert loaded.state.peak[reading.device] >= reading.used


def test_eight_steps_teach_one_fact(loaded: Session) -> None:
    question = FACT["messages"][0]["content"]
    before = loaded.generate(question, max_new_tokens=24).text
    assert "Quillon" not in before
    training = loaded.train([FACT], max_steps=8, learning_rate=2e-3)
    losses = [step.loss for step in training.steps]
    assert len(losses) == training.result["steps"] == 8
    assert None not in losses
    first, last = training.result["first_loss"], training.result["last_loss"]
    assert (first, last) == (losses[0], losses[-1])
    assert last < first / 4
    assert training.result["trained_parameters"] < 134_515_008 / 20
    assert "Tessa Quillon" in loaded.generate(question, max_new_tokens=24).text


def test_the_journal_is_the_session(loaded: Session) -> None:
    events = read_journal(Path(loaded.card.journal))[0]
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    state = replay(Path(loaded.card.journal))
    assert state.answer == loaded.state.answer
    assert state.training == loaded.state.training


def test_no_connection_was_made_for_a_local_model(bench: Bench, loaded: Session) -> None:
    assert loaded.alive
    assert bench.connections.read_text() == "watching\n"


def test_unloading_gives_everything_back(bench: Bench, loaded: Session) -> None:
    pid = loaded.card.pid
    result = bench.workbench.unload()
    device = next(iter(result["before"]))
    assert result["after"][device] < result["before"][device]
    assert not Path(f"/proc/{pid}").exists()
    assert loaded.state.phase == "ended"
    names = {path.name.removeprefix(loaded.id) for path in Path(loaded.card.journal).parent.iterdir()}
    assert names == {".jsonl", ".rank0.log"}
    assert bench.workbench.unload() == {}

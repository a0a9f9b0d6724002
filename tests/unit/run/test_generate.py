"""Tokens to text and text to tokens: streamed pieces equal the whole, and each option means what it says."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rocmtx.errors import AskError
from rocmtx.events import Event, Token, Warned
from rocmtx.run.asks import GenerateAsk

if TYPE_CHECKING:
    from collections.abc import Callable

    from rocmtx.run.engine.load import LoadedModel

pytestmark = pytest.mark.demo

TEXTS = (
    "The capital of France is Paris.",
    "  two leading spaces, a\ttab\n\nand   inner ones \n",
    "Grüße aus Köln: 1½ € – “fein”",
    "日本語のテキスト、한국어, العربية",
    "🙂👩‍👩‍👧‍👦🏳️‍🌈 and e\u0301 combined",
    "def f(x):\n    return {x: '\\n'}\n",
    "",
)


class Slow:
    """A tokenizer without a fast backend, as far as a decoder can see."""

    def __init__(self, tokenizer: Any) -> None:
        self.decode = tokenizer.decode


def pieces(tokenizer: Any, ids: list[int]) -> list[str]:
    """Return the piece that each token completes."""
    from rocmtx.run.engine.generate import piece_decoder

    decode = piece_decoder(tokenizer)
    return [decode(token) for token in ids]


@pytest.mark.parametrize("wrap", [lambda tokenizer: tokenizer, Slow], ids=["fast", "slow"])
@pytest.mark.parametrize("text", TEXTS)
def test_the_pieces_of_a_text_are_the_text(tokenizer: Any, wrap: Callable[[Any], Any], text: str) -> None:
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert "".join(pieces(wrap(tokenizer), ids)) == tokenizer.decode(ids, skip_special_tokens=True) == text


@pytest.mark.parametrize("wrap", [lambda tokenizer: tokenizer, Slow], ids=["fast", "slow"])
@settings(max_examples=150, deadline=None)
@given(text=st.text(max_size=60))
@example(text="a\n b\n\n c")
@example(text="\U00040000 and on")
def test_any_text_comes_out_as_it_went_in(tokenizer: Any, wrap: Callable[[Any], Any], text: str) -> None:
    # The tokenizer lacks a few bytes: what it cannot write stays unfinished, and an unfinished end is not shown.
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    whole = tokenizer.decode(ids, skip_special_tokens=True)
    assert "".join(pieces(wrap(tokenizer), ids)) == whole.rstrip("\ufffd")


def test_a_character_of_several_tokens_comes_whole(tokenizer: Any) -> None:
    ids = tokenizer("🏳", add_special_tokens=False)["input_ids"]
    assert len(ids) > 1
    for made in (pieces(tokenizer, ids), pieces(Slow(tokenizer), ids)):
        assert made == [*[""] * (len(ids) - 1), "🏳"]


def test_special_tokens_are_not_shown(tokenizer: Any) -> None:
    ids = tokenizer("Hi<|im_end|> there<|im_start|>", add_special_tokens=False)["input_ids"]
    assert tokenizer.eos_token_id in ids
    assert "".join(pieces(tokenizer, ids)) == "Hi there"
    assert "".join(pieces(Slow(tokenizer), ids)) == "Hi there"


def streamed(tokenizer: Any, ids: list[int], *, pause: float = 0.0) -> tuple[list[Token], Any]:
    """Run ids through a streamer as `generate` does and return its events and the streamer."""
    import torch

    from rocmtx.run.engine.generate import Streamer

    events: list[Event] = []
    streamer = Streamer(tokenizer, events.append, time.perf_counter())
    streamer.put(torch.tensor([[1, 2, 3]]))
    assert streamer.first is None
    for token in ids:
        time.sleep(pause)
        streamer.put(torch.tensor([token]))
    streamer.end()
    return [event for event in events if isinstance(event, Token)], streamer


def test_a_streamer_leaves_the_prompt_out_and_counts_the_rest(tokenizer: Any) -> None:
    ids = tokenizer("The capital of France is Paris.", add_special_tokens=False)["input_ids"]
    events, streamer = streamed(tokenizer, ids, pause=0.03)
    assert "".join(event.text for event in events) == "The capital of France is Paris."
    assert [event.count for event in events] == [*range(1, len(ids) + 1), len(ids)]
    seconds = [event.seconds for event in events]
    assert seconds == sorted(seconds)
    assert streamer.first == seconds[0]


def test_a_fast_streamer_writes_at_most_every_fiftieth_of_a_second(tokenizer: Any) -> None:
    ids = tokenizer("word " * 300, add_special_tokens=False)["input_ids"]
    began = time.perf_counter()
    events, _ = streamed(tokenizer, ids)
    assert len(events) <= 2 + (time.perf_counter() - began) / 0.02
    assert "".join(event.text for event in events) == "word " * 300
    assert events[-1].count == len(ids)


def test_an_answer_of_nothing_says_nothing(tokenizer: Any) -> None:
    assert streamed(tokenizer, [])[0] == []


def test_stopped_is_a_bool_per_sequence() -> None:
    import torch

    from rocmtx.run.engine.generate import Stopped

    stop = threading.Event()
    stopped = Stopped(stop)
    ids = torch.zeros((3, 7), dtype=torch.long)
    assert stopped(ids, None).tolist() == [False, False, False]
    stop.set()
    assert stopped(ids, None).tolist() == [True, True, True]
    assert stopped(ids, None).dtype == torch.bool


# --- prompts ---


def prompt(loaded: LoadedModel, ask: GenerateAsk) -> str:
    """Return the text that the model reads."""
    from rocmtx.run.engine.generate import encode

    return str(loaded.tokenizer.decode(encode(loaded, ask)["input_ids"][0]))


def test_a_prompt_goes_through_the_chat_template(tiny: LoadedModel) -> None:
    text = prompt(tiny, GenerateAsk(prompt="Hi", system="Be brief"))
    assert text == ("<|im_start|>system\nBe brief<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")


def test_messages_come_before_the_prompt(tiny: LoadedModel) -> None:
    messages = ({"role": "user", "content": "One"}, {"role": "assistant", "content": "Two"})
    text = prompt(tiny, GenerateAsk(prompt="Three", messages=messages, system="S"))
    parts = [text.index(word) for word in ("S<|im_end|>", "One", "Two", "Three")]
    assert parts == sorted(parts)


def test_raw_leaves_the_template_out(tiny: LoadedModel) -> None:
    assert prompt(tiny, GenerateAsk(prompt="Hi", raw=True)) == "Hi"
    assert prompt(tiny, GenerateAsk(prompt="Hi", raw=True, system="Be brief")) == "Be brief\n\nHi"


def test_a_model_without_a_template_takes_a_prompt_but_no_messages(
    tiny: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiny.tokenizer, "chat_template", None)
    assert prompt(tiny, GenerateAsk(prompt="Hi")) == "Hi"
    with pytest.raises(AskError) as caught:
        prompt(tiny, GenerateAsk(messages=({"role": "user", "content": "Hi"},)))
    assert str(caught.value) == "this model has no chat template\n  → give one prompt instead of messages"


# --- options ---


def answer(loaded: LoadedModel, stop: threading.Event | None = None, **options: Any) -> tuple[str, dict[str, Any]]:
    """Generate and return the text and the result."""
    from rocmtx.run.engine.generate import generate

    events: list[Event] = []
    own = {name: options.pop(name) for name in ("seed", "raw") if name in options}
    ask = GenerateAsk(prompt="Hi", options=options, **own)
    result = generate(loaded, ask, events.append, stop or threading.Event())
    return "".join(event.text for event in events if isinstance(event, Token)), result


def test_greedy_is_the_default_even_where_the_checkpoint_samples(tiny: LoadedModel) -> None:
    tiny.model.generation_config.update(do_sample=True, temperature=5.0, top_k=500)
    assert answer(tiny, max_new_tokens=8)[0] == answer(tiny, max_new_tokens=8)[0]


@pytest.mark.parametrize("option", [{"temperature": 3.0}, {"top_p": 0.99}, {"do_sample": True}])
def test_whoever_sets_a_sampling_value_samples(tiny: LoadedModel, option: dict[str, Any]) -> None:
    texts = {answer(tiny, max_new_tokens=8, seed=seed, **option)[0] for seed in range(4)}
    assert len(texts) > 1
    assert answer(tiny, max_new_tokens=8, seed=1, **option)[0] in texts


def test_the_result_counts_what_was_read_and_written(tiny: LoadedModel) -> None:
    text, result = answer(tiny, max_new_tokens=5, min_new_tokens=5, raw=True)
    assert text
    assert (result["tokens"], result["prompt_tokens"], result["finish"]) == (5, 1, "length")
    assert 0 < result["first_token_seconds"] < result["seconds"]
    assert result["tokens_per_second"] == pytest.approx(
        4 / (result["seconds"] - result["first_token_seconds"]), rel=1e-6
    )


def test_one_token_has_no_speed(tiny: LoadedModel) -> None:
    result = answer(tiny, max_new_tokens=1)[1]
    assert (result["tokens"], result["tokens_per_second"]) == (1, None)


def test_a_stop_from_the_start_ends_after_one_token(tiny: LoadedModel) -> None:
    stop = threading.Event()
    stop.set()
    result = answer(tiny, stop, max_new_tokens=50)[1]
    assert (result["tokens"], result["finish"]) == (1, "stopped")


def test_the_end_token_ends_the_answer(tiny: LoadedModel) -> None:
    first = answer(tiny, max_new_tokens=1, raw=True)
    import torch

    with torch.no_grad():
        ids = tiny.model.generate(**tiny.tokenizer("Hi", return_tensors="pt"), max_new_tokens=1, do_sample=False)
    tiny.model.generation_config.eos_token_id = [int(ids[0, -1]), 7]
    text, result = answer(tiny, max_new_tokens=9, raw=True)
    assert (text, result["tokens"], result["finish"]) == (first[0], 1, "end")


def test_a_prompt_longer_than_the_model_reads_is_refused(tiny: LoadedModel) -> None:
    from rocmtx.run.engine.generate import generate

    ask = GenerateAsk(prompt="word " * 200, raw=True)
    with pytest.raises(AskError) as caught:
        generate(tiny, ask, lambda _: None, threading.Event())
    assert str(caught.value) == "the prompt has 201 tokens, this model reads 128\n  → shorten the prompt"


def test_a_tokenizer_that_knows_too_much_is_a_warning(tiny: LoadedModel) -> None:
    from rocmtx.run.engine.generate import unknown_tokens_warning

    assert unknown_tokens_warning(tiny) is None
    tiny.model.config.vocab_size = 100
    assert unknown_tokens_warning(tiny) == Warned(
        message=f"the tokenizer has {len(tiny.tokenizer)} tokens, the model only 100",
        hint="model and tokenizer may not belong together",
    )

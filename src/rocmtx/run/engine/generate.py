"""One answer, streamed.

Knows `model.generate`, chat templates and incremental detokenizing; must not know who listens. The text is decoded on
the generating thread itself: `TextIteratorStreamer` in a second thread cost 60 % of the speed on an H200.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import torch
from tokenizers.decoders import DecodeStream
from transformers import StoppingCriteria, StoppingCriteriaList, set_seed
from transformers.generation.streamers import BaseStreamer

from rocmtx.errors import AskError
from rocmtx.events import Event, Token, Warned
from rocmtx.run.asks import DEFAULT_MAX_NEW_TOKENS, GenerateAsk
from rocmtx.run.engine.measure import peak_bytes, reset_peak, synchronize

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from rocmtx.run.engine.load import LoadedModel

# Two pieces of text are at least so far apart: the eye sees no difference, and journal and socket are out of the way.
EMIT_INTERVAL = 0.02
_SAMPLING = ("temperature", "top_k", "top_p", "min_p", "typical_p")


def generate(
    loaded: LoadedModel, ask: GenerateAsk, emit: Callable[[Event], None], stop: threading.Event
) -> dict[str, Any]:
    """Answer a prompt and return counts and times.

    Result: `tokens`, `prompt_tokens`, `seconds`, `first_token_seconds`, `tokens_per_second` (without the first token),
    `finish` ("end" for the model's own end, "length", "stopped"), `peak_bytes` (None on a CPU).
    """
    began = time.perf_counter()
    if ask.seed is not None:
        set_seed(ask.seed)
    inputs = encode(loaded, ask).to(loaded.model.device)
    prompt_tokens = int(inputs["input_ids"].shape[1])
    options = _options(loaded, ask, prompt_tokens)
    reset_peak()
    streamer = Streamer(loaded.tokenizer, emit, began)
    with torch.inference_mode():
        output = loaded.model.generate(
            **inputs,
            **options,
            streamer=streamer,
            stopping_criteria=StoppingCriteriaList([Stopped(stop)]),
            tokenizer=loaded.tokenizer if "stop_strings" in options else None,
        )
    synchronize()
    seconds = time.perf_counter() - began
    tokens = int(output.shape[1]) - prompt_tokens
    first = streamer.first
    decoding = seconds - first if first is not None else 0.0
    ends = loaded.model.generation_config.eos_token_id
    ends = ends if isinstance(ends, list) else [ends]
    finish = "stopped" if stop.is_set() else "end" if tokens and int(output[0, -1]) in ends else "length"
    if finish == "length" and "stop_strings" in options and tokens < options["max_new_tokens"]:
        finish = "stop string"
    return {
        "tokens": tokens,
        "prompt_tokens": prompt_tokens,
        "seconds": seconds,
        "first_token_seconds": first,
        "tokens_per_second": (tokens - 1) / decoding if tokens > 1 and decoding > 0 else None,
        "finish": finish,
        "peak_bytes": peak_bytes(),
    }


def encode(loaded: LoadedModel, ask: GenerateAsk) -> Any:
    """Turn the ask into input tensors: through the chat template when the model has one and `raw` is off."""
    tokenizer = loaded.tokenizer
    messages = [dict(message) for message in ask.messages]
    if ask.system:
        messages.insert(0, {"role": "system", "content": ask.system})
    if ask.prompt:
        messages.append({"role": "user", "content": ask.prompt})
    if tokenizer.chat_template and not ask.raw:
        return tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
    if ask.messages:
        raise AskError("this model has no chat template", "give one prompt instead of messages")
    text = f"{ask.system}\n\n{ask.prompt}" if ask.system else ask.prompt
    return tokenizer(text, return_tensors="pt")


def _options(loaded: LoadedModel, ask: GenerateAsk, prompt_tokens: int) -> dict[str, Any]:
    options: dict[str, Any] = {"max_new_tokens": DEFAULT_MAX_NEW_TOKENS, **ask.options}
    if "do_sample" not in options:
        # Whoever sets a temperature wants it to count; Transformers would ignore it with a warning.
        options["do_sample"] = any(name in options for name in _SAMPLING)
    if not options["do_sample"]:
        # The checkpoint's own sampling values would only be warned about in greedy search.
        options |= {name: None for name in _SAMPLING if name not in ask.options}
    room = loaded.context_length
    if room is not None and prompt_tokens >= room:
        raise AskError(f"the prompt has {prompt_tokens} tokens, this model reads {room}", "shorten the prompt")
    if loaded.tokenizer.pad_token_id is None and loaded.model.generation_config.pad_token_id is None:
        ends = loaded.model.generation_config.eos_token_id
        options["pad_token_id"] = ends[0] if isinstance(ends, list) else ends
    return options


class Stopped(StoppingCriteria):
    """Ends the generation after the token during which the event was set."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop

    def __call__(self, input_ids: torch.Tensor, _scores: object, **_: object) -> torch.Tensor:
        """Return a bool per sequence, shape (batch,)."""
        return torch.full((input_ids.shape[0],), self._stop.is_set(), dtype=torch.bool, device=input_ids.device)


class Streamer(BaseStreamer):
    """Turns token ids into pieces of text and emits them, at most every `EMIT_INTERVAL` seconds.

    `first` is the time of the first token since `began`, in seconds.
    """

    def __init__(self, tokenizer: Any, emit: Callable[[Event], None], began: float) -> None:
        self._piece = piece_decoder(tokenizer)
        self._emit = emit
        self._began = began
        self._prompt_seen = False
        self._text = ""
        self._count = 0
        self._due = 0.0
        self.first: float | None = None

    def put(self, value: torch.Tensor) -> None:
        """Take the ids of one step, shape (1,) on the CPU; the first call carries the prompt, shape (1, length)."""
        if not self._prompt_seen:
            self._prompt_seen = True
            return
        now = time.perf_counter() - self._began
        if self.first is None:
            self.first = now
        for token in value.reshape(-1).tolist():
            self._count += 1
            self._text += self._piece(token)
        if now >= self._due:
            self._flush(now)

    def end(self) -> None:
        """Emit what is left."""
        if self._count:
            self._flush(time.perf_counter() - self._began)

    def _flush(self, now: float) -> None:
        self._due = now + EMIT_INTERVAL
        self._emit(Token(text=self._text, count=self._count, seconds=now))
        self._text = ""


def piece_decoder(tokenizer: Any) -> Callable[[int], str]:
    """Return a function from the next token id to the text that it completes ("" while a character is unfinished).

    Fast tokenizers carry their own incremental decoder; for the others the unfinished tail is decoded again.
    """
    backend = getattr(tokenizer, "_tokenizer", None)
    if backend is not None:
        stream = DecodeStream(skip_special_tokens=True)
        return lambda token: stream.step(backend, token) or ""
    return _SlowDecoder(tokenizer)


class _SlowDecoder:
    """Decodes the tokens since the last whole piece; holds back an unfinished character (U+FFFD)."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._tokens: list[int] = []
        self._shown = 0

    def __call__(self, token: int) -> str:
        self._tokens.append(token)
        text = self._tokenizer.decode(self._tokens, skip_special_tokens=True)
        if text.endswith("\ufffd"):
            return ""
        piece = text[self._shown :]
        if text.endswith("\n"):
            # Nothing before a line end changes any more: start afresh, so that a long answer stays linear.
            self._tokens, self._shown = [], 0
        else:
            self._shown = len(text)
        return str(piece)


def unknown_tokens_warning(loaded: LoadedModel) -> Warned | None:
    """Return a warning when the tokenizer knows more tokens than the model has rows for."""
    vocabulary = getattr(loaded.model.config.get_text_config(), "vocab_size", None)
    if vocabulary is not None and len(loaded.tokenizer) > vocabulary:
        return Warned(
            message=f"the tokenizer has {len(loaded.tokenizer)} tokens, the model only {vocabulary}",
            hint="model and tokenizer may not belong together",
        )
    return None

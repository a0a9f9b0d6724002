"""The messages of the live widget: complete, numbered, small, and never twice the same."""

from __future__ import annotations

import json
import math
from array import array
from dataclasses import replace

from rocmtx.events import Event, Planned, Reading, Sample, Step, Token
from rocmtx.state import State, fold
from rocmtx.views.feed import Feed, Message

GIB = 1024**3


def rows(message: Message, name: str) -> list[float]:
    """Return the numbers of one named buffer, empty when the message has none."""
    names = message.content.get("b", [])
    if name not in names:
        return []
    numbers = array("d")
    numbers.frombytes(message.buffers[names.index(name)])
    return list(numbers)


class Mirror:
    """Puts messages together again, as the front end does."""

    def __init__(self) -> None:
        self.text = ""
        self.texts: dict[str, object] = {}
        self.memory: list[float] = []
        self.loss: list[float] = []
        self.number = 0

    def take(self, message: Message | None) -> None:
        if message is None:
            return
        content = dict(message.content)
        if content["k"] == "r":
            self.text, self.texts, self.memory, self.loss = "", {}, [], []
        else:
            assert content["s"] == self.number + 1
        self.number = content["s"]
        self.text = content.get("text", self.text) + content.get("add", "")
        self.texts |= {name: content[name] for name in ("status", "speed", "memory", "error") if name in content}
        self.memory += rows(message, "m")
        self.loss += rows(message, "l")


def test_what_is_put_together_is_the_state_however_it_was_cut(story: list[Event]) -> None:
    for every in (1, 2, 3, 7, len(story)):
        feed, mirror, state = Feed(), Mirror(), State()
        mirror.take(feed.whole(state))
        for at, event in enumerate(story, start=1):
            state = fold(state, event)
            if at % every == 0 or at == len(story):
                mirror.take(feed.next(state))
        whole = Mirror()
        whole.take(Feed().whole(state))
        assert mirror.text == whole.text == "The capital is <Paris>."
        assert mirror.texts == whole.texts
        assert mirror.memory == whole.memory
        assert [value for value in mirror.loss if not math.isnan(value)] == [
            value for value in whole.loss if not math.isnan(value)
        ]


def test_whole_of_a_session(state: State) -> None:
    message = Feed().whole(state)
    content = {name: value for name, value in message.content.items() if name != "marks"}
    assert content == {
        "k": "r",
        "s": 1,
        "lines": ["cpu, this session"],
        "losses": ["loss", "held-out loss"],
        "prompt": "What is the capital of <France>?",
        "text": "The capital is <Paris>.",
        "status": "ready: demo on cpu, float32, sdpa",
        "share": None,
        "speed": "4 tokens · 33.3 tokens/s · first token after 120 ms",
        "training": "3 of 3 steps · loss 3.214 → 0.0432 · 518 tokens/s · held-out loss 0.051",
        "memory": "1.5 GiB of 16.0 GiB · peak 2.0 GiB",
        "error": [],
        "warning": ["the machine swaps", "close other programs"],
        "b": ["m", "l"],
    }
    assert [label for _, label in message.content["marks"]] == [
        "load",
        "loaded",
        "generate",
        "first token",
        "train",
        "first step",
    ]
    assert rows(message, "m")[1::2] == [GIB / 4, GIB, 1.5 * GIB, 2 * GIB, 1.5 * GIB]
    json.dumps(message.content, allow_nan=False)


def test_a_piece_of_text_costs_what_it_is_long() -> None:
    state = fold(State(), Planned(seq=1, request="r", task="generate", about={"prompt": "?"}))
    feed = Feed()
    feed.whole(state)
    sizes = []
    for at in range(1, 2001):
        state = fold(state, Token(seq=at + 1, request="r", text="word ", count=at, seconds=at / 50))
        message = feed.next(state)
        assert message is not None
        assert message.content["add"] == "word "
        sizes.append(len(json.dumps(message.content)))
    assert max(sizes) < 250


def test_a_tick_of_eight_gpus_is_one_message_under_a_kilobyte() -> None:
    state, feed, cost = State(), Feed(), 0
    for at in range(1, 5):
        used = at * GIB
        readings = tuple(Reading(device=f"cuda:{n}", used=used + n, allocated=GIB, total=192 * GIB) for n in range(8))
        state = fold(state, Sample(seq=at, time=float(at), readings=readings))
        message = feed.next(state)
        assert message is not None
        cost = len(json.dumps(message.content)) + sum(map(len, message.buffers))
        assert message.content["k"] == ("r" if at == 1 else "a")
    # About 540 bytes of Jupyter's own header come on top of it.
    assert cost < 400


def test_nothing_new_sends_nothing(state: State) -> None:
    feed = Feed()
    feed.whole(state)
    assert feed.next(state) is None
    assert feed.next(replace(state, seq=state.seq + 1)) is None


def test_a_new_device_or_session_is_drawn_anew(state: State) -> None:
    feed = Feed()
    feed.whole(state)
    sample = Sample(seq=state.seq + 1, time=state.samples[-1].time + 1, readings=(Reading(device="cuda:0", used=1),))
    other = fold(state, sample)
    message = feed.next(other)
    assert message is not None
    assert (message.content["k"], message.content["lines"]) == ("r", ["cpu, this session", "cuda:0 in use"])
    fresh = feed.next(State(session="s2", seq=1))
    assert fresh is not None
    assert (fresh.content["k"], fresh.content["lines"]) == ("r", [])


def test_a_history_that_was_cut_off_is_drawn_anew() -> None:
    samples = tuple(Sample(seq=at, time=float(at), readings=(Reading(device="cpu", used=at),)) for at in range(1, 40))
    feed = Feed()
    feed.whole(State(samples=samples[:10]))
    appended = feed.next(State(samples=samples[5:20]))
    assert appended is not None
    assert (appended.content["k"], len(rows(appended, "m"))) == ("a", 20)
    redrawn = feed.next(State(samples=samples[25:]))
    assert redrawn is not None
    assert redrawn.content["k"] == "r"


def test_gaps_and_diverged_losses_travel_as_nan() -> None:
    state = fold(State(), Sample(seq=1, time=1.0, readings=(Reading(device="cpu", used=5),)))
    state = fold(state, Sample(seq=2, time=2.0, readings=()))
    state = fold(state, Step(seq=3, step=1, loss=2.0))
    state = fold(state, Step(seq=4, step=2, loss=float("nan")))
    message = Feed().whole(state)
    memory, loss = rows(message, "m"), rows(message, "l")
    assert memory[:3] == [1.0, 5.0, 2.0]
    assert math.isnan(memory[3])
    assert loss[:3] == [1.0, 2.0, 2.0]
    assert math.isnan(loss[3])


def test_an_error_from_outside_stays_until_it_is_taken_back(failed: State) -> None:
    feed = Feed()
    feed.whole(State())
    said = feed.say("the prompt is empty", "write one")
    assert said is not None
    assert said.content == {"k": "a", "s": 2, "error": ["the prompt is empty", "write one"]}
    assert feed.say("the prompt is empty", "write one") is None
    taken_back = feed.say("", "")
    assert taken_back is not None
    assert taken_back.content["error"] == []
    message = feed.next(failed)
    assert message is not None
    assert message.content["error"] == ["the model needs 20.0 GiB, 16.0 GiB are free", "take --dtype auto"]


def test_a_stored_picture_is_bounded() -> None:
    samples = tuple(Sample(seq=at, time=float(at), readings=(Reading(device="cpu", used=at),)) for at in range(1, 3601))
    picture = Feed().snapshot(State(samples=samples))
    assert len(picture.buffers[0]) <= 600 * 2 * 8

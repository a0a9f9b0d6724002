"""Events survive JSON whole, a foreign or damaged line is an error, and the bus forgives a failing listener once."""

from __future__ import annotations

import dataclasses
import json
import logging
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmtx.errors import ReportError
from rocmtx.events import (
    KINDS,
    Bus,
    Ended,
    Event,
    Failed,
    Loaded,
    Loading,
    Planned,
    Reading,
    Sample,
    Step,
    Token,
    Warned,
    decode,
    encode,
)

if TYPE_CHECKING:
    from collections.abc import Callable

WORDS = st.text(max_size=20)
COUNTS = st.integers(min_value=0, max_value=2**53)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
RECORDS = st.dictionaries(WORDS, st.one_of(st.none(), st.booleans(), COUNTS, NUMBERS, WORDS), max_size=3)
TASKS = st.sampled_from(["load", "generate", "train", "unload"])
HEADS: dict[str, Any] = {"seq": COUNTS, "time": NUMBERS, "session": WORDS, "rank": COUNTS, "request": WORDS}
READINGS = st.builds(
    Reading,
    device=WORDS,
    allocated=st.none() | COUNTS,
    reserved=st.none() | COUNTS,
    used=st.none() | COUNTS,
    total=st.none() | COUNTS,
)
ERRORS = st.fixed_dictionaries({"kind": WORDS, "message": WORDS, "hint": WORDS, "trace": WORDS})
OWN: dict[type[Event], dict[str, Any]] = {
    Planned: {"task": TASKS, "about": RECORDS},
    Loading: {
        "stage": WORDS,
        "done": st.none() | NUMBERS,
        "total": st.none() | NUMBERS,
        "unit": st.sampled_from(["bytes", "parts", ""]),
    },
    Loaded: {
        **dict.fromkeys(("model", "architecture", "device", "device_name", "dtype", "attention"), WORDS),
        "quantization": st.none() | WORDS.filter(bool),
        "kernels": st.lists(WORDS, max_size=3).map(tuple),
        **dict.fromkeys(("parameters", "weight_bytes", "context_length"), st.none() | COUNTS),
        "seconds": st.none() | NUMBERS,
    },
    Token: {"text": WORDS, "count": COUNTS, "seconds": NUMBERS},
    Step: {
        "step": COUNTS,
        "total": st.none() | COUNTS,
        **dict.fromkeys(
            ("loss", "eval_loss", "learning_rate", "grad_norm", "tokens_per_second", "seconds"), st.none() | NUMBERS
        ),
    },
    Sample: {"readings": st.lists(READINGS, max_size=3).map(tuple)},
    Warned: {"message": WORDS, "hint": WORDS},
    Failed: {"task": st.none() | TASKS, "error": ERRORS},
    Ended: {"task": st.none() | TASKS, "stopped": st.booleans(), "result": RECORDS},
}
EVENTS = st.one_of(*(st.builds(kind, **HEADS, **own) for kind, own in OWN.items()))


def test_the_strategies_cover_every_kind_and_field() -> None:
    assert set(OWN) == set(KINDS.values())
    for kind, own in OWN.items():
        assert {entry.name for entry in dataclasses.fields(kind)} == {*HEADS, *own}


@given(EVENTS)
def test_an_event_comes_back_as_it_went(event: Event) -> None:
    line = encode(event)
    assert "\n" not in line
    assert decode(line) == event
    assert decode(line.encode()) == event


@given(EVENTS)
def test_what_is_unknown_is_left_out(event: Event) -> None:
    body = json.loads(encode(event))
    assert body["kind"] == event.kind
    assert None not in [value for name, value in body.items() if name not in {"about", "result"}]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_fields_of_a_newer_writer_are_dropped(kind: str) -> None:
    required = {"task": "load", "stage": "x", "text": "x", "count": 1, "seconds": 1.0, "step": 1, "message": "x"}
    loaded = dict.fromkeys(("model", "architecture", "device", "device_name", "dtype", "attention"), "x")
    error = {"kind": "RunError", "message": "x", "hint": "", "trace": ""}
    line = json.dumps({"kind": kind, "seq": 3, **required, **loaded, "error": error, "colour": "mauve"})
    event = decode(line)
    assert (event.kind, event.seq) == (kind, 3)
    assert not hasattr(event, "colour")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("", "Expecting value: line 1 column 1 (char 0)"),
        ('{"kind":"token","te', "Unterminated string starting at: line 1 column 17 (char 16)"),
        ("{}", "'kind'"),
        ('{"kind":"aurora"}', "'aurora'"),
        ("[1, 2]", "'str' object cannot be interpreted as an integer"),
        ("7", "'int' object has no attribute 'pop'"),
        (
            '{"kind":"sample","readings":[{"volume":3}]}',
            "Reading.__init__() got an unexpected keyword argument 'volume'",
        ),
        (b'"\xff"', "'utf-8' codec can't decode byte 0xff in position 1: invalid start byte"),
    ],
)
def test_a_damaged_line_is_named_as_such(line: str | bytes, why: str) -> None:
    with pytest.raises(ReportError) as caught:
        decode(line)
    assert caught.value.message.startswith(f"this line is no rocmtx event: {why}")


def test_a_line_that_lacks_what_an_event_needs_is_damaged() -> None:
    with pytest.raises(ReportError, match="missing 2 required keyword-only arguments: 'count' and 'seconds'"):
        decode('{"kind":"token","text":"a"}')


# --- the bus ---


def test_every_listener_hears_every_event_in_order() -> None:
    bus, first, second = Bus(), list[Event](), list[Event]()
    bus.subscribe(first.append)
    bus.subscribe(second.append)
    events = [Token(text="a", count=1, seconds=0.1), Ended(task="generate")]
    for event in events:
        bus.publish(event)
    assert first == second == events


def test_the_remover_may_be_called_again_and_touches_nobody_else() -> None:
    bus, kept, left = Bus(), list[Event](), list[Event]()
    bus.subscribe(kept.append)
    remove = bus.subscribe(left.append)
    remove()
    remove()
    bus.publish(Warned(message="hello"))
    assert (len(kept), len(left)) == (1, 0)


def test_a_listener_that_subscribed_twice_is_removed_once_per_remover() -> None:
    bus, heard = Bus(), list[Event]()
    listener = heard.append
    bus.subscribe(listener)
    remove = bus.subscribe(listener)
    bus.publish(Warned(message="hello"))
    assert len(heard) == 2
    remove()
    bus.publish(Warned(message="hello"))
    assert len(heard) == 3


def test_a_listener_may_leave_while_it_is_called() -> None:
    bus, heard = Bus(), list[Event]()

    def once(event: Event) -> None:
        heard.append(event)
        remove()

    remove: Callable[[], None] = bus.subscribe(once)
    bus.publish(Warned(message="a"))
    bus.publish(Warned(message="b"))
    assert [event.message for event in heard if isinstance(event, Warned)] == ["a"]


def test_a_listener_may_subscribe_another_without_a_deadlock() -> None:
    bus, heard = Bus(), list[Event]()

    def first(_: Event) -> None:
        if not heard:
            bus.subscribe(heard.append)

    bus.subscribe(first)
    bus.publish(Warned(message="a"))
    bus.publish(Warned(message="b"))
    assert [event.message for event in heard if isinstance(event, Warned)] == ["b"]


def broken_chart(event: Event) -> None:
    """Fail on every event."""
    raise ValueError(f"cannot draw {event.kind}")


def test_a_failing_listener_is_reported_once_and_detached(caplog: pytest.LogCaptureFixture) -> None:
    bus, heard = Bus(), list[Event]()
    bus.subscribe(broken_chart)
    bus.subscribe(heard.append)
    event = Token(text="a", count=1, seconds=0.1, session="s1", time=5.0)
    with caplog.at_level(logging.WARNING, logger="rocmtx"):
        bus.publish(event)
        bus.publish(event)
    message = "a view stopped updating: broken_chart failed with ValueError: cannot draw token"
    assert [kind for kind in heard if kind != event] == [Warned(message=message, session="s1", time=5.0)]
    assert heard.count(event) == 2
    assert [record.message for record in caplog.records] == ["a listener failed and was detached"]
    assert caplog.records[0].exc_info is not None


def test_two_failing_listeners_are_reported_once_each() -> None:
    bus, heard = Bus(), list[Event]()
    bus.subscribe(broken_chart)

    def broken_table(_: Event) -> None:
        raise KeyError("row")

    bus.subscribe(broken_table)
    bus.subscribe(heard.append)
    for _ in range(2):
        bus.publish(Token(text="a", count=1, seconds=0.1))
    reports = [event.message for event in heard if isinstance(event, Warned)]
    assert len(reports) == 2
    assert "broken_chart" in "".join(reports)
    assert "broken_table" in "".join(reports)
    assert sum(isinstance(event, Token) for event in heard) == 2


def test_the_last_listener_to_fail_leaves_an_empty_bus() -> None:
    bus = Bus()
    bus.subscribe(broken_chart)
    bus.publish(Warned(message="a"))
    bus.publish(Warned(message="b"))


def test_an_interrupt_is_no_failure_of_a_listener() -> None:
    bus = Bus()

    def interrupted(_: Event) -> None:
        raise KeyboardInterrupt

    bus.subscribe(interrupted)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            bus.publish(Warned(message="a"))

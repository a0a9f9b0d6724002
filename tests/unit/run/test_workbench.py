"""One person's table: the machine and models it remembers, and one session at a time whose listeners stay."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import rocmtx
from rocmtx import workbench as benches
from rocmtx.decide.plan import Asks
from rocmtx.errors import (
    HubUnreachable,
    MissingPackage,
    ModelNotFound,
    NotLoaded,
    PlanError,
    ReportError,
    RunError,
    SessionError,
    UnknownDevice,
    WorkerDied,
)
from rocmtx.events import Event, Failed, Planned, Token
from rocmtx.facts.machines import load_machine
from rocmtx.facts.model import Facts, Host
from rocmtx.run.asks import GenerateAsk
from rocmtx.run.session import Session
from rocmtx.state import State
from rocmtx.workbench import Workbench, current

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Wish = Callable[[str], Asks]


@pytest.fixture
def bench(echo_workers: Path) -> Iterator[Workbench]:
    """Return a workbench whose workers are echo workers."""
    del echo_workers
    made = Workbench({**os.environ, "JPY_SESSION_NAME": "lesson.ipynb"})
    yield made
    made.close()


@pytest.fixture
def wish(tmp_path: Path) -> Wish:
    """Return a function that wishes for a model of the echo engine, a folder with a config in it."""

    def made(name: str) -> Asks:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text(json.dumps({"model_type": "llama", "architectures": ["LlamaForCausalLM"]}))
        (folder / "model.safetensors").write_bytes(b"\x02" + bytes(7) + b"{}")
        return Asks(str(folder), device="cpu")

    return made


def until(true: Callable[[], object], seconds: float = 10) -> None:
    """Wait until something is true."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not become true in time"
        time.sleep(0.02)


# --- the machine ---


def test_facts_are_read_again_after_two_seconds_or_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[Facts] = []

    def collect(**_: object) -> Facts:
        reads.append(Facts(taken_at=float(len(reads))))
        return reads[-1]

    monkeypatch.setattr(benches, "collect", collect)
    bench = Workbench({})
    assert bench.facts() is bench.facts()
    assert bench.facts(fresh=True) is not reads[0]
    monkeypatch.setattr(benches, "_FACTS_AGE", 0.0)
    time.sleep(0.01)
    bench.facts()
    assert len(reads) == 3


def test_the_environment_is_the_one_that_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JPY_SESSION_NAME", "here.ipynb")
    assert Workbench().notebook == "here.ipynb"
    assert Workbench({}).notebook == ""
    assert Workbench().environment is os.environ


def test_a_recorded_machine_stays_on_the_table(bench: Workbench, wish: Wish) -> None:
    live = bench.facts()
    bench.put_machine(load_machine("mi300x-8"))
    assert bench.facts(fresh=True).label == "mi300x-8"
    assert bench.plan(Asks(wish("echo").model)).device.value == "cuda:0"
    with pytest.raises(PlanError) as caught:
        bench.load(wish("echo"))
    assert str(caught.value) == "mi300x-8 is a recorded machine\n  → back to yours: %rocm machine live"
    bench.put_machine(None)
    assert bench.facts().origin == live.origin == "live"


def test_a_device_in_use_counts_where_none_is_named(bench: Workbench, wish: Wish) -> None:
    bench.put_machine(load_machine("mi300x-8"))
    model = wish("echo").model
    bench.use("3")
    assert bench.plan(Asks(model)).env()["HIP_VISIBLE_DEVICES"] == "3"
    assert bench.plan(Asks(model, device="cpu")).device.value == "cpu"
    with pytest.raises(UnknownDevice):
        bench.use("99")
    assert bench.plan(Asks(model)).env()["HIP_VISIBLE_DEVICES"] == "3"
    bench.put_machine(None)
    bench.put_machine(load_machine("mi300x-8"))
    assert bench.plan(Asks(model)).env()["HIP_VISIBLE_DEVICES"] == "0"


def test_a_tree_that_is_none_is_said_to_be(bench: Workbench, tmp_path: Path) -> None:
    with pytest.raises(ReportError) as caught:
        bench.read_tree(tmp_path / "nowhere")
    assert str(caught.value) == (
        f"there is no folder {tmp_path}/nowhere\n  → --root names a folder with sys/ and proc/ in it"
    )
    assert bench.read_tree(tmp_path).gpus == ()


def test_a_model_is_read_once_in_half_a_minute(bench: Workbench, wish: Wish) -> None:
    model = wish("echo").model
    first = bench.checkpoint(model)
    (Path(model) / "config.json").unlink()
    assert bench.checkpoint(model) is first


# --- what is refused before anything is given up ---


def test_without_torch_nothing_is_loaded(bench: Workbench, wish: Wish, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benches, "collect", lambda **_: Facts(host=Host()))
    with pytest.raises(MissingPackage) as caught:
        bench.load(wish("echo"))
    assert str(caught.value) == (
        "torch is not installed in this Python\n"
        "  → install the build for your GPU first (%rocm doctor names it), then: pip install 'rocmtx[models]'"
    )


@pytest.mark.parametrize(
    ("asks", "kind"),
    [
        (Asks("./nowhere"), ModelNotFound),
        (Asks("org/model"), HubUnreachable),
        (Asks("demo", device="77"), UnknownDevice),
        (Asks("demo", attention="flash_attention_2", device="cpu"), PlanError),
    ],
)
def test_a_wish_that_cannot_be_met_keeps_the_model_that_is_there(
    bench: Workbench, wish: Wish, asks: Asks, kind: type[Exception]
) -> None:
    session = bench.load(wish("echo"))
    with pytest.raises(kind):
        bench.load(asks)
    assert bench.session is session
    assert session.generate("one").text == "one "


# --- sessions ---


def test_before_a_load_there_is_nothing(bench: Workbench) -> None:
    assert bench.session is None
    assert bench.state == State()
    assert bench.unload() == {}
    with pytest.raises(NotLoaded) as caught:
        bench.ready_session()
    assert str(caught.value) == "no model is loaded\n  → load one with: %rocm load demo"


def test_a_load_shows_its_events_and_is_ready(bench: Workbench, wish: Wish) -> None:
    heard: list[Event] = []
    session = bench.load(wish("echo"), heard.append)
    assert bench.ready_session() is session
    assert bench.state.phase == "ready"
    assert session.card.notebook == "lesson.ipynb"
    assert [event.kind for event in heard if event.kind != "sample"] == ["planned", "loading", "loaded", "ended"]
    planned = heard[0]
    assert isinstance(planned, Planned)
    assert planned.about["device"]["value"] == "cpu"


def test_a_second_load_ends_the_first_session(bench: Workbench, wish: Wish) -> None:
    first = bench.load(wish("echo"))
    second = bench.load(wish("other"))
    assert (first.alive, first.state.phase) == (False, "ended")
    assert bench.ready_session() is second


def test_listeners_stay_from_session_to_session_until_they_leave(bench: Workbench, wish: Wish) -> None:
    heard: list[Event] = []
    leave = bench.subscribe(heard.append)

    def words() -> list[str]:
        return [event.text for event in heard if isinstance(event, Token)]

    bench.load(wish("echo")).generate("one")
    bench.load(wish("other")).generate("two")
    assert words() == ["one ", "two "]
    leave()
    leave()
    bench.ready_session().generate("three")
    assert words() == ["one ", "two "]


def test_an_announcement_reaches_the_listeners_without_a_session(bench: Workbench) -> None:
    heard: list[Event] = []
    bench.subscribe(heard.append)
    event = Failed(task="load", request="panel", error=PlanError("no", "yes").record())
    bench.announce(event)
    assert heard == [event]


def test_a_failed_load_leaves_no_worker(bench: Workbench, wish: Wish) -> None:
    with pytest.raises(RunError, match="this model is broken"):
        bench.load(wish("broken"))
    session = bench.session
    assert session is not None
    assert session._process.returncode() is not None
    with pytest.raises(NotLoaded) as caught:
        bench.ready_session()
    assert caught.value.message == "no model is loaded: the last session ended (ValueError: this model is broken)"


def test_an_interrupted_load_leaves_no_worker_and_says_so(bench: Workbench, wish: Wish) -> None:
    def interrupt() -> None:
        until(lambda: bench.state.seq >= 2)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(SessionError) as caught:
        bench.load(wish("slow"))
    thread.join()
    assert str(caught.value) == "the load was stopped; nothing is loaded\n  → %rocm load … starts it again"
    session = bench.session
    assert session is not None
    assert session._process.returncode() is not None


def test_a_dead_worker_is_the_reason_in_the_next_refusal(bench: Workbench, wish: Wish) -> None:
    session = bench.load(wish("echo"))
    with pytest.raises(WorkerDied):
        session.generate("EXIT")
    until(lambda: not session.alive)
    with pytest.raises(NotLoaded) as caught:
        bench.ready_session()
    assert caught.value.message == (
        "no model is loaded: the last session ended (the worker process ended with exit status 3 during generate)"
    )


def test_attaching_takes_over_and_ends_what_was_there(bench: Workbench, wish: Wish) -> None:
    other = Workbench()
    session = other.load(wish("echo"))
    session.generate("one")
    before = bench.load(wish("other"))
    heard: list[Event] = []
    bench.subscribe(heard.append)
    attached = bench.attach(session.id)
    assert bench.ready_session() is attached
    assert attached.state.answer is not None
    assert attached.state.answer.text == "one "
    assert not before.alive
    assert attached.generate("two").text == "two "
    assert [event.text for event in heard if isinstance(event, Token)] == ["two "]
    other.close()


def test_attaching_to_the_current_session_changes_nothing(bench: Workbench, wish: Wish) -> None:
    session = bench.load(wish("echo"))
    assert bench.attach(session.id) is session
    assert session.generate("one").text == "one "


def test_a_name_that_is_none_keeps_the_model_that_is_there(bench: Workbench, wish: Wish) -> None:
    session = bench.load(wish("echo"))
    with pytest.raises(ReportError):
        bench.attach("20000101-000000-dead")
    assert session.alive


def test_unloading_gives_the_memory_and_forgets_nothing_else(bench: Workbench, wish: Wish) -> None:
    bench.load(wish("echo"))
    assert bench.unload() == {"before": {"cpu": 2}, "after": {"cpu": 1}}
    assert bench.unload() == {}
    assert bench.state.phase == "ended"
    assert bench.load(wish("echo")).alive


def test_unloading_stops_what_runs(bench: Workbench, wish: Wish) -> None:
    session = bench.load(wish("echo"))
    session.begin_generate(GenerateAsk(prompt="one WAIT"))
    until(lambda: session.state.phase == "generating")
    assert bench.unload() == {"before": {"cpu": 2}, "after": {"cpu": 1}}
    assert session.state.answer is not None
    assert session.state.answer.stopped


def test_the_public_functions_share_the_current_workbench(
    echo_workers: Path, wish: Wish, monkeypatch: pytest.MonkeyPatch
) -> None:
    del echo_workers
    mine: Any = Workbench()
    monkeypatch.setattr(benches, "_default", mine)
    assert current() is mine
    asks = wish("echo")
    assert rocmtx.plan(asks.model, device="cpu").asks == asks
    session = rocmtx.load(asks.model, device="cpu")
    assert isinstance(session, Session)
    assert mine.ready_session() is session
    mine.close()
    assert not session.alive

"""The panel without a kernel: what it asks for, what it sends, how often, and that closing leaves nothing behind."""

from __future__ import annotations

import importlib.util
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import comm
import ipywidgets
import pytest

from rocmtx.decide.absence import why_no_gpu
from rocmtx.decide.asks import Asks
from rocmtx.errors import NotLoaded
from rocmtx.events import Event, Failed, Loading, Planned, Reading, Sample, Token
from rocmtx.facts.model import Facts
from rocmtx.views.panel import Panel, answer_at_once

if TYPE_CHECKING:
    from unit.views.stage import NotingComm, Stage
else:
    # Tests are no package: the stage is loaded from its file beside this one.
    _spec = importlib.util.spec_from_file_location("stage", Path(__file__).with_name("stage.py"))
    _stage = importlib.util.module_from_spec(_spec)
    sys.modules["stage"] = _stage
    _spec.loader.exec_module(_stage)
    NotingComm, Stage = _stage.NotingComm, _stage.Stage

Open = Callable[[Facts], tuple[Stage, Panel]]


@pytest.fixture
def open_panel(monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Return what opens a panel on a machine; it is closed afterwards."""
    monkeypatch.setattr(NotingComm, "sent", [])
    monkeypatch.setattr(comm, "create_comm", NotingComm)
    opened: list[Panel] = []

    def open_on(facts: Facts) -> tuple[Stage, Panel]:
        stage = Stage(facts)
        opened.append(Panel(facts, stage.actions(), no_gpu=why_no_gpu(facts), interval=0.05))
        return stage, opened[-1]

    yield open_on
    for panel in opened:
        panel.close()


def customs() -> list[dict[str, Any]]:
    """Return the custom messages that were sent so far, their content only."""
    return [note["data"]["content"] for note in NotingComm.sent if note["data"].get("method") == "custom"]


def settled(condition: Callable[[], bool]) -> bool:
    """Wait until the panel has drawn what the condition wants; False after five seconds."""
    deadline = time.monotonic() + 5
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


def said(html: str) -> str:
    """Return the visible text of HTML."""
    bare = re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", bare)).split())


def picker(panel: Panel, name: str) -> dict[str, Any]:
    """Return one picker's group as the front end gets it."""
    found: dict[str, Any] = next(group for group in panel.load.pickers.groups if group["name"] == name)
    return found


def header(panel: Panel) -> str:
    return said(panel.widget.children[0].value)


def test_the_header_says_the_machine(open_panel: Open, mi300x: Facts, no_gpu: Facts) -> None:
    _, panel = open_panel(mi300x)
    assert header(panel).startswith("2 × AMD Instinct MI300X · gfx942 · 192.0 GiB each")
    _, panel = open_panel(no_gpu)
    assert header(panel).startswith("No AMD GPU here — no KFD in /sys: the amdgpu driver is not loaded →")
    _, panel = open_panel(replace(no_gpu, origin="written", label="laptop"))
    assert header(panel).startswith("recorded machine (written): laptop")


def test_load_asks_for_what_is_filled_in(open_panel: Open, mi300x: Facts) -> None:
    stage, panel = open_panel(mi300x)
    load = panel.load.button
    load.click()
    panel.load.model.value = " org/name "
    panel.load.pickers.chosen = {**panel.load.pickers.chosen, "device": "cuda:0", "attention": "eager"}
    load.click()
    assert stage.asked == [("load", Asks("demo")), ("load", Asks("org/name", device="cuda:0", attention="eager"))]


def test_every_picker_says_what_is_taken_and_why(open_panel: Open, mi300x: Facts) -> None:
    _, panel = open_panel(mi300x)
    assert picker(panel, "device")["now"]["label"] == "automatic: cuda:1"
    assert picker(panel, "dtype")["now"]["label"] == "automatic: bfloat16"
    for group in panel.load.pickers.groups:
        assert group["now"]["because"]
        for entry in group["entries"]:
            assert entry["answer"] in {"yes", "no", "not known"}
            assert entry["because"], entry
    hidden = picker(panel, "device")["entries"][3]
    assert (hidden["value"], hidden["answer"]) == ("0000:c9:00.0", "no")
    assert hidden["because"] == "ROCR_VISIBLE_DEVICES=0,1 leaves it out"


def test_an_impossible_choice_shows_reason_and_fix_and_loads_nothing(open_panel: Open, mi300x: Facts) -> None:
    stage, panel = open_panel(mi300x)
    panel.load.pickers.chosen = {**panel.load.pickers.chosen, "attention": "flash_attention_4"}
    panel.load.button.click()
    assert stage.asked == []
    message, hint = customs()[-1]["error"]
    assert "flash_attention_4 is built for CUDA only" in message
    assert "sdpa" in hint
    assert "flash_attention_4 is built for CUDA only" in said(panel.load.code.value)
    assert picker(panel, "dtype")["now"]["label"] == "automatic: bfloat16"


def test_a_hidden_device_keeps_the_pickers_readable(open_panel: Open, mi300x: Facts) -> None:
    stage, panel = open_panel(mi300x)
    panel.load.pickers.chosen = {**panel.load.pickers.chosen, "device": "0000:c9:00.0"}
    assert len(picker(panel, "attention")["entries"]) > 3
    panel.load.button.click()
    assert stage.asked == []
    assert "ROCR_VISIBLE_DEVICES=0,1 leaves it out" in customs()[-1]["error"][0]


def test_the_code_is_the_plan_and_can_be_inserted(open_panel: Open, no_gpu: Facts) -> None:
    stage, panel = open_panel(no_gpu)
    panel.load.insert.click()
    what, (code, done) = stage.asked[-1]
    assert what == "insert"
    compile(code, "cell", "exec")
    assert " ".join(code.split()) in said(panel.load.code.value)
    cannot = ["this front end cannot insert cells", "copy the code, or run: %rocm code"]
    for outcome, error in ((False, cannot), (True, [])):
        done(outcome)
        assert customs()[-1]["error"] == error


def test_without_a_plan_there_is_nothing_to_insert(open_panel: Open, no_gpu: Facts) -> None:
    stage, panel = open_panel(no_gpu)
    panel.load.pickers.chosen = {**panel.load.pickers.chosen, "device": "cuda:7"}
    panel.load.insert.click()
    assert stage.asked == []
    assert "cuda:7" in customs()[-1]["error"][0]


def test_generate_train_stop_and_unload(open_panel: Open, no_gpu: Facts) -> None:
    stage, panel = open_panel(no_gpu)
    panel.generate.prompt.value = "Why?"
    panel.generate.button.click()
    panel.generate.temperature.value = 0.7
    panel.generate.button.click()
    panel.train.examples.value = "one\ntwo"
    panel.train.button.click()
    panel.stop.click()
    panel.unload.click()
    assert stage.asked == [
        ("generate", ("Why?", {"max_new_tokens": 256, "do_sample": False})),
        ("generate", ("Why?", {"max_new_tokens": 256, "do_sample": True, "temperature": 0.7})),
        ("train", ("one\ntwo", {"max_steps": 20, "learning_rate": 1e-3, "per_device_train_batch_size": 4})),
        ("stop", None),
        ("unload", None),
    ]
    assert panel.stop.disabled is False


def test_errors_of_callbacks_are_shown_and_go_away(open_panel: Open, no_gpu: Facts) -> None:
    stage, panel = open_panel(no_gpu)
    button = panel.generate.button
    stage.problem = NotLoaded("no model is loaded", "click Load first")
    button.click()
    assert customs()[-1]["error"] == ["no model is loaded", "click Load first"]
    stage.problem = KeyError("oops")
    button.click()
    assert customs()[-1]["error"] == ["KeyError: 'oops'", "this is a mistake in rocmtx; please report it"]
    stage.problem = None
    button.click()
    assert customs()[-1]["error"] == []


def test_a_failure_of_no_session_is_shown_and_goes_away(open_panel: Open, no_gpu: Facts) -> None:
    stage, panel = open_panel(no_gpu)
    error = NotLoaded("no model is loaded", "load one with: %rocm load demo").record()
    stage.bus.publish(Failed(task="generate", request="panel", error=error))
    assert customs()[-1]["error"] == ["no model is loaded", "load one with: %rocm load demo"]
    panel.generate.button.click()
    assert customs()[-1]["error"] == []


def test_a_refresh_is_one_message_and_there_are_few(open_panel: Open, no_gpu: Facts) -> None:
    stage, panel = open_panel(no_gpu)
    stage.play(Planned(request="r", task="generate", about={"prompt": "?"}))
    stage.play(Sample(time=0.5, readings=(Reading(device="cpu", used=1),)))
    assert settled(lambda: bool(customs()) and customs()[-1].get("lines") == ["cpu, this session"])
    NotingComm.sent.clear()
    begin = time.monotonic()
    for at in range(1, 501):
        stage.play(Token(request="r", text="word ", count=at, seconds=at / 100))
        stage.play(Sample(time=float(at), readings=(Reading(device="cpu", used=at),)))
        time.sleep(0.001)
    assert settled(lambda: "".join(content.get("add", "") for content in customs()) == "word " * 500)
    lasted = time.monotonic() - begin
    assert {note["comm"] for note in NotingComm.sent} == {panel.live.comm.comm_id}
    assert 3 <= len(NotingComm.sent) <= lasted / 0.05 + 3


def test_events_may_come_on_any_thread(open_panel: Open, no_gpu: Facts) -> None:
    stage, _ = open_panel(no_gpu)
    lock = threading.Lock()

    def play() -> None:
        for at in range(50):
            with lock:
                stage.play(Sample(time=float(at), readings=(Reading(device="cpu", used=at),)))

    threads = [threading.Thread(target=play) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert settled(lambda: customs()[-1].get("memory") == "last measured 49 B · peak 49 B")
    numbers = [content["s"] for content in customs()]
    assert numbers == sorted(set(numbers))


def test_a_new_front_end_gets_everything(open_panel: Open, no_gpu: Facts, story: list[Event]) -> None:
    stage, panel = open_panel(no_gpu)
    stage.play(*story)
    assert settled(lambda: bool(customs()) and customs()[-1].get("status", "").startswith("ready"))
    panel.live.comm.handle_msg({"content": {"data": {"method": "custom", "content": {"k": "sync"}}}, "buffers": []})
    answer = customs()[-1]
    assert (answer["k"], answer["text"], answer["lines"]) == ("r", "The capital is <Paris>.", ["cpu, this session"])


def test_the_last_picture_is_stored_when_a_task_ends(open_panel: Open, no_gpu: Facts, story: list[Event]) -> None:
    stage, panel = open_panel(no_gpu)
    stage.play(story[0])
    assert settled(lambda: bool(customs()))
    stage.play(*story[1:])
    assert settled(lambda: panel.live.snap.get("text") == "The capital is <Paris>.")
    assert [len(rows) for rows in panel.live.snap_rows] == [5 * 2 * 8, 4 * 3 * 8]


def test_after_its_load_the_panel_goes_on_to_generate(open_panel: Open, no_gpu: Facts, story: list[Event]) -> None:
    stage, panel = open_panel(no_gpu)
    panel.load.button.click()
    stage.play(story[0])
    assert settled(lambda: bool(customs()))
    assert panel.tabs.selected_index == 0
    stage.play(*story[1:6])
    assert settled(lambda: panel.tabs.selected_index == 1)


def test_a_load_from_elsewhere_does_not_move_the_tabs(open_panel: Open, no_gpu: Facts, story: list[Event]) -> None:
    stage, panel = open_panel(no_gpu)
    stage.play(*story[:3])
    assert settled(lambda: bool(customs()))
    stage.play(*story[3:6])
    assert settled(lambda: customs()[-1].get("status", "").startswith("ready"))
    assert panel.tabs.selected_index == 0


def test_loading_is_announced_without_moving_numbers(open_panel: Open, no_gpu: Facts) -> None:
    stage, _ = open_panel(no_gpu)
    stage.play(Planned(request="r", task="load"))
    for done in range(0, 100, 10):
        stage.play(Loading(request="r", stage="reading weights", done=done, total=100, unit="parts"))
        time.sleep(0.03)
    assert settled(lambda: customs()[-1].get("share") == 0.9)
    announced = [content["status"] for content in customs() if "status" in content]
    assert announced[-1] == "loading: reading weights"
    assert len(announced) <= 2


def test_closing_leaves_nothing_behind(open_panel: Open, mi300x: Facts) -> None:
    instances = ipywidgets.widgets.widget._instances
    known = set(instances)
    stage, panel = open_panel(mi300x)
    assert set(instances) > known
    panel.close()
    panel.close()
    assert set(instances) == known
    count = len(NotingComm.sent)
    stage.play(Planned(request="r", task="load"))
    time.sleep(0.15)
    assert len(NotingComm.sent) == count
    assert not [thread for thread in threading.enumerate() if thread.name == "rocmtx-panel"]


def test_every_comm_honours_the_front_ends_subshell(open_panel: Open, no_gpu: Facts) -> None:
    _, panel = open_panel(no_gpu)
    for widget in (panel.stop, panel.live, panel.load.pickers, panel.load.model):
        assert widget.comm._reply_subshell_for({}, "the one that was named") == "the one that was named"


def test_a_kernel_without_that_rule_is_left_alone() -> None:
    widget = ipywidgets.Label()
    answer_at_once([widget])
    assert not hasattr(widget.comm, "_reply_subshell_for")
    widget.layout.close()
    widget.close()


def test_there_are_twins_for_places_without_widgets(open_panel: Open, no_gpu: Facts) -> None:
    _, panel = open_panel(no_gpu)
    bundle = panel._repr_mimebundle_()
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"] == panel.widget.model_id
    assert bundle["text/plain"].splitlines()[0].startswith("No AMD GPU here")
    assert bundle["text/plain"].splitlines()[-1] == "phase  nothing loaded"
    assert "No AMD GPU here" in said(bundle["text/html"])

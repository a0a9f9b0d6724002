"""Progress bars of the libraries as events: throttled, never without the last, and silent on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rocmtx.events import Event, Loading

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.demo


@pytest.fixture
def heard() -> list[Event]:
    """Return where events are collected."""
    return []


@pytest.fixture
def downloads(heard: list[Event]) -> Iterator[list[Event]]:
    """Let download bars emit, and stop it afterwards."""
    from rocmtx.run.engine.progress import DownloadBar

    DownloadBar.emit = heard.append
    yield heard
    DownloadBar.emit = None


def test_a_bar_is_the_loop_it_stands_for(heard: list[Event], capsys: pytest.CaptureFixture[str]) -> None:
    from rocmtx.run.engine.progress import Bar

    bar = Bar(heard.append, object, (["a", "b", "c"],), {"desc": "Loading weights: "})
    assert list(bar) == ["a", "b", "c"]
    assert heard[0] == Loading(stage="weights", done=1, total=3, unit="parts")
    assert heard[-1] == Loading(stage="weights", done=3, total=3, unit="parts")
    assert capsys.readouterr() == ("", "")


def test_a_bar_counts_bytes_and_takes_tqdms_calls(heard: list[Event]) -> None:
    from rocmtx.run.engine.progress import Bar

    with Bar(heard.append, object, (), {"total": 100, "unit": "B"}) as bar:
        bar.set_description("x")
        bar.set_postfix(a=1)
        bar.update(40)
        bar.update()
        bar.refresh()
    assert heard[0] == Loading(stage="weights", done=40, total=100, unit="bytes")
    assert heard[-1] == Loading(stage="weights", done=41, total=100, unit="bytes")


def test_a_bar_of_an_unknown_length_says_so(heard: list[Event]) -> None:
    from rocmtx.run.engine.progress import Bar

    assert list(Bar(heard.append, object, (), {"iterable": iter("ab"), "desc": "shards"})) == ["a", "b"]
    assert heard[-1] == Loading(stage="shards", done=2, total=None, unit="parts")


def test_a_fast_bar_speaks_seldom(heard: list[Event]) -> None:
    from rocmtx.run.engine.progress import Bar

    for _ in Bar(heard.append, object, (range(100_000),), {}):
        pass
    assert 2 <= len(heard) < 50
    assert isinstance(heard[-1], Loading)
    assert heard[-1].done == 100_000


def test_a_download_tells_its_bytes(downloads: list[Event], capsys: pytest.CaptureFixture[str]) -> None:
    from rocmtx.run.engine.progress import DownloadBar

    bar = DownloadBar(desc="model.safetensors", total=300, unit="B", name="huggingface_hub.http_get")
    bar.update(100)
    bar.update(200)
    bar.close()
    assert downloads[0] == Loading(stage="download model.safetensors", done=100, total=300, unit="bytes")
    assert downloads[-1] == Loading(stage="download model.safetensors", done=300, total=300, unit="bytes")
    assert capsys.readouterr() == ("", "")


def test_a_download_that_had_nothing_to_do_says_nothing(downloads: list[Event]) -> None:
    from rocmtx.run.engine.progress import DownloadBar

    DownloadBar(desc="x", total=0).close()
    assert downloads == []


def test_nobody_listening_is_no_error() -> None:
    from rocmtx.run.engine.progress import DownloadBar

    with DownloadBar(total=3) as bar:
        bar.update(3)

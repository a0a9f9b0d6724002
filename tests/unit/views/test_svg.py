"""The inline pictures: well-formed, with a text equivalent, with gaps as gaps."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from rocmtx.events import Planned, Reading, Sample, Step
from rocmtx.state import State, fold
from rocmtx.views import svg
from rocmtx.views.series import Curves, loss_curves, memory_curves, thinned

SVG = "{http://www.w3.org/2000/svg}"
GIB = 1024**3


def sampled(*used: int | None, device: str = "cuda:0") -> State:
    state = State()
    for at, value in enumerate(used, start=1):
        state = fold(
            state, Sample(seq=at, time=1000.0 + at, readings=(Reading(device=device, used=value, reserved=0),))
        )
    return state


def lines_of(picture: str, at: int = 0) -> list[str]:
    """Return the path data of one drawn line, its legend left out."""
    root = ET.fromstring(picture)  # noqa: S314 - our own text
    paths = [path.get("d") or "" for path in root.iter(f"{SVG}path") if path.get("class") == f"s{at}"]
    return paths[:1]


def test_memory_picture_says_what_it_shows(state: State) -> None:
    root = ET.fromstring(svg.memory_svg(state))  # noqa: S314
    assert root.get("role") == "img"
    assert root.findtext(f"{SVG}title") == "Memory over time"
    assert root.findtext(f"{SVG}desc") == (
        "Over 9.5 s. Last: cpu, this session 1.5 GiB. Peak: cpu 2.0 GiB. Marks: load at 0 ms, loaded at 1.5 s, "
        "generate at 2.5 s, first token at 3.0 s, train at 6.0 s, first step at 6.5 s."
    )
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert texts[:5] == ["0 B", "512.0 MiB", "1.0 GiB", "1.5 GiB", "2.0 GiB"]
    assert texts[-1] == "cpu, this session: 1.5 GiB"


def test_loss_picture_joins_steps_and_held_out_loss(state: State) -> None:
    root = ET.fromstring(svg.loss_svg(state))  # noqa: S314
    assert root.findtext(f"{SVG}desc") == (
        "Steps 1 to 3: loss from 3.214 to 0.0432; held-out loss from 0.051 to 0.051."
    )


def test_a_gap_breaks_the_line() -> None:
    whole = lines_of(svg.memory_svg(sampled(GIB, GIB, GIB, GIB)))[0]
    broken = lines_of(svg.memory_svg(sampled(GIB, GIB, None, GIB, GIB)))[0]
    assert (whole.count("M"), whole.count("L")) == (1, 3)
    assert (broken.count("M"), broken.count("L")) == (2, 2)


def test_a_lone_point_is_visible() -> None:
    assert "m-2 0h4" in lines_of(svg.memory_svg(sampled(GIB)))[0]


def test_nothing_measured_draws_nothing() -> None:
    assert svg.memory_svg(State()) == ""
    assert svg.loss_svg(State()) == ""
    assert svg.loss_svg(fold(State(), Step(step=1))) == ""


def test_names_of_devices_are_escaped() -> None:
    picture = svg.memory_svg(sampled(GIB, GIB, device="<script>"))
    assert "<script>" not in picture
    ET.fromstring(picture)  # noqa: S314


def test_no_script_and_no_outside_address(state: State) -> None:
    picture = svg.memory_svg(state) + svg.loss_svg(state)
    assert "<script" not in picture
    assert picture.replace('xmlns="http://www.w3.org/2000/svg"', "").count("http") == 0


@pytest.mark.parametrize(
    ("largest", "binary", "expected"),
    [
        (3.2, False, [0, 1, 2, 3, 4]),
        (0.05, False, [0, 0.02, 0.04, 0.06]),
        (100, False, [0, 50, 100]),
        (2 * GIB, True, [0, GIB / 2, GIB, 1.5 * GIB, 2 * GIB]),
        (191 * GIB, True, [0, 64 * GIB, 128 * GIB, 192 * GIB]),
        (0, True, [0, 1]),
    ],
)
def test_ticks_are_round_and_cover_the_values(largest: float, *, binary: bool, expected: list[float]) -> None:
    assert svg.ticks(largest, binary=binary) == pytest.approx(expected)


def test_many_points_are_thinned_and_the_peak_stays() -> None:
    used = [GIB] * 3000
    used[1234] = 7 * GIB
    curves = memory_curves(sampled(*used))
    thin = thinned(curves, 400)
    assert len(thin.at) <= 400
    assert thin.largest == 7 * GIB
    assert (thin.at[-1], thin.values[0][-1]) == (curves.at[-1], GIB)
    assert len(svg.memory_svg(sampled(*used))) < 12_000


def test_eight_devices_get_one_line_each_and_one_gets_two() -> None:
    readings = tuple(Reading(device=f"cuda:{at}", used=GIB, allocated=GIB // 2) for at in range(8))
    state = fold(State(), Sample(seq=1, time=1.0, readings=readings))
    assert memory_curves(state).names == tuple(f"cuda:{at} in use" for at in range(8))
    one = fold(State(), Sample(seq=1, time=1.0, readings=readings[:1]))
    assert memory_curves(one).names == ("cuda:0 in use", "cuda:0 allocated by this session")


def test_the_request_that_began_the_sampling_is_marked() -> None:
    state = fold(State(), Planned(seq=1, time=999.5, request="r", task="load"))
    state = fold(state, Sample(seq=2, time=1000.0, readings=(Reading(device="cpu", used=1),)))
    assert memory_curves(state).marks == ((0.0, "load"),)
    late = replace(state, marks=(replace(state.marks[0], time=900.0),))
    assert memory_curves(late).marks == ()


def test_empty_curves() -> None:
    assert loss_curves(State()) == Curves((), (), ())
    assert loss_curves(State()).largest is None

"""Mask variables: each layer reads its own in its own way, and the differences are the point."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocmtx.facts.masks import (
    Prediction,
    Selection,
    hip_variable,
    predict_torch,
    read_cuda,
    read_hip,
    read_rocr,
    uuid_of,
)

IDS = ("f980f88ef31631a2", "f980f88e00000001", None, "0edfb117a17a07d0")
UUIDS = [uuid_of(unique_id) for unique_id in IDS]
EVERYTHING = (0, 1, 2, 3)


def test_uuids() -> None:
    assert UUIDS == ["GPU-f980f88ef31631a2", "GPU-f980f88e00000001", "GPU-XX", "GPU-0edfb117a17a07d0"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, Selection(EVERYTHING)),
        ("", Selection(())),
        ("1,0", Selection((1, 0))),
        (" 1 , 3", Selection((1, 3))),
        ("01", Selection((1,))),  # octal
        ("+1", Selection((1,))),
        ("0x1", Selection((1,))),
        ("010", Selection((), ends_at="010")),  # octal 8 of 4
        ("08", Selection((), ends_at="08")),
        ("1x", Selection((), ends_at="1x")),
        ("0,-1,1", Selection((0,), ends_at="-1")),
        ("0,4,1", Selection((0,), ends_at="4")),
        ("0,0,1", Selection((0,), ends_at="0")),
        ("0,,1", Selection((0,), ends_at="", crashes=True)),
        (",0", Selection((), ends_at="", crashes=True)),
        ("0,", Selection((0,))),
        ("9,,1", Selection((), ends_at="9")),
        ("3,2,1,0,", Selection((3, 2, 1, 0))),
        ("3,2,1,0,junk", Selection((3, 2, 1, 0))),  # only as many as there are GPUs
        ("GPU-f980f88ef31631a2", Selection((0,))),
        ("gpu-F980F88EF3", Selection((0,))),  # a prefix, in any case
        ("GPU-f980f88e", Selection((), ends_at="GPU-f980f88e")),  # two have it
        ("GPU-", Selection((), ends_at="GPU-")),
        ("GPU-XX", Selection((), ends_at="GPU-XX")),
        ("GPU-0e,0", Selection((3, 0))),
        ("GPU-f980f88ef31631a2f", Selection((), ends_at="GPU-f980f88ef31631a2f")),
        ("'0'", Selection((), ends_at="'0'")),
    ],
)
def test_rocr(value: str | None, expected: Selection) -> None:
    assert read_rocr(value, UUIDS) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, Selection(EVERYTHING)),
        ("", Selection(EVERYTHING)),
        ("1,0", Selection((1, 0))),
        (" 1", Selection((), ends_at=" 1")),
        ("0, 1", Selection((0,), ends_at=" 1")),
        ("01", Selection((), ends_at="01")),
        ("+1", Selection((), ends_at="+1")),
        ("0x1", Selection((), ends_at="0x1")),
        ("0,-1,1", Selection((0,), ends_at="-1")),
        ("-1", Selection((), ends_at="-1")),
        ("0,4,1", Selection((0,), ends_at="4")),
        ("0,0,1", Selection((0, 1))),  # a repeat is skipped
        ("0,,1", Selection((0,), ends_at="")),
        ("0,", Selection((0,))),
        ("3,2,1,0,9", Selection((3, 2, 1, 0), ends_at="9")),
        ("GPU-f980f88ef31631a2", Selection((0,))),
        ("GPU-f980f88e", Selection((0,))),  # the first match wins
        ("GPU-XX", Selection((2,))),  # picks the first GPU without an id
        ("gpu-f980f88ef31631a2", Selection((), ends_at="gpu-f980f88ef31631a2")),
        ('"1,0"', Selection((1, 0))),
        ("'1'", Selection((1,))),
        ("99999999999", Selection((), ends_at="99999999999")),
    ],
)
def test_hip(value: str | None, expected: Selection) -> None:
    assert read_hip(value, UUIDS) == expected


@pytest.mark.parametrize(
    ("environment", "variable"),
    [
        ({}, None),
        ({"CUDA_VISIBLE_DEVICES": "0"}, "CUDA_VISIBLE_DEVICES"),
        ({"CUDA_VISIBLE_DEVICES": "0", "HIP_VISIBLE_DEVICES": "1"}, "HIP_VISIBLE_DEVICES"),
        ({"CUDA_VISIBLE_DEVICES": "0", "HIP_VISIBLE_DEVICES": ""}, "CUDA_VISIBLE_DEVICES"),
        ({"CUDA_VISIBLE_DEVICES": ""}, None),
    ],
)
def test_which_variable_hip_takes(environment: dict[str, str], variable: str | None) -> None:
    assert hip_variable(environment) == variable


@pytest.mark.parametrize(
    ("value", "order"),
    [
        (None, (0, 1)),
        ("", ()),
        ("-1", ()),
        ("1", (1,)),
        ("1,0", (1, 0)),
        ("0,7,1", (0,)),
        ("0,0", ()),
        ("GPU-ab", (1,)),
    ],
)
def test_cuda(value: str | None, order: tuple[int, ...]) -> None:
    assert read_cuda(value, ["GPU-1234-5", "GPU-ABCD-5"]).order == order


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, Prediction(tuple(range(64)))),
        ({"ROCR_VISIBLE_DEVICES": ""}, Prediction((0,))),
        ({"ROCR_VISIBLE_DEVICES": "GPU-x,GPU-y", "CUDA_VISIBLE_DEVICES": "7"}, Prediction((0, 1))),
        ({"HIP_VISIBLE_DEVICES": ""}, Prediction(())),
        ({"HIP_VISIBLE_DEVICES": "1", "CUDA_VISIBLE_DEVICES": "0"}, Prediction((1,))),
        ({"HIP_VISIBLE_DEVICES": "0,0"}, Prediction(())),
        ({"HIP_VISIBLE_DEVICES": "1gpu2,2ampere"}, Prediction((1, 2))),
        (
            {"HIP_VISIBLE_DEVICES": "0,1", "ROCR_VISIBLE_DEVICES": "1"},
            Prediction(error="HIP_VISIBLE_DEVICES contains more devices than ROCR_VISIBLE_DEVICES"),
        ),
    ],
)
def test_what_torch_predicts(environment: dict[str, str], expected: Prediction) -> None:
    assert predict_torch(environment) == expected


MASKS = st.none() | st.text("0123456789,-+ xGPU-abf", max_size=12)


@given(MASKS, MASKS, MASKS)
@example("", None, "0")
@example(None, "+", None)
@example(None, "GPU-a,GPU-a", None)
def test_predictions_are_those_of_the_installed_torch(rocr: str | None, hip: str | None, cuda: str | None) -> None:
    torch = pytest.importorskip("torch")
    names = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
    environment = {name: value for name, value in zip(names, (rocr, hip, cuda), strict=True) if value is not None}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.version, "hip", "7.2")
        for name in names:
            patch.delenv(name, raising=False)
        for name, value in environment.items():
            patch.setenv(name, value)
        try:
            expected = Prediction(tuple(torch.cuda._parse_visible_devices()))
        except (RuntimeError, ValueError) as error:
            expected = Prediction(error=str(error))
    assert predict_torch(environment) == expected


@given(st.text(), st.lists(st.none() | st.from_regex(r"\A[0-9a-f]{16}\Z"), max_size=4))
def test_masks_never_raise_and_never_invent(value: str, ids: list[str | None]) -> None:
    uuids = [uuid_of(unique_id) for unique_id in ids]
    for read in (read_rocr, read_hip, read_cuda):
        order = read(value, uuids).order
        assert len(set(order)) == len(order)
        assert set(order) <= set(range(len(uuids)))

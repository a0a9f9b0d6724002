"""Errors keep message, hint and trace across processes, and IPython shows two lines of them."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmtx.errors import (
    AskError,
    Busy,
    ErrorRecord,
    HubUnreachable,
    MissingPackage,
    ModelError,
    ModelNotFound,
    ModelUnreadable,
    NotLoaded,
    OutOfMemory,
    PlanError,
    ReportError,
    RocmtxError,
    RunError,
    SessionError,
    UnknownDevice,
    WorkerDied,
    from_record,
)

ALL: list[type[RocmtxError]] = [RocmtxError, *RocmtxError.kinds.values()]
# What a person catches to mean more than one kind.
FAMILIES: list[tuple[type[RocmtxError], set[type[RocmtxError]]]] = [
    (AskError, {UnknownDevice}),
    (PlanError, set()),
    (MissingPackage, set()),
    (ModelError, {ModelNotFound, ModelUnreadable, HubUnreachable}),
    (OutOfMemory, set()),
    (SessionError, {NotLoaded, Busy, WorkerDied}),
    (RunError, set()),
    (ReportError, set()),
]


@pytest.mark.parametrize("kind", ALL)
def test_an_error_survives_pickling_with_all_its_parts(kind: type[RocmtxError]) -> None:
    error = kind("it broke", "type this", trace="Traceback …")
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert type(copy) is kind
    assert (copy.message, copy.hint, copy.trace, copy.args) == ("it broke", "type this", "Traceback …", ("it broke",))


@given(st.sampled_from(ALL), st.text(), st.text(), st.text())
def test_the_record_is_the_whole_error(kind: type[RocmtxError], message: str, hint: str, trace: str) -> None:
    record = kind(message, hint, trace=trace).record()
    assert record == {"kind": kind.__name__, "message": message, "hint": hint, "trace": trace}
    assert type(from_record(record)) is kind
    assert from_record(record).record() == record


def test_a_kind_of_a_newer_version_becomes_a_plain_error() -> None:
    record: ErrorRecord = {"kind": "QuotaError", "message": "no more today", "hint": "come back tomorrow", "trace": ""}
    error = from_record(record)
    assert type(error) is RocmtxError
    assert str(error) == "no more today\n  → come back tomorrow"


def test_a_message_is_followed_by_its_hint() -> None:
    assert str(NotLoaded("no model is loaded", "%rocm load demo")) == "no model is loaded\n  → %rocm load demo"
    assert str(NotLoaded("no model is loaded")) == "no model is loaded"


def test_ipython_is_given_two_lines_and_no_frames() -> None:
    error = NotLoaded("no model is loaded", "%rocm load demo", trace="forty frames")
    assert error._render_traceback_() == ["NotLoaded: no model is loaded", "  → %rocm load demo"]
    assert NotLoaded("no model is loaded")._render_traceback_() == ["NotLoaded: no model is loaded"]


@pytest.mark.parametrize(("family", "members"), FAMILIES)
def test_catching_a_family_catches_its_members_and_no_others(
    family: type[RocmtxError], members: set[type[RocmtxError]]
) -> None:
    assert {kind for kind in ALL if issubclass(kind, family)} == {family, *members}

"""Reports: private things leave, everything else comes back, and a broken file is an error with a hint."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmtx.errors import ReportError
from rocmtx.facts import collect, load_machine, machine_names, read_files, read_report, redacted, write_report
from rocmtx.facts.model import Facts, Gpu, Host, Stack, facts_from_json, facts_to_json
from unit.facts.tree_files import kfd_node

if TYPE_CHECKING:
    from pathlib import Path

    from unit.facts.tree_files import MakeTree

PRIVATE = Facts(
    host=Host(groups=("users", "project-x", "render", "1234"), gids=(100, 5000, 993, 1234)),
    gpus=(
        Gpu("0000:05:00.0", unique_id="e3aa140f9a5f9e31", hive_id="d2c7812208b0a9cf", gpu_id=5),
        Gpu("0000:05:00.1", unique_id="e3aa140f9a5f9e31", hive_id="d2c7812208b0a9cf", gpu_id=6),
        Gpu("0000:27:00.0", unique_id="2250f807caf2231a"),
    ),
    stack=Stack(
        environment={
            "HF_HOME": "/home/alice/hf",
            "LD_LIBRARY_PATH": "/root/lib:/opt/rocm/lib",
            "ROCR_VISIBLE_DEVICES": "GPU-2250f807,GPU-dead0000",
        }
    ),
    label="box",
)


def test_private_things_leave() -> None:
    public = redacted(PRIVATE)
    text = json.dumps(facts_to_json(public))
    for secret in ("alice", "/root", "e3aa140f", "2250f807", "d2c7812208b0a9cf", "project-x"):
        assert secret not in text
    assert [gpu.unique_id for gpu in public.gpus] == ["0000000000000001", "0000000000000001", "0000000000000003"]
    assert public.host.groups == ("users", "a-group", "render", "1234")
    assert public.stack.environment == {
        "HF_HOME": "/home/user/hf",
        "LD_LIBRARY_PATH": "/home/user/lib:/opt/rocm/lib",
        "ROCR_VISIBLE_DEVICES": "GPU-0000000000000003,GPU-id",
    }
    assert [gpu.address for gpu in public.gpus] == [gpu.address for gpu in PRIVATE.gpus]


def test_a_full_report_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "box.json"
    write_report(PRIVATE, path, full=True)
    assert read_report(path) == replace(PRIVATE, origin="report")
    assert json.loads(path.read_text())["redacted"] is False


def test_a_report_of_this_machine_is_recorded_when_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    write_report(collect(), path)
    facts = read_report(path)
    assert (facts.origin, facts.label, facts.recorded) == ("report", "mine", True)
    assert facts.stack.packages == collect().stack.packages


def test_a_recorded_machine_stays_written(tmp_path: Path) -> None:
    write_report(load_machine("mi300x-8"), tmp_path / "copy.json", full=True)
    assert read_report(tmp_path / "copy.json") == load_machine("mi300x-8")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "this is no rocmtx report: the file holds no JSON object"),
        ('{"rocmtx_report": 99}', "this report has format 99, this rocmtx reads up to 1"),
        ('{"gpus": 5}', "this report is damaged: report.gpus is int, not a list"),
        ('{"gpus": [{}]}', "this report is damaged"),
        ('{"host": {"uid": "root"}}', "this report is damaged: report.host.uid is 'root', expected int"),
        ("nonsense", "is no report"),
    ],
)
def test_broken_reports(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(ReportError) as caught:
        read_report(path)
    assert message in caught.value.message
    assert caught.value.hint


def test_the_files_behind_the_facts_are_kept_without_serials(make_tree: MakeTree, tmp_path: Path) -> None:
    unique_id = {"/sys/class/drm/card0/device/unique_id": "e3aa140f9a5f9e31\n"}
    card = {"/sys/class/drm/card0/device/vendor": "0x1002\n", "/proc/meminfo": "MemTotal: 1 kB\n"}
    root = make_tree(kfd_node(1, hive_id=77) | card | unique_id)
    files = read_files(root)
    assert files["/sys/class/drm/card0/device/vendor"] == "0x1002"
    assert not any(path.startswith("/proc") for path in files)
    write_report(collect(root), tmp_path / "x.json", files=files)
    body = json.loads((tmp_path / "x.json").read_text())
    properties = body["files"]["/sys/class/kfd/kfd/topology/nodes/1/properties"]
    assert "gfx_target_version 90402" in properties
    assert "unique_id 0" in properties
    assert "hive_id 0" in properties
    assert "/sys/class/drm/card0/device/unique_id" not in body["files"]
    assert read_report(tmp_path / "x.json").gpus[0].gfx == "gfx942"
    write_report(collect(root), tmp_path / "full.json", files=files, full=True)
    assert json.loads((tmp_path / "full.json").read_text())["files"] == files


def test_kept_files_are_a_tree_that_reads_the_same(make_tree: MakeTree, tmp_path: Path) -> None:
    root = make_tree(kfd_node(1))
    for path, text in read_files(root).items():
        target = tmp_path / "again" / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    assert collect(tmp_path / "again").gpus == collect(root).gpus


def test_a_partial_report_is_valid(tmp_path: Path) -> None:
    path = tmp_path / "partial.json"
    path.write_text('{"gpus": [{"address": "0000:03:00.0", "gfx": "gfx1100"}], "from_a_newer_version": 1}')
    (gpu,) = read_report(path).gpus
    assert (gpu.gfx, gpu.vram_total) == ("gfx1100", None)


def test_files_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    with pytest.raises(ReportError) as reading:
        read_report(tmp_path / "gone.json")
    assert str(reading.value) == (
        f"{tmp_path}/gone.json cannot be read: No such file or directory\n"
        "  → name a file that rocmtx report -o FILE has written"
    )
    with pytest.raises(ReportError) as writing:
        write_report(PRIVATE, tmp_path / "no/folder.json")
    assert writing.value.hint == "name another file: rocmtx report -o FILE"


@pytest.mark.parametrize("name", machine_names())
def test_redaction_keeps_what_plans_need(name: str) -> None:
    facts = load_machine(name)
    public = redacted(facts)
    assert [replace(gpu, unique_id=None, hive_id=None) for gpu in public.gpus] == [
        replace(gpu, unique_id=None, hive_id=None) for gpu in facts.gpus
    ]
    assert public.stack == facts.stack


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["host", "gpus", "stack", "uid", "links"]), inner)
    ),
    max_leaves=20,
)


@given(JSON)
def test_any_json_gives_facts_or_a_report_error(value: Any) -> None:
    found: list[Facts | str] = []
    try:
        found.append(facts_from_json(value))
    except ReportError as error:
        found.append(error.hint)
    assert all(found)

"""torch's own view: asked in a child that may hang, crash or print rubbish."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmtx.facts import ask_torch, collect
from rocmtx.facts.child import run_limited
from rocmtx.facts.model import TorchDevice, TorchView
from rocmtx.facts.torch_view import base_arch, unique_id_of, view_from_json

if TYPE_CHECKING:
    from pathlib import Path


def child(folder: Path, source: str) -> Path:
    path = folder / "child.py"
    path.write_text(source)
    return path


def test_the_installed_torch_answers() -> None:
    torch = pytest.importorskip("torch")
    view = ask_torch(os.environ)
    assert view.error is None
    assert view.available == torch.cuda.is_available()
    assert view.device_count == torch.cuda.device_count()
    assert len(view.devices) == (view.raw_device_count or 0)


def test_collect_asks_only_on_demand() -> None:
    assert collect().stack.torch_view is None


def test_a_machine_without_torch_says_so(tmp_path: Path) -> None:
    view = collect(torch_view=True, search_paths=[str(tmp_path)]).stack.torch_view
    assert view == TorchView(error="torch is not installed")


def test_a_torch_that_cannot_be_imported_is_reported(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise KeyError('libamd_smi.so')")
    view = ask_torch(os.environ | {"PYTHONPATH": str(tmp_path)})
    assert view == TorchView(error="KeyError: 'libamd_smi.so'")


def test_what_torch_prints_does_not_spoil_the_answer(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text(
        "import os\nprint('Unable to find libamd_smi.so')\nos.system('echo from a library')\n"
        "class cuda:\n  device_count = lambda: 0\n  is_available = lambda: False\n"
        "  get_arch_list = lambda: ['gfx1100']\n"
        "class _C:\n  _cuda_getDeviceCount = lambda: 0\n"
    )
    view = ask_torch(os.environ | {"PYTHONPATH": str(tmp_path)})
    assert view == TorchView(available=False, device_count=0, raw_device_count=0, arch_list=("gfx1100",))


def test_counts_that_differ_are_both_kept(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text(
        "class P:\n  name='AMD Instinct MI300X'; gcnArchName='gfx942:sramecc+:xnack-'; total_memory=5\n"
        "  multi_processor_count=304; is_integrated=0; uuid='66333330-6463-3464-3030-646565323262'\n"
        "  pci_domain_id=1; pci_bus_id=0x26; pci_device_id=0\n"
        "class cuda:\n  device_count = lambda: 0\n  is_available = lambda: True\n  get_arch_list = lambda: ['gfx942']\n"
        "  get_device_properties = lambda at: P\n  mem_get_info = lambda at: (4, 5)\n"
        "class _C:\n  _cuda_getDeviceCount = lambda: 1\n"
    )
    view = ask_torch(os.environ | {"PYTHONPATH": str(tmp_path)})
    assert (view.device_count, view.raw_device_count) == (0, 1)
    assert view.devices == (
        TorchDevice(
            ordinal=0,
            name="AMD Instinct MI300X",
            gcn_arch="gfx942:sramecc+:xnack-",
            total_memory=5,
            free_memory=4,
            compute_units_reported=304,
            integrated=False,
            uuid="66333330-6463-3464-3030-646565323262",
            address="0001:26:00.0",
        ),
    )


def test_a_child_that_hangs_is_ended_in_time(tmp_path: Path) -> None:
    began = time.monotonic()
    view = ask_torch(os.environ, child=child(tmp_path, "import time; time.sleep(60)"), time_limit=0.3)
    assert view == TorchView(error="torch did not answer within 0.3 s")
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("import os; os.abort()", "was killed by signal 6: it printed nothing"),
        ("import sys; print('rocBLAS error', file=sys.stderr); sys.exit(3)", "ended with code 3: rocBLAS error"),
        ("print('no JSON')", "ended with code 0: no JSON"),
        ("print('[1]')", "ended with code 0: [1]"),
    ],
)
def test_a_child_that_dies_leaves_its_last_words(source: str, error: str, tmp_path: Path) -> None:
    view = ask_torch(os.environ, child=child(tmp_path, source))
    assert view == TorchView(error=f"the process that asked torch {error}")


def test_a_python_that_is_not_there() -> None:
    assert ask_torch(os.environ, python="/nonexistent/python").error == (
        "/nonexistent/python could not be started: No such file or directory"
    )


def test_children_of_the_child_are_ended_with_it(tmp_path: Path) -> None:
    marker = tmp_path / "alive"
    grandchild = child(tmp_path, f"import time; time.sleep(3); open({str(marker)!r}, 'w')")
    source = (
        f"import subprocess, sys; subprocess.run([sys.executable, {str(grandchild)!r}]); import time; time.sleep(60)"
    )
    output = run_limited([sys.executable, "-c", source], os.environ, 1.0)
    assert output.code is None
    time.sleep(3)
    assert not marker.exists()


@pytest.mark.parametrize(
    ("uuid", "unique_id"),
    [
        ("66333330-6463-3464-3030-646565323262", "f330dc4d00dee22b"),
        ("65346161-3739-3838-3061-336432616431", "e4aa79880a3d2ad1"),
        ("58580000-0000-0000-0000-000000000000", None),
        ("d8dd0b5e-93e5-4c09-a1a7-86b2b4d3e2a1", None),
        ("", None),
        ("GPU-", None),
    ],
)
def test_uuids_of_torch_are_letters(uuid: str, unique_id: str | None) -> None:
    assert unique_id_of(uuid) == unique_id


@pytest.mark.parametrize(
    ("arch", "base"),
    [
        ("gfx906:sramecc+:xnack-", "gfx906"), ("gfx90a:sramecc+:xnack-", "gfx90a"),
        ("gfx942:sramecc+:xnack-", "gfx942"), ("gfx1100", "gfx1100"), ("gfx11-generic", "gfx11-generic"),
    ],
)  # fmt: skip
def test_feature_flags_are_dropped(arch: str, base: str) -> None:
    assert base_arch(arch) == base


@given(st.text())
def test_uuids_never_raise(uuid: str) -> None:
    found = unique_id_of(uuid)
    assert found is None or len(found) == 16


def test_an_answer_with_gaps() -> None:
    view = view_from_json({"devices": [{"ordinal": 0, "name": "unknown"}], "arch_list": None})
    assert view == TorchView(devices=(TorchDevice(0, "unknown"),))

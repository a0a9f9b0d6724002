"""The installer: which torch a machine gets, and what a person reads when it cannot go on."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

import install
from fakes import kfd_node, write_tree
from install import InstallError, Steps, Torch, amd_gpus, choose_torch, nvidia_gpu, reachable, torch_present

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NODES = "sys/class/kfd/kfd/topology/nodes"
PIN = ("--constraint", str(install.ROOT / "constraints" / "cpu.txt"))


def yes(_address: str) -> bool:
    return True


def no(_address: str) -> bool:
    return False


def test_a_gpu_node_has_a_target_and_a_cpu_node_has_none(tmp_path: Path) -> None:
    nodes = {0: 0, 1: 90402, 2: 110000}
    write_tree(tmp_path, {f"{NODES}/{node}/properties": kfd_node(target) for node, target in nodes.items()})
    assert amd_gpus(tmp_path) == 2


def test_an_odd_properties_file_counts_no_gpu(tmp_path: Path) -> None:
    write_tree(tmp_path, {f"{NODES}/0/properties": "", f"{NODES}/1/properties": "gfx_target_version"})
    assert amd_gpus(tmp_path) == 0
    assert amd_gpus(tmp_path / "absent") == 0


def test_recorded_machines_show_their_gpus(shared: Path, tmp_path: Path) -> None:
    dump = shared / "fixtures" / "ROCm+k8s-device-plugin" / "testdata" / "topo-mi210-xgmi-pcie" / "nodes"
    (tmp_path / NODES).parent.mkdir(parents=True)
    (tmp_path / NODES).symlink_to(dump)
    gpus = sum("gfx_target_version 0\n" not in path.read_text() for path in dump.glob("*/properties"))
    assert amd_gpus(tmp_path) == gpus > 0


@pytest.mark.parametrize("name", ["proc/driver/nvidia/gpus/0000:01:00.0/information", "usr/lib/wsl/lib/nvidia-smi"])
def test_an_nvidia_gpu_is_seen(tmp_path: Path, name: str) -> None:
    assert not nvidia_gpu(tmp_path)
    assert nvidia_gpu(write_tree(tmp_path, {name: ""}))


@pytest.mark.parametrize(
    ("wish", "amd", "nvidia", "present", "platform", "probe", "expected"),
    [
        ("auto", 0, False, True, "linux", no, Torch("kept: torch is already installed in this environment")),
        ("keep", 2, False, False, "linux", no, Torch("kept: torch is already installed in this environment")),
        (
            "auto",
            0,
            False,
            False,
            "linux",
            yes,
            Torch("CPU build: no GPU found", along=(*PIN, "--extra-index-url", install.CPU_INDEX)),
        ),
        (
            "auto",
            0,
            False,
            False,
            "linux",
            no,
            Torch(
                "CPU release: no GPU found, PyTorch's CPU index does not answer (its wheel may be larger)", along=PIN
            ),
        ),
        (
            "auto",
            2,
            True,
            False,
            "linux",
            yes,
            Torch("ROCm build: 2 AMD GPUs in KFD", before=("torch", "--index-url", install.ROCM_INDEX)),
        ),
        (
            "rocm",
            0,
            False,
            True,
            "linux",
            yes,
            Torch("ROCm build: asked for", before=("torch", "--index-url", install.ROCM_INDEX)),
        ),
        ("auto", 0, True, False, "linux", no, Torch("the package index's own build: an NVIDIA GPU (not an AMD GPU)")),
        ("auto", 0, False, False, "darwin", no, Torch("the package index's own build: no AMD GPU")),
    ],
)
def test_torch_fits_the_machine(  # noqa: PLR0917 - one row, one machine
    wish: str,
    amd: int,
    nvidia: bool,
    present: bool,
    platform: str,
    probe: Callable[[str], bool],
    expected: Torch,
) -> None:
    assert choose_torch(wish, amd=amd, nvidia=nvidia, present=present, platform=platform, probe=probe) == expected


def test_a_mirror_replaces_the_index() -> None:
    torch = choose_torch("auto", amd=1, nvidia=False, present=False, index="https://mirror.test/rocm", probe=yes)
    assert torch == Torch("ROCm build: 1 AMD GPU in KFD", before=("torch", "--index-url", "https://mirror.test/rocm"))


def test_an_amd_gpu_is_never_given_a_cpu_build_silently() -> None:
    with pytest.raises(InstallError) as caught:
        choose_torch("auto", amd=1, nvidia=False, present=False, probe=no)
    assert str(caught.value) == (
        "the ROCm build of torch is needed, and its index does not answer: https://download.pytorch.org/whl/rocm7.2\n"
        "  → name a mirror with TORCH_INDEX=…, or go on without the GPU with TORCH=cpu"
    )


def test_a_misspelt_wish_lists_what_is_known() -> None:
    with pytest.raises(InstallError, match="TORCH=cuda is not known\n  → use auto, cpu, rocm, default or keep"):
        choose_torch("cuda", amd=0, nvidia=False, present=False)


def test_a_silent_index_costs_no_more_than_the_limit() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts nothing, answers nothing
        start = time.monotonic()
        assert not reachable(f"http://127.0.0.1:{silent.getsockname()[1]}/whl", seconds=0.3)
    assert time.monotonic() - start < 1


def test_an_index_that_answers_is_reachable(tmp_path: Path) -> None:
    import functools
    import http.server
    import threading

    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        assert reachable(address)
        assert not reachable(f"{address}/absent")
        server.shutdown()


def test_torch_is_found_by_its_metadata(tmp_path: Path) -> None:
    assert not torch_present(tmp_path)
    write_tree(tmp_path, {"lib/python3.11/site-packages/torch-2.13.0.dist-info/METADATA": ""})
    assert torch_present(tmp_path)


def test_a_step_is_one_line_with_its_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = Steps(tmp_path / "build" / "log", live=False)
    steps.run("greeting", [sys.executable, "-c", "print('hello')"], os.environ)
    assert re.fullmatch(r"  greeting … \d\.\d s\n", capsys.readouterr().out)
    assert steps.log.read_text() == "hello\n"


def test_a_failing_step_shows_the_end_of_its_output(tmp_path: Path) -> None:
    steps = Steps(tmp_path / "log", live=False)
    program = "for n in range(40): print('line', n)\nraise SystemExit(3)"
    with pytest.raises(InstallError) as caught:
        steps.run("doing", [sys.executable, "-c", program], os.environ)
    lines = str(caught.value).splitlines()
    assert lines[0] == "doing failed"
    assert lines[1] == "    line 25"
    assert lines[-2] == "    line 39"
    assert lines[-1] == f"  → the whole output is in {tmp_path / 'log'}"


@pytest.mark.parametrize(
    ("here", "hint"),
    [
        (("python3.11", "python3.12"), "there is a newer one here: make demo PYTHON=python3.12"),
        ((), "install one, for example your system's package python3.12"),
    ],
)
def test_an_old_python_is_refused(here: tuple[str, ...], hint: str) -> None:
    with pytest.raises(InstallError) as caught:
        install.check_python((3, 9), lambda name: name if name in here else None)
    assert str(caught.value) == f"Python 3.11 or newer is needed; this one is 3.9\n  → {hint}"
    install.check_python((3, 11))


def test_the_bundle_of_the_checkout_replaces_an_old_copy(tmp_path: Path) -> None:
    copy = tmp_path / "share" / "jupyter" / "labextensions" / "rocmtx"
    write_tree(copy, {"static/remoteEntry.old.js": "old"})
    install.refresh_bundle(tmp_path)
    assert not (copy / "static" / "remoteEntry.old.js").exists()
    source = install.ROOT / "src" / "rocmtx" / "labextension" / "package.json"
    assert (copy / "package.json").read_bytes() == source.read_bytes()
    assert (copy / "install.json").exists()


def test_a_wrong_call_says_how_to_call() -> None:
    done = subprocess.run([sys.executable, install.__file__, "all"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "usage: install.py demo|test|bundle\n")

"""The Makefile: what it offers, and that a second run installs nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def make(*arguments: str, folder: Path = ROOT) -> str:
    """Run make as from a plain shell, and return what it prints."""
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("MAKE") and name != "VENV"}
    command = ["make", "--no-print-directory", *arguments]
    return subprocess.run(command, cwd=folder, env=surroundings, capture_output=True, text=True, check=True).stdout


def test_help_lists_every_target() -> None:
    assert make() == make("help")
    assert make("help") == (
        "  make help         list these targets\n"
        "  make demo         install, run the quickstart notebook on a small model, print what came out\n"
        "  make lab          open the quickstart notebook in JupyterLab\n"
        "  make test         everything: checks, then all tests, in a browser too\n"
        "  make unit         the quick tests: no browser, no demo model\n"
        "  make check        lint, types, layers, and the committed front end against its source\n"
        "  make frontend     build the front end anew; fails when the committed bundle differs from its source\n"
        "  make screenshots  make the pictures of the panel for the README\n"
        "  make bench        measure start-up, and streaming against plain Transformers\n"
        "  make fuzz         feed odd files and texts to the readers for SECONDS=60\n"
        "  make clean        remove what was built and installed here\n"
    )


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Return a folder that looks to make as a checkout after `make test`."""
    for name in ("Makefile", "pyproject.toml", "constraints/cpu.txt", "scripts/install.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
        os.utime(tmp_path / name, (time.time() - 60, time.time() - 60))
    (tmp_path / ".venv").mkdir()
    for stamp in (".installed-demo", ".installed-test", ".browser"):
        (tmp_path / ".venv" / stamp).touch()
    return tmp_path


@pytest.mark.parametrize("target", ["demo", "test", "lab"])
def test_a_second_run_installs_nothing(installed: Path, target: str) -> None:
    commands = make("-n", target, folder=installed)
    assert "install.py demo" not in commands
    assert "install.py test" not in commands
    assert "chromium.py" not in commands


def test_a_changed_dependency_installs_again(installed: Path) -> None:
    (installed / "pyproject.toml").touch()
    os.utime(installed / "pyproject.toml", (time.time() + 5, time.time() + 5))
    assert "python3 scripts/install.py demo\n" in make("-n", "demo", folder=installed)
    assert "python3 scripts/install.py test\n" in make("-n", "test", folder=installed)


def test_the_first_run_installs(tmp_path: Path, installed: Path) -> None:
    shutil.rmtree(installed / ".venv")
    assert make("-n", "demo", folder=tmp_path).startswith("python3 scripts/install.py demo\n")


def test_continuous_integration_runs_what_people_run() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert script.splitlines()[-1] == "exec make test </dev/null"
    assert os.access(ROOT / ".ci" / "run", os.X_OK)

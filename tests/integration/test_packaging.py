"""The wheel as a person gets it: built without node, complete, and found by Jupyter once it is installed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

import rocmtx

ROOT = Path(rocmtx.__file__).resolve().parents[2]
FRONT = ROOT / "labextension"
BUNDLE = ROOT / "src" / "rocmtx" / "labextension"
BUILT_FROM = ("pyproject.toml", "README.md", "LICENSE", ".gitignore", "src", "labextension", "jupyter-config")


def read_json(path: Path) -> dict[str, object]:
    """Read a JSON object."""
    found = json.loads(path.read_text())
    assert isinstance(found, dict)
    return found


def run(*command: str | Path, cwd: Path | None = None, **environment: str) -> str:
    """Run a program and return what it says; fails with its output."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def build(source: Path, out: Path) -> Path:
    """Build a wheel from a folder or an archive; neither node nor a package index can be reached."""
    scripts = sysconfig.get_path("scripts")
    assert shutil.which("node", path=scripts) is None
    run(
        *(sys.executable, "-m", "pip", "wheel", source, "--no-deps", "--no-build-isolation", "--wheel-dir", out),
        PATH=scripts,
        PIP_NO_INDEX="1",
    )
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the sources, without anything that is not committed."""
    copy = tmp_path_factory.mktemp("source")
    for name in BUILT_FROM:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("node_modules", "lib", "__pycache__"))
        else:
            shutil.copy(source, copy / name)
    return copy


@pytest.fixture(scope="module")
def wheel(copy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel where no node can be found."""
    pytest.importorskip("hatchling", reason="hatchling builds the wheel")
    pytest.importorskip("hatch_jupyter_builder", reason="the build hook is needed to build the wheel")
    return build(copy, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into an environment that borrows all other packages from this one; return its Python."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel)
    site = next((folder / "lib").glob("python*/site-packages"))
    # A path line adds the folder behind the environment's own, and reads no other path file there.
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def plain(text: str) -> str:
    """Remove colours and line breaks."""
    return " ".join(re.sub(r"\x1b\[[0-9;]*m", " ", text).split())


def files_below(names: list[str], prefix: str) -> dict[str, str]:
    """Return path inside the folder -> name in the wheel, for everything below a folder of the wheel."""
    return {name.partition(prefix)[2]: name for name in names if prefix in name and not name.endswith("/")}


def test_versions_agree() -> None:
    assert read_json(FRONT / "package.json")["version"] == rocmtx.__version__
    assert read_json(FRONT / "package-lock.json")["version"] == rocmtx.__version__
    assert read_json(BUNDLE / "package.json")["version"] == rocmtx.__version__


def test_the_lock_file_names_no_host() -> None:
    packages = read_json(FRONT / "package-lock.json")["packages"]
    assert isinstance(packages, dict)
    assert len(packages) > 100
    assert [name for name, package in packages.items() if "resolved" in package] == []


def test_the_wheel_holds_what_jupyter_looks_for(wheel: Path, copy: Path) -> None:
    bundle = copy / "src" / "rocmtx" / "labextension"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        shared = files_below(names, ".data/data/share/jupyter/labextensions/rocmtx/")
        committed = {path.relative_to(bundle).as_posix(): path for path in bundle.rglob("*") if path.is_file()}
        assert set(shared) == {*committed, "install.json"}
        assert [inside for inside, path in committed.items() if archive.read(shared[inside]) != path.read_bytes()] == []
        config = files_below(names, ".data/data/etc/jupyter/jupyter_server_config.d/")
        assert list(config) == ["rocmtx.json"]
        enabled = json.loads(archive.read(config["rocmtx.json"]))
        assert enabled == {"ServerApp": {"jpserver_extensions": {"rocmtx": True}}}


def test_the_wheel_holds_every_file_of_the_package(wheel: Path, copy: Path) -> None:
    package = copy / "src" / "rocmtx"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    files = [path for path in package.rglob("*") if path.is_file()]
    missing = [name for path in files if (name := path.relative_to(package.parent).as_posix()) not in names]
    assert missing == []
    assert {"rocmtx/py.typed", "rocmtx/decide/targets.toml"} <= names
    # The bundle contains uPlot, whose licence wants its text in every copy.
    assert {"rocmtx/views/static/live.js", "rocmtx/views/static/uplot.LICENSE.txt"} <= names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_the_source_distribution_builds_the_same_wheel(wheel: Path, copy: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path, cwd=copy)
    (archive,) = tmp_path.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as direct, zipfile.ZipFile(build(archive, tmp_path)) as again:
        assert sorted(again.namelist()) == sorted(direct.namelist())


def test_the_bundle_is_small_and_names_no_folder_of_the_builder() -> None:
    scripts = list(BUNDLE.glob("static/*.js"))
    assert len([path for path in scripts if path.name.startswith("remoteEntry.")]) == 1
    assert sum(path.stat().st_size for path in scripts) < 200_000
    assert [path.name for path in BUNDLE.rglob("*") if path.is_file() and str(ROOT).encode() in path.read_bytes()] == []


def test_jupyter_finds_both_extensions(installed: Path) -> None:
    where = run(installed, "-c", "import rocmtx; print(rocmtx.__file__)").strip()
    assert Path(where).is_relative_to(installed.parent.parent)
    lab = run(installed, "-m", "jupyterlab.labextensions", "list")
    assert f"rocmtx v{rocmtx.__version__} enabled OK (python, rocmtx)" in plain(lab)
    server = run(installed, "-m", "jupyter_server.extension.serverextension", "list")
    assert f"rocmtx enabled - Validating rocmtx... rocmtx {rocmtx.__version__} OK" in plain(server)

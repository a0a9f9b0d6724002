"""What every test gets: a clean environment, folders of its own for Jupyter, and no network.

Runs before anything of rocmtx is imported. Must not import rocmtx, torch or Jupyter itself.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import socket
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
# `import fakes` and `import install` work in every test, whatever folder it lies in.
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "scripts")]

_DROPPED = ("_VISIBLE_DEVICES", "_ALLOC_CONF", "_OVERRIDE_GFX_VERSION")
_DROPPED_PREFIXES = (
    "HF_",
    "HSA_",
    "HIP_",
    "ROCM_",
    "ROCR_",
    "ROCMTX_",
    "JUPYTER",
    "MIOPEN_",
    "TRANSFORMERS_",
    "WANDB_",
)
_KEPT = ("ROCMTX_TEST_BROWSER",)


# A shell starts what it puts into the background with SIGINT ignored, and Python then never installs its own handler:
# every test of an interrupt would wait for one that cannot come.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _clean_environment() -> None:
    for name in list(os.environ):
        if name not in _KEPT and (name.endswith(_DROPPED) or name.startswith(_DROPPED_PREFIXES)):
            del os.environ[name]
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    os.environ.setdefault("PLAYWRIGHT_BROWSERS_PATH", str(cache / "ms-playwright"))
    # The converted demo model is kept between runs, but apart from the person's own cache.
    os.environ["XDG_CACHE_HOME"] = str(ROOT / "build" / "test-cache")
    os.environ["HF_HUB_OFFLINE"] = "1"
    # A short path: sockets lie in the runtime folder, and their names have at most 107 bytes.
    home = Path(tempfile.mkdtemp(prefix="rtx-"))
    owner = os.getpid()
    atexit.register(lambda: shutil.rmtree(home, ignore_errors=True) if os.getpid() == owner else None)
    for name, folder in {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "run",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "spaces",
        "IPYTHONDIR": "ipython",
    }.items():
        (home / folder).mkdir(mode=0o700)
        os.environ[name] = str(home / folder)


def _is_local(address: object) -> bool:
    if not isinstance(address, tuple):
        return True  # a Unix socket
    host = str(address[0])
    return host in {"", "localhost", "::1", "0.0.0.0", "::"} or host.startswith("127.")  # noqa: S104 - compared only


def _refuse_network(event: str, arguments: tuple[object, ...]) -> None:
    if event in {"socket.connect", "socket.sendto"} and not _is_local(arguments[1]):
        sock = arguments[0]
        if isinstance(sock, socket.socket) and sock.family in {socket.AF_INET, socket.AF_INET6}:
            raise PermissionError(f"tests use no network, and this one asked for {arguments[1]!r}")
    if event == "socket.getaddrinfo" and arguments[0] is not None and not _is_local((_text(arguments[0]),)):
        raise PermissionError(f"tests use no network, and this one looked up {_text(arguments[0])}")


def _text(name: object) -> str:
    return name.decode(errors="replace") if isinstance(name, bytes) else str(name)


_clean_environment()
sys.addaudithook(_refuse_network)


@pytest.fixture
def root() -> Path:
    """Return the folder of the repository."""
    return ROOT


@pytest.fixture
def shared() -> Path:
    """Return the folder with recorded ground truth beside the checkout; skips where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("the recorded machines beside the checkout (../shared) are absent")
    return SHARED


@pytest.fixture
def runtime_dir(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a test a Jupyter runtime folder of its own, for journals and sockets that nobody else may see."""
    folder = Path(tempfile.mkdtemp(prefix="rtx-"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(folder))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)

"""The demo model in real workers: one loaded session a module, in an environment that writes down every connection."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rocmtx.decide.plan import Asks
from rocmtx.workbench import Workbench

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocmtx.run.session import Session

# Read by the worker's interpreter before anything else: a connection that is not to this machine is a line in a file.
WATCH = """
import os, socket, sys
def _watch(event, arguments):
    if event == "socket.getaddrinfo" or (event == "socket.connect" and arguments[0].family != socket.AF_UNIX):
        with open(os.environ["CONNECTIONS"], "a") as file:
            file.write(f"{event} {arguments[-5:]!r}\\n")
with open(os.environ["CONNECTIONS"], "a") as file:
    file.write("watching\\n")
sys.addaudithook(_watch)
"""


@dataclass
class Bench:
    """A workbench of a test module; `connections` is the file in which its workers' connections are written down."""

    workbench: Workbench
    connections: Path

    def load(self) -> Session:
        """Load the demo model and wait for it."""
        return self.workbench.load(Asks("demo"))


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    """Return a workbench with a runtime folder of its own, the hub not switched off by the surroundings."""
    home = Path(tempfile.mkdtemp(prefix="rtx-"))
    (home / "sitecustomize.py").write_text(WATCH)
    connections = home / "connections"
    before = os.environ["JUPYTER_RUNTIME_DIR"]
    os.environ["JUPYTER_RUNTIME_DIR"] = str(home / "run")
    environment = {**os.environ, "PYTHONPATH": str(home), "CONNECTIONS": str(connections)}
    del environment["HF_HUB_OFFLINE"]
    workbench = Workbench({**environment, "JPY_SESSION_NAME": "test.ipynb"})
    yield Bench(workbench, connections)
    workbench.close()
    os.environ["JUPYTER_RUNTIME_DIR"] = before
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="module")
def loaded(bench: Bench) -> Session:
    """Return the one session of a module with the demo model in it."""
    return bench.load()

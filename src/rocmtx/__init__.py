"""rocmtx: AMD GPUs in Jupyter. See them, load a Transformers model on them, generate, train, watch the memory.

Importing is free: public names are resolved on first use (PEP 562), and nothing heavy is loaded before it is needed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rocmtx._version import __version__

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell
    from jupyter_server.serverapp import ServerApp

    from rocmtx.errors import RocmtxError
    from rocmtx.events import Event
    from rocmtx.facts import collect
    from rocmtx.facts.model import Facts
    from rocmtx.panels import panel
    from rocmtx.run.session import Session
    from rocmtx.state import State
    from rocmtx.workbench import load, plan

__all__ = [
    "Event",
    "Facts",
    "RocmtxError",
    "Session",
    "State",
    "__version__",
    "collect",
    "load",
    "panel",
    "plan",
]

_HOMES = {
    "Event": "rocmtx.events",
    "Facts": "rocmtx.facts.model",
    "RocmtxError": "rocmtx.errors",
    "Session": "rocmtx.run.session",
    "State": "rocmtx.state",
    "collect": "rocmtx.facts",
    "load": "rocmtx.workbench",
    "panel": "rocmtx.panels",
    "plan": "rocmtx.workbench",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rocmtx' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register %rocm and %rocmtx; IPython calls this on `%load_ext rocmtx`."""
    from rocmtx.magics import register

    register(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Remove the magics, completers and hooks again; IPython calls this on `%unload_ext rocmtx`."""
    from rocmtx.magics import unregister

    unregister(shell)


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    return [{"src": "labextension", "dest": "rocmtx"}]


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "rocmtx"}]


def _load_jupyter_server_extension(server: ServerApp) -> None:
    from rocmtx.server import setup

    setup(server)

"""Where a session keeps its files: card, journal, logs and sockets, all private to the account.

Knows paths only. A card is the session's address: who runs it, where its sockets and journal are; a restarted kernel
finds the worker again through it.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from rocmtx.errors import ReportError

# The kernel's limit for a socket path is 107 bytes; Jupyter's runtime folder can be longer than that.
_SOCKET_PATH_LIMIT = 100


@dataclass(frozen=True, slots=True)
class Card:
    """A session's address. `pid` is the worker's, `owner` the process that started it, `created` Unix seconds."""

    session: str
    pid: int
    owner: int
    created: float
    journal: str
    log: str
    commands: str  # zmq endpoint
    pokes: str  # zmq endpoint
    model: str = ""
    notebook: str = ""
    host: str = ""  # where the worker runs: runtime folders may lie on a disk that several machines share

    def here(self) -> bool:
        """Return whether the worker runs on this machine, where its pid and sockets mean something."""
        return not self.host or self.host == platform.node()


def runtime_folder() -> Path:
    """Return `<Jupyter's runtime folder>/rocmtx`, made with mode 0700."""
    from jupyter_core.paths import jupyter_runtime_dir

    folder = Path(jupyter_runtime_dir()) / "rocmtx"
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(OSError):  # someone else's folder: then the files' own 0600 must do
        folder.chmod(0o700)
    return folder


def socket_folder(folder: Path, session: str) -> Path:
    """Return a folder for sockets: the runtime folder, or a short private one when its path is too long."""
    if len(os.fsencode(str(folder / f"{session}.commands"))) <= _SOCKET_PATH_LIMIT:
        return folder
    return Path(tempfile.mkdtemp(prefix="rocmtx-"))


def card_path(folder: Path, session: str) -> Path:
    """Return where a session's card lies; a worker is started with this path and known by it."""
    return folder / f"{session}.json"


def write_card(folder: Path, card: Card) -> Path:
    """Write a card atomically with mode 0600."""
    path = card_path(folder, card.session)
    draft = path.with_suffix(".json.new")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(asdict(card), file)
    draft.replace(path)
    return path


def read_card(path: Path) -> Card:
    """Read a card. Raises ReportError when it is gone or damaged."""
    try:
        return Card(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError) as error:
        raise ReportError(
            f"session card {path.name} cannot be read: {error}", "list sessions with: %rocm sessions"
        ) from None


def cards(folder: Path) -> list[Card]:
    """Return all readable cards, oldest first."""
    found = []
    for path in folder.glob("*.json"):
        with contextlib.suppress(ReportError):
            found.append(read_card(path))
    return sorted(found, key=lambda card: card.created)


def remove_files(card: Card, folder: Path) -> None:
    """Remove a dead session's card and sockets; journal and log stay to be read."""
    for endpoint in (card.commands, card.pokes):
        path = Path(endpoint.removeprefix("ipc://"))
        path.unlink(missing_ok=True)
        if path.parent != folder:
            with contextlib.suppress(OSError):
                path.parent.rmdir()
    card_path(folder, card.session).unlink(missing_ok=True)

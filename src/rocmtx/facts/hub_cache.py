"""Where the Hugging Face cache lies and whether it holds a model, read as plain files.

Knows the cache's layout (models--org--name/refs/main, snapshots/<commit>/); must not know `huggingface_hub` or the
network. Source: huggingface_hub's "Understand caching" guide and its `constants.py`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_REPO: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9][A-Za-z0-9._-]*)?")
_LONGEST: Final = 96  # the hub's limit for a repository name


def is_repo_id(name: str) -> bool:
    """Whether the text has the form of a hub id: "org/name", or a bare "name" as the oldest models have."""
    plain = ".." not in name and "--" not in name and not name.endswith((".", "-", ".git"))
    return plain and len(name) <= _LONGEST and _REPO.fullmatch(name) is not None


def cache_folder(environment: Mapping[str, str], home: Path | None = None) -> Path:
    """Return the hub cache: HF_HUB_CACHE, else HF_HOME/hub, else XDG_CACHE_HOME or ~/.cache with huggingface/hub."""
    base = home or Path(environment.get("HOME") or "/nonexistent")
    if environment.get("HF_HUB_CACHE"):
        return _expanded(environment["HF_HUB_CACHE"], base)
    if environment.get("HF_HOME"):
        return _expanded(environment["HF_HOME"], base) / "hub"
    cache = _expanded(environment["XDG_CACHE_HOME"], base) if environment.get("XDG_CACHE_HOME") else base / ".cache"
    return cache / "huggingface" / "hub"


def snapshot(cache: Path, repo: str, revision: str = "main") -> Path | None:
    """Return the snapshot folder of a cached model, or None when it is not cached. May raise PermissionError.

    `revision` is a branch, a tag or a commit.
    """
    folder = cache / f"models--{repo.replace('/', '--')}"
    try:
        commit = (folder / "refs" / revision).read_text("utf-8").strip()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, UnicodeDecodeError):
        commit = revision
    found = folder / "snapshots" / commit
    return found if commit and found.is_dir() else None


def _expanded(text: str, home: Path) -> Path:
    return home / text[2:] if text.startswith("~/") else home if text == "~" else Path(text)

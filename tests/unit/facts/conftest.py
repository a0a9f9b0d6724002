"""Trees of files that stand for machines, and the recorded ones where they are at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

# The first example pays for imports, and the machine is shared: time is measured elsewhere.
settings.register_profile("facts", deadline=None)
settings.load_profile("facts")
from unit.facts.tree_files import write_packages  # noqa: E402 - the profile comes first

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from unit.facts.tree_files import MakeTree


@pytest.fixture
def make_tree(tmp_path: Path) -> MakeTree:
    """Write files (path on the machine -> content) and symbolic links under a new root."""

    def make(files: Mapping[str, str | bytes], *, links: Mapping[str, str] | None = None) -> Path:
        root = tmp_path / "machine"
        for path, content in files.items():
            target = root / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.encode() if isinstance(content, str) else content)
        for path, content in (links or {}).items():
            target = root / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(content)
        root.mkdir(exist_ok=True)
        return root

    return make


@pytest.fixture
def recorded(shared: Path) -> Path:
    """Return the recorded machines beside the checkout; skips where they are absent: written ones cover the kinds."""
    return (shared / "fixtures").resolve()


@pytest.fixture
def write_torch(tmp_path: Path) -> str:
    """Return a folder with a torch as PyPI ships it for Linux: a CUDA build whose version does not say so."""
    return write_packages(
        tmp_path / "site", {"torch": "2.11.0"}, {"torch/version.py": "cuda: str | None = '13.0'\nhip = None\n"}
    )

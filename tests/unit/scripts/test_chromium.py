"""Finding a browser: order, the override, and a browser that is only a script that asks for snap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chromium import find, starts

if TYPE_CHECKING:
    from pathlib import Path


def program(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_a_browser_that_only_asks_for_snap_does_not_count(tmp_path: Path) -> None:
    assert starts(program(tmp_path / "good", "echo Chromium 150"))
    assert not starts(program(tmp_path / "snap", "echo 'requires the chromium snap' >&2; exit 10"))
    assert not starts(str(tmp_path / "absent"))


def test_the_first_browser_that_starts_is_taken(tmp_path: Path) -> None:
    paths = {"one": program(tmp_path / "one", "exit 1"), "two": program(tmp_path / "two", "exit 0")}
    assert find(["absent", "one", "two"], override="", which=paths.get) == paths["two"]


def test_a_named_browser_is_the_only_candidate(tmp_path: Path) -> None:
    good, bad = program(tmp_path / "good", "exit 0"), program(tmp_path / "bad", "exit 1")
    assert find(["good"], override=good, which=lambda _name: None) == good
    assert find(["good"], override=bad, which=lambda _name: good) is None

"""Reading small files: every way of not answering is told apart, nothing raises, nothing leaks."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmtx.facts.tree import Tree, natural, parse_integer, why_of

if TYPE_CHECKING:
    from unit.facts.tree_files import MakeTree


def notes(tree: Tree) -> list[tuple[str, str, str]]:
    return [(note.path, note.why, note.detail) for note in tree.missing]


def test_answers_that_are_none_are_told_apart(make_tree: MakeTree) -> None:
    tree = Tree(
        make_tree({"/a/value": "7\n", "/a/empty": b"", "/a/nuls": b"\0" * 4096, "/a/word": "N/A\n", "/a/folder/x": ""})
    )
    assert tree.integer("/a/value") == 7
    assert [tree.integer(f"/a/{name}") for name in ("empty", "nuls", "word", "folder", "gone", "value/x")] == [None] * 6
    assert notes(tree) == [
        ("/a/empty", "empty", ""),
        ("/a/nuls", "empty", ""),
        ("/a/word", "invalid", "N/A"),
        ("/a/folder", "not supported", "EISDIR"),
        ("/a/gone", "absent", "ENOENT"),
        ("/a/value/x", "absent", "ENOTDIR"),
    ]


def test_padding_is_dropped(make_tree: MakeTree) -> None:
    tree = Tree(make_tree({"/busy": b"3\n" + b"\0" * 4094}))
    assert tree.integer("/busy") == 3
    assert tree.missing == []


def test_long_files_are_read_to_their_end_and_no_further_than_the_limit(make_tree: MakeTree) -> None:
    tree = Tree(make_tree({"/long": "x" * 200_000}))
    assert len(tree.text("/long") or "") == 200_000
    assert len(tree.text("/long", limit=100_000) or "") == 100_000
    assert len(tree.text("/long", limit=10) or "") == 10


def test_bytes_that_are_no_text_do_not_raise(make_tree: MakeTree) -> None:
    assert Tree(make_tree({"/rom": b"\xff\xfe\x80"})).text("/rom") == "\ufffd\ufffd\ufffd"


def test_a_pipe_does_not_hang(make_tree: MakeTree) -> None:
    root = make_tree({})
    os.mkfifo(root / "pipe")
    assert Tree(root).text("/pipe") is None


@pytest.mark.parametrize(
    ("number", "why"),
    [
        (errno.ENOENT, "absent"), (errno.ENOTDIR, "absent"), (errno.EACCES, "refused"), (errno.EPERM, "refused"),
        (errno.EINVAL, "not supported"), (errno.ENODATA, "not supported"), (errno.EBUSY, "not supported"),
        (errno.EIO, "not supported"), (errno.EOPNOTSUPP, "not supported"),
    ],
)  # fmt: skip
def test_errno_becomes_a_reason(number: int, why: str) -> None:
    assert why_of(OSError(number, "")) == why


def test_names_are_in_natural_order(make_tree: MakeTree) -> None:
    tree = Tree(make_tree({f"/drm/{name}": "" for name in ("card10", "card2", "card0-DP-1", "card0", "version")}))
    assert tree.names("/drm") == ["card0", "card2", "card10", "card0-DP-1", "version"]
    assert tree.names("/gone", expected=False) == []
    assert tree.missing == []


def test_the_live_root_is_the_file_system() -> None:
    tree = Tree(Path("/"))
    assert tree.live
    assert tree.path("/proc/version") == "/proc/version"
    assert "Linux" in (tree.text("/proc/version") or "")


def test_a_nul_in_a_path_is_an_absent_file(make_tree: MakeTree) -> None:
    tree = Tree(make_tree({}))
    assert tree.text("/a\0b") is None
    assert not tree.exists("/a\0b")
    assert tree.names("/a\0b") == []
    assert isinstance(tree.status("/a\0b"), OSError)
    assert tree.link_target("/a\0b") is None


@pytest.mark.parametrize(
    ("text", "base", "value"),
    [
        ("0x1002", 16, 0x1002), ("1002", 16, 0x1002), ("-1", 10, -1), ("18446744073709551615", 10, (1 << 64) - 1),
        ("1_000", 10, None), ("", 10, None), ("٣", 10, None), ("9" * 25, 10, None), ("0x", 16, None), ("N/A", 10, None),
    ],
)  # fmt: skip
def test_whole_numbers(text: str, base: int, value: int | None) -> None:
    assert parse_integer(text, base) == value


@given(st.text())
def test_numbers_never_raise(text: str) -> None:
    assert parse_integer(text) is None or str(parse_integer(text)).lstrip("-").isdecimal()


@given(st.lists(st.text()))
def test_natural_order_does_not_depend_on_the_order_before(names: list[str]) -> None:
    backwards = names[::-1]
    assert sorted(backwards, key=natural) == sorted(names, key=natural)

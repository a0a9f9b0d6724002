"""Cards, sockets and logs are private, survive damage, and leave nothing behind but the journal."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from rocmtx.errors import ReportError
from rocmtx.run.places import Card, card_path, cards, read_card, remove_files, runtime_folder, socket_folder, write_card

CARD = Card(
    session="s1",
    pid=7,
    owner=8,
    created=1.5,
    journal="/j",
    log="/l",
    commands="ipc:///tmp/a",
    pokes="ipc:///tmp/b",
    model="demo",
    notebook="a.ipynb",
)


def mode(path: Path) -> int:
    """Return a file's permissions."""
    return stat.S_IMODE(path.stat().st_mode)


def test_the_runtime_folder_is_jupyters_and_private(runtime_dir: Path) -> None:
    assert runtime_folder() == runtime_dir / "rocmtx"
    assert mode(runtime_dir / "rocmtx") == 0o700
    (runtime_dir / "rocmtx").chmod(0o755)
    assert mode(runtime_folder()) == 0o700


def test_a_card_comes_back_and_is_private(tmp_path: Path) -> None:
    path = write_card(tmp_path, CARD)
    assert path == card_path(tmp_path, "s1") == tmp_path / "s1.json"
    assert read_card(path) == CARD
    assert mode(path) == 0o600
    write_card(tmp_path, replace(CARD, pid=9))
    assert read_card(path).pid == 9
    assert [entry.name for entry in tmp_path.iterdir()] == ["s1.json"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ('{"session": "s1", "colour": 1}', "Card.__init__() got an unexpected keyword argument 'colour'"),
        ("[]", "rocmtx.run.places.Card() argument after ** must be a mapping, not list"),
    ],
)
def test_a_damaged_card_says_so(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "s1.json"
    path.write_text(text)
    with pytest.raises(ReportError) as caught:
        read_card(path)
    assert str(caught.value) == f"session card s1.json cannot be read: {why}\n  → list sessions with: %rocm sessions"


def test_a_card_that_is_gone_says_so(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"session card s9\.json cannot be read: \[Errno 2\] No such file"):
        read_card(tmp_path / "s9.json")


def test_cards_are_listed_oldest_first_and_damaged_ones_left_out(tmp_path: Path) -> None:
    for name, created in (("b", 2.0), ("a", 3.0), ("c", 1.0)):
        write_card(tmp_path, replace(CARD, session=name, created=created))
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "s1.jsonl").write_text("")
    assert [card.session for card in cards(tmp_path)] == ["c", "b", "a"]


def test_sockets_lie_beside_the_card_where_the_path_is_short(tmp_path: Path) -> None:
    short = Path("/tmp/r")  # noqa: S108 - only its length counts
    assert socket_folder(short, "20240102-030405-ab12") == short
    del tmp_path


def test_a_long_path_gets_a_short_private_folder_for_sockets(tmp_path: Path) -> None:
    long = tmp_path / ("x" * 90)
    folder = socket_folder(long, "20240102-030405-ab12")
    assert folder != long
    assert mode(folder) == 0o700
    assert len(os.fsencode(folder / "20240102-030405-ab12.commands")) <= 107
    folder.rmdir()


def test_removing_a_session_leaves_its_journal_and_log(tmp_path: Path) -> None:
    far = tmp_path / "far"
    far.mkdir()
    files = {name: tmp_path / name for name in ("s1.jsonl", "s1.rank0.log", "s1.commands")}
    for path in (*files.values(), far / "s1.pokes"):
        path.touch()
    card = replace(CARD, commands=f"ipc://{files['s1.commands']}", pokes=f"ipc://{far / 's1.pokes'}")
    write_card(tmp_path, card)
    remove_files(card, tmp_path)
    remove_files(card, tmp_path)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["s1.jsonl", "s1.rank0.log"]


def test_a_folder_that_holds_other_things_is_kept(tmp_path: Path) -> None:
    far = tmp_path / "far"
    far.mkdir()
    (far / "other").touch()
    remove_files(replace(CARD, commands=f"ipc://{far}/a", pokes=f"ipc://{far}/b"), tmp_path)
    assert (far / "other").exists()


def test_a_card_is_flat_json(tmp_path: Path) -> None:
    assert json.loads(write_card(tmp_path, CARD).read_text()) == asdict(CARD)


def test_a_worker_on_another_machine_is_not_taken_for_one_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.node", lambda: "node7")
    assert replace(CARD, host="").here()
    assert replace(CARD, host="node7").here()
    assert not replace(CARD, host="node8").here()

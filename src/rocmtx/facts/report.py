"""A machine as a file: write the facts as a report, without names of people and places, and read it back.

Knows the file and what is private; the shape of the JSON is `facts.model`'s. A report that lacks parts is valid.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from rocmtx.errors import ReportError
from rocmtx.facts.model import Facts, facts_from_json, facts_to_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_HOME: Final = re.compile(r"(/(?:home|Users|users|u|nfs/home|mnt/home)/)[^/\s:\"']+|/root(?=/|$|:)")
_UUID: Final = re.compile(r"GPU-[0-9a-fA-F]{5,16}|GPU-[0-9a-fA-F-]{36}")
_SERIALS: Final = re.compile(r"^(unique_id|hive_id) [0-9]+$", re.MULTILINE)
_LARGEST: Final = 64 << 20
_PUBLIC_GROUPS: Final = frozenset(
    {"root", "video", "render", "users", "docker", "wheel", "sudo", "adm", "input", "kvm"}
)


def redacted(facts: Facts) -> Facts:
    """Replace serial numbers, home folders and the names of private groups. Numbers that plans need stay.

    Equal serial numbers stay equal ("id-1"), so that partitions of one card can still be told from two cards.
    """
    aliases: dict[str, str] = {}

    def alias(identity: str | None) -> str | None:
        return None if identity is None else aliases.setdefault(identity, f"{len(aliases) + 1:016x}")

    gpus = tuple(replace(gpu, unique_id=alias(gpu.unique_id), hive_id=alias(gpu.hive_id)) for gpu in facts.gpus)
    groups = tuple(name if name in _PUBLIC_GROUPS or name.isdecimal() else "a-group" for name in facts.host.groups)
    anonymous = replace(facts, gpus=gpus, host=replace(facts.host, groups=groups))
    return facts_from_json(_without_places(facts_to_json(anonymous), aliases))


def write_report(facts: Facts, path: Path, *, full: bool = False, files: Mapping[str, str] | None = None) -> None:
    """Write the facts as JSON; `full` keeps serial numbers and folders. Raises ReportError where that is impossible.

    `files` are the texts that the facts were read from (`survey.read_files`), kept for a later, better reader.
    """
    body = facts_to_json(facts if full else redacted(facts))
    body["origin"] = facts.origin if facts.recorded else "report"
    if files is not None:
        body["files"] = dict(files) if full else _without_serials(files)
    text = json.dumps({**body, "redacted": not full}, indent=1, ensure_ascii=False) + "\n"
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise ReportError(
            f"{path} cannot be written: {error.strerror}", "name another file: rocmtx report -o FILE"
        ) from None


def read_report(path: Path) -> Facts:
    """Read a report; its label is the file's name. Raises ReportError when it is absent, foreign, newer or damaged."""
    try:
        if path.stat().st_size > _LARGEST:
            raise ReportError(f"{path} is too large for a report", "make one with: rocmtx report -o FILE")
        body = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ReportError(
            f"{path} cannot be read: {error.strerror}", "name a file that rocmtx report -o FILE has written"
        ) from None
    except (ValueError, RecursionError) as error:
        raise ReportError(f"{path} is no report: {error}", "make one with: rocmtx report -o FILE") from None
    facts = facts_from_json(body)
    origin = facts.origin if facts.recorded and "origin" in body else "report"
    return replace(facts, origin=origin, label=facts.label or path.stem)


def _without_serials(files: Mapping[str, str]) -> dict[str, str]:
    """Drop what names this very card. Equal ids would have to stay equal, which masked text cannot promise."""
    kept = {path: text for path, text in files.items() if not path.endswith(("/unique_id", "/serial_number"))}
    return {path: _SERIALS.sub(r"\1 0", text) for path, text in kept.items()}


def _without_places(value: Any, aliases: dict[str, str]) -> Any:
    if isinstance(value, str):
        return _UUID.sub(lambda match: _alias_of(match[0], aliases), _HOME.sub(_shortened, value))
    if isinstance(value, list):
        return [_without_places(item, aliases) for item in value]
    if isinstance(value, dict):
        return {key: _without_places(item, aliases) for key, item in value.items()}
    return value


def _shortened(match: re.Match[str]) -> str:
    return f"{match[1]}user" if match[1] else "/home/user"


def _alias_of(uuid: str, aliases: dict[str, str]) -> str:
    """Keep masks readable: the alias of the one GPU that the (shortened) id stands for."""
    digits = uuid.removeprefix("GPU-").lower()
    known = [alias for identity, alias in aliases.items() if identity.removeprefix("GPU-").lower().startswith(digits)]
    return f"GPU-{known[0]}" if len(known) == 1 else "GPU-id"

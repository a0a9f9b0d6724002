"""A file tree that stands for `/`: reads small files and notes what could not be read.

Knows paths, errno and the difference between absent, refused, empty and invalid; must not know what a file means.
No method raises: an answer is a value or `None`, and a `Missing` says why.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rocmtx.facts.model import Missing

if TYPE_CHECKING:
    from rocmtx.facts.model import Why

LIMIT: Final = 1 << 20  # no file of interest is larger; a broken tree must not fill the memory
PADDING: Final = "\0 \t\r\n"  # recorded sysfs trees carry NULs up to the page size
_ABSENT: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})
_REFUSED: Final = frozenset({errno.EACCES, errno.EPERM})


class Tree:
    """Files under `root`, addressed by their absolute path on the machine ("/sys/class/kfd").

    `live` is True for the machine we run on. `missing` grows with every expected file that gave no value; with
    `keep=True`, `kept` holds the text of every file that gave one.
    """

    def __init__(self, root: Path = Path("/"), *, keep: bool = False) -> None:
        prefix = os.fspath(root).rstrip("/")
        self.live = prefix == ""
        self._prefix = prefix
        self.missing: list[Missing] = []
        self.kept: dict[str, str] | None = {} if keep else None

    def path(self, path: str) -> str:
        """Return where `path` of the machine lies here."""
        return self._prefix + path

    def note(self, path: str, why: Why, detail: str = "") -> None:
        """Record that `path` gave no value."""
        self.missing.append(Missing(path, why, detail))

    def text(self, path: str, *, expected: bool = True, limit: int = LIMIT) -> str | None:
        """Read a file without its padding. None when it is absent, refused, empty, or the driver has no answer.

        Bytes that are no UTF-8 are replaced. `expected=False` leaves no note.
        """
        try:
            raw = _read(self._prefix + path, limit)
        except (OSError, ValueError) as error:  # ValueError: a NUL byte in the path
            if expected:
                self.note(path, why_of(error), errno_name(error))
            return None
        text = raw.decode("utf-8", "replace").strip(PADDING)
        if not text:
            if expected:
                self.note(path, "empty")
            return None
        if self.kept is not None:
            self.kept[path] = text
        return text

    def integer(self, path: str, *, expected: bool = True, base: int = 10) -> int | None:
        """Read a whole number. None also for text that is no number."""
        text = self.text(path, expected=expected)
        if text is None:
            return None
        value = parse_integer(text, base)
        if value is None and expected:
            self.note(path, "invalid", text[:80])
        return value

    def names(self, path: str, *, expected: bool = True) -> list[str]:
        """List a folder in natural order (card2 before card10); empty when it cannot be listed."""
        try:
            found = os.listdir(self._prefix + path)  # noqa: PTH208 - a Path per entry is too slow for 63 partitions
        except (OSError, ValueError) as error:
            if expected:
                self.note(path, why_of(error), errno_name(error))
            return []
        return sorted(found, key=natural)

    def exists(self, path: str) -> bool:
        """Whether something is there, readable or not."""
        try:
            os.stat(self._prefix + path)  # noqa: PTH116 - errno decides, which Path.exists hides
        except (OSError, ValueError) as error:
            return why_of(error) != "absent"
        return True

    def link_target(self, path: str) -> str | None:
        """Return the last component that a symbolic link points to, or None."""
        try:
            return os.path.basename(os.readlink(self._prefix + path))  # noqa: PTH115, PTH119 - text in, text out
        except (OSError, ValueError):
            return None

    def status(self, path: str) -> os.stat_result | OSError:
        """Return the status of a file, or the error that the kernel gave."""
        try:
            return os.stat(self._prefix + path)  # noqa: PTH116 - as above
        except ValueError as error:
            return OSError(errno.ENOENT, str(error))
        except OSError as error:
            return error


def _read(path: str, limit: int) -> bytes:
    # os.open instead of open(): a third of the time, and there are thousands of files on a partitioned machine.
    # O_NONBLOCK: a FIFO or a tape in a foreign tree must not hang us.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        chunk = os.read(descriptor, min(limit, 1 << 16))
        if len(chunk) < 4096:  # noqa: PLR2004 - sysfs answers at most one page at once
            return chunk
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return chunk
        parts = [chunk]
        size = len(chunk)
        while chunk and size < limit:
            chunk = os.read(descriptor, min(limit - size, 1 << 16))
            parts.append(chunk)
            size += len(chunk)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def why_of(error: Exception) -> Why:
    """Translate an errno: gone, forbidden, or "the driver has no answer" (EINVAL, ENODATA, EBUSY, EIO…)."""
    number = error.errno if isinstance(error, OSError) else errno.ENOENT
    if number in _ABSENT:
        return "absent"
    return "refused" if number in _REFUSED else "not supported"


def errno_name(error: Exception) -> str:
    """Return "EACCES" for a permission error, and so on."""
    number = error.errno if isinstance(error, OSError) else errno.ENOENT
    return errno.errorcode.get(number or 0, "unknown error")


def parse_integer(text: str, base: int = 10) -> int | None:
    """Read a whole number as the kernel prints it; None for anything else ("N/A", "1_000", words, 25 digits)."""
    cleaned = text.strip(PADDING)
    if not cleaned.isascii() or "_" in cleaned or len(cleaned) > 24:  # noqa: PLR2004 - a u64 has 20 digits
        return None
    try:
        return int(cleaned, base)
    except ValueError:
        return None


def natural(name: str) -> tuple[str, int, str]:
    """Sort key that puts "card10" behind "card2" and plain numbers in their order."""
    digits = len(name) - len(name.rstrip("0123456789"))
    if not digits or not name[-digits:].isascii() or digits > 18:  # noqa: PLR2004 - longer is no counter
        return (name, -1, name)
    return (name[:-digits], int(name[-digits:]), name)

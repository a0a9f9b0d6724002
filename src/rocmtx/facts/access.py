"""Whether this account may open a device node, and if not, who owns it.

Knows open(2) and stat(2); must not know what to advise. Nodes are opened and closed, never read: opening /dev/kfd does
not initialise HIP. A sleeping GPU's render node is only asked for its permission bits, because opening it would wake
it.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

from rocmtx.facts.model import Access

if TYPE_CHECKING:
    from rocmtx.facts.tree import Tree


def device_access(tree: Tree, path: str, groups: dict[int, str], *, wake: bool = True) -> Access | None:
    """Try a device node read-write. None when the tree has no /dev at all (a recorded tree says nothing about access).

    With `wake=False` the node is not opened: `opens` is False when the permission bits refuse, else None.
    """
    status = tree.status(path)
    if isinstance(status, OSError):
        if not tree.live and not tree.exists("/dev"):
            return None
        return Access(path, exists=status.errno not in {errno.ENOENT, errno.ENOTDIR}, opens=False, error=_name(status))
    error = _try_open(tree.path(path), wake=wake)
    return Access(
        path,
        exists=True,
        opens=False if error else (True if wake else None),
        error=error,
        mode=stat.filemode(status.st_mode),
        gid=status.st_gid,
        group=group_name(status.st_gid, groups, live=tree.live),
    )


def group_name(gid: int, groups: dict[int, str], *, live: bool) -> str | None:
    """Name a gid from /etc/group, then, on this machine, from the directory service. None when it has no name here."""
    if gid in groups or not live:
        return groups.get(gid)
    import grp

    try:
        return grp.getgrgid(gid).gr_name
    except (KeyError, OSError, OverflowError):
        return None


def _try_open(path: str, *, wake: bool) -> str | None:
    if not wake:
        return None if os.access(path, os.R_OK | os.W_OK) else "EACCES"
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK))
    except OSError as error:
        return _name(error)
    return None


def _name(error: OSError) -> str:
    return errno.errorcode.get(error.errno or 0, "unknown error")

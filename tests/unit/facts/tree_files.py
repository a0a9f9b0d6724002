"""Files of written machines, and the type of the fixture that puts them under a root."""

from __future__ import annotations

import json
import os
import traceback
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

NOBODY = 65534


class MakeTree(Protocol):
    """Writes files (path on the machine -> content) and symbolic links under a new root, which it returns."""

    def __call__(self, files: Mapping[str, str | bytes], *, links: Mapping[str, str] | None = None) -> Path: ...


def kfd_node(number: int, **properties: int) -> dict[str, str]:
    """Return the files of one GPU node; an MI300X unless told otherwise."""
    values = {
        "cpu_cores_count": 0,
        "simd_count": 1216,
        "simd_per_cu": 4,
        "wave_front_size": 64,
        "num_xcc": 8,
        "gfx_target_version": 90402,
        "vendor_id": 0x1002,
        "device_id": 0x74A1,
        "location_id": 0x0500,
        "domain": 0,
        "drm_render_minor": 128,
        "unique_id": 0xE3AA140F9A5F9E31,
        "local_mem_size": 0,
    }
    values.update(properties)
    memory = values.pop("vram", 206141652992)
    gpu_id = values.pop("gpu_id", 24248)
    base = f"/sys/class/kfd/kfd/topology/nodes/{number}"
    return {
        f"{base}/gpu_id": f"{gpu_id}\n",
        f"{base}/name": "ip discovery\n",
        f"{base}/properties": "".join(f"{key} {value}\n" for key, value in values.items()),
        f"{base}/mem_banks/0/properties": f"heap_type 1\nsize_in_bytes {memory}\nflags 0\nwidth 8192\n",
    }


def cpu_node(number: int) -> dict[str, str]:
    """Return the files of one CPU node."""
    base = f"/sys/class/kfd/kfd/topology/nodes/{number}"
    return {
        f"{base}/gpu_id": "0\n",
        f"{base}/name": "\n",
        f"{base}/properties": "cpu_cores_count 64\nsimd_count 0\ngfx_target_version 0\nvendor_id 0\n",
    }


def write_packages(folder: Path, versions: Mapping[str, str], files: Mapping[str, str] | None = None) -> str:
    """Write metadata folders (name -> version) and source files of packages; return the folder for a search path."""
    for name, version in versions.items():
        (folder / f"{name.replace('-', '_')}-{version}.dist-info").mkdir(parents=True, exist_ok=True)
    for name, text in (files or {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return str(folder)


def without_rights(question: Callable[[], Any], readable: Path) -> Any:
    """Return the JSON of what `question` returns to an account without root's rights, for whom every file is open.

    `readable` and the folders above it are opened to that account. Asked in a fork, because rights do not come back.
    """
    if os.geteuid() != 0:
        return json.loads(json.dumps(question()))
    for folder in (readable, *readable.parents[:-1]):
        folder.chmod(folder.stat().st_mode | 0o055)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([44])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            os.write(writer, json.dumps(question()).encode())
        except BaseException:  # noqa: BLE001 - nothing may run behind the fork but this
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        answer = file.read()
    os.waitpid(child, 0)
    return json.loads(answer)

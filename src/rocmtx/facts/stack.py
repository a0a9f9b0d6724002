"""The software: ROCm, driver, torch, and the packages rocmtx cares about, without importing any of them.

Knows folder names of installed distributions and a few source texts; must not import torch, transformers or amdsmi, and
starts no process. Versions come from `name-version.dist-info` folder names: reading every METADATA would take longer
than the whole rest of the detection.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Final, Literal

from rocmtx.facts import versions
from rocmtx.facts.model import Package, Stack, TorchBuild
from rocmtx.facts.watched import PACKAGES, kept

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rocmtx.facts.tree import Tree

_DIST: Final = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*?)-(?P<version>[0-9v][^-]*)(?:-py[0-9.]+)?\.(?:dist|egg)-info"
)
_ARCH: Final = re.compile(r"gfx[0-9a-f]{3,5}(?![0-9a-f])")
_BITSANDBYTES: Final = re.compile(r"libbitsandbytes_rocm([0-9]+)\.so")
_KERNELS_WINDOW: Final = re.compile(r'^KERNELS_(MIN|MAX)_VERSION\s*=\s*"([0-9.]+)"', re.MULTILINE)

Found = dict[str, tuple[str, str]]  # package -> (version, folder that holds its dist-info)


def read_stack(tree: Tree, environment: Mapping[str, str], search_paths: Iterable[str] | None = None) -> Stack:
    """Read the software. `search_paths` are folders with packages: `sys.path` here, none on a recorded tree."""
    paths = (sys.path if tree.live else ()) if search_paths is None else search_paths
    found = installed(paths)
    window = _kernels_window(found)
    return Stack(
        python=".".join(map(str, sys.version_info[:3])) if tree.live else None,
        rocm=_rocm(tree, environment, found),
        amdgpu=tree.text("/sys/module/amdgpu/version", expected=False),
        torch=_torch(found),
        packages=tuple(
            Package(name, version, _note(name, version, window, found)) for name, (version, _) in sorted(found.items())
        ),
        kernels_window=window,
        bitsandbytes_rocm=_matches(_folder(found, "bitsandbytes", "bitsandbytes"), _BITSANDBYTES, 1),
        environment=kept(environment),
    )


def installed(paths: Iterable[str]) -> Found:
    """Find the packages of `PACKAGES` by their metadata folders. The first folder on the path wins, as in an import."""
    found: Found = {}
    for path in paths:
        for entry in _listed(path):
            if not entry.endswith("-info"):
                continue
            match = _DIST.fullmatch(entry)
            name = re.sub(r"[-_.]+", "-", match["name"]).lower() if match else ""
            if match and name in PACKAGES:
                found.setdefault(name, (match["version"], path))
    return found


def _listed(path: str) -> list[str]:
    try:
        return sorted(os.listdir(path or "."))  # noqa: PTH208 - text in, text out, and fast
    except (OSError, ValueError):  # a zip file, a folder that is gone
        return []


def _folder(found: Found, package: str, *parts: str) -> str | None:
    return os.path.join(found[package][1], *parts) if package in found else None  # noqa: PTH118 - text in, text out


def _source(path: str | None) -> str:
    if path is None:
        return ""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - text in, text out
            return file.read(1 << 20)
    except (OSError, ValueError):
        return ""


def _matches(folder: str | None, pattern: re.Pattern[str], group: int) -> tuple[str, ...]:
    names = _listed(folder) if folder else []
    return tuple(sorted({match[group] for name in names if (match := pattern.search(name))}))


def _torch(found: Found) -> TorchBuild | None:
    if "torch" not in found:
        return None
    source = _source(_folder(found, "torch", "torch", "version.py"))
    version = _assigned(source, "__version__") or found["torch"][0]
    hip, cuda = _assigned(source, "hip"), _assigned(source, "cuda")
    libraries = [_folder(found, "torch", "torch", "lib", "rocblas", "library")]
    # TheRock's wheels carry rocBLAS in a package of its own, named after the GPU family.
    libraries += [
        _folder(found, "torch", name, "lib", "rocblas", "library")
        for name in _listed(found["torch"][1])
        if name.startswith("_rocm_sdk_libraries")
    ]
    archs = {arch for folder in libraries for arch in _matches(folder, _ARCH, 0)}
    return TorchBuild(
        version=version,
        build=_build(version, hip, cuda, read=bool(source)),
        hip=hip,
        cuda=cuda,
        rocm=_assigned(source, "rocm") or versions.rocm_suffix(version),
        rocblas_archs=tuple(sorted(archs)),
    )


def _assigned(source: str, name: str) -> str | None:
    match = re.search(rf"^{name}\s*(?::[^=\n]*)?=\s*['\"]([^'\"\n]+)['\"]", source, re.MULTILINE)
    return match[1] if match else None


def _build(version: str, hip: str | None, cuda: str | None, *, read: bool) -> Literal["rocm", "cuda", "cpu"] | None:
    if hip or "+rocm" in version:
        return "rocm"
    if cuda or "+cu" in version:  # the wheels on PyPI are CUDA builds without a suffix
        return "cuda"
    return "cpu" if read or "+cpu" in version else None


def _rocm(tree: Tree, environment: Mapping[str, str], found: Found) -> str | None:
    for folder in (environment.get("ROCM_PATH"), environment.get("ROCM_HOME"), "/opt/rocm"):
        text = tree.text(f"{folder}/.info/version", expected=False) if folder and folder.startswith("/") else None
        words = text.split() if text else []
        if words:
            return words[0]
    return next((found[name][0] for name in ("rocm-sdk-core", "rocm-sdk", "rocm") if name in found), None)


def _kernels_window(found: Found) -> tuple[str, str] | None:
    source = _source(_folder(found, "transformers", "transformers", "utils", "import_utils.py"))
    bounds = dict(_KERNELS_WINDOW.findall(source))
    return (bounds["MIN"], bounds["MAX"]) if bounds.keys() == {"MIN", "MAX"} else None


def _note(name: str, version: str, window: tuple[str, str] | None, found: Found) -> str | None:
    if name == "kernels" and window and versions.within(version, *window) is False:
        asker = found["transformers"][0]
        return f"refused: transformers {asker} accepts kernels from {window[0]} up to, but not including, {window[1]}"
    return None

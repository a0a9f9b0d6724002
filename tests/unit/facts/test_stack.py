"""Software as it lies in folders: nothing is imported to know its version."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmtx.facts import collect, versions
from rocmtx.facts.stack import installed
from rocmtx.facts.watched import PACKAGES, kept
from unit.facts.tree_files import write_packages

if TYPE_CHECKING:
    from pathlib import Path

    from rocmtx.facts.model import Stack
    from unit.facts.tree_files import MakeTree

ROCM = """__version__ = '2.11.0+rocm7.2'
debug = False
cuda: Optional[str] = None
hip: Optional[str] = '7.2.53211-e1a6bc5663'
rocm: Optional[str] = '7.2.1'
"""


def stack_of(tmp_path: Path, packages: dict[str, str], files: dict[str, str] | None = None) -> Stack:
    (tmp_path / "root").mkdir()
    site = write_packages(tmp_path / "site", packages, files)
    return collect(tmp_path / "root", search_paths=[site]).stack


def test_a_rocm_build(tmp_path: Path) -> None:
    library = "torch/lib/rocblas/library"
    stack = stack_of(
        tmp_path,
        {"torch": "2.11.0+rocm7.2"},
        {
            "torch/version.py": ROCM,
            f"{library}/TensileLibrary_lazy_gfx1030.dat": "",
            f"{library}/Kernels.so-000-gfx90a-xnack+.hsaco": "",
            f"{library}/TensileLibrary_lazy_gfx942.dat": "",
        },
    )
    assert stack.torch is not None
    assert (stack.torch.version, stack.torch.build, stack.torch.hip) == (
        "2.11.0+rocm7.2",
        "rocm",
        "7.2.53211-e1a6bc5663",
    )
    assert (stack.torch.cuda, stack.torch.rocm) == (None, "7.2.1")
    assert stack.torch.rocblas_archs == ("gfx1030", "gfx90a", "gfx942")
    assert stack.torch_predicts == 64


def test_therock_wheels_carry_rocblas_in_their_own_package(tmp_path: Path) -> None:
    stack = stack_of(
        tmp_path,
        {"torch": "2.10.0a0+rocm7.10.0a20251031", "rocm-sdk-core": "7.10.0a20251031"},
        {
            "torch/version.py": "__version__ = '2.10.0a0+rocm7.10.0a20251031'\nhip = '7.10.25424'\n",
            "_rocm_sdk_libraries_gfx1151/lib/rocblas/library/TensileLibrary_lazy_gfx1151.dat": "",
        },
    )
    assert stack.torch is not None
    assert (stack.rocm, stack.torch.rocm, stack.torch.rocblas_archs) == ("7.10.0a20251031", "7.10.0", ("gfx1151",))


@pytest.mark.parametrize(
    ("version", "source", "build"),
    [
        ("2.11.0", "cuda: str | None = '13.0'\nhip: str | None = None\n", "cuda"),  # PyPI's, without a suffix
        ("2.11.0+cu130", "", "cuda"),
        ("2.11.0+cpu", "__version__ = '2.11.0+cpu'\ncuda = None\nhip = None\n", "cpu"),
        ("1.13.0+rocm5.2", "", "rocm"),
        ("2.11.0", "", None),  # no version.py to look into: not known
    ],
)
def test_builds(version: str, source: str, build: str | None, tmp_path: Path) -> None:
    stack = stack_of(tmp_path, {"torch": version}, {"torch/version.py": source} if source else {})
    assert stack.torch is not None
    assert (stack.torch.version, stack.torch.build) == (version, build)


WINDOW = 'KERNELS_MIN_VERSION = "0.18.2"\nKERNELS_MAX_VERSION = "0.19.0"\n'


def test_kernels_installed_but_refused_is_an_answer_of_its_own(tmp_path: Path) -> None:
    stack = stack_of(
        tmp_path, {"transformers": "5.24.0", "kernels": "0.17.2"}, {"transformers/utils/import_utils.py": WINDOW}
    )
    assert stack.kernels_window == ("0.18.2", "0.19.0")
    kernels = next(package for package in stack.packages if package.name == "kernels")
    assert kernels.note == "refused: transformers 5.24.0 accepts kernels from 0.18.2 up to, but not including, 0.19.0"
    assert stack.version("kernels") == "0.17.2"


def test_kernels_inside_the_window_have_no_note(tmp_path: Path) -> None:
    stack = stack_of(
        tmp_path, {"transformers": "5.24.0", "kernels": "0.18.2"}, {"transformers/utils/import_utils.py": WINDOW}
    )
    assert [package.note for package in stack.packages] == [None, None]


def test_bitsandbytes_libraries_by_rocm_version(tmp_path: Path) -> None:
    libraries = {f"bitsandbytes/libbitsandbytes_rocm{version}.so": "" for version in ("63", "64", "70")}
    stack = stack_of(tmp_path, {"bitsandbytes": "0.49.2"}, libraries | {"bitsandbytes/libbitsandbytes_cuda130.so": ""})
    assert stack.bitsandbytes_rocm == ("63", "64", "70")


def test_the_first_folder_on_the_path_wins(tmp_path: Path) -> None:
    first = write_packages(tmp_path / "a", {"flash-attn": "2.7.4.post1"})
    second = write_packages(tmp_path / "b", {"flash-attn": "2.6.0", "amd-quark": "0.12"})
    found = installed([str(tmp_path / "gone"), first, second])
    assert {name: version for name, (version, _) in found.items()} == {"flash-attn": "2.7.4.post1", "amd-quark": "0.12"}


def test_versions_of_this_environment_are_those_of_its_metadata() -> None:
    found = installed(sys.path)
    assert "transformers" in found
    for name, (version, _) in found.items():
        assert version == metadata.version(name)


def test_rocm_of_the_system(make_tree: MakeTree) -> None:
    root = make_tree(
        {
            "/opt/rocm/.info/version": "7.2.0-63\n",
            "/opt/rocm-6.4/.info/version": "6.4.1-83\n",
            "/sys/module/amdgpu/version": "6.16.13\n",
        }
    )
    assert (collect(root).stack.rocm, collect(root).stack.amdgpu) == ("7.2.0-63", "6.16.13")
    assert collect(root, {"ROCM_PATH": "/opt/rocm-6.4"}).stack.rocm == "6.4.1-83"
    assert collect(root, {"ROCM_PATH": "opt"}).stack.rocm == "7.2.0-63"
    (root / "opt/rocm/.info/version").write_text("\x1c\x0b")  # blank, but not by everybody's definition
    assert collect(root).stack.rocm is None


def test_a_recorded_tree_has_nothing_of_this_machine(make_tree: MakeTree) -> None:
    stack = collect(make_tree({})).stack
    assert (stack.packages, stack.torch, stack.environment, stack.python) == ((), None, {}, None)


def test_only_variables_that_matter_are_kept_and_no_secret() -> None:
    environment = {
        "HIP_VISIBLE_DEVICES": "0", "HSA_OVERRIDE_GFX_VERSION": "11.0.0", "HF_HOME": "/data/hf", "PATH": "/bin",
        "HF_TOKEN": "hf_x", "AITER_API_KEY": "x", "NCCL_SECRET": "x", "USER": "me", "TORCH_AUTH_TOKEN": "x",
    }  # fmt: skip
    assert kept(environment) == {
        "HF_HOME": "/data/hf",
        "HIP_VISIBLE_DEVICES": "0",
        "HSA_OVERRIDE_GFX_VERSION": "11.0.0",
    }


def test_package_names_are_normalised() -> None:
    assert all(name == name.lower() and "_" not in name for name in PACKAGES)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("7.10.0", (7, 10, 0)), ("7.2.53211-e1a6bc5663", (7, 2, 53211)), ("2.7.1+rocm7.0.0rc20250828", (2, 7, 1)),
        ("v0.9.2b", (0, 9, 2)), ("0.45.3.dev271", (0, 45, 3)), ("", None), (None, None), ("unknown", None),
    ],
)  # fmt: skip
def test_versions_are_whole_numbers(text: str | None, version: tuple[int, ...] | None) -> None:
    assert versions.parse(text) == version


def test_seven_ten_is_not_seven_one() -> None:
    assert versions.compare((7, 10), (7, 9)) == 1
    assert versions.compare((7, 10), (7, 1)) == 1
    assert versions.compare((7, 0), (7, 0, 0)) == 0
    assert versions.within("0.17.2", "0.17.2", "0.18.0") is True
    assert versions.within("0.18.0", "0.17.2", "0.18.0") is False
    assert versions.within("nightly", "0.17.2", "0.18.0") is None


def test_suffixes_of_torch() -> None:
    assert versions.rocm_suffix("2.10.0.dev20250929+rocm7.0") == "7.0"
    assert versions.rocm_suffix("2.10.0+gitabc123.rocm7.1") == "7.1"
    assert versions.rocm_suffix("2.11.0+cpu") is None


@given(st.text(), st.text())
def test_versions_never_raise(left: str, right: str) -> None:
    assert versions.within(left, right, right) in {True, False, None}


def test_reading_the_stack_imports_nothing_heavy() -> None:
    code = "import sys; from rocmtx.facts import collect; collect(); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(eval(done.stdout))  # noqa: S307 - a list of names, printed above
    assert not loaded & {
        "torch",
        "transformers",
        "amdsmi",
        "IPython",
        "rich",
        "subprocess",
        "importlib.metadata",
        "numpy",
    }

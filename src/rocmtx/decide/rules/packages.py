"""Rules about Python packages: present, refused, broken or mismatched.

Knows versions; must not know GPUs beyond their vendor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rocmtx.decide.absence import INSTALL_MODELS
from rocmtx.decide.capability import is_on
from rocmtx.decide.finding import Finding, Rule
from rocmtx.decide.hubkernels import kernels_verdict, parse_version
from rocmtx.decide.quantization import rocm_library
from rocmtx.decide.targets import find_target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocmtx.facts.model import Facts


def transformers(facts: Facts) -> Iterator[Finding]:
    """Find Transformers absent."""
    if facts.stack.packages and facts.stack.version("transformers") is None:
        yield Finding(
            "no-transformers", "error", "Transformers is not installed", "no model can be loaded", INSTALL_MODELS
        )


def kernels(facts: Facts) -> Iterator[Finding]:
    """Find a kernels package that Transformers refuses; it then says "not installed"."""
    verdict = kernels_verdict(facts)
    if facts.stack.version("kernels") and verdict.answer == "no":
        matters = "Transformers treats it as not installed: no hub kernels, no flash attention from the hub"
        yield Finding("kernels-window", "warning", verdict.because, matters, verdict.fix)


def refused(facts: Facts) -> Iterator[Finding]:
    """Pass on packages that the facts mark as there but unusable."""
    for package in facts.stack.packages:
        if package.note and package.name != "kernels":
            yield Finding(
                "package-note", "note", f"{package.name} {package.version}: {package.note}", "it may not be used"
            )


def bitsandbytes(facts: Facts) -> Iterator[Finding]:
    """Find a bitsandbytes without a library for this ROCm, or a preview build that never worked."""
    installed = facts.stack.version("bitsandbytes")
    if installed is None or not facts.amd_gpus():
        return
    version = parse_version(installed)
    if version is not None and version.is_devrelease and version.release < (0, 46):
        yield Finding(
            "bitsandbytes-preview",
            "error",
            f"bitsandbytes {installed} is a preview build",
            "its ROCm library lacks symbols: importing it fails",
            "pip install -U bitsandbytes",
        )
        return
    verdict = rocm_library(facts)
    if verdict is not None:
        yield Finding("bitsandbytes-rocm", "warning", verdict.because, "4-bit and 8-bit loading fails", verdict.fix)


def flash_attn(facts: Facts) -> Iterator[Finding]:
    """flash-attn on RDNA needs its Triton backend switched on, at run time too."""
    installed = facts.stack.version("flash-attn")
    if installed is None or is_on(facts.stack.environment.get("FLASH_ATTENTION_TRITON_AMD_ENABLE")):
        return
    gpu = next((gpu for gpu in facts.amd_gpus() if find_target(gpu.gfx).flash_attn == "triton"), None)
    if gpu is not None:
        yield Finding(
            "flash-attn-backend",
            "note",
            f"flash-attn {installed} is installed, its Triton backend is off",
            f"its compiled kernels may not cover {gpu.gfx}; sdpa has flash kernels without it",
            "start Jupyter with FLASH_ATTENTION_TRITON_AMD_ENABLE=TRUE",
        )


def widgets(facts: Facts) -> Iterator[Finding]:
    """Find halves of ipywidgets that do not fit: the browser then shows "model not found" instead of the panel."""
    here, there = facts.stack.version("ipywidgets"), facts.stack.version("jupyterlab-widgets")
    kernel, browser = parse_version(here), parse_version(there)
    if kernel is None or browser is None or _WIDGETS.get(kernel.major) in {None, browser.major}:
        return
    yield Finding(
        "widgets-mismatch",
        "warning",
        f"ipywidgets is {here}, jupyterlab_widgets is {there}",
        "they change together (8 goes with 3, 7 with 1): the panel cannot be shown",
        "pip install -U ipywidgets jupyterlab_widgets where JupyterLab runs, restart it, reload the page",
    )


_WIDGETS: Final = {7: 1, 8: 3}
RULES: Final[tuple[Rule, ...]] = (transformers, kernels, bitsandbytes, flash_attn, widgets, refused)

"""Kernels from the Hugging Face Hub: whether the `kernels` package is one that the installed Transformers accepts.

Knows versions and the window that Transformers declares; must not know what is cached or reachable: a kernel that could
work is "not known" while the hub is switched off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from rocmtx.decide.capability import is_on
from rocmtx.decide.models import hub_layers
from rocmtx.decide.targets import find_target
from rocmtx.decide.verdict import Choice, Verdict
from rocmtx.errors import PlanError

if TYPE_CHECKING:
    from rocmtx.facts.model import Facts, Gpu

AITER_KERNEL = "kernels-community/aiter-flash-attn"
# Where the hub sends the name above; Transformers' table of versions knows only that one.
AITER_REDIRECT = "amd/aiter-flash-attn"


def parse_version(text: str | None) -> Version | None:
    """Read a version as numbers ("7.10" is newer than "7.9"); None where it is none."""
    try:
        return Version(text) if text else None
    except InvalidVersion:
        return None


def kernels_verdict(facts: Facts) -> Verdict:
    """Judge the `kernels` package: absent, refused by the window of Transformers, or accepted."""
    window = facts.stack.kernels_window
    install = "pip install 'kernels" + (f">={window[0]},<{window[1]}'" if window else "'")
    installed = facts.stack.version("kernels")
    if installed is None:
        if not facts.stack.packages:
            return Verdict("not known", "the installed packages are not known")
        return Verdict("no", "the kernels package is not installed", install)
    version = parse_version(installed)
    if window is None or version is None:
        return Verdict(
            "not known", f"kernels {installed} is installed; which versions Transformers accepts is not known"
        )
    low, high = parse_version(window[0]), parse_version(window[1])
    if low is not None and high is not None and not low <= version < high:
        because = (
            f"kernels {installed} is installed, but this Transformers accepts {window[0]} <= version < {window[1]}"
        )
        return Verdict("no", because, install)
    return Verdict("yes", f"kernels {installed}")


def hub_offline(facts: Facts) -> bool:
    """Return whether the environment keeps Transformers and kernels off the network."""
    environment = facts.stack.environment
    return any(is_on(environment.get(name)) for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"))


def aiter_verdict(facts: Facts, gpu: Gpu) -> Verdict:
    """Judge AMD's flash attention kernel from the hub on a GPU."""
    accepted = kernels_verdict(facts)
    if accepted.answer != "yes":
        return Verdict(accepted.answer, f"needs the hub kernel {AITER_KERNEL}: {accepted.because}", accepted.fix)
    state = find_target(gpu.gfx).aiter
    if state == "none":
        return Verdict("no", f"AITER has no kernels for {gpu.gfx}", "use sdpa")
    if state != "full":
        word = "only experimental" if state == "experimental" else "not known"
        return Verdict("not known", f"AITER's support of {gpu.gfx} is {word}", "try it, or use sdpa")
    if hub_offline(facts):
        return Verdict(
            "not known", f"works if {AITER_KERNEL} is in the cache: the hub is offline", "unset HF_HUB_OFFLINE"
        )
    return Verdict("yes", f"AITER hub kernel ({AITER_KERNEL}), downloads once")


def choose_kernels(
    facts: Facts, wish: bool | None, gpu: Gpu | None, model_type: str | None = None, *, training: bool = False
) -> Choice[bool]:
    """Decide on `use_kernels`. Raises PlanError where Transformers fails after reading all weights, or does nothing."""
    if not wish:
        because = (
            "you asked for none"
            if wish is False
            else "off by default: hub kernels mostly help long prompts and batches"
        )
        return Choice(value=False, because=because, asked=wish is False)
    verdict = layer_kernels_verdict(facts, gpu, model_type, training=training)
    if verdict.answer == "no":
        raise PlanError(f"hub kernels cannot be used here: {verdict.because}", _or_without(verdict.fix))
    return Choice(value=True, because=f"you asked for it; {verdict.because}", asked=True)


def _or_without(fix: str) -> str:
    return f"{fix}; or leave out --kernels" if fix else "leave out --kernels"


def _replaced(layers: tuple[tuple[str, str, int], ...] | None) -> str:
    if layers is None:
        return "on ROCm they replace RMSNorm, the rotary embedding (not in training) and MegaBlocks MoE layers"
    return "replaces " + " and ".join(f"{name} ({repository} v{version})" for name, repository, version in layers)


def layer_kernels_verdict(
    facts: Facts, gpu: Gpu | None, model_type: str | None = None, *, training: bool = False
) -> Verdict:
    """Judge `use_kernels=True`: which layers of the model are replaced by what, and what blocks them."""
    accepted = kernels_verdict(facts)
    if accepted.answer == "no":
        return accepted
    if gpu is None:
        return Verdict("no", "they are built for GPUs, and this runs on the CPU", "use a GPU")
    if gpu.vendor != "AMD":
        return Verdict("not known", "not an AMD GPU: not judged here")
    layers = hub_layers(model_type, training=training)
    if layers is not None and not layers:
        when = " in training" if training else ""
        return Verdict("no", f"no layer of {model_type} has a kernel for ROCm{when}: it would change nothing")
    what = _replaced(layers)
    if hub_offline(facts):
        return Verdict("not known", f"{what}, if they are in the cache: the hub is offline", "unset HF_HUB_OFFLINE")
    return Verdict("yes" if accepted.answer == "yes" else "not known", what)

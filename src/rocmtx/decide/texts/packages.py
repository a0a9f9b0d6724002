"""Error texts about Python packages that are absent.

Knows these texts and which build of PyTorch a machine needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rocmtx.decide.absence import INSTALL_MODELS, INSTALL_TORCH
from rocmtx.decide.explanation import Answer, TextRule

if TYPE_CHECKING:
    import re

    from rocmtx.facts.model import Facts

# Where the module and the distribution have different names, or come with ours.
_DISTRIBUTIONS = {
    "accelerate": INSTALL_MODELS,
    "gguf": INSTALL_MODELS,
    "peft": INSTALL_MODELS,
    "transformers": INSTALL_MODELS,
    "optimum.quanto": "pip install optimum-quanto",
    "quark": "pip install amd-quark",
    "compressed_tensors": "pip install compressed-tensors",
}


def _told(match: re.Match[str], _facts: Facts | None) -> Answer:
    words = (f"'{word}'" if ">" in word or "<" in word else word for word in match["install"].split())
    return "a package is missing or too old", " ".join(words)


def _module(match: re.Match[str], facts: Facts | None) -> Answer:
    module = match["module"]
    if module == "torch" or module.startswith("torch."):
        amd = facts is not None and bool(facts.amd_gpus())
        return "PyTorch is not installed in the Python that runs this", INSTALL_TORCH if amd else INSTALL_MODELS
    known = _DISTRIBUTIONS.get(module) or _DISTRIBUTIONS.get(module.split(".")[0])
    return (
        f"the package {module} is not installed in the Python that runs this",
        known or f"pip install {module.split('.')[0]}",
    )


RULES: Final = (
    TextRule("module-missing", r"ModuleNotFoundError: No module named '(?P<module>[\w.]+)'", judge=_module),
    TextRule("package-missing", r"(?:require|install)[^\n]*`(?P<install>pip install [^`\n]+)`", judge=_told),
)

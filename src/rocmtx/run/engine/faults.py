"""The libraries' exceptions to rocmtx's, most specific first.

Knows what torch, Transformers, the hub client and safetensors raise (their types hide behind OSError, the true cause
in `__cause__` or `__context__`); must not know who asked.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import torch

from rocmtx.decide.explain import explain
from rocmtx.errors import (
    HubUnreachable,
    MissingPackage,
    ModelNotFound,
    ModelUnreadable,
    OutOfMemory,
    RocmtxError,
    RunError,
)

if TYPE_CHECKING:
    from rocmtx.decide.plan import Plan

Make = Callable[[str, str], RocmtxError]

# (exception class name anywhere in the chain or "", pattern in any message of the chain, error, what to do)
RULES: tuple[tuple[str, str, type[RocmtxError], str, str], ...] = (
    ("GatedRepoError", r"gated repo", ModelUnreadable, "{model} is gated: its owner wants you to agree to terms first",
     "open its page on the hub, agree, then run: hf auth login"),
    ("RevisionNotFoundError", r"is not a valid git identifier", ModelNotFound, "{model} has no such revision",
     "leave --revision out, or look at the branches on its hub page"),
    ("RepositoryNotFoundError", r"is not a valid model identifier", ModelNotFound,
     "there is no model {model} on the hub", "check the spelling (ORG/NAME); a private one needs: hf auth login"),
    ("LocalEntryNotFoundError", r"couldn't connect to", HubUnreachable,
     "{model} is not in the cache and the hub cannot be reached",
     "connect to the network, or load a local folder, or: %rocm load demo"),
    ("HFValidationError", r"Repo id must", ModelNotFound, "{model} is neither a folder here nor a hub id",
     "check the path, or write ORG/NAME"),
    ("SafetensorError", r"", ModelUnreadable, "the weights of {model} are damaged: {text}",
     "download them again; an interrupted download leaves half a file"),
    ("", r"does not appear to have a file named|no file named", ModelUnreadable, "{model} is incomplete: {text}",
     "the folder needs config.json and *.safetensors"),
    ("", r"Unrecognized model in|has model type|Unrecognized configuration class", ModelUnreadable,
     "Transformers does not know this kind of model: {text}",
     "pip install -U transformers, or pick a text-generation model"),
    ("", r"is not a valid JSON file", ModelUnreadable, "{model} is damaged: {text}",
     "download it again; an interrupted download leaves half a file"),
    ("PermissionError", r"", ModelUnreadable, "{text}", "make the files readable for your account"),
    ("", r"trust_remote_code", ModelUnreadable, "{model} runs code of its own from the hub",
     "if you trust its authors, add --trust-remote-code"),
    ("", r"toggled on, but it cannot be used", MissingPackage, "{cause}",
     "use --attention sdpa; %rocm doctor says what is missing"),
    ("", r"Torch not compiled with CUDA enabled", RunError, "this torch build has no GPU support",
     "%rocm doctor names the build for your GPU"),
    ("ModuleNotFoundError", r"", MissingPackage, "{text}",
     "pip install 'rocmtx[models]', or the package that is named"),
    ("ImportError", r"", MissingPackage, "{text}",
     "pip install the package that is named, then load again"),
)  # fmt: skip


def translate(error: BaseException, plan: Plan | None = None) -> RocmtxError:
    """Return the error in the user's words; one that is already rocmtx's passes unchanged."""
    if isinstance(error, RocmtxError):
        return error
    trace = "".join(traceback.format_exception(error))
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return OutOfMemory(
            first_line(error), "unload, or use a smaller model, a smaller dtype or fewer tokens", trace=trace
        )
    names = [type(link).__name__ for link in chain(error)]
    messages = [str(link) for link in chain(error)]
    for name, pattern, kind, message, hint in RULES:
        if (not name or name in names) and (not pattern or any(re.search(pattern, text) for text in messages)):
            model = plan.asks.model if plan else "the model"
            # The bottom of the chain is where "package … doesn't seem to be installed" hides its true reason.
            text = message.format(model=model, text=first_line(error), cause=first_line(list(chain(error))[-1]))
            return kind(text, hint, trace=trace)
    known = explain(trace)
    if known is not None and not known.harmless:
        return RunError(known.means, known.fix, trace=trace)
    return RunError(
        f"{type(error).__name__}: {first_line(error)}", "the whole traceback: %rocm status --trace", trace=trace
    )


def chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and what caused it, outermost first, following `__cause__` and else `__context__`."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__


def first_line(error: BaseException) -> str:
    """Return the first line of a message that says something, or the exception's type."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)

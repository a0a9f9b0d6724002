"""What a person wished for, and how their spellings are read.

Knows names and their nearest neighbours; must not know whether a wish can work: that is judged with the facts.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from rocmtx.errors import AskError

if TYPE_CHECKING:
    from collections.abc import Iterable

Train = Literal["lora", "full"]
TRAININGS: Final = ("lora", "full")
DTYPES: Final = ("bfloat16", "float16", "float32")
ATTENTIONS: Final = (
    "sdpa",
    "eager",
    "flash_attention_2",
    "flash_attention_3",
    "flash_attention_4",
    "flex_attention",
    "paged|eager",
)
DTYPE_BYTES: Final = {"float32": 4, "bfloat16": 2, "float16": 2, "float64": 8}
_DTYPE_ALIASES: Final = {
    "bf16": "bfloat16",
    "fp16": "float16",
    "half": "float16",
    "fp32": "float32",
    "float": "float32",
    "f16": "float16",
    "f32": "float32",
}
_ATTENTION_ALIASES: Final = {
    "flash": "flash_attention_2",
    "flash2": "flash_attention_2",
    "flash3": "flash_attention_3",
    "fa2": "flash_attention_2",
    "fa3": "flash_attention_3",
    "fa4": "flash_attention_4",
    "flash_attn": "flash_attention_2",
    "flex": "flex_attention",
    "math": "eager",
}
# Transformers' own pattern for a kernel on the hub: exactly one slash, then optionally @revision and :function.
HUB_KERNEL: Final = re.compile(r"[^\s/:@]+/[^\s/:@]+(?:@[^\s/:]+)?(?::[^\s/:]+)?")


@dataclass(frozen=True, slots=True)
class Asks:
    """What a person wished for; None means "you choose".

    `device`: "auto", "cpu", "0", "0,2", "cuda:1", "hip:0" (also "rocm", "gpu"), "all", a PCI address, or a target such
    as "gfx942". `attention` may be a hub kernel, "org/repo[@revision][:function]". `context` (tokens, prompt and
    answer) and `batch` size the estimate of memory; `train` adds a training run; `ranks`, `tp` and `fsdp` are processes
    under torchrun, and by how many of them each layer or each weight is split.
    """

    model: str
    device: str | None = None
    dtype: str | None = None
    attention: str | None = None
    quantization: str | None = None
    kernels: bool | None = None
    revision: str | None = None
    trust_remote_code: bool = False
    context: int | None = None
    batch: int | None = None
    train: str | None = None
    ranks: int | None = None
    tp: int | None = None
    fsdp: int | None = None


@dataclass(frozen=True, slots=True)
class Ranks:
    """How many processes run one model: `tp` share every layer, `fsdp` keep parts of the weights, more are copies."""

    count: int = 1
    tp: int = 1
    fsdp: int = 1

    @property
    def copies(self) -> int:
        """How many whole copies of the model there are."""
        return self.count // (self.tp * self.fsdp)

    @property
    def split(self) -> bool:
        """Whether the weights are spread over processes."""
        return self.tp * self.fsdp > 1


def nearest(word: str, names: Iterable[str]) -> str | None:
    """Return the name that a misspelt word most likely meant, or None."""
    found = difflib.get_close_matches(word.lower(), list(names), n=1, cutoff=0.6)
    return found[0] if found else None


def unknown_name(what: str, option: str, word: str, names: Iterable[str]) -> AskError:
    """Return the error for a name that is not known: it lists the names and suggests the nearest."""
    known = tuple(names)
    guess = nearest(word, known)
    hint = f"did you mean {option} {guess}?" if guess else f"use {option} with one of: {', '.join(known)}"
    return AskError(f"there is no {what} {word!r}", hint)


def read_dtype(text: str | None) -> str | None:
    """Return torch's name of a dtype; None for "auto" and no wish. Raises AskError with the nearest name."""
    if text is None or text.strip().lower() in {"", "auto"}:
        return None
    word = text.strip().lower().removeprefix("torch.")
    name = _DTYPE_ALIASES.get(word, word)
    if name in DTYPES:
        return name
    if "float8" in word or "fp8" in word or "fp4" in word or word.startswith("int"):
        raise AskError(
            f"{text!r} is no dtype to load weights in: smaller weights are a quantization",
            "use --quantization, for example --quantization bitsandbytes-8bit",
        )
    raise unknown_name("dtype", "--dtype", text, (*DTYPES, *_DTYPE_ALIASES))


def read_attention(text: str | None) -> str | None:
    """Return Transformers' name of an attention implementation or a hub kernel; None for "auto" and no wish.

    Raises AskError with the nearest name. "paged|sdpa" and the like lose their prefix, as in Transformers.
    """
    if text is None or text.strip().lower() in {"", "auto"}:
        return None
    word = text.strip()
    if "/" in word:
        if HUB_KERNEL.fullmatch(word):
            return word
        raise AskError(
            f"{text!r} is no kernel on the hub",
            "write it as org/repo or org/repo@revision, for example kernels-community/aiter-flash-attn",
        )
    name = word.lower().replace("-", "_").replace("flashattention", "flash_attention_")
    if name == "paged|eager":
        return name
    name = name.removeprefix("paged|")
    name = _ATTENTION_ALIASES.get(name, name)
    if name in ATTENTIONS:
        return name
    raise unknown_name("attention implementation", "--attention", text, (*ATTENTIONS, *_ATTENTION_ALIASES))


def read_training(text: str | None) -> Train | None:
    """Return the way to train; None for no wish. Raises AskError with the nearest name."""
    word = (text or "").strip().lower()
    if word in {"", "none"}:
        return None
    if word == "lora":
        return "lora"
    if word == "full":
        return "full"
    raise unknown_name("way to train", "--train", word, TRAININGS)


def read_ranks(asks: Asks) -> Ranks:
    """Return the processes that were wished for. Raises AskError for a number below 1 or numbers that do not agree."""
    for name in ("ranks", "tp", "fsdp", "context", "batch"):
        number = getattr(asks, name)
        if number is not None and number < 1:
            raise AskError(f"--{name} {number} is no number of {_COUNTED[name]}", f"use --{name} 1 or more")
    tp, fsdp = asks.tp or 1, asks.fsdp or 1
    if asks.ranks is not None and tp * fsdp > 1 and asks.ranks != tp * fsdp:
        raise AskError(
            f"--tp {tp} and --fsdp {fsdp} need {tp * fsdp} processes, and --ranks is {asks.ranks}",
            f"use --ranks {tp * fsdp}, or leave it out",
        )
    return Ranks(asks.ranks or tp * fsdp, tp, fsdp)


_COUNTED: Final = {"ranks": "processes", "tp": "parts", "fsdp": "parts", "context": "tokens", "batch": "sequences"}

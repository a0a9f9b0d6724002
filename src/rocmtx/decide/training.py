"""Whether this model can be trained here as wished.

Knows methods and packages; must not know the Trainer, which the emitted code calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmtx.decide.absence import INSTALL_MODELS
from rocmtx.decide.methods import methods
from rocmtx.decide.verdict import Choice
from rocmtx.errors import PlanError

if TYPE_CHECKING:
    from rocmtx.decide.asks import Train
    from rocmtx.facts.model import Facts

# What `rocmtx train` does by itself, too.
CONTEXT = 1024
BATCH = 4


def choose_training(facts: Facts, train: Train | None, quantization: str | None, dtype: str) -> Choice[Train | None]:
    """Decide on the training run. Raises PlanError for one that PEFT or the Trainer would refuse."""
    if train is None:
        return Choice(None, "none asked for")
    if train == "full":
        _check_full(quantization, dtype)
        return Choice(
            train, "you asked for it; every weight gets a gradient and two states of the optimizer", asked=True
        )
    if facts.stack.packages and facts.stack.version("peft") is None:
        raise PlanError("LoRA needs the package peft, which is not installed", f"{INSTALL_MODELS}; or use --train full")
    method = methods().get(quantization or "")
    if method is not None and not method.trainable:
        raise PlanError(
            f"adapters cannot be trained on {method.title} weights",
            "use --quantization bitsandbytes-4bit, or a checkpoint with full weights",
        )
    return Choice(train, "you asked for it; small matrices beside the weights learn, the weights stay", asked=True)


def _check_full(quantization: str | None, dtype: str) -> None:
    if quantization is not None:
        raise PlanError("quantized weights cannot be trained themselves", "use --train lora, or full weights")
    if dtype == "float16":
        raise PlanError(
            "training float16 weights themselves overflows: their gradients have too small a range",
            "use --dtype bfloat16 or --dtype float32, or --train lora",
        )

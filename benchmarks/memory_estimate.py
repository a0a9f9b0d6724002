"""How near the estimate of memory comes to what a model really takes: three models, three contexts, answers and LoRA.

Weights are random, made from a config: only their sizes matter. On a GPU the peak is the allocator's own; on the CPU it
is that of the process, in a process of its own for each figure. What the runtime itself takes is left out of both.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Final

from rocmtx.decide.memory import Estimate, estimate
from rocmtx.facts.model import Checkpoint
from tables import finish, machine_line

MODELS: Final[dict[str, dict[str, Any]]] = {
    "SmolLM2-135M": {
        "model_type": "llama",
        "hidden_size": 576,
        "intermediate_size": 1536,
        "num_hidden_layers": 30,
        "num_attention_heads": 9,
        "num_key_value_heads": 3,
        "vocab_size": 49152,
        "tie_word_embeddings": True,
        "max_position_embeddings": 8192,
    },
    "Qwen3-0.6B": {
        "model_type": "qwen3",
        "hidden_size": 1024,
        "intermediate_size": 3072,
        "num_hidden_layers": 28,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "vocab_size": 151936,
        "tie_word_embeddings": True,
        "max_position_embeddings": 40960,
    },
    "Llama-3.2-3B": {
        "model_type": "llama",
        "hidden_size": 3072,
        "intermediate_size": 8192,
        "num_hidden_layers": 28,
        "num_attention_heads": 24,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "vocab_size": 128256,
        "tie_word_embeddings": True,
        "max_position_embeddings": 131072,
    },
}
_NEW: Final = 8


def estimated(name: str, context: int, task: str, dtype: str) -> tuple[int, int]:
    """Return the estimated weights and the whole, without the runtime."""
    checkpoint = Checkpoint(name, "folder", model_type=MODELS[name]["model_type"], config=MODELS[name], dtype=dtype)
    needs: Estimate = estimate(
        checkpoint, dtype=dtype, context=context, batch=1, train="lora" if task == "lora" else None
    )
    return needs.weights or 0, (needs.total or 0) - needs.overhead


def measured(name: str, context: int, task: str, dtype: str, device: str) -> tuple[int, int]:
    """Return the measured weights and the peak of answering, or of LoRA steps, in bytes."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    meter = Meter(device)
    settings = dict(MODELS[name])
    config = AutoConfig.for_model(settings.pop("model_type"), **settings)
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(config, dtype=getattr(torch, dtype))
    weights = sum(weight.numel() * weight.element_size() for weight in model.parameters())
    ids = torch.randint(3, 1000, (1, context - (_NEW if task == "answer" else 0)), device=device)
    meter.reset(weights)
    if task == "answer":
        model.eval()
        with torch.no_grad():
            model.generate(ids, max_new_tokens=_NEW, min_new_tokens=_NEW, do_sample=False, pad_token_id=0)
    else:
        _steps(model, ids, device)
    return weights, meter.peak()


def _steps(model: Any, ids: Any, device: str) -> None:
    """Take two steps as the Trainer does: 16-bit autocast on a GPU, AdamW, and the model's own loss."""
    import torch
    from peft import LoraConfig, get_peft_model

    model = get_peft_model(model, LoraConfig(r=8, target_modules="all-linear", task_type="CAUSAL_LM"))
    model.train()
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(trained, fused=device == "cuda")
    for _ in range(2):
        with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
            loss = model(input_ids=ids, labels=ids, use_cache=False).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


class Meter:
    """Reads the allocator of a GPU, or samples the memory of this process beside the weights.

    On the CPU that counts what the allocator of the C library keeps for later, too.
    """

    def __init__(self, device: str) -> None:
        self._cuda = device == "cuda"
        self._highest = 0
        self._stop = threading.Event()
        self._base = 0
        if not self._cuda:
            threading.Thread(target=self._sample, daemon=True).start()

    def _sample(self) -> None:
        while not self._stop.wait(0.002):
            self._highest = max(self._highest, _resident())

    def reset(self, weights: int) -> None:
        """Forget the peak; `weights` are in use already."""
        if self._cuda:
            import torch

            torch.cuda.reset_peak_memory_stats()
        self._base = _resident() - weights
        self._highest = 0

    def peak(self) -> int:
        """Return the highest bytes in use since the last reset."""
        if self._cuda:
            import torch

            return int(torch.cuda.max_memory_allocated())
        self._stop.set()
        return self._highest - self._base


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _row(name: str, context: int, task: str, dtype: str, device: str) -> str:
    command = [sys.executable, __file__, "--one", json.dumps([name, context, task, dtype, device])]
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"| {name} | {context} | {task} | failed: {done.stderr.strip().splitlines()[-1][:80]} | | | |"
    weights, peak = json.loads(done.stdout.splitlines()[-1])
    thought, whole = estimated(name, context, task, dtype)
    gib = 1 << 30
    seconds = time.perf_counter() - began
    print(f"{name} {context} {task}: {seconds:.0f} s", file=sys.stderr)
    return (
        f"| {name} | {context} | {task} | {weights / gib:.3f} | {100 * (thought / weights - 1):+.1f} % "
        f"| {peak / gib:.2f} | {100 * (whole / peak - 1):+.0f} % |"
    )


def main() -> None:
    """Print the table for one device."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--contexts", nargs="+", type=int, default=[512, 2048, 8192])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(measured(*json.loads(chosen.one))))
        return
    dtype = "bfloat16" if chosen.device == "cuda" else "float32"
    lines = ["| model | tokens | task | weights, GiB | estimate | peak, GiB | estimate |", f"|{' --- |' * 7}"]
    for name in chosen.models:
        for context in chosen.contexts:
            lines += [_row(name, context, task, dtype, chosen.device) for task in ("answer", "lora")]
    if chosen.device == "cuda":
        import torch

        torch.cuda.get_device_name(0)
    finish("\n".join([*lines, "", machine_line()]), chosen.out)


if __name__ == "__main__":
    main()

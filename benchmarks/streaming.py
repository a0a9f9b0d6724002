"""Streaming into a cell against plain `model.generate`: tokens/s and time to first token, in turn, on one model.

A real kernel runs `%rocm generate`; this process runs plain `generate` without a streamer and `TextIteratorStreamer`
in a thread. Each round measures all three, in changing order, with the same prompt, the same greedy tokens and dtype,
and with the thread settings of a worker on both sides: the figure is the price of streaming, not of threads that spin.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rocmtx.run.process import DEFAULTS

os.environ.update({name: value for name, value in DEFAULTS.items() if name not in os.environ})
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("JUPYTER_RUNTIME_DIR", tempfile.mkdtemp(prefix="rocmtx-bench-"))

import torch
from jupyter_client.manager import start_new_kernel
from transformers import AutoModelForCausalLM, AutoTokenizer, TextIteratorStreamer

from rocmtx.facts.checkpoint import read_checkpoint
from rocmtx.run.engine.demo import demo_folder
from tables import finish, machine_line, table

if TYPE_CHECKING:
    from collections.abc import Callable

PROMPT = "Tell me a long story about a lighthouse."

_CELL = """
import json as _json, time as _time
from IPython import get_ipython as _shell
_first = []
from rocmtx.workbench import current as _current
from rocmtx.events import Token as _Token
_remove = _current().subscribe(lambda event: _first.append(_time.perf_counter()) if isinstance(event, _Token) else None)
_began = _time.perf_counter()
_shell().run_line_magic("rocm", 'generate "{prompt}" --max-new-tokens {tokens} --min-new-tokens {tokens} -o _answer')
_ended = _time.perf_counter()
_remove()
print("RESULT " + _json.dumps({{"seconds": _ended - _began, "first": _first[0] - _began, "count": _answer.count}}))
"""


class Cell:
    """A real kernel with the model loaded through `%rocm load`."""

    def __init__(self, folder: Path, dtype: str) -> None:
        self._manager, self._client = start_new_kernel()
        self._run("%load_ext rocmtx")
        self._run(f"%rocm load {folder} --dtype {dtype}")

    def _run(self, code: str) -> str:
        text: list[str] = []

        def hook(message: dict[str, Any]) -> None:
            content = message["content"]
            if message["msg_type"] == "stream":
                text.append(content["text"])
            if message["msg_type"] == "error":
                raise RuntimeError("\n".join(content["traceback"]))

        self._client.execute_interactive(code, output_hook=hook, timeout=300)
        return "".join(text)

    def measure(self, tokens: int) -> tuple[float, float]:
        """Return tokens/s of the whole cell and the time to the first token seen in the kernel, in seconds."""
        output = self._run(_CELL.format(prompt=PROMPT, tokens=tokens))
        result = json.loads(next(line for line in output.splitlines() if line.startswith("RESULT"))[7:])
        if result["count"] != tokens:
            raise RuntimeError(f"the cell gave {result}, not {tokens} tokens")
        return tokens / result["seconds"], result["first"]

    def close(self) -> None:
        """End the worker and the kernel."""
        self._run("%rocm unload")
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)


class Plain:
    """The same model in this process, without rocmtx's streaming."""

    def __init__(self, folder: Path, dtype: str) -> None:
        self._tokenizer = AutoTokenizer.from_pretrained(folder)
        place = {"device_map": "cuda:0"} if torch.cuda.is_available() else {}
        self._model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, **place).eval()

    def _inputs(self) -> Any:
        messages = [{"role": "user", "content": PROMPT}]
        encoded: Any = self._tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
        return encoded.to(self._model.device)

    def generate(self, tokens: int, **more: Any) -> float:
        """Return the seconds of one plain `generate`, from the prompt's text to the answer's."""
        began = time.perf_counter()
        inputs = self._inputs()
        output = self._model.generate(**inputs, max_new_tokens=tokens, min_new_tokens=tokens, do_sample=False, **more)
        self._tokenizer.decode(output[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
        return time.perf_counter() - began

    def streamer(self, tokens: int) -> float:
        """Return tokens/s through `TextIteratorStreamer`, generating in a thread as its documentation shows."""
        began = time.perf_counter()
        streamer = TextIteratorStreamer(self._tokenizer, skip_prompt=True, skip_special_tokens=True)
        thread = threading.Thread(target=self.generate, args=(tokens,), kwargs={"streamer": streamer})
        thread.start()
        for _ in streamer:
            pass
        thread.join()
        return tokens / (time.perf_counter() - began)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    gguf = Path(str(read_checkpoint("demo").path))
    folder = demo_folder(gguf, lambda _event: None)
    cell, plain = Cell(folder, arguments.dtype), Plain(folder, arguments.dtype)
    try:
        rows = measure(cell, plain, arguments.tokens, arguments.rounds)
    finally:
        cell.close()
    finish(
        f"{table(rows)}\n\n{arguments.tokens} greedy tokens, {arguments.dtype}, SmolLM2-135M-Instruct; "
        f"{machine_line()}",
        arguments.out,
    )


def measure(cell: Cell, plain: Plain, tokens: int, rounds: int) -> dict[str, list[float]]:
    """Run the rounds and return the figures."""
    rows: dict[str, list[float]] = {}

    def note(name: str, value: float) -> None:
        rows.setdefault(name, []).append(value)

    for number in range(-1, rounds):
        results: dict[str, Any] = {}
        acts: dict[str, Callable[[], Any]] = {
            "plain": lambda: tokens / plain.generate(tokens),
            "cell": lambda: cell.measure(tokens),
            "streamer": lambda: plain.streamer(tokens),
            "first": lambda: plain.generate(1),
        }
        for name in list(acts) if number % 2 else reversed(list(acts)):
            results[name] = acts[name]()
        if number < 0:
            continue  # the first round warms every side up
        speed, first = results["cell"]
        note("cell ÷ plain generate, tokens/s (goal ≥ 0.95)", speed / results["plain"])
        note("cell ÷ TextIteratorStreamer, tokens/s (goal ≥ 1)", speed / results["streamer"])
        note("first token in the cell − plain, ms (goal ≤ 30)", (first - results["first"]) * 1000)
        note("plain generate, tokens/s", results["plain"])
        note("cell, tokens/s", speed)
        note("TextIteratorStreamer, tokens/s", results["streamer"])
        note("plain, first token, ms", results["first"] * 1000)
    return rows


if __name__ == "__main__":
    main()

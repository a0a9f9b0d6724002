"""`make demo` as a person runs it: the real notebook, the real model, the page opened without a network."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from page import external_requests
from rocmtx.journal import replay

ROOT = Path(__file__).resolve().parents[2]


def demo(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the demo in a terminal of its own."""
    command = [sys.executable, str(ROOT / "scripts" / "demo.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=580)


def written(path: Path, *sources: str) -> Path:
    """Write a notebook with these code cells."""
    cells: list[dict[str, Any]] = [
        {"cell_type": "code", "id": f"c{n}", "source": text, "outputs": [], "execution_count": None, "metadata": {}}
        for n, text in enumerate(sources)
    ]
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}), encoding="utf-8")
    return path


@pytest.mark.demo
@pytest.mark.timeout(600)
def test_the_quickstart_runs_and_its_page_opens_offline() -> None:
    done = demo()
    assert done.returncode == 0, done.stderr
    out = done.stdout
    assert re.search(r"^\[ 1/\d+\] %load_ext rocmtx … \d+\.\d s$", out, re.MULTILINE)
    assert "answered     The capital of France is Paris." in out
    assert re.search(r"attention +sdpa: \S", out)
    assert re.search(r"quantization +none: \S", out)
    assert re.search(r"speed +\d[\d.]* tokens/s, first token after \d", out)
    losses = re.search(r"loss +([\d.]+) → ([\d.e-]+) in 20 steps", out)
    assert losses
    assert float(losses[2]) < float(losses[1]) / 2
    assert re.search(r"peak memory +[\d.]+ [MG]iB", out)
    # The made-up fact was not known before and is known afterwards.
    answers = re.findall(r"answered +(.+(?:\n {15}.+)*)", out)
    assert "Quillon" not in answers[-2]
    assert "Tessa Quillon" in answers[-1]
    html = (ROOT / "build" / "quickstart.html").read_text(encoding="utf-8")
    assert external_requests(html) == []
    assert {"Memory over time", "Training loss"} <= set(re.findall(r"<svg[^>]*><title>([^<]*)", html))
    assert replay(ROOT / "build" / "quickstart.jsonl").training


def test_a_failing_cell_ends_the_demo_with_its_message(tmp_path: Path) -> None:
    done = demo(str(written(tmp_path / "bad.ipynb", "%load_ext rocmtx", '%rocm generate "Hello"', "print('never')")))
    assert done.returncode == 1
    assert done.stderr == "\nthe notebook failed: NotLoaded: no model is loaded\n  → load one with: %rocm load demo\n"
    assert "[ 2/3] %rocm generate" in done.stdout
    assert "failed after" in done.stdout
    assert "never" not in done.stdout


def test_another_error_keeps_its_traceback(tmp_path: Path) -> None:
    done = demo(str(written(tmp_path / "bad.ipynb", "def f():\n    return 1 / 0\nf()")))
    assert done.returncode == 1
    assert "return 1 / 0" in done.stderr
    assert "ZeroDivisionError: division by zero" in done.stderr


def test_a_dying_kernel_is_told(tmp_path: Path) -> None:
    done = demo(str(written(tmp_path / "bad.ipynb", "import os\nos.write(2, b'GPU fault')\nos._exit(9)")))
    assert done.returncode == 1
    assert "\nthe notebook's kernel died\n" in done.stderr
    assert "GPU fault" in done.stderr
    assert "  → is there enough memory? 3 GB are needed; more in " in done.stderr


def test_a_persons_own_jupyter_is_left_alone(tmp_path: Path) -> None:
    source = "import os\nprint(os.environ['JUPYTER_RUNTIME_DIR'], os.environ['IPYTHONDIR'])\nassert False"
    done = demo(str(written(tmp_path / "where.ipynb", source)))
    assert done.returncode == 1
    assert os.environ["JUPYTER_RUNTIME_DIR"] not in done.stdout + done.stderr


def test_the_notebook_about_machines_runs_without_a_model() -> None:
    done = demo(str(ROOT / "notebooks" / "00_machine.ipynb"))
    assert done.returncode == 0, done.stderr
    assert "the notebook ran no session" in done.stdout
    html = (ROOT / "build" / "machine.html").read_text(encoding="utf-8")
    assert "recorded machine (written): mi300x-8" in html
    assert "may not open /dev/kfd" in html
    assert external_requests(html) == []

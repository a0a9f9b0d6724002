"""What rocmtx costs before anything is asked of it: `%load_ext rocmtx`, and `rocmtx devices` as a whole process."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from tables import finish, machine_line, table

_LOAD = """
import time, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
began = time.perf_counter()
shell.run_line_magic("load_ext", "rocmtx")
print(time.perf_counter() - began)
heavy = {"torch", "transformers", "ipywidgets", "plotly", "jupyter_server"} & set(sys.modules)
print(",".join(sorted(heavy)))
"""


def load_ext() -> tuple[float, str]:
    """Return the seconds of `%load_ext rocmtx` in a fresh process, and the heavy modules it loaded."""
    done = subprocess.run([sys.executable, "-c", _LOAD], capture_output=True, text=True, check=True)
    seconds, heavy = done.stdout.splitlines()[:2] if done.stdout.count("\n") > 1 else (done.stdout.strip(), "")
    return float(seconds), heavy


def devices() -> float:
    """Return the wall time of `rocmtx devices` as a whole process, in seconds."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "rocmtx", "devices"], capture_output=True, check=True)
    return time.perf_counter() - began


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    load_ext(), devices()  # the first run of each compiles bytecode
    loads = [load_ext() for _ in range(arguments.rounds)]
    rows = {
        "%load_ext rocmtx, ms (goal ≤ 60)": [seconds * 1000 for seconds, _ in loads],
        "rocmtx devices, whole process, ms (goal ≤ 250)": [devices() * 1000 for _ in range(arguments.rounds)],
    }
    heavy = sorted({names for _, names in loads if names})
    text = f"{table(rows)}\n\nheavy modules loaded by load_ext: {', '.join(heavy) or 'none'}\n\n{machine_line()}"
    finish(text, arguments.out)


if __name__ == "__main__":
    main()

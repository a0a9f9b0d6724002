"""Tables of measured figures: minimum, median, maximum, and the machine they were measured on."""

from __future__ import annotations

import platform
import statistics
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def machine_line() -> str:
    """Return what the figures were measured on: processor, cores, GPU if torch has one, versions, date."""
    names = ("torch", "transformers", "ipykernel", "rocmtx")
    parts = [_processor(), f"Python {platform.python_version()}", *(f"{name} {_version(name)}" for name in names)]
    if "torch" in sys.modules:
        import torch

        parts.insert(
            1, torch.cuda.get_device_name(0) if torch.cuda.is_available() else f"{torch.get_num_threads()} threads"
        )
    return f"measured on {', '.join(parts)}, {time.strftime('%Y-%m-%d')}"


def table(rows: Mapping[str, Sequence[float]], unit: str = "") -> str:
    """Return a Markdown table with a row per figure: minimum, median, maximum and the number of rounds."""
    lines = ["| figure | min | median | max | rounds |", "| --- | --- | --- | --- | --- |"]
    for name, values in rows.items():
        low, middle, high = min(values), statistics.median(values), max(values)
        lines.append(f"| {name} | {low:.4g}{unit} | {middle:.4g}{unit} | {high:.4g}{unit} | {len(values)} |")
    return "\n".join(lines)


def finish(text: str, out: Path | None) -> None:
    """Print a result and write it, if a file was named."""
    print(text)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text + "\n")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "(from source)"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]} ({len(names)} cores)" if names else platform.machine()

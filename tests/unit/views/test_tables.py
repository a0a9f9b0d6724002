"""The rich tables say what the text views say; a name is never read as markup."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from io import StringIO
from typing import TYPE_CHECKING

from rich.console import Console

from rocmtx.decide.verdict import Verdict
from rocmtx.views import tables, text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rocmtx.facts.model import Facts
    from rocmtx.state import State


def printed(renderable: RenderableType, width: int = 200) -> str:
    """Return what a terminal of this width shows, without colours and trailing spaces."""
    console = Console(file=StringIO(), width=width, color_system=None)
    console.print(renderable)
    output = console.file
    assert isinstance(output, StringIO)
    return "\n".join(line.rstrip() for line in output.getvalue().splitlines())


def squeezed(content: str) -> list[str]:
    return [" ".join(line.split()) for line in content.splitlines() if line.strip()]


def test_devices_say_what_the_text_says(mi300x: Facts) -> None:
    recorded = replace(mi300x, origin="captured", label="mi300x-2")
    plain = squeezed(text.devices_text(recorded, all_ids=True))
    assert squeezed(printed(tables.devices_rich(recorded, all_ids=True))) == plain


def test_no_gpu_says_why(no_gpu: Facts) -> None:
    verdict = Verdict("no", "no KFD in /sys", "sudo modprobe amdgpu")
    assert squeezed(printed(tables.devices_rich(no_gpu, no_gpu=verdict))) == squeezed(
        text.devices_text(no_gpu, no_gpu=verdict)
    )


def test_brackets_in_names_stay(mi300x: Facts) -> None:
    odd = replace(mi300x, gpus=(replace(mi300x.gpus[0], name="Navi [Radeon] [/] [bold]"),))
    assert "Navi [Radeon] [/] [bold]" in printed(tables.devices_rich(odd))


def test_addresses_are_never_cut(mi300x: Facts) -> None:
    assert "0000:05:00.0" in printed(tables.devices_rich(mi300x), width=80)


def test_a_session_shows_reasons_under_values(state: State) -> None:
    lines = squeezed(printed(tables.state_rich(state)))
    at = lines.index("attention sdpa")
    assert lines[at + 1] == "PyTorch's own kernels, the default"


def test_choices() -> None:
    choices = [("fa4", "fa4", Verdict("no", "built for CUDA only", "take sdpa"))]
    assert squeezed(printed(tables.choices_rich(choices))) == [
        "choice here because",
        "fa4 no built for CUDA only",
        "→ take sdpa",
    ]


def test_plain_views_do_not_load_rich_or_widgets() -> None:
    program = (
        "import sys, rocmtx.views.text, rocmtx.views.html, rocmtx.views.tables, rocmtx.views.streaming\n"
        "heavy = {'rich', 'ipywidgets', 'anywidget', 'plotly', 'IPython', 'torch'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"

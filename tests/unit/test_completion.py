"""What Tab offers after a %rocm, for the commands, the options, and the values that this machine has."""

from __future__ import annotations

import pytest

from fakes import GIB
from rocmtx.commands import build, option_names
from rocmtx.completion import completions
from rocmtx.facts.model import Facts, Gpu
from rocmtx.workbench import Workbench

GROUP = build("%rocm", "magic")


@pytest.fixture
def bench() -> Workbench:
    """Return a workbench that looks at a written machine with two GPUs."""
    gpus = tuple(
        Gpu(
            address=f"0000:{bus}:00.0",
            name="AMD Instinct MI300X",
            gfx="gfx942",
            kfd_node=1 + at,
            hip_ordinal=at,
            mask_index=at,
            vram_total=192 * GIB,
        )
        for at, bus in enumerate(("05", "26"))
    )
    made = Workbench({})
    made.put_machine(Facts(gpus=gpus, origin="written"))
    return made


def offered(bench: Workbench, line: str) -> list[str]:
    """Return what Tab offers at the end of a line."""
    symbol = "" if line.endswith(" ") else line.rsplit(maxsplit=1)[-1]
    return completions(GROUP, bench, line, symbol)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("%rocm ge", ["generate"]),
        ("%%rocm tr", ["train"]),
        ("%rocmtx de", ["devices"]),
        ("%rocm s", ["sessions", "status", "stop"]),
        ("%rocm q", []),
        ("%rocm generate --max", ["--max-new-tokens"]),
        (
            "%rocm load --attention fl",
            ["flash_attention_2", "flash_attention_3", "flash_attention_4", "flex_attention"],
        ),
        ("%rocm load --dtype bf", ["bfloat16"]),
        ("%rocm load ", ["demo"]),
        ("%rocm plan d", ["demo"]),
        ("%rocm load x --device cuda:", ["cuda:0", "cuda:1"]),
        ("%rocm load --quantization bits", ["bitsandbytes-4bit", "bitsandbytes-8bit"]),
        ("%rocm qqq --", []),
    ],
)
def test_what_may_come_next(bench: Workbench, line: str, words: list[str]) -> None:
    assert offered(bench, line) == words


def test_a_line_without_a_word_offers_every_command(bench: Workbench) -> None:
    assert offered(bench, "%rocm ") == sorted(GROUP.commands)


def test_after_a_command_come_its_options(bench: Workbench) -> None:
    assert offered(bench, "%rocm generate -") == option_names(GROUP, "generate")
    assert offered(bench, "%rocm stop ") == ["--help"]


def test_after_device_come_the_devices_of_this_machine(bench: Workbench) -> None:
    assert offered(bench, "%rocm load demo --device ") == ["auto", "cuda:0", "cuda:1", "cpu"]

"""Every machine that ships with rocmtx, planned for one model and looked at by the doctor: one table."""

from __future__ import annotations

from rocmtx.decide.doctor import diagnose
from rocmtx.decide.plan import Asks, attention_choices, make_plan, quantization_choices
from rocmtx.facts.machines import load_machine, machine_names
from unit.decide.written_machines import QWEN

# machine · device · dtype · which SDPA kernel · flash_attention_3 · bitsandbytes-4bit · fp8 · what the doctor finds
TABLE = """\
cpu-torch     | cpu    | float32  | CPU   | no        | no  | no        | torch-build
mi210-8       | cuda:0 | bfloat16 | flash | not known | yes | no        | -
mi250x-8      | cuda:0 | bfloat16 | flash | not known | yes | no        | -
mi300a-4      | cuda:0 | bfloat16 | flash | yes       | yes | not known | -
mi300x-8      | cuda:0 | bfloat16 | flash | yes       | yes | not known | -
mi300x-8-cpx  | cuda:0 | bfloat16 | flash | yes       | yes | not known | -
mi355x-8      | cuda:0 | bfloat16 | flash | yes       | yes | not known | -
no-driver     | cpu    | float32  | CPU   | no        | yes | no        | kfd-refused
no-permission | cpu    | float32  | CPU   | no        | yes | no        | kfd-refused render-refused bitsandbytes-rocm
phoenix-apu   | cuda:0 | bfloat16 | math  | not known | yes | no        | aotriton-gate
rx7900xtx-1   | cuda:0 | bfloat16 | flash | not known | yes | no        | -
rx9070xt-igpu | cuda:0 | bfloat16 | flash | not known | yes | not known | no-code-for-gpu integrated-visible
strix-halo    | cuda:0 | bfloat16 | open  | not known | yes | no        | apu-gtt aotriton-gate
wsl           | cpu    | float32  | CPU   | no        | yes | no        | wsl
"""


def row(name: str) -> str:
    facts = load_machine(name)
    plan = make_plan(facts, Asks("Qwen/Qwen3-8B"), QWEN)
    attention = {value: verdict.answer for value, _, verdict in attention_choices(facts, QWEN)}
    methods = {value: verdict.answer for value, _, verdict in quantization_choices(facts, QWEN)}
    words = {"kernel for the CPU": "CPU", "flash or math": "open", "math kernel": "math", "flash kernel": "flash"}
    kernel = next(short for text, short in words.items() if text in plan.attention.because)
    found = " ".join(dict.fromkeys(finding.rule for finding in diagnose(facts))) or "-"
    cells = (
        f"{name:13}",
        f"{plan.device.value:6}",
        f"{plan.dtype.value:8}",
        f"{kernel:5}",
        f"{attention['flash_attention_3']:9}",
        f"{methods['bitsandbytes-4bit']:3}",
        f"{methods['fp8']:9}",
        found,
    )
    return " | ".join(cells)


def test_the_machines_that_ship_with_rocmtx() -> None:
    assert "".join(f"{row(name)}\n" for name in machine_names()) == TABLE

"""Which attention implementation runs where, resolved as Transformers resolves it on ROCm."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rocmtx.decide.asks import read_attention
from rocmtx.decide.attention import attention_verdict
from rocmtx.decide.plan import Asks, make_plan
from rocmtx.errors import AskError, PlanError, RocmtxError
from unit.decide.written_machines import MI300X, NOTHING, QWEN, gpu, machine, nvidia

if TYPE_CHECKING:
    from rocmtx.decide.verdict import Verdict
    from rocmtx.facts.model import Checkpoint, Facts

AITER = "kernels-community/aiter-flash-attn"


def verdict(facts: Facts, name: str, model: str | None = "qwen3") -> Verdict:
    entry = facts.gpus[0] if facts.gpus else None
    return attention_verdict(facts, replace(QWEN, model_type=model), entry, name)


def refusal(facts: Facts, checkpoint: Checkpoint = QWEN, /, **wishes: str) -> tuple[type[RocmtxError], str, str]:
    with pytest.raises(RocmtxError) as caught:
        make_plan(facts, Asks(checkpoint.name, **wishes), checkpoint)  # type: ignore[arg-type]
    return type(caught.value), caught.value.message, caught.value.hint


@pytest.mark.parametrize(
    ("gfx", "env", "kernel"),
    [
        ("gfx942", {}, "flash kernel (AOTriton)"),
        ("gfx1100", {}, "flash kernel (AOTriton)"),
        ("gfx1200", {"TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL": "1"}, "flash kernel (AOTriton)"),
        (
            "gfx1200",
            {},
            (
                "math kernel, whose memory grows with the square of the prompt; "
                "PyTorch keeps its flash kernels for gfx1200 behind TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL"
            ),
        ),
        (
            "gfx1151",
            {},
            (
                "flash or math kernel, depending on the PyTorch build; "
                "older builds of PyTorch keep the flash kernels for gfx1151 behind "
                "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL"
            ),
        ),
        (
            "gfx1030",
            {},
            "math kernel, whose memory grows with the square of the prompt; AOTriton has no kernels for gfx1030",
        ),
        ("gfx1250", {}, "flash or math kernel; whether AOTriton has kernels for gfx1250 is not known"),
        ("gfx1399", {}, "flash or math kernel; whether AOTriton has kernels for gfx1399 is not known"),
    ],
)
def test_the_kernel_that_sdpa_really_uses(gfx: str, env: dict[str, str], kernel: str) -> None:
    found = verdict(machine(gpu(gfx), env=env), "sdpa")
    assert (found.answer, found.because) == ("yes", kernel)
    gated = "behind" in kernel
    assert found.fix.startswith("set TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL=1") is gated


@pytest.mark.parametrize(
    ("facts", "name", "model", "answer", "because"),
    [
        (MI300X, "eager", "qwen3", "yes", "the plain implementation"),
        (MI300X, "paged|eager", "qwen3", "yes", "for continuous batching"),
        (MI300X, "flash_attention_2", "qwen3", "yes", f"AITER hub kernel ({AITER}), downloads once"),
        (MI300X, "flash_attention_3", "qwen3", "yes", f"AITER hub kernel ({AITER}), downloads once"),
        (MI300X, AITER, "qwen3", "yes", f"AITER hub kernel ({AITER}), downloads once"),
        (MI300X, "flash_attention_4", "qwen3", "no", "built for CUDA only"),
        (
            MI300X,
            "flash_attention_2",
            "llama4",
            "no",
            "Transformers' class for llama4 does not support flash attention",
        ),
        (MI300X, "flash_attention_2", "gpt_oss", "yes", f"AITER hub kernel ({AITER}), downloads once"),
        (MI300X, "flash_attention_2", "mimo_v2_flash", "no", "have no ROCm build"),
        (MI300X, "sdpa", "gpt_oss", "no", "Transformers' class for gpt_oss has no sdpa"),
        (MI300X, "sdpa", None, "yes", "flash kernel (AOTriton)"),
        (MI300X, "flex_attention", "gpt2", "no", "Transformers' class for gpt2 has no flex_attention"),
        (MI300X, "flex_attention", "qwen3", "not known", "not tried on this machine"),
        (MI300X, "org/repo@v2", "qwen3", "not known", "works if org/repo has a build"),
        (machine(gpu("gfx1030")), "flash_attention_2", "qwen3", "no", "AITER has no kernels for gfx1030"),
        (machine(gpu("gfx1100")), "flash_attention_3", "qwen3", "not known", "gfx1100 is only experimental"),
        (machine(gpu("gfx1102")), "flash_attention_3", "qwen3", "not known", "gfx1102 is not known"),
        (machine(gpu(), env={"HF_HUB_OFFLINE": "1"}), AITER, "qwen3", "not known", "if kernels-community"),
        (machine(gpu(), packages={"kernels": ""}), AITER, "qwen3", "no", "the kernels package is not installed"),
        (machine(gpu(), packages={"kernels": "0.18.2"}), AITER, "qwen3", "no", "accepts 0.17.2 <= version < 0.18.0"),
        (machine(gpu(), packages={"flash-attn": "2.8.3"}), "flash_attention_2", "qwen3", "yes", "flash-attn 2.8.3"),
        (
            machine(gpu("gfx1100"), packages={"flash-attn": "2.8.3"}),
            "flash_attention_2",
            "qwen3",
            "not known",
            "Triton",
        ),
        (
            machine(
                gpu("gfx1100"),
                packages={"flash-attn": "2.8.3"},
                env={"FLASH_ATTENTION_TRITON_AMD_ENABLE": "TRUE"},
            ),
            "flash_attention_2",
            "qwen3",
            "yes",
            "Triton backend",
        ),
        (
            machine(gpu("gfx1030"), packages={"flash-attn": "2.8.3"}),
            "flash_attention_2",
            "qwen3",
            "no",
            "no kernels for",
        ),
        (machine(gpu(), packages={"flash-attn-3": "3.0"}), "flash_attention_3", "qwen3", "not known", "made for CUDA"),
        (machine(nvidia(), build="cuda"), "flash_attention_2", "qwen3", "not known", "not an AMD GPU"),
        (NOTHING, "flash_attention_2", "qwen3", "no", "flash attention kernels need a GPU"),
        (NOTHING, "sdpa", "qwen3", "yes", "PyTorch's own kernel for the CPU"),
        (NOTHING, "flex_attention", "qwen3", "not known", "needs a C++ compiler"),
    ],
)
def test_verdicts(facts: Facts, name: str, model: str | None, answer: str, because: str) -> None:
    found = verdict(facts, name, model)
    assert found.answer == answer
    assert because in found.because


def test_a_wish_that_cannot_work_names_what_can() -> None:
    assert refusal(NOTHING, attention="flash_attention_3") == (
        PlanError,
        "attention flash_attention_3 cannot work here: flash attention kernels need a GPU, and this runs on the CPU",
        "use sdpa",
    )
    assert refusal(machine(gpu(), packages={"kernels": ""}), attention="fa2") == (
        PlanError,
        (
            "attention flash_attention_2 cannot work here: needs the hub kernel kernels-community/aiter-flash-attn: "
            "the kernels package is not installed"
        ),
        "pip install 'kernels>=0.17.2,<0.18.0'; or use sdpa",
    )
    assert refusal(MI300X, replace(QWEN, model_type="gpt_oss"), attention="sdpa") == (
        PlanError,
        "attention sdpa cannot work here: Transformers' class for gpt_oss has no sdpa",
        "use eager",
    )


def test_flash_attention_in_32_bits_is_refused_because_the_hub_kernel_does_not_check() -> None:
    assert refusal(MI300X, attention="flash_attention_2", dtype="float32") == (
        PlanError,
        "attention flash_attention_2 computes in 16 bits only, and the dtype is float32",
        "use --dtype bfloat16 or --dtype float16; or use sdpa",
    )


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (None, None),
        ("auto", None),
        ("SDPA", "sdpa"),
        ("flash-attention-2", "flash_attention_2"),
        ("fa3", "flash_attention_3"),
        ("paged|eager", "paged|eager"),
        ("paged|sdpa", "sdpa"),
        ("Org/Repo@v1:fn", "Org/Repo@v1:fn"),
    ],
)
def test_the_spellings_of_attention(text: str | None, name: str | None) -> None:
    assert read_attention(text) == name


@pytest.mark.parametrize(
    ("wishes", "message", "hint"),
    [
        ({"attention": "sdap"}, "there is no attention implementation 'sdap'", "did you mean --attention sdpa?"),
        (
            {"attention": "zzz"},
            "there is no attention implementation 'zzz'",
            (
                "use --attention with one of: sdpa, eager, flash_attention_2, flash_attention_3, flash_attention_4, "
                "flex_attention, paged|eager, flash, flash2, flash3, fa2, fa3, fa4, flash_attn, flex, math"
            ),
        ),
        (
            {"attention": "/abs/path"},
            "'/abs/path' is no kernel on the hub",
            "write it as org/repo or org/repo@revision, for example kernels-community/aiter-flash-attn",
        ),
        ({"dtype": "bfloat61"}, "there is no dtype 'bfloat61'", "did you mean --dtype bfloat16?"),
        (
            {"dtype": "fp8"},
            "'fp8' is no dtype to load weights in: smaller weights are a quantization",
            "use --quantization, for example --quantization bitsandbytes-8bit",
        ),
    ],
)
def test_misspelt_names(wishes: dict[str, str], message: str, hint: str) -> None:
    assert refusal(MI300X, QWEN, **wishes) == (AskError, message, hint)

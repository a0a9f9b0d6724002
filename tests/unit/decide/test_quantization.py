"""Which quantization works where: by gfx target, packages and the library's own word."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from rocmtx.decide.capability import dtype_verdict, fp8_dtype, override_target
from rocmtx.decide.methods import by_checkpoint, methods
from rocmtx.decide.plan import Asks, make_plan, quantization_choices
from rocmtx.decide.quantization import quantization_config, rocm_library, rocm_of
from rocmtx.decide.verdict import Choice, Verdict
from rocmtx.errors import AskError, PlanError, RocmtxError
from rocmtx.facts.model import Checkpoint, Facts, TorchBuild
from unit.decide.written_machines import MI300X, NOTHING, QWEN, gpu, machine, nvidia, stack

ALL = {"torchao": "0.18.0", "optimum-quanto": "0.2.7", "triton": "3.5.0"}


def verdicts(facts: Facts, checkpoint: Checkpoint | None = None) -> dict[str, Verdict]:
    return {name: verdict for name, _, verdict in quantization_choices(facts, checkpoint)}


def refusal(facts: Facts, checkpoint: Checkpoint = QWEN, /, **wishes: str) -> tuple[type[RocmtxError], str, str]:
    with pytest.raises(RocmtxError) as caught:
        make_plan(facts, Asks(checkpoint.name, **wishes), checkpoint)  # type: ignore[arg-type]
    return type(caught.value), caught.value.message, caught.value.hint


@pytest.mark.parametrize(
    ("gfx", "fp8", "fp4", "dtype"),
    [
        ("gfx90a", "no", "no", None),
        ("gfx1100", "no", "no", None),
        ("gfx1030", "no", "no", None),
        # The hardware has it, but multiplies another 8-bit float than Transformers stores.
        ("gfx942", "not known", "no", "float8_e4m3fnuz"),
        ("gfx950", "not known", "not known", "float8_e4m3fn"),
        ("gfx1201", "not known", "no", "float8_e4m3fn"),
        ("gfx1399", "not known", "not known", None),
    ],
)
def test_fp8_and_fp4_go_by_target_never_by_compute_capability(gfx: str, fp8: str, fp4: str, dtype: str | None) -> None:
    found = verdicts(machine(gpu(gfx), archs=(gfx,), packages=ALL))
    assert (found["fp8"].answer, found["mxfp4"].answer) == (fp8, fp4)
    assert fp8_dtype(gpu(gfx)) == dtype


def test_the_word_of_the_documentation_is_passed_on() -> None:
    found = verdicts(machine(gpu("gfx950"), archs=("gfx950",), packages=ALL))
    assert {
        name: found[name].because for name in ("fp8", "aqlm", "quark", "quanto-int8", "mxfp4", "bitsandbytes-4bit")
    } == {
        "fp8": "gfx950 has FP8 units; marked as not supported on ROCm in Transformers' documentation; not tried",
        "aqlm": "only checkpoints made with AQLM can be loaded (marked as not supported on ROCm)",
        "quark": "only checkpoints made with AMD Quark can be loaded (supported on ROCm)",
        "quanto-int8": "marked as not supported on ROCm in Transformers' documentation; not tried",
        "mxfp4": "gfx950 has FP4 units; not listed for ROCm in Transformers' documentation; not tried",
        "bitsandbytes-4bit": "4.5 bits a weight; partly supported on ROCm",
    }


def test_every_method_has_a_verdict_with_a_reason_and_a_way_out() -> None:
    for facts in (MI300X, NOTHING, machine(gpu("gfx1100"), packages=ALL), machine(nvidia(), build="cuda")):
        found = verdicts(facts)
        assert set(found) == {"none", *methods()}
        for name, verdict in found.items():
            assert verdict.because, name
            assert verdict.fix or verdict.answer == "yes", name


def test_what_works_on_a_cpu() -> None:
    found = verdicts(machine(build="cpu", packages=ALL))
    assert {name for name, verdict in found.items() if verdict.answer == "yes"} == {
        "none",
        "bitsandbytes-4bit",
        "bitsandbytes-8bit",
        "torchao-int8",
        "torchao-float8",
        "quanto-int8",
        "quanto-int4",
    }


def test_a_method_that_cannot_work_names_the_nearest_that_does() -> None:
    assert refusal(machine(gpu("gfx1100")), quantization="fp8") == (
        PlanError,
        "quantization fp8 cannot work here: gfx1100 (RDNA3) has no FP8 units (MI300, MI350 and RDNA4 have)",
        "use --quantization bitsandbytes-8bit or --quantization none",
    )
    assert refusal(MI300X, quantization="mxfp4") == (
        PlanError,
        "quantization mxfp4 cannot work here: gfx942 (CDNA3) has no FP4 units (MI350 has)",
        "use --quantization bitsandbytes-4bit or --quantization none",
    )
    assert refusal(machine(gpu(), packages={"bitsandbytes": ""}), quantization="nvfp4")[2] == "use --quantization none"


def test_missing_and_old_packages_are_named_with_the_version_that_is_needed() -> None:
    assert refusal(machine(gpu(), packages={"bitsandbytes": "0.45.0", "accelerate": ""}), quantization="8bit") == (
        PlanError,
        (
            "quantization bitsandbytes-8bit cannot work here: bitsandbytes 8-bit needs bitsandbytes>=0.46.1, "
            "accelerate>=1.1.0, which is not installed"
        ),
        "pip install 'bitsandbytes>=0.46.1' 'accelerate>=1.1.0'; or use --quantization none",
    )


def test_misspelt_and_impossible_names() -> None:
    assert refusal(MI300X, quantization="bitsandbites-4bit") == (
        AskError,
        "there is no quantization 'bitsandbites-4bit'",
        "did you mean --quantization bitsandbytes-4bit?",
    )
    assert refusal(MI300X, quantization="gptq") == (
        PlanError,
        (
            "quantization gptq cannot work here: only checkpoints made with GPTQ (GPT-QModel) can be loaded "
            "(supported on ROCm)"
        ),
        "use --quantization bitsandbytes-4bit or --quantization none",
    )
    assert refusal(MI300X, quantization="hqq")[1] == (
        "quantization hqq cannot work here: Transformers 5 does not implement it yet"
    )


def test_a_quantized_checkpoint_cannot_be_quantized_otherwise() -> None:
    gptq = replace(QWEN, quantization={"quant_method": "gptq"})
    assert refusal(MI300X, gptq, quantization="4bit") == (
        PlanError,
        "Qwen/Qwen3-8B is quantized with gptq already, so it cannot be loaded as bitsandbytes-4bit",
        "leave out --quantization, or name a checkpoint with full weights",
    )
    assert refusal(MI300X, gptq) == (
        PlanError,
        (
            "Qwen/Qwen3-8B is quantized with GPTQ (GPT-QModel), which cannot work here: "
            "GPTQ (GPT-QModel) needs gptqmodel>=1.4.3, optimum>=1.24.0, which is not installed"
        ),
        "pip install 'gptqmodel>=1.4.3' 'optimum>=1.24.0'",
    )
    spqr = replace(QWEN, quantization={"quant_method": "spqr"})
    assert refusal(MI300X, spqr)[2] == "use a checkpoint of this model with full weights"


def test_a_gguf_file_is_not_quantized_again() -> None:
    file = Checkpoint("model.gguf", "gguf", path="/models/model.gguf", quantization={"quant_method": "gguf"})
    assert refusal(MI300X, file, quantization="8bit") == (
        PlanError,
        "a GGUF file cannot be quantized again while it is unpacked",
        "leave out --quantization, or name a checkpoint with full weights",
    )


def test_a_method_that_is_not_in_the_table_is_not_judged() -> None:
    odd = replace(QWEN, quantization={"quant_method": "brandnew"})
    assert make_plan(MI300X, Asks("x"), odd).quantization == Choice(
        "brandnew", "the checkpoint's own; the method is not in the table, so it was not judged"
    )


@pytest.mark.parametrize(
    ("config", "name"),
    [
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "bitsandbytes-4bit"),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "bitsandbytes-8bit"),
        ({"load_in_8bit": True}, "bitsandbytes-8bit"),
        ({"quant_method": "compressed-tensors", "format": "pack-quantized"}, "compressed-tensors"),
        ({"quant_method": "fp_quant"}, "fp-quant"),
        ({"quant_method": "brandnew"}, None),
        ({}, None),
    ],
)
def test_the_method_of_a_checkpoint(config: dict[str, object], name: str | None) -> None:
    found = by_checkpoint(config)
    assert (found.name if found else None) == name


def test_configs_are_json_with_class_names() -> None:
    assert quantization_config("torchao-int8", "bfloat16") == {
        "class": "TorchAoConfig",
        "quant_type": "Int8WeightOnlyConfig",
    }
    assert quantization_config("bitsandbytes-4bit", "auto") == {
        "class": "BitsAndBytesConfig",
        "load_in_4bit": True,
        "bnb_4bit_quant_type": "nf4",
        "bnb_4bit_compute_dtype": "bfloat16",
    }
    assert quantization_config(None, "bfloat16") is None
    assert quantization_config("gptq", "bfloat16") is None


@pytest.mark.parametrize(
    ("torch", "shipped", "fix"),
    [
        # Old releases compute 7 * 10 + 10 and look for "80".
        (TorchBuild("2.10", build="rocm", hip="7.10.25424", rocm="7.10.0"), ("63", "64", "70"), "70"),
        (TorchBuild("2.13", build="rocm", hip="7.13.1", rocm="7.14.0"), ("64", "70", "72", "715"), "72"),
        (TorchBuild("2.6", build="rocm", hip="6.1.0"), ("63", "72"), "63"),
        (TorchBuild("2.13", build="rocm", hip="7.14.0"), ("72", "714"), None),
        (TorchBuild("2.13", build="rocm", hip="7.14.0"), (), None),
        (TorchBuild("2.13", build="cpu"), ("72",), None),
    ],
)
def test_the_rocm_library_of_bitsandbytes(torch: TorchBuild, shipped: tuple[str, ...], fix: str | None) -> None:
    facts = replace(MI300X, stack=stack(bitsandbytes_rocm=shipped))
    found = rocm_library(replace(facts, stack=replace(facts.stack, torch=torch)))
    assert (found.fix if found else None) == (
        f"pip install -U bitsandbytes, or start Jupyter with BNB_ROCM_VERSION={fix}" if fix else None
    )


@pytest.mark.parametrize(
    ("name", "version"), [("72", (7, 2)), ("714", (7, 14)), ("63", (6, 3)), ("x", None), ("7", None)]
)
def test_library_names(name: str, version: tuple[int, int] | None) -> None:
    assert rocm_of(name) == version


def test_bitsandbytes_has_no_code_for_old_cards() -> None:
    found = verdicts(machine(gpu("gfx906"), archs=("gfx906",)))["bitsandbytes-8bit"]
    assert found == Verdict("no", "bitsandbytes has no code for gfx906", "use --quantization none")


@pytest.mark.parametrize(
    ("gfx", "dtype", "because"),
    [
        ("gfx942", "bfloat16", "gfx942 (CDNA3) has matrix units for it"),
        ("gfx1030", "bfloat16", "works, but slowly: gfx1030 (RDNA2) has no bfloat16 units"),
        ("gfx1030", "float16", "gfx1030 (RDNA2) computes it without matrix units"),
        ("gfx942", "float32", "works, with twice the memory of 16 bits"),
        ("gfx1399", "bfloat16", "gfx1399 is not in the table of targets"),
        (None, "bfloat16", "works, but CPUs compute 16-bit floats slowly"),
        (None, "float32", "what CPUs compute best"),
    ],
)
def test_dtypes(gfx: str | None, dtype: str, because: str) -> None:
    assert dtype_verdict(gpu(gfx) if gfx else None, dtype).because == because


@pytest.mark.parametrize(
    ("text", "gfx"),
    [
        ("10.3.0", "gfx1030"),
        ("9.0.10", "gfx90a"),
        ("11.0.0", "gfx1100"),
        ("gfx1030", None),
        ("10.3", None),
        (None, None),
    ],
)
def test_the_target_of_an_override(text: str | None, gfx: str | None) -> None:
    assert override_target(text) == gfx


def test_transformers_has_every_config_class_and_takes_our_arguments() -> None:
    transformers = pytest.importorskip("transformers", reason="needs the extra: models")
    for name, method in methods().items():
        if method.config is None or name.startswith(("torchao", "hqq")):  # these import their package at once
            continue
        arguments = {key: value for key, value in method.config.items() if key != "class"}
        built = getattr(transformers, method.config["class"])(**arguments)
        # What a checkpoint made with it would say in its config.json; quanto's four share one name.
        found = by_checkpoint(json.loads(built.to_json_string(use_diff=False)))
        assert found == method or (found is not None and found.method == method.method == "quanto"), name

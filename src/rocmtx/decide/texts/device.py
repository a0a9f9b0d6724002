"""Error texts about reaching the GPU: driver, masks, builds, architectures, SMI packages, faults.

Knows these texts and, through the deciding modules, this machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rocmtx.decide.absence import INSTALL_TORCH, mask_out, no_driver, why_no_gpu
from rocmtx.decide.capability import OVERRIDE_VARIABLE, gpu_name, other_wheel
from rocmtx.decide.explanation import Answer, TextRule

if TYPE_CHECKING:
    import re

    from rocmtx.facts.model import Facts, Gpu


def _no_gpus(_match: re.Match[str], facts: Facts | None) -> Answer:
    if facts is None:
        return "the ROCm runtime finds no GPU: no access to /dev/kfd, or a mask hides it", "%rocm doctor"
    verdict = why_no_gpu(facts)
    return f"the ROCm runtime finds no GPU: {verdict.because}", verdict.fix or "%rocm doctor"


def _kfd(_match: re.Match[str], facts: Facts | None) -> Answer:
    if facts is None or not facts.amd_gpus():
        return (
            "this account may not open /dev/kfd",
            "ls -l /dev/kfd names the group to join: sudo usermod -aG GROUP $USER, then log in again",
        )
    verdict = why_no_gpu(facts)
    return verdict.because, verdict.fix


def _not_compiled(_match: re.Match[str], facts: Facts | None) -> Answer:
    means = "this PyTorch has no GPU support in it; the word CUDA does not mean that NVIDIA is needed"
    if facts is None:
        return means, f"on an AMD GPU: {INSTALL_TORCH}"
    if not facts.amd_gpus():
        return f"{means}; there is no AMD GPU here either ({no_driver(facts).because})", "use --device cpu"
    verdict = why_no_gpu(facts)
    return f"{means}: {verdict.because}", verdict.fix


def _no_code(_match: re.Match[str], facts: Facts | None) -> Answer:
    means = "PyTorch sees the GPU, but has no code for its architecture"
    gpus = [gpu for gpu in facts.amd_gpus() if gpu.hip_ordinal is not None] if facts is not None else []
    if facts is None or not gpus:
        return means, "%rocm doctor"
    small = next((gpu for gpu in gpus if gpu.integrated), None)
    if small is not None and len(gpus) > 1:
        return (
            f"{means}; most likely it ran on {gpu_name(small)}, which is integrated",
            f"hide it: {mask_out(facts, small)}",
        )
    return _one_gpu(means, facts, gpus[0])


def _one_gpu(means: str, facts: Facts, gpu: Gpu) -> Answer:
    override = facts.stack.environment.get(OVERRIDE_VARIABLE)
    if override:
        return (
            f"{means} ({gpu.gfx}), and {OVERRIDE_VARIABLE}={override} is no cure",
            f"install a PyTorch build for {gpu.gfx}",
        )
    return f"{means} ({gpu.gfx})", other_wheel(gpu)


def _invalid_isa(_match: re.Match[str], facts: Facts | None) -> Answer:
    override = facts.stack.environment.get(OVERRIDE_VARIABLE) if facts is not None else None
    if facts is not None and override is None:
        return "code for another instruction set was started", "%rocm doctor"
    named = f"{OVERRIDE_VARIABLE}={override}" if override else OVERRIDE_VARIABLE
    return (
        f"{named} pretends another instruction set than the GPU has",
        f"unset {OVERRIDE_VARIABLE}, then restart Jupyter",
    )


def _tensile(match: re.Match[str], facts: Facts | None) -> Answer:
    gfx = match["gfx"]
    gpu = next((gpu for gpu in facts.amd_gpus() if gpu.gfx == gfx), None) if facts is not None else None
    means = f"the rocBLAS inside this PyTorch has no file for {gfx}, so it ended the process"
    return means, other_wheel(gpu) if gpu is not None else f"install a PyTorch build for {gfx}"


def _extension(_match: re.Match[str], facts: Facts | None) -> Answer:
    gpu = next((gpu for gpu in facts.amd_gpus() if gpu.hip_ordinal is not None), None) if facts is not None else None
    arch = gpu.gfx if gpu is not None and gpu.gfx else "the gfx name of this GPU"
    means = "bitsandbytes was built for another GPU"
    return means, f"pip install -U bitsandbytes; when building it yourself: BNB_ROCM_ARCH={arch}"


def _fault(match: re.Match[str], facts: Facts | None) -> Answer:
    node = int(match["node"])
    gpu = next((gpu for gpu in facts.gpus if gpu.kfd_node == node), None) if facts is not None else None
    which = (
        f"{gpu_name(gpu)}, {gpu.torch_device or gpu.address}"
        if gpu is not None
        else f"KFD node {node} (not cuda:{node})"
    )
    means = f"the GPU aborted the process: {which}"
    override = facts.stack.environment.get(OVERRIDE_VARIABLE) if facts is not None else None
    if override:
        return f"{means}; {OVERRIDE_VARIABLE}={override} is set", f"unset {OVERRIDE_VARIABLE}, then restart Jupyter"
    return means, "look at: sudo dmesg | tail; try another PyTorch build, and --attention eager"


def _hipblaslt(_match: re.Match[str], facts: Facts | None) -> Answer:
    fix = "update PyTorch, or start Jupyter with TORCH_BLAS_PREFER_HIPBLASLT=0"
    visible = [gpu for gpu in facts.amd_gpus() if gpu.hip_ordinal is not None] if facts is not None else []
    small = next((gpu for gpu in visible if gpu.integrated), None)
    if facts is None or small is None or len(visible) == 1:
        return "one of the visible GPUs is not in hipBLASLt's list; an integrated one is enough", fix
    means = f"every visible GPU has to be in hipBLASLt's list, and {gpu_name(small)}, which is integrated, is visible"
    return means, f"{mask_out(facts, small)} to hide it; or {fix}"


RULES: Final = (
    TextRule("kfd-refused", r"unable to open /dev/kfd read-write: permission denied", judge=_kfd),
    TextRule("not-compiled", r"torch not compiled with cuda enabled", judge=_not_compiled),
    TextRule(
        "mask-longer",
        r"HIP_VISIBLE_DEVICES contains more devices than ROCR_VISIBLE_DEVICES",
        "HIP_VISIBLE_DEVICES counts within what ROCR_VISIBLE_DEVICES leaves, and names more than that",
        "unset HIP_VISIBLE_DEVICES, then restart Jupyter",
    ),
    TextRule(
        "tensile",
        r"rocBLAS error: cannot read \S*TensileLibrary[^\n]*GPU arch ?: ?(?P<gfx>gfx[0-9a-f]+)",
        judge=_tensile,
    ),
    TextRule(
        "extension-arch", r"error invalid device function at line \d+ in file \S*bitsandbytes\S*", judge=_extension
    ),
    TextRule(
        "no-code-for-gpu",
        r"(invalid device function|device kernel image is invalid|hipErrorNoBinaryForGpu)",
        judge=_no_code,
    ),
    TextRule("invalid-isa", r"HSA_STATUS_ERROR_INVALID_ISA", judge=_invalid_isa),
    TextRule(
        "gpu-fault", r"(memory access fault by GPU node-|HW Exception by GPU node-)(?P<node>\d+)[^\n]*", judge=_fault
    ),
    TextRule(
        "hip-device-name",
        r"could not run 'aten::[^']+' with arguments from the 'HIP' backend",
        "PyTorch calls AMD GPUs \"cuda\"; 'hip' and 'rocm' are no device names for it",
        'write "cuda:0", or use --device 0 here',
    ),
    TextRule(
        "smi-name",
        r"name 'amdsmi' is not defined",
        "the package nvidia-ml-py (pynvml) makes PyTorch believe that AMD's SMI library is there",
        "pip uninstall nvidia-ml-py pynvml, then restart the kernel",
    ),
    TextRule(
        "smi-missing",
        r"KeyError: '(libamd_smi\.so|ROCM_PATH)'",
        "the package amdsmi is installed without its library, and breaks the import of PyTorch",
        "pip uninstall amdsmi, then restart the kernel",
    ),
    TextRule(
        "invalid-device-id",
        r"AssertionError: invalid device id",
        "PyTorch counts fewer GPUs than there are, or none: a separate amdsmi package beside a ROCm wheel does that",
        "pip uninstall amdsmi, then restart the kernel; if it is not installed: %rocm doctor",
    ),
    TextRule(
        "smi-start",
        r"can't initialize amdsmi - error code: 34",
        "AMD's SMI library finds no driver; under WSL and in some containers that is normal, computing works",
        harmless=True,
    ),
    TextRule(
        "smi-data",
        r"AMDSMI_STATUS_UNEXPECTED_DATA|error code: 43",
        "this virtual GPU does not report that reading; computing works",
        harmless=True,
    ),
    TextRule(
        "smi-asleep",
        r"expected integer value from monitor, but got|AMD GPU device\(s\) is/are in a low-power state",
        "the GPU is asleep, so it gives no readings; it wakes up when it is used",
        harmless=True,
    ),
    TextRule(
        "wsl-roctx",
        r"libroctx64\.so\.\d+: cannot open shared object file",
        "this PyTorch wheel needs ROCm libraries that are not installed; under WSL only AMD's own wheels work",
        "install the wheel that AMD's page for ROCm on WSL names",
    ),
    TextRule(
        "hipblaslt-fatal",
        r"RuntimeError: attempting to use hipBLASLt on an? unsupported architecture",
        judge=_hipblaslt,
    ),
    TextRule(
        "hipblaslt",
        r"attempting to use hipBLASLt on an? unsupported architecture! overriding",
        "PyTorch chose a slower matrix library for this GPU; the results are right",
        harmless=True,
    ),
    TextRule("no-hip-gpus", r"no HIP GPUs are available|hipErrorNoDevice|no ROCm-capable device", judge=_no_gpus),
)

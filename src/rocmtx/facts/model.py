"""A machine as a value: what was read of GPUs, host and software, and what could not be read.

Knows the shape and its JSON; must not know files, environment variables or torch. A field is a value or `None`;
`Facts.missing` says why a value is `None`. All values are raw: bytes, watts, hertz, ratios of 0–1; degrees carry `_c`.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from rocmtx.errors import ReportError
from rocmtx.facts.families import family_of

FORMAT_VERSION = 1

Why = Literal["absent", "refused", "empty", "invalid", "suspended", "not supported"]
Origin = Literal["live", "captured", "written", "report"]


@dataclass(frozen=True, slots=True)
class Missing:
    """One thing that could not be read: path or package, the kind of answer, and the detail (errno name, raw value)."""

    path: str
    why: Why
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Access:
    """Whether this account may open a device node, and who owns it. `opens` is None when it was not tried."""

    path: str
    exists: bool
    opens: bool | None = None
    error: str | None = None  # errno name: EACCES, EPERM, ENOENT, EBUSY…
    mode: str | None = None  # "crw-rw----"
    gid: int | None = None
    group: str | None = None  # None when the gid has no name here (common in containers)


@dataclass(frozen=True, slots=True)
class Partition:
    """This device's place in its socket: `index` of `count`, and the modes ("CPX", "NPS4") where they are known."""

    index: int
    count: int
    compute: str | None = None
    memory: str | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """One link from this GPU to another KFD node: type 2 is PCIe, 11 is XGMI."""

    node: int
    type: int
    weight: int | None = None


@dataclass(frozen=True, slots=True)
class Gpu:
    """One device that a HIP program can see, or a GPU of another vendor. Identity is `address` (and `gpu_id`).

    `kfd_node`, `hip_ordinal`, `amd_smi_index`, `render_minor` and `drm_card` number the same GPUs in five different
    orders. `hip_ordinal` is N of `cuda:N` under the environment that was read; None means hidden, and `hidden_because`
    says by what.
    """

    address: str  # PCI, "0000:c3:00.0"; unique together with gpu_id
    vendor: Literal["AMD", "NVIDIA", "other"] = "AMD"
    name: str | None = None
    gfx: str | None = None  # "gfx942", from KFD: an HSA override does not change it
    vendor_id: int | None = None
    device_id: int | None = None
    revision: int | None = None
    kfd_node: int | None = None
    gpu_id: int | None = None
    unique_id: str | None = None  # 16 hex digits; None where the hardware has none
    hive_id: str | None = None
    render_minor: int | None = None
    drm_card: int | None = None
    amd_smi_index: int | None = None
    hip_ordinal: int | None = None
    hidden_because: str | None = None
    mask_index: int | None = (
        None  # the number HIP_VISIBLE_DEVICES calls it by: its place in what ROCR_VISIBLE_DEVICES left
    )
    socket: str | None = None  # what partitions of one package share: "0000:05:00"
    partition: Partition | None = None
    compute_units: int | None = None
    xcc_count: int | None = None
    wave_size: int | None = None
    integrated: bool | None = None
    integrated_because: str | None = None
    vram_total: int | None = None
    vram_used: int | None = None
    kfd_memory: int | None = (
        None  # what KFD lets HIP allocate; on an APU neither the carve-out nor, always, the GTT limit
    )
    gtt_total: int | None = None
    gtt_used: int | None = None
    busy: float | None = None
    temperature_c: float | None = None
    hotspot_temperature_c: float | None = None
    memory_temperature_c: float | None = None
    power: float | None = None
    power_cap: float | None = None
    graphics_clock: float | None = None
    memory_clock: float | None = None
    power_state: Literal["active", "suspended"] | None = None
    telemetry_of: str | None = None  # "socket" where the reading belongs to the whole card, not to this partition
    vbios: str | None = None
    links: tuple[Link, ...] = ()
    render_access: Access | None = None

    @property
    def family(self) -> str | None:
        """AMD's name for the architecture, "CDNA3" for gfx942; None when the target is not known."""
        return family_of(self.gfx)

    @property
    def torch_device(self) -> str | None:
        """The device string that PyTorch uses for this GPU now: "cuda:0", or None when hidden."""
        return None if self.hip_ordinal is None else f"cuda:{self.hip_ordinal}"


@dataclass(frozen=True, slots=True)
class Host:
    """The machine around the GPUs. `kfd` is None when the kernel has no KFD at all (no amdgpu driver, WSL)."""

    kernel: str | None = None
    distribution: str | None = None
    machine: str | None = None  # "x86_64"
    cpu: str | None = None
    cpu_count: int | None = None
    memory_total: int | None = None
    memory_available: int | None = None
    memory_limit: int | None = None  # the cgroup's, in a container or a batch job
    ttm_pages_limit: int | None = None  # pages of 4 KiB that GPUs together may borrow from the RAM
    uid: int | None = None
    groups: tuple[str, ...] = ()  # names, or the number as text where a gid has no name
    gids: tuple[int, ...] = ()
    container: str | None = None  # "docker", "podman", "kubernetes", "apptainer"…; None = none recognised
    wsl: bool = False
    jupyterhub: bool = False
    amdgpu_loaded: bool | None = None
    kfd_topology: bool = False  # /sys/class/kfd exists
    kfd_access: Access | None = None  # /dev/kfd
    dxg_access: Access | None = None  # /dev/dxg, WSL only
    command_line: str | None = None  # those words of /proc/cmdline that concern GPUs: amdgpu., ttm., iommu…


@dataclass(frozen=True, slots=True)
class Package:
    """An installed Python package: version text, and a note where it is there but refused or unusable."""

    name: str
    version: str
    note: str | None = None


@dataclass(frozen=True, slots=True)
class TorchBuild:
    """What `torch/version.py` says, read as text. `build` is "rocm", "cuda" or "cpu"."""

    version: str
    build: Literal["rocm", "cuda", "cpu"] | None = None
    hip: str | None = None
    cuda: str | None = None
    rocm: str | None = None
    rocblas_archs: tuple[str, ...] = ()  # gfx names found among torch/lib/rocblas/library files; empty = not bundled


@dataclass(frozen=True, slots=True)
class TorchDevice:
    """One device as torch sees it, asked in a child process."""

    ordinal: int
    name: str
    gcn_arch: str | None = None
    total_memory: int | None = None
    free_memory: int | None = None
    compute_units_reported: int | None = None  # CUs on gfx9, half of them on gfx10 and later
    integrated: bool | None = None
    uuid: str | None = None
    address: str | None = None


@dataclass(frozen=True, slots=True)
class TorchView:
    """torch's own view, asked in a child process. `error` holds the child's message when it failed."""

    available: bool | None = None
    device_count: int | None = None
    raw_device_count: int | None = None
    arch_list: tuple[str, ...] = ()
    devices: tuple[TorchDevice, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Stack:
    """The software: ROCm, driver, torch, and the packages rocmtx cares about."""

    python: str | None = None
    rocm: str | None = None
    amdgpu: str | None = None
    torch: TorchBuild | None = None
    torch_view: TorchView | None = None  # only when it was asked for
    torch_predicts: int | None = (
        None  # GPUs that a ROCm build of torch expects from the environment alone (64 = no mask)
    )
    torch_predicts_error: str | None = None  # the error that it raises instead
    packages: tuple[Package, ...] = ()
    kernels_window: tuple[str, str] | None = None  # [min, max) that the installed transformers accepts
    bitsandbytes_rocm: tuple[str, ...] = ()  # "72" of libbitsandbytes_rocm72.so
    environment: dict[str, str] = field(default_factory=dict)  # only the variables that matter here

    def version(self, package: str) -> str | None:
        """Return the installed version of a package, or None when it is absent."""
        return next((found.version for found in self.packages if found.name == package), None)


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything read of one machine at one time. `origin` tells a live machine from a recorded one."""

    host: Host = field(default_factory=Host)
    gpus: tuple[Gpu, ...] = ()
    stack: Stack = field(default_factory=Stack)
    missing: tuple[Missing, ...] = ()
    taken_at: float | None = None
    origin: Origin = "live"
    label: str | None = None  # "mi300x-8", or the report's file name

    @property
    def recorded(self) -> bool:
        """True for a machine that is replayed: views mark it, and nothing can be run on it."""
        return self.origin != "live"

    def amd_gpus(self) -> tuple[Gpu, ...]:
        """Return the AMD GPUs only."""
        return tuple(gpu for gpu in self.gpus if gpu.vendor == "AMD")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A model as facts, from its config and file headers alone. `path` is the local folder or file, where there is one.

    `cached` is None unless the source is the hub. `weight_bytes` are the bytes on disk, `dtype` that of their largest
    part. For GGUF it is "float32": Transformers turns the file into that unless a dtype is asked for.
    """

    name: str
    source: Literal["demo", "folder", "gguf", "hub"]
    path: str | None = None
    cached: bool | None = None
    model_type: str | None = None
    architecture: str | None = None
    config: dict[str, Any] = field(default_factory=dict)
    weight_bytes: int | None = None
    parameters: int | None = None
    dtype: str | None = None  # "bfloat16", torch's name
    quantization: dict[str, Any] | None = None
    missing: tuple[Missing, ...] = ()


Shape = TypeVar("Shape")


def to_json(value: Any) -> Any:
    """Turn facts into JSON: dataclasses become objects without their `None`s, tuples become lists."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        items = ((entry.name, getattr(value, entry.name)) for entry in dataclasses.fields(value))
        return {name: to_json(item) for name, item in items if item not in (None, (), {})}
    if isinstance(value, tuple | list):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    return value


def facts_to_json(facts: Facts) -> dict[str, Any]:
    """Return a report: the facts with a format version."""
    return {"rocmtx_report": FORMAT_VERSION, **to_json(facts)}


def facts_from_json(report: Any) -> Facts:
    """Read a report; what a partial one lacks is unknown. Raises ReportError on a foreign, newer or damaged file."""
    if not isinstance(report, dict):
        raise ReportError(
            "this is no rocmtx report: the file holds no JSON object", "make one with: rocmtx report -o FILE"
        )
    version = report.get("rocmtx_report", FORMAT_VERSION)
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise ReportError(
            f"this report has format {version}, this rocmtx reads up to {FORMAT_VERSION}",
            "update it: pip install -U rocmtx",
        )
    body = {key: value for key, value in report.items() if key != "rocmtx_report"}
    try:
        return _build(Facts, body, "report")
    except (TypeError, ValueError, AttributeError) as error:
        raise ReportError(f"this report is damaged: {error}", "make a new one with: rocmtx report -o FILE") from None


def _build(kind: type[Shape], value: Any, where: str) -> Shape:
    """Fill a dataclass from JSON. Unknown keys are ignored: older versions read newer reports of the same format."""
    if not isinstance(value, dict):
        raise TypeError(f"{where} is {type(value).__name__}, not an object")
    hints = get_type_hints(kind)
    known = {entry.name for entry in dataclasses.fields(cast("Any", kind))}
    return kind(
        **{name: _convert(hints[name], item, f"{where}.{name}") for name, item in value.items() if name in known}
    )


def _convert(hint: Any, value: Any, where: str) -> Any:  # noqa: PLR0911 - one line per kind of type
    if value is None:
        return None
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is tuple and arguments[-1] is Ellipsis:
        if not isinstance(value, list):
            raise TypeError(f"{where} is {type(value).__name__}, not a list")
        return tuple(_convert(arguments[0], item, f"{where}[{at}]") for at, item in enumerate(value))
    if origin is tuple:
        return tuple(value)
    if origin is Literal:
        if value not in arguments:
            raise ValueError(f"{where} is {value!r}, not one of {', '.join(map(str, arguments))}")
        return value
    if arguments and origin is not dict:  # X | None
        return _convert(next(kind for kind in arguments if kind is not type(None)), value, where)
    if dataclasses.is_dataclass(hint):
        return _build(cast("type[Any]", hint), value, where)
    return _scalar(hint, value, where)


def _scalar(hint: Any, value: Any, where: str) -> Any:
    accepted: dict[Any, tuple[type, ...]] = {int: (int,), float: (int, float), str: (str,), bool: (bool,)}
    kinds = accepted.get(hint)
    if kinds is not None and (not isinstance(value, kinds) or (hint is not bool and isinstance(value, bool))):
        raise TypeError(f"{where} is {value!r}, expected {hint.__name__}")
    return value

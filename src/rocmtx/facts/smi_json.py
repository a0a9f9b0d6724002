"""The JSON of `amd-smi` and `rocm-smi`, in every shape that their versions print.

Knows keys and units of those tools; must not start them. Any leaf, and any subtree, may be the text "N/A": the value
is then unknown, never 0. Percentages of memory are not taken from the tools: some scale them wrongly. Sources:
amd-smi's CHANGELOG and CLI, rocm_smi.py; shapes differ by version, so none is asked for, all are tried.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Any, Final

from rocmtx.facts.drm import unique_id
from rocmtx.facts.tree import parse_integer

# amd-smi writes MB and means MiB: 196592 "MB" of an MI300X are 201310208 KiB.
_FACTORS: Final = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "%": 0.01, "W": 1, "C": 1, "MHz": 1e6, "": 1}
_NUMBER: Final = re.compile(r"\s*(-?[0-9]{1,20}(?:\.[0-9]{1,20})?)\s*([A-Za-z%°]*)\s*")
_NOT_REPORTED: Final = 0xFFFF
_OPENING: Final = re.compile(r"[\[{]")
_MOST_FAILURES: Final = 200  # brackets in warnings are few; each costs a walk through the rest of the text
_CARD: Final = re.compile(r"card([0-9]{1,6})")
_UUID: Final = re.compile(r"([0-9a-f]{2})ff[0-9a-f]{4}-0000-1000-80([0-9a-f]{2})-([0-9a-f]{12})")
_BDF: Final = re.compile(r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")


@dataclass(frozen=True, slots=True)
class SmiGpu:
    """One row of a tool. `index` is that tool's own number, which is no HIP ordinal."""

    index: int
    address: str | None = None
    gpu_id: int | None = None
    unique_id: str | None = None
    device_id: int | None = None
    name: str | None = None
    gfx: str | None = None
    vram_total: int | None = None
    vram_used: int | None = None
    busy: float | None = None
    memory_busy: float | None = None
    power: float | None = None
    power_cap: float | None = None
    temperature_c: float | None = None
    hotspot_temperature_c: float | None = None
    memory_temperature_c: float | None = None
    compute_partition: str | None = None
    memory_partition: str | None = None


def unique_id_of_uuid(uuid: str) -> str | None:
    """Take the unique id out of amd-smi's UUID: "afff74a1-0000-1000-8054-e92b0a5d57c8" -> "af54e92b0a5d57c8".

    None for a UUID of another form, such as the random ones of newest versions.
    """
    match = _UUID.fullmatch(uuid.lower())
    return unique_id("".join(match.groups())) if match else None


def documents(text: str) -> list[Any]:
    """Return every JSON document in a text; what stands before, between and behind them is skipped.

    A warning line may itself begin with a bracket; what does not parse from there on is skipped too.
    """
    decoder = json.JSONDecoder()
    found: list[Any] = []
    at = failures = 0
    while failures < _MOST_FAILURES and (match := _OPENING.search(text, at)) is not None:
        try:
            value, at = decoder.raw_decode(text, match.start())
            found.append(value)
        except (ValueError, RecursionError):
            at = match.end()
            failures += 1
    return found


def rows(text: str) -> list[dict[str, Any]]:
    """Return amd-smi's rows by `gpu`, from a bare list, {"gpu_data": […]}, one object, or several documents."""
    found: dict[int, dict[str, Any]] = {}
    for document in documents(text):
        body = document.get("gpu_data", document) if isinstance(document, dict) else document
        for row in body if isinstance(body, list) else [body]:
            index = row.get("gpu") if isinstance(row, dict) else None
            if isinstance(index, int) and not isinstance(index, bool):
                found[index] = {**found.get(index, {}), **row}
    return [found[index] for index in sorted(found)]


def number(value: Any, unit: str = "") -> float | None:
    """Read a leaf: {"value": 42, "unit": "%"}, "42 %", 42 or "42". None for "N/A", "", text, 65535 and other shapes.

    The result is in bytes, watts, hertz, degrees or a ratio; `unit` counts where the leaf names none.
    """
    if isinstance(value, dict):
        own = value.get("unit")
        return number(value.get("value"), own if isinstance(own, str) else unit)
    if isinstance(value, bool) or value is None:
        return None
    match = _NUMBER.fullmatch(str(value)[:64])
    if match is None or float(match[1]) == _NOT_REPORTED:
        return None
    factor = _FACTORS.get((match[2] or unit).lstrip("°"))
    return None if factor is None else float(match[1]) * factor


def amd_smi_gpus(*texts: str) -> tuple[SmiGpu, ...]:
    """Merge the JSON of `amd-smi list`, `static` and `metric` by amd-smi's index."""
    merged: dict[int, dict[str, Any]] = {}
    for text in texts:
        for row in rows(text):
            merged[row["gpu"]] = {**merged.get(row["gpu"], {}), **row}
    return tuple(_amd_smi_gpu(index, row) for index, row in sorted(merged.items()))


def rocm_smi_gpus(text: str) -> tuple[SmiGpu, ...]:
    """Read `rocm-smi -a --json`: {"card0": {…}, "system": {…}}, all values text, keys by version."""
    found: dict[int, SmiGpu] = {}
    for document in documents(text):
        for key, row in document.items() if isinstance(document, dict) else ():
            match = _CARD.fullmatch(key)
            if match and isinstance(row, dict):
                found[int(match[1])] = _rocm_smi_gpu(int(match[1]), row)
    return tuple(found[index] for index in sorted(found))


def _amd_smi_gpu(index: int, row: dict[str, Any]) -> SmiGpu:
    used = _whole(_at(row, "mem_usage", "used_vram"), "MB")
    total = _whole(_at(row, "mem_usage", "total_vram"), "MB")
    gpu = SmiGpu(
        index,
        address=_address(row.get("bdf") or _at(row, "bus", "bdf")),
        gpu_id=_identity(row.get("kfd_id")),
        unique_id=unique_id(_word(_at(row, "asic", "asic_serial"))) or unique_id_of_uuid(_word(row.get("uuid")) or ""),
        device_id=_hexadecimal(_at(row, "asic", "device_id")),
        name=_word(_at(row, "board", "product_name")) or _word(_at(row, "asic", "market_name")),
        gfx=_word(_at(row, "asic", "target_graphics_version")),
        vram_total=total if total is not None else _whole(_at(row, "vram", "size"), "MB"),
        vram_used=used,
        busy=number(_at(row, "usage", "gfx_activity"), "%"),
        memory_busy=number(_at(row, "usage", "umc_activity"), "%"),
        power=number(_at(row, "power", "socket_power"), "W"),
        power_cap=number(_at(row, "limit", "max_power"), "W"),
    )
    return replace(
        gpu,
        temperature_c=number(_at(row, "temperature", "edge"), "C"),
        hotspot_temperature_c=number(_at(row, "temperature", "hotspot"), "C"),
        memory_temperature_c=number(_at(row, "temperature", "mem"), "C"),
        compute_partition=_partition(row, "accelerator_partition") or _partition(row, "compute_partition"),
        memory_partition=_partition(row, "memory_partition"),
    )


def _rocm_smi_gpu(index: int, row: dict[str, Any]) -> SmiGpu:
    def temperature(sensor: str) -> float | None:
        return number(row.get(f"Temperature (Sensor {sensor}) (C)"), "C")

    average = number(row.get("Average Graphics Package Power (W)"), "W")
    current = number(row.get("Current Socket Graphics Package Power (W)"), "W")
    series = _word(row.get("Card Series")) or _word(row.get("Card series"))
    return SmiGpu(
        index,
        address=_address(row.get("PCI Bus")),
        gpu_id=_identity(row.get("GUID")),
        unique_id=unique_id(_word(row.get("Unique ID"))),
        device_id=_hexadecimal(row.get("Device ID") or row.get("GPU ID")),
        name=None if series and series.startswith("0x") else series,  # ROCm 4.3 printed the vendor's id here
        gfx=_word(row.get("GFX Version")),
        vram_total=_whole(row.get("VRAM Total Memory (B)"), "B"),
        vram_used=_whole(row.get("VRAM Total Used Memory (B)"), "B"),
        busy=number(row.get("GPU use (%)"), "%"),
        memory_busy=number(row.get("GPU Memory Read/Write Activity (%)"), "%"),
        power=average if average is not None else current,
        power_cap=number(row.get("Max Graphics Package Power (W)"), "W"),
        temperature_c=temperature("edge"),
        hotspot_temperature_c=temperature("junction"),
        memory_temperature_c=temperature("memory"),
        compute_partition=_word(row.get("Compute Partition")),
        memory_partition=_word(row.get("Memory Partition")),
    )


def _at(row: dict[str, Any], *keys: str) -> Any:
    value: Any = row
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _word(value: Any) -> str | None:
    text = value.strip() if isinstance(value, str) else ""
    return None if not text or text.startswith("N/A") else text


def _whole(value: Any, unit: str) -> int | None:
    found = number(value, unit)
    return None if found is None else int(found)


def _hexadecimal(value: Any) -> int | None:
    return value if isinstance(value, int) else parse_integer(_word(value) or "", 16)


def _identity(value: Any) -> int | None:
    found = value if isinstance(value, int) else parse_integer(_word(value) or "")
    return found if found is not None and 0 < found < 1 << 32 and not isinstance(found, bool) else None


def _address(value: Any) -> str | None:
    # amd-smi 6 wrote its error messages into this field.
    return value.lower() if isinstance(value, str) and _BDF.fullmatch(value) else None


def _partition(row: dict[str, Any], key: str) -> str | None:
    value = _at(row, "partition", key)
    return _word(value.get("profile_type") or value.get("type")) if isinstance(value, dict) else _word(value)

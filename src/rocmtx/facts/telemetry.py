"""What changes from second to second on a card: load, temperatures, power, clocks.

Knows the driver's and hwmon's files of one awake card; must not know which card that is. A reading that the driver
does not give, or that cannot be true, is None. Source: the kernel's Documentation/gpu/amdgpu/thermal.rst and
amdgpu_pm.c.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rocmtx.facts.tree import Tree

_CURRENT: Final = re.compile(r"^[0-9S]{1,3}:\s*([0-9]{1,9})\s*Mhz\s*\*", re.MULTILINE | re.IGNORECASE)
# Without labels the driver numbers its sensors in this order.
_SENSORS: Final = {1: "edge", 2: "junction", 3: "mem"}
# Limits of what can be true: firmware writes 65535 into what it does not have.
_DEGREES: Final = (-60.0, 250.0)
_WATTS: Final = (0.0, 20_000.0)
_HERTZ: Final = (0.0, 20e9)


@dataclass(frozen=True, slots=True)
class Telemetry:
    """Readings of one card: ratio, degrees Celsius, watts, hertz."""

    busy: float | None = None
    temperature_c: float | None = None
    hotspot_temperature_c: float | None = None
    memory_temperature_c: float | None = None
    power: float | None = None
    power_cap: float | None = None
    graphics_clock: float | None = None
    memory_clock: float | None = None


def read_telemetry(tree: Tree, device: str) -> Telemetry:
    """Read an awake card. `device` is its folder under /sys; reading a sleeping one would wake it."""
    hwmon = _hwmon(tree, device)
    temperatures = _temperatures(tree, hwmon) if hwmon else {}
    return Telemetry(
        busy=_busy(tree, f"{device}/gpu_busy_percent"),
        temperature_c=temperatures.get("edge"),
        hotspot_temperature_c=temperatures.get("junction"),
        memory_temperature_c=temperatures.get("mem"),
        power=_power(tree, hwmon),
        power_cap=_scaled(tree, f"{hwmon}/power1_cap", 1e6, _WATTS, expected=False) if hwmon else None,
        graphics_clock=_clock(tree, hwmon, "freq1_input", f"{device}/pp_dpm_sclk"),
        memory_clock=_clock(tree, hwmon, "freq2_input", f"{device}/pp_dpm_mclk"),
    )


def _hwmon(tree: Tree, device: str) -> str | None:
    for name in tree.names(f"{device}/hwmon"):
        if name.startswith("hwmon"):
            return f"{device}/hwmon/{name}"
    return None


def _temperatures(tree: Tree, hwmon: str) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    present = set(tree.names(hwmon, expected=False))
    for number, usual in _SENSORS.items():
        if f"temp{number}_input" not in present:
            continue  # MI300 has no edge sensor, an APU only that one
        label = tree.text(f"{hwmon}/temp{number}_label", expected=False) or usual
        found[label] = _scaled(tree, f"{hwmon}/temp{number}_input", 1e3, _DEGREES)
    if not found:
        tree.note(f"{hwmon}/temp1_input", "absent")
    return found


def _power(tree: Tree, hwmon: str | None) -> float | None:
    # Older cards average, MI300 gives the moment, APUs both.
    if hwmon is None:
        return None
    average = _scaled(tree, f"{hwmon}/power1_average", 1e6, _WATTS, expected=False)
    return average if average is not None else _scaled(tree, f"{hwmon}/power1_input", 1e6, _WATTS)


def _clock(tree: Tree, hwmon: str | None, name: str, levels: str) -> float | None:
    if hwmon is not None:
        found = _scaled(tree, f"{hwmon}/{name}", 1, _HERTZ, expected=False)
        if found is not None:
            return found
    match = _CURRENT.search(tree.text(levels, expected=False) or "")
    return float(match[1]) * 1e6 if match else None


def _busy(tree: Tree, path: str) -> float | None:
    return _scaled(tree, path, 100, (0.0, 1.0))


def _scaled(
    tree: Tree, path: str, divisor: float, limits: tuple[float, float], *, expected: bool = True
) -> float | None:
    raw = tree.integer(path, expected=expected)
    if raw is None:
        return None
    value = raw / divisor
    if limits[0] <= value <= limits[1]:
        return value
    tree.note(path, "not supported", str(raw))
    return None

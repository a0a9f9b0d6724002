"""The text of `rocminfo`: what the HSA runtime itself lists, masks and overrides applied.

Knows the layout of that text; must not start the tool. It differs from KFD where an HSA override or a mask is at work,
which is what it is good for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from rocmtx.facts.tree import parse_integer

_AGENT: Final = re.compile(r"^Agent [0-9]+\s*$", re.MULTILINE)
_FIELD: Final = re.compile(r"^  ([A-Z][^:\n]*):[ \t]+(\S[^\n]*?)[ \t]*$", re.MULTILINE)
_POOL: Final = re.compile(r"Segment:\s+GLOBAL[^\n]*\n\s+Size:\s+([0-9]{1,16})\(")
_ISA: Final = re.compile(r"^\s+Name:\s+(amdgcn-amd-amdhsa--\S+)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class RocmAgent:
    """One GPU agent. This text has no PCI domain; `isa` is the first, specific one ("…--gfx942:sramecc+:xnack-")."""

    node: int | None
    gfx: str | None
    name: str | None
    uuid: str | None
    device_id: int | None
    slot: str | None  # "26:00.0"
    compute_units: int | None
    memory: int | None
    apu: bool
    isa: str | None


def gpu_agents(text: str) -> tuple[RocmAgent, ...]:
    """Read the GPU agents in the runtime's order; CPU agents and other text are skipped."""
    parts = _AGENT.split(text)[1:]
    agents = [(dict(reversed(_FIELD.findall(part))), part) for part in parts]
    return tuple(_agent(fields, part) for fields, part in agents if fields.get("Device Type") == "GPU")


def in_wsl(text: str) -> bool:
    """Whether rocminfo says that it runs under the Windows Subsystem for Linux."""
    return "WSL environment detected" in text


def _agent(fields: dict[str, str], part: str) -> RocmAgent:
    location = _first(fields.get("BDFID"))
    sizes = [int(size) * 1024 for size in _POOL.findall(part)]
    isa = _ISA.search(part)
    uuid = fields.get("Uuid")
    return RocmAgent(
        node=_first(fields.get("Node")),
        gfx=fields.get("Name"),
        name=fields.get("Marketing Name"),
        uuid=uuid if uuid and uuid != "GPU-XX" else None,
        device_id=_first(fields.get("Chip ID")),
        slot=None if location is None else f"{location >> 8 & 0xFF:02x}:{location >> 3 & 0x1F:02x}.{location & 7:x}",
        compute_units=_first(fields.get("Compute Unit")),
        memory=max(sizes, default=None),
        apu="APU" in fields.get("Memory Properties", ""),
        isa=isa[1] if isa else None,
    )


def _first(text: str | None) -> int | None:
    return parse_integer(text.split("(")[0]) if text else None

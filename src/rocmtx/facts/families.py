"""AMD's names of its architectures: "CDNA3" for gfx942.

Knows names only: what a family can do is judged in `decide`. Source: AMD's GPU architecture table (ROCm documentation,
2026).
"""

from __future__ import annotations

from typing import Final

# By target, or by the part of it that a family shares; the longest match counts.
FAMILIES: Final = {
    "gfx803": "GCN4",
    "gfx900": "GCN5",
    "gfx906": "GCN5.1",
    "gfx90c": "GCN5",
    "gfx908": "CDNA1",
    "gfx90a": "CDNA2",
    "gfx942": "CDNA3",
    "gfx950": "CDNA4",
    "gfx1250": "CDNA5",
    "gfx101": "RDNA1",
    "gfx103": "RDNA2",
    "gfx110": "RDNA3",
    "gfx115": "RDNA3.5",
    "gfx120": "RDNA4",
}


def family_of(gfx: str | None) -> str | None:
    """Return the architecture's name; None when the target is not known."""
    known = [start for start in FAMILIES if gfx is not None and gfx.startswith(start)]
    return FAMILIES[max(known, key=len)] if known else None

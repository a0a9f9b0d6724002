"""Which devices share a socket: partitions of an MI300, and the two dies of an MI250X.

Knows addresses, dies per product and links; must not know files. Unknown stays None: with two possible layouts none is
named.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from rocmtx.facts.model import Partition
from rocmtx.facts.names import product

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocmtx.facts.sysfs import KfdNode

# How AMD calls a socket cut into so many devices; cut into single dies it is CPX, however many those are.
_MODES: Final = {1: "SPX", 2: "DPX", 3: "TPX", 4: "QPX"}
_TWO_DIES: Final = frozenset({0x7408, 0x740C})  # MI250X, MI250: two devices in each package


def sockets(nodes: Sequence[KfdNode]) -> dict[int, str]:
    """Map each node to its socket: "0000:05:00".

    Partitions share bus and device number and the unique id. Nodes at one address with different unique ids are
    different sockets all the same; they get the unique id behind the address.
    """
    ids: dict[str, set[str | None]] = defaultdict(set)
    for node in nodes:
        ids[_slot(node)].add(node.unique_id)
    named = {
        node.node: _slot(node) if len(ids[_slot(node)]) == 1 else f"{_slot(node)}#{node.unique_id or node.node}"
        for node in nodes
    }
    return named | _packages(nodes, named)


def partitions(
    nodes: Sequence[KfdNode], socket_of: Mapping[int, str], modes: Mapping[str, tuple[str | None, str | None]]
) -> dict[int, Partition]:
    """Map nodes of partitioned sockets to their place. `modes` holds (compute, memory) by socket, as the driver says.

    An undivided socket has a place, 0 of 1, only when the driver says its mode.
    """
    members: dict[str, list[KfdNode]] = defaultdict(list)
    for node in nodes:
        members[socket_of[node.node]].append(node)
    found: dict[int, Partition] = {}
    for socket, group in members.items():
        compute, memory = modes.get(socket, (None, None))
        if _are_dies(group):
            continue
        count = _count(group)
        if count == 1 and compute is None:
            continue
        for index, node in zip(_indexes(group, count), group, strict=True):
            found[node.node] = Partition(index, count, compute or _mode(group[0], count), memory)
    return found


def _slot(node: KfdNode) -> str:
    return node.address.rpartition(".")[0] or node.address


def _count(group: Sequence[KfdNode]) -> int:
    """Return the partitions of the socket: the product's dies over those of one device, else as many as are seen."""
    known = product(group[0].device_id)
    dies = group[0].xcc_count
    if known and known.xcds and known.xcds > 1 and dies and dies > 0 and known.xcds % dies == 0:
        return max(known.xcds // dies, len(group))
    return len(group)


def _indexes(group: Sequence[KfdNode], count: int) -> list[int]:
    numbers = [node.function for node in group]
    # A socket may lack a partition (recorded: 7 of 8), so the address gives the number where it can.
    if len(set(numbers)) == len(numbers) and max(numbers) < count:
        return numbers
    return list(range(len(group)))


def _mode(node: KfdNode, count: int) -> str | None:
    if count > 1 and node.xcc_count == 1:
        return "CPX"
    return _MODES.get(count)


def _are_dies(group: Sequence[KfdNode]) -> bool:
    return len(group) > 1 and all(node.device_id in _TWO_DIES for node in group)


def _packages(nodes: Sequence[KfdNode], named: Mapping[int, str]) -> dict[int, str]:
    """Pair the dies of MI250X packages: inside one there are more XGMI lanes than to any other device.

    A die whose best neighbour is not unique, or does not agree, keeps its own socket.
    """
    best = {node.node: _best_neighbour(node) for node in nodes if node.device_id in _TWO_DIES}
    return {
        node: named[min(node, other)] for node, other in best.items() if other is not None and best.get(other) == node
    }


def _best_neighbour(node: KfdNode) -> int | None:
    ranked = sorted(node.bandwidths.items(), key=lambda pair: pair[1], reverse=True)
    if not ranked or (len(ranked) > 1 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]

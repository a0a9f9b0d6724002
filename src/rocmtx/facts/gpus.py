"""All GPUs of a machine, joined from the compute driver, the graphics driver and the PCI bus by their PCI address.

Knows which source answers which field; must not know environment variables. Never joined by position: the five
numberings of the same GPUs are five different orders.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from rocmtx.facts.access import device_access
from rocmtx.facts.drm import Card, cards_by_render, read_cards
from rocmtx.facts.model import Gpu, Partition
from rocmtx.facts.names import Names, kind_of, product
from rocmtx.facts.partitions import partitions, sockets
from rocmtx.facts.pci import AMD, PciGpu, address_key, read_pci
from rocmtx.facts.sysfs import NODES, KfdNode, read_nodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocmtx.facts.tree import Tree


def read_gpus(tree: Tree, groups: dict[int, str]) -> tuple[Gpu, ...]:
    """Read the GPUs: those of KFD in its order, then AMD GPUs without compute driver, then those of other vendors."""
    nodes = read_nodes(tree)
    cards = read_cards(tree)
    names = Names(tree)
    gpus = _of_nodes(tree, nodes, cards, names)
    seen = {gpu.address for gpu in gpus} | {gpu.socket + ".0" for gpu in gpus if gpu.socket}
    gpus += [_of_card(card, names, refused=_refused_nodes(tree)) for card in cards if _card_address(card) not in seen]
    seen |= {gpu.address for gpu in gpus}
    gpus += [_of_pci(found, names) for found in read_pci(tree) if found.address not in seen]
    return _numbered(tuple(_with_access(tree, gpu, groups) for gpu in gpus))


def _of_nodes(tree: Tree, nodes: Sequence[KfdNode], cards: Sequence[Card], names: Names) -> list[Gpu]:
    by_address = {card.address: card for card in cards if card.address}
    by_render = {card.render_minor: card for card in cards if card.render_minor is not None}
    card_numbers = cards_by_render(tree) if nodes else {}
    socket_of = sockets(nodes)
    parent: dict[int, Card | None] = {}
    for node in nodes:
        slot = node.address.rpartition(".")[0]
        exact = by_render.get(node.render_minor) if node.render_minor is not None else None
        parent[node.node] = by_address.get(node.address) or by_address.get(f"{slot}.0") or exact
    modes = {
        socket_of[number]: (card.compute_partition, card.memory_partition)
        for number, card in parent.items()
        if card is not None
    }
    places = partitions(nodes, socket_of, modes)
    return [
        _merged(node, parent[node.node], socket_of[node.node], places.get(node.node), names, card_numbers)
        for node in nodes
    ]


def _merged(  # noqa: PLR0917 - the sources of one GPU
    node: KfdNode,
    card: Card | None,
    socket: str,
    place: Partition | None,
    names: Names,
    card_numbers: dict[int, int],
) -> Gpu:
    divided = place is not None and place.count > 1
    render = node.render_minor
    base = Gpu(
        node.address,
        gfx=node.gfx,
        vendor_id=node.vendor_id,
        device_id=node.device_id,
        kfd_node=node.node,
        gpu_id=node.gpu_id,
        unique_id=node.unique_id,
        hive_id=node.hive_id,
        render_minor=render,
        drm_card=card_numbers.get(render) if render is not None else None,
        socket=socket,
        partition=place,
        compute_units=node.compute_units,
        xcc_count=node.xcc_count,
        wave_size=node.wave_size,
        kfd_memory=node.memory,
        links=node.links,
    )
    if card is not None:
        base = _with_card(base, card, divided=divided)
    base = _with_kind(base, card, shares_node=node.has_cpu)
    return dataclasses.replace(
        base,
        name=(card.product_name if card else None) or names.name(base.device_id, base.revision),
        vram_total=_vram_total(base, card, node, divided=divided),
        vram_used=node.memory_used if divided else (card.vram_used if card else node.memory_used),
    )


def _vram_total(gpu: Gpu, card: Card | None, node: KfdNode, *, divided: bool) -> int | None:
    """Return VRAM: the partition's bank, else the driver's number; the bank of an APU is no VRAM."""
    if divided:
        return node.memory
    if card is not None and card.vram_total is not None:
        return card.vram_total
    return None if gpu.integrated else node.memory


def _with_card(gpu: Gpu, card: Card, *, divided: bool) -> Gpu:
    """Add what the graphics driver says. A divided card's readings are the socket's; its first partition shows them."""
    gpu = dataclasses.replace(
        gpu,
        revision=card.revision,
        drm_card=gpu.drm_card if gpu.drm_card is not None or divided else card.number,
        device_id=gpu.device_id if gpu.device_id is not None else card.device_id,
        vendor_id=gpu.vendor_id if gpu.vendor_id is not None else AMD,
        unique_id=gpu.unique_id or card.unique_id,
        render_minor=gpu.render_minor if gpu.render_minor is not None or divided else card.render_minor,
        vbios=card.vbios,
        power_state=card.power_state,
    )
    first = gpu.partition is None or gpu.partition.index == 0
    if divided and not first:
        return gpu
    return dataclasses.replace(
        gpu,
        gtt_total=card.gtt_total,
        gtt_used=card.gtt_used,
        telemetry_of="socket" if divided else None,
        **{entry.name: getattr(card.telemetry, entry.name) for entry in dataclasses.fields(card.telemetry)},
    )


def _with_kind(gpu: Gpu, card: Card | None, *, shares_node: bool) -> Gpu:
    kind = kind_of(gpu.device_id, gpu.gfx)
    if kind is None and shares_node:
        kind = (True, "it shares a KFD node with CPU cores")
    if kind is None and card is not None and card.has_board is not None:
        has = "names the maker of its memory chips" if card.has_board else "names no memory chips of its own"
        kind = (not card.has_board, f"its driver {has}")
    return gpu if kind is None else dataclasses.replace(gpu, integrated=kind[0], integrated_because=kind[1])


def _card_address(card: Card) -> str:
    return card.address or f"drm-card{card.number}"


def _refused_nodes(tree: Tree) -> bool:
    """Whether the kernel refused a KFD node, as it does for GPUs that a container was not given."""
    return any(note.why == "refused" and note.path.startswith(NODES) for note in tree.missing)


def _of_card(card: Card, names: Names, *, refused: bool) -> Gpu:
    known = product(card.device_id, card.revision)
    gpu = Gpu(
        _card_address(card),
        hidden_because="the kernel refuses its KFD node: this container was not given the GPU" if refused else None,
        name=card.product_name or names.name(card.device_id, card.revision),
        gfx=known.gfx if known else None,
        vram_total=card.vram_total,
        vram_used=card.vram_used,
    )
    return _with_kind(_with_card(gpu, card, divided=False), card, shares_node=False)


def _of_pci(found: PciGpu, names: Names) -> Gpu:
    if found.vendor_id != AMD:
        return Gpu(
            found.address,
            vendor="NVIDIA",
            name=found.name,
            vendor_id=found.vendor_id,
            device_id=found.device_id,
            revision=found.revision,
            unique_id=found.uuid,
            hidden_because=None if found.present else "its device node was not passed into this container",
        )
    known = product(found.device_id, found.revision)
    holder = f"the driver {found.driver} holds it" if found.driver else "no driver holds it: amdgpu is not loaded"
    gpu = Gpu(
        found.address,
        name=names.name(found.device_id, found.revision),
        gfx=known.gfx if known else None,
        vendor_id=found.vendor_id,
        device_id=found.device_id,
        revision=found.revision,
        hidden_because=None if found.driver == "amdgpu" else holder,
    )
    return _with_kind(gpu, None, shares_node=False)


def _with_access(tree: Tree, gpu: Gpu, groups: dict[int, str]) -> Gpu:
    if gpu.render_minor is None:
        return gpu
    path = f"/dev/dri/renderD{gpu.render_minor}"
    access = device_access(tree, path, groups, wake=gpu.power_state != "suspended")
    return dataclasses.replace(gpu, render_access=access)


def _numbered(gpus: tuple[Gpu, ...]) -> tuple[Gpu, ...]:
    """Add amd-smi's index: it sorts AMD GPUs by PCI address, partitions by their number."""
    listed = [gpu for gpu in gpus if gpu.vendor == "AMD" and (gpu.kfd_node is not None or gpu.drm_card is not None)]
    order = sorted(range(len(listed)), key=lambda at: (*_order(listed[at]), at))
    index = {id(listed[at]): number for number, at in enumerate(order)}
    return tuple(dataclasses.replace(gpu, amd_smi_index=index.get(id(gpu))) for gpu in gpus)


def _order(gpu: Gpu) -> tuple[tuple[int, ...], int]:
    return address_key(gpu.address), gpu.partition.index if gpu.partition else 0

"""Where the engine's pages lie: from what it says of its layout and of each layer's view, never from a shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from orbitkv_agent.pool import PageGroup


class LayoutError(ValueError):
    """Pages that this connector cannot tell apart with certainty."""


class Tensor(Protocol):
    """What is read of a ``torch.Tensor``."""

    @property
    def shape(self) -> Sequence[int]: ...

    def data_ptr(self) -> int: ...

    def element_size(self) -> int: ...

    def stride(self) -> Sequence[int]: ...


class Placed(Protocol):
    """What is read of a ``KVCacheTensor``."""

    size: int
    layers: list[str]
    layer_stride: int
    block_stride: int
    offset: int


class Page(NamedTuple):
    """One layer's page of one block: head slots, states in each, and bytes of a state."""

    heads: int
    states: int
    state_bytes: int

    @property
    def size(self) -> int:
        return self.heads * self.states * self.state_bytes


class Pool(NamedTuple):
    """The one allocation that holds every page. Groups begin where it begins."""

    address: int
    size: int
    groups: tuple[PageGroup, ...]

    @property
    def shard_bytes(self) -> int:
        """What one block has on this rank."""
        return sum(group.layers * group.page_bytes for group in self.groups)


# Physical order of layers, blocks, heads, states and content, outermost first.
LAYOUTS = ("LBHNC", "LBNHC", "LHBNC", "BLHNC", "BLNHC", "BHLNC")


def pool_of(
    layout: str, blocks: int, page: Page, tensors: Sequence[Placed], views: Mapping[str, Tensor]
) -> Pool:
    """Returns the pool of one group of equal layers.

    ``layout`` is the name of the engine's ``KVCacheLayout``, ``blocks`` the number of the manager's blocks. ``views``
    has what the engine registered for each layer: ``[blocks, H, N, C]`` or, where its kernels use smaller blocks,
    ``[blocks * ratio, H, N / ratio, C]``, with any strides.
    """
    if layout not in LAYOUTS:
        raise LayoutError(f"KV cache layout {layout} is none of {', '.join(LAYOUTS)}")
    if not tensors:
        raise LayoutError("the engine has no KV cache tensors")
    addresses = set()
    sizes = set()
    groups: list[PageGroup] = []
    for tensor in tensors:
        for index, layer in enumerate(tensor.layers):
            if layer not in views:
                raise LayoutError(f"layer {layer} has no registered KV cache")
            begin = tensor.offset + index * tensor.layer_stride
            _check(layout, blocks, page, tensor, layer, views[layer])
            addresses.add(views[layer].data_ptr() - begin)
        sizes.add(tensor.size)
        groups += _groups(layout, blocks, page, tensor)
    if len(addresses) != 1 or len(sizes) != 1:
        raise LayoutError(
            f"layers do not lie in one allocation: it would begin at {sorted(addresses)} with {sorted(sizes)} bytes"
        )
    pool = Pool(addresses.pop(), sizes.pop(), tuple(groups))
    end = max(group.end for group in groups)
    if end > pool.size:
        raise LayoutError(f"pages end at {end}, behind the {pool.size} bytes of the engine's allocation")
    return pool


def _groups(layout: str, blocks: int, page: Page, tensor: Placed) -> list[PageGroup]:
    layers = len(tensor.layers)
    if layout == "LHBNC":
        # A block has a piece in each head of each layer, and heads follow one another as layers do.
        piece = page.states * page.state_bytes
        head_stride = blocks * tensor.block_stride
        if tensor.layer_stride == page.heads * head_stride:
            return [PageGroup(tensor.offset, layers * page.heads, blocks, piece, head_stride, tensor.block_stride)]
        return [
            PageGroup(tensor.offset + layer * tensor.layer_stride, page.heads, blocks, piece, head_stride,
                      tensor.block_stride)
            for layer in range(layers)
        ]
    if layout == "BHLNC" or (layout[0] == "B" and tensor.layer_stride == page.size):
        # All layers of a block are one piece; in BHLNC a layer's part of it is not.
        packed = layers * page.size
        return [PageGroup(tensor.offset, 1, blocks, packed, blocks * tensor.block_stride, tensor.block_stride)]
    # Padding between pages stays where it is.
    return [PageGroup(tensor.offset, layers, blocks, page.size, tensor.layer_stride, tensor.block_stride)]


def _check(layout: str, blocks: int, page: Page, tensor: Placed, layer: str, view: Tensor) -> None:
    """Compares what the engine says of a layer with the view that it hands out."""
    unit = view.element_size()
    if len(view.shape) != 4 or blocks <= 0 or view.shape[0] % blocks:
        raise LayoutError(
            f"layer {layer} has a view of shape {list(view.shape)}, expected [{blocks}, or a multiple, H, N, C]"
        )
    ratio = view.shape[0] // blocks
    seen = Page(view.shape[1], view.shape[2] * ratio, view.shape[3] * unit)
    if seen != page:
        raise LayoutError(f"layer {layer} has pages of {seen}, and the engine's specification says {page}")
    states = page.states // ratio
    heads_inside = layout in ("LBNHC", "BLNHC")
    if layout == "LHBNC":
        inner = {"H": blocks * tensor.block_stride, "N": page.state_bytes}
    elif layout == "BHLNC":
        # A head has all layers one behind another, a layer's part being one head of it.
        inner = {"H": len(tensor.layers) * page.states * page.state_bytes, "N": page.state_bytes}
    elif heads_inside:
        inner = {"H": page.state_bytes, "N": page.heads * page.state_bytes}
    else:
        inner = {"H": states * page.state_bytes, "N": page.state_bytes}
    if tensor.block_stride % ratio:
        raise LayoutError(f"layer {layer} has {ratio} kernel blocks in {tensor.block_stride} bytes of a block")
    expected = (tensor.block_stride // ratio, inner["H"], inner["N"], unit)
    found = tuple(stride * unit for stride in view.stride())
    # The stride of an axis of one is of no consequence.
    if any(have != want and extent > 1 for have, want, extent in zip(found, expected, view.shape)):
        raise LayoutError(f"layer {layer} has strides of {found} bytes, expected {expected} in layout {layout}")
    if ratio > 1 and tensor.block_stride != page.size:
        raise LayoutError(f"layer {layer} has kernel blocks in blocks that are not dense, in layout {layout}")

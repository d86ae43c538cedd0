"""Where the engine's pages lie: from the buffers of its pools, and never from what it says of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from orbitkv_agent.pool import PageGroup


class PoolError(ValueError):
    """A pool whose pages this linker cannot tell apart with certainty."""


class Buffer(Protocol):
    """What is read of a ``torch.Tensor``."""

    @property
    def shape(self) -> Sequence[int]: ...

    @property
    def dtype(self) -> object: ...

    def data_ptr(self) -> int: ...

    def element_size(self) -> int: ...

    def stride(self) -> Sequence[int]: ...


class Piece(NamedTuple):
    """A page of one buffer, and where the buffer begins."""

    address: int
    pages: int
    page_bytes: int

    @property
    def size(self) -> int:
        return self.pages * self.page_bytes


class Pages(NamedTuple):
    """Every buffer of a pool, keys and values of a layer beside each other, first layer first."""

    layout: str
    page_tokens: int
    layers: int
    pieces: tuple[Piece, ...]

    @property
    def pages(self) -> int:
        return self.pieces[0].pages

    @property
    def shard_bytes(self) -> int:
        """What one block has on this rank."""
        return sum(piece.page_bytes for piece in self.pieces)

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """Address and bytes of each buffer."""
        return [(piece.address, piece.size) for piece in self.pieces]

    def groups(self, bases: Sequence[int]) -> list[PageGroup]:
        """Returns the buffers as an agent takes them; ``bases`` says where in its memory each begins."""
        return [
            PageGroup(base, 1, piece.pages, piece.page_bytes, piece.size, piece.page_bytes)
            for base, piece in zip(bases, self.pieces)
        ]


def pages_of(pool: Any, page_tokens: int) -> Pages:
    """Returns the pages of a pool of full attention. ``PoolError`` says why they cannot be told."""
    kind = type(pool).__name__
    # By its very type: a subclass may keep its bytes elsewhere.
    if kind == "MHATokenToKVPool":
        if pool.kv_cache_layout != "nhd" or pool.is_quantized_kv_cache or pool.post_capture_active:
            raise PoolError(
                f"the KV pool has layout {pool.kv_cache_layout!r}, scales beside it or memory that is mapped later;"
                " only plain 'nhd' is served"
            )
        buffers = [buffer for pair in zip(pool.k_buffer, pool.v_buffer) for buffer in pair]
        if len(pool.k_buffer) != len(pool.v_buffer):
            raise PoolError(f"the KV pool has {len(pool.k_buffer)} layers of keys, {len(pool.v_buffer)} of values")
    elif kind == "MLATokenToKVPool":
        buffers = list(pool.kv_buffer)
    else:
        raise PoolError(f"the KV pool is a {kind}; MHATokenToKVPool and MLATokenToKVPool are served")
    if pool.page_size != page_tokens or pool.enable_custom_mem_pool:
        raise PoolError(
            f"the KV pool has pages of {pool.page_size} tokens, in a pool of memory of its own:"
            f" {pool.enable_custom_mem_pool}; expected {page_tokens} tokens, and torch's memory"
        )
    layers = len(buffers) // 2 if kind == "MHATokenToKVPool" else len(buffers)
    if layers != pool.layer_num or not buffers:
        raise PoolError(f"the KV pool has buffers of {layers} layers, and says that it has {pool.layer_num}")
    pieces = tuple(_piece(buffer, pool.size + page_tokens, page_tokens) for buffer in buffers)
    _require_apart(pieces)
    return Pages(f"{kind}/{getattr(pool, 'kv_cache_layout', 'latent')}", page_tokens, layers, pieces)


def _piece(buffer: Buffer, rows: int, page_tokens: int) -> Piece:
    unit = buffer.element_size()
    dense = 1
    for extent, stride in zip(reversed(buffer.shape), reversed(buffer.stride())):
        # The stride of an axis of one is of no consequence.
        if extent != 1 and stride != dense:
            raise PoolError(f"a buffer of shape {list(buffer.shape)} has strides {list(buffer.stride())}: it has gaps")
        dense *= extent
    if buffer.shape[0] != rows or rows % page_tokens:
        raise PoolError(f"a buffer has {buffer.shape[0]} rows, expected {rows}, a multiple of {page_tokens}")
    return Piece(buffer.data_ptr(), rows // page_tokens, dense // rows * unit * page_tokens)


def _require_apart(pieces: Sequence[Piece]) -> None:
    ordered = sorted(pieces)
    for before, after in zip(ordered, ordered[1:]):
        if before.address + before.size > after.address:
            raise PoolError(f"buffers at {before.address:#x} and {after.address:#x} share bytes")


def pages_of_slots(slots: Sequence[int], page_tokens: int) -> list[int]:
    """Returns the page of each run of ``page_tokens`` slots. ``ValueError`` if a run is no page."""
    pages = []
    for begin in range(0, len(slots), page_tokens):
        first = slots[begin]
        run = slots[begin : begin + page_tokens]
        if first % page_tokens or list(run) != list(range(first, first + page_tokens)):
            raise ValueError(f"slots from {first} on are no page of {page_tokens} tokens")
        pages.append(first // page_tokens)
    return pages

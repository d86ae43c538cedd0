"""The layers with a sliding window: pages of their own, of which a prefix needs those at its end only.

A page of theirs is a block of its own, named by the hash of the other layers' page of the same tokens. That hash covers
all tokens before it, so the page needs no page before it to be known for what it is. The blocks are kept in an instance
and a namespace beside the other layers'.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

from orbitkv_sglang.pools import Pages, PoolError, pages_of, pages_of_slots

MAX_BLOCKS = 64
"""Most pages of a window. Each is a lease of a request that waits, and an engine may have 1,024 of them."""

_NAMESPACE = b"orbitkv/sglang-window/1"


class Window(NamedTuple):
    """A pool of layers that look back on so many pages."""

    pages: Pages
    blocks: int
    layers: tuple[int, ...]
    """Which layers of the model they are."""


class Pools(NamedTuple):
    """An engine's pools."""

    pages: Pages
    window: Optional[Window]

    @property
    def all(self) -> list[Pages]:
        """The pages of each."""
        return [self.pages] if self.window is None else [self.pages, self.window.pages]


def pools_of(pool: Any, allocator: Any, page_tokens: int, window_tokens: Optional[int]) -> Pools:
    """Returns the pages of all pools. ``PoolError`` says why they cannot be told."""
    if type(pool).__name__ != "SWAKVPool":
        return Pools(pages_of(pool, page_tokens), None)
    if type(allocator).__name__ != "SWATokenToKVPoolAllocator" or allocator.swa_req_ring:
        raise PoolError(
            f"the sliding windows' pages are given out by a {type(allocator).__name__}, a ring for each request:"
            f" {getattr(allocator, 'swa_req_ring', 'unknown')}; SWATokenToKVPoolAllocator without rings is served"
        )
    if window_tokens is None or window_tokens < 1:
        raise PoolError(f"the sliding windows are of {window_tokens} tokens, expected one or more")
    blocks = -(-window_tokens // page_tokens)
    if blocks > MAX_BLOCKS:
        raise PoolError(
            f"a sliding window of {window_tokens} tokens has {blocks} pages, and {MAX_BLOCKS} at most are served; set"
            f" --page-size to {-(-window_tokens // MAX_BLOCKS)} or more"
        )
    layers = tuple(sorted(layer for layer, (_, sliding) in pool.layers_mapping.items() if sliding))
    pages, window = pages_of(pool.full_kv_pool, page_tokens), pages_of(pool.swa_kv_pool, page_tokens)
    if window.layers != len(layers) or pages.layers + window.layers != len(pool.layers_mapping):
        raise PoolError(
            f"the model has {len(layers)} layers with sliding windows of {len(pool.layers_mapping)}, and the pools"
            f" {window.layers} of {pages.layers + window.layers}"
        )
    return Pools(pages, Window(window, blocks, layers))


def window_namespace(namespace: bytes) -> bytes:
    """Returns what the bytes of these layers mean. ``namespace`` is the other layers', whose facts name these too."""
    return hashlib.sha256(_NAMESPACE + namespace).digest()


def window_pages(slots: Sequence[int], page_tokens: int) -> list[Optional[int]]:
    """Returns the page of each run of slots; nothing where the engine has given the page up: it is all slot 0 then."""
    return [
        None if not any(run) else pages_of_slots(run, page_tokens)[0]
        for run in (slots[begin : begin + page_tokens] for begin in range(0, len(slots), page_tokens))
    ]

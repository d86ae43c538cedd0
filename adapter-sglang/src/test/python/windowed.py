"""An engine of which some layers look back on a window only: the released pools, allocator and components for that."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Optional

import torch
from sglang.srt.mem_cache.allocator.swa import SWATokenToKVPoolAllocator
from sglang.srt.mem_cache.base_prefix_cache import EvictParams, InsertParams
from sglang.srt.mem_cache.radix_cache import RadixKey
from sglang.srt.mem_cache.swa_memory_pool import SWAKVPool
from sglang.srt.mem_cache.unified_cache.component_type import ComponentType

from engine import DIM, HEADS, PAGE, Engine, Request
from own_pages import OwnPages

WINDOW = 40
"""Tokens: no whole number of pages."""

WINDOW_PAGES = 3


def pool(pages: int = 64, window_pages: int = 48) -> SWAKVPool:
    """Returns pools of two layers that look back on everything, and of three with a window."""
    with OwnPages():
        return SWAKVPool(
            size=pages * PAGE, size_swa=window_pages * PAGE, page_size=PAGE, dtype=torch.bfloat16, head_num=HEADS,
            head_dim=DIM, swa_attention_layer_ids=[0, 2, 4], full_attention_layer_ids=[1, 3], device="cpu",
            enable_memory_saver=False,
        )


class WindowedEngine(Engine):
    """A token's rows in the layers with a window are there for as long as the engine keeps them."""

    window_tokens = WINDOW

    def _allocator(self) -> Any:
        return SWATokenToKVPoolAllocator(
            size=self.pool.size, size_swa=self.pool.size_swa, page_size=PAGE, dtype=torch.bfloat16, device="cpu",
            kvcache=self.pool, need_sort=False,
        )

    def _full_buffers(self) -> list[torch.Tensor]:
        return [*self.pool.full_kv_pool.k_buffer, *self.pool.full_kv_pool.v_buffer]

    def buffers(self) -> list[torch.Tensor]:
        return [*self._full_buffers(), *self.pool.swa_kv_pool.k_buffer, *self.pool.swa_kv_pool.v_buffer]

    def window_slots(self, slots: torch.Tensor) -> torch.Tensor:
        """Returns the slots in the layers with a window; 0 where there is none."""
        translated: torch.Tensor = self.allocator.full_to_swa_index_mapping[slots]
        return translated

    def touched(self, slots: torch.Tensor) -> list[torch.Tensor]:
        """Returns of each buffer which of its rows are those of slots."""
        window = self.window_slots(slots)
        masks = []
        for number, buffer in enumerate(self.buffers()):
            mask = torch.zeros(buffer.shape[0], dtype=torch.bool)
            mask[slots if number < len(self._full_buffers()) else window[window > 0]] = True
            masks.append(mask)
        return masks

    def compute(self, tokens: Sequence[int], begin: int, slots: torch.Tensor) -> None:
        window = self.window_slots(slots)
        there = window > 0
        for number, (buffer, rows) in enumerate(zip(self.buffers(), self.expected(tokens))):
            new = rows[begin : begin + len(slots)]
            flat = buffer.view(torch.uint8).reshape(buffer.shape[0], -1)
            if number < len(self._full_buffers()):
                flat[slots] = new
            else:
                flat[window[there]] = new[there]

    def wrong(self, tokens: Sequence[int], slots: torch.Tensor) -> int:
        bad = torch.zeros(len(slots), dtype=torch.bool)
        begin = max(0, len(slots) - WINDOW)
        window = self.window_slots(slots[begin:])
        bad[begin:] |= window <= 0
        for number, (buffer, rows) in enumerate(zip(self.buffers(), self.expected(tokens))):
            flat = buffer.view(torch.uint8).reshape(buffer.shape[0], -1)
            if number < len(self._full_buffers()):
                bad |= (flat[slots] != rows[: len(slots)]).any(dim=1)
            else:
                bad[begin:] |= (flat[window] != rows[begin : len(slots)]).any(dim=1)
        return int(bad.sum())

    def _take(self, tokens: int) -> Optional[torch.Tensor]:
        if not self.allocator.new_pages_available(tokens // PAGE, tokens // PAGE):
            return None
        slots: torch.Tensor = self.allocator.full_attn_allocator.alloc(tokens)
        self.allocator.set_full_to_swa_mapping(slots, self.allocator.swa_attn_allocator.alloc(tokens))
        return slots

    def slide(self, request: Request, own: int) -> None:
        """Gives up what lies before the window of a request's end, as a decoding engine does."""
        begin = max(own, self._given_up(request))
        end = (len(request.prefix) - max(WINDOW, PAGE)) // PAGE * PAGE
        if end > begin:
            self.allocator.free_swa_segment(request.prefix[begin:end], start_pos=begin)
            if request.kv is None:
                request.kv = SimpleNamespace(given_up=0)
                request.kv.get_evicted_seqlen = lambda component: request.kv.given_up
                request.kv.set_evicted_seqlen = lambda component, length: setattr(request.kv, "given_up", length)
            request.kv.set_evicted_seqlen(ComponentType.SWA, end)

    @staticmethod
    def _given_up(request: Request) -> int:
        return 0 if request.kv is None else int(request.kv.get_evicted_seqlen(ComponentType.SWA))

    def insert(self, request: Request, own: int) -> None:
        slots = request.prefix
        params = InsertParams(
            key=RadixKey(request.tokens[: len(slots)], request.extra_key), value=slots.clone(), prev_prefix_len=own
        )
        params.set_evicted_seqlen(ComponentType.SWA, self._given_up(request))
        self.cache.insert(params)
        # What the tree had by now it has freed of the request's.
        request.prefix = self.cache.path_device_indices(self._node(request))[: len(slots)].clone()

    def _node(self, request: Request) -> Any:
        from sglang.srt.mem_cache.base_prefix_cache import MatchPrefixParams

        return self.cache.match_prefix(MatchPrefixParams(key=request.key)).last_device_node

    def evict_windows(self) -> None:
        """Evicts what the tree has of the layers with a window, and no more than that where it can."""
        self.cache.evict(EvictParams(swa_num_tokens=self.pool.size_swa))

    def evict_all(self) -> None:
        self.cache.evict(EvictParams(num_tokens=self.pool.size, swa_num_tokens=self.pool.size_swa))

    def accounts(self) -> list[tuple[int, int, int]]:
        return [
            (self.allocator.full_available_size(), self.cache.full_evictable_size(), self.pool.size),
            (self.allocator.swa_available_size(), self.cache.swa_evictable_size(), self.pool.size_swa),
        ]

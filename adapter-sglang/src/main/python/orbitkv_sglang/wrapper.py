"""The released driver of a linker, with what it does not tell the linker: what lies before, and what ends early."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from sglang.srt.mem_cache.unified_cache.unified_cache_linker import UnifiedCacheLinkerWrapper

from orbitkv_sglang.linker import OrbitKvLinker
from orbitkv_sglang.messages import Standing

if TYPE_CHECKING:
    from sglang.srt.managers.schedule_batch import Req
    from sglang.srt.mem_cache.base_prefix_cache import MatchResult
    from sglang.srt.mem_cache.radix_cache import RadixKey
    from sglang.srt.mem_cache.unified_radix_cache import UnifiedRadixCache


class OrbitKvLinkerWrapper(UnifiedCacheLinkerWrapper):
    """Matching, allocation, locks and insertion are the released wrapper's.

    The linker's keys are those of a tail or of a node. Stored blocks are named by whole chains, which the tree knows.
    """

    def __init__(self, cache: UnifiedRadixCache, linker: OrbitKvLinker, *, loads: bool, offers: bool, early: bool) -> None:
        """``loads`` is whether anything is looked for, ``offers`` whether the tree's pages are saved unasked, ``early``
        whether a request is looked for when it is queued."""
        super().__init__(cache, linker)
        self._linker = linker
        self._loads = loads
        self._offers = offers
        self.asks_early = loads and early
        """Whether a request is to be asked about as soon as it is queued."""
        self._pending: set[str] = set()
        linker.bind(lambda own: self._reduced(own, torch.distributed.ReduceOp.MIN))

    def is_pending(self, rid: str) -> bool:
        """Whether some rank waits for blocks of a request to be read. The same on every rank."""
        return rid in self._pending

    def retire(self, why: str) -> None:
        """Neither finds nor saves anything from now on."""
        self._linker.retire(why)

    @contextlib.contextmanager
    def offering(self) -> Iterator[None]:
        """Meanwhile, what the tree is handed is saved."""
        before, self._offers = self._offers, True
        try:
            yield
        finally:
            self._offers = before

    def match(self, key: RadixKey, req: Req, result: MatchResult) -> MatchResult:
        if not self._loads:
            return result
        # One of an earlier pass would be taken for this one's.
        self.hit_markers.pop(req.rid, None)
        self._pending.discard(req.rid)
        own_pages = result.device_prefix_len // self.cache.page_size
        self._linker.behind(own_pages, lambda: self._hashes_to(result.last_device_node, own_pages))
        matched = super().match(key, req, result)
        standing = self._linker.asked()
        self._linker.behind(0, None)
        # Whether a rank asks follows from the tree, which is the same on all of them.
        if standing is not None and self._reduced(standing is Standing.PENDING, torch.distributed.ReduceOp.MAX):
            self._pending.add(req.rid)
        elif req.rid not in self.hit_markers:
            self._linker.give_up(req.rid)
        return matched

    def load_back(self, req: Req) -> tuple[int, Any]:
        loaded: tuple[int, Any] = super().load_back(req)
        if req.rid not in self.private_load_indices:
            self._linker.give_up(req.rid)
        return loaded

    def offload_nodes(self, node_ids: Sequence[Any]) -> None:
        if not self._offers:
            return
        for node_id in node_ids:
            self._linker.behind(0, functools.partial(self.cache.get_prefix_hash_values, node_id))
            super().offload_nodes([node_id])
        self._linker.behind(0, None)

    def release_request(self, rid: str) -> None:
        super().release_request(rid)
        self._pending.discard(rid)
        if rid not in self.inflight_load_rids:
            self._linker.give_up(rid)

    def reset(self) -> None:
        super().reset()
        self._pending.clear()

    def _hashes_to(self, node_id: Any, pages: int) -> list[str]:
        if pages == 0:
            return []
        hashes = [*self.cache.get_prefix_hash_values(node_id), *self.cache.tree_core.get_hash_values(node_id)]
        if len(hashes) != pages:
            raise ValueError(f"the tree has {len(hashes)} hashes of a prefix of {pages} pages")
        return hashes

    def _reduced(self, own: bool, op: Any) -> bool:
        flag = torch.tensor([int(own)], dtype=torch.int)
        self.cache._all_reduce_attn_groups(flag, op)
        return bool(flag.item())

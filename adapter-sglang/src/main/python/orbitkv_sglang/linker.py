"""The external linker: one rank's, between the engine's tree and its agent."""

from __future__ import annotations

import hashlib
import logging
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, Optional, Protocol

from sglang.srt.mem_cache.hicache_storage import PoolName, PoolTransfer
from sglang.srt.mem_cache.unified_cache.unified_cache_linker import UnifiedCacheLinker

from orbitkv_sglang.copies import Copies, JointLoad, JointSave, Part
from orbitkv_sglang.messages import Matched, Standing
from orbitkv_sglang.pools import pages_of_slots
from orbitkv_sglang.window import Pools, window_pages

_LOG = logging.getLogger("orbitkv_sglang")

_DRAIN_S = 120.0
"""How long copies may take whose end the engine has to wait for. A rank that cannot see it goes no further."""

_MOST_OFFLOADS = 256
_PINNED_SHARE = 2
"""Saves under way hold at most one page in so many."""

_LONGEST_NAME = 128

Prefix = Callable[[], list[str]]
"""Returns the hashes of the blocks before those of a transfer, as the tree has them."""


class Lookups(Protocol):
    """Who knows what the cache has."""

    def lookup(self, request: str, own_blocks: int, last: bytes, chain: Callable[[], bytes]) -> Matched: ...

    def give_up(self, request: str, lease: int) -> None: ...


class Resources(Protocol):
    """What is closed with a linker."""

    def close(self) -> None: ...


class _Hit(NamedTuple):
    lease: int
    own_blocks: int
    blocks: int
    window: list[int]
    """The leases of the last of these blocks in the layers with a sliding window."""


class _Batch(NamedTuple):
    loads: dict[str, JointLoad]
    hits: dict[str, _Hit]


class _Offload(NamedTuple):
    save: JointSave
    pages: int
    window_pages: int


class BatchFence:
    """What the engine's pools and its worker wait for: that no load that was started still writes.

    The whole of every batch, before its forward begins: whatever a forward replays from a graph asks for no layer. Layer
    by layer, where that is set and no graph holds a whole forward.
    """

    def __init__(self, wait: Callable[[], None], follow: Optional[Callable[[int, int], None]]) -> None:
        """``follow`` has the forward of a batch wait for a layer."""
        self._wait = wait
        self._follow = follow
        self.consumer_index = -1

    def set_consumer(self, index: int) -> None:
        """Called before the forward of a batch, -1 for one without a load."""
        self.consumer_index = index
        if index >= 0 and self._follow is None:
            self._wait()

    def wait_until(self, threshold: int) -> None:
        """Called before a layer is read, by its number."""
        if self._follow is None:
            self._wait()
        elif self.consumer_index >= 0:
            self._follow(self.consumer_index, threshold)


class OrbitKvLinker(UnifiedCacheLinker):
    """Asks, loads and saves for one rank. All calls come on the engine's scheduler thread.

    What decides which way the engine goes is the same on every rank: a hit is what all ranks found, a load is taken if
    all ranks took it, and whether a save is accepted follows from how many were before.
    """

    def __init__(
        self,
        *,
        pools: Pools,
        lookups: Lookups,
        copies: Copies,
        saves: bool,
        resources: Resources,
    ) -> None:
        self._page_tokens = pools.pages.page_tokens
        self._most_pinned = pools.pages.pages // _PINNED_SHARE
        self._window = pools.window
        self._most_window_pinned = 0 if pools.window is None else pools.window.pages.pages // _PINNED_SHARE
        self._lookups = lookups
        self._copies = copies
        self._saves = saves
        self._resources = resources
        self.layer_done_counter = BatchFence(
            self._wait_for_started, None if copies.layers is None else self._follow_started
        )
        self._agree: Callable[[bool], bool] = bool
        self._prefix: Optional[Prefix] = None
        self._own_blocks = 0
        self._asked: Optional[Standing] = None
        self._interests: set[str] = set()
        """Requests about which the adapter knows that this rank may come back."""
        self._hits: dict[str, _Hit] = {}
        self._queued = _Batch({}, {})
        self._batches: dict[int, _Batch] = {}
        self._last_batch = -1
        self._offloads: deque[_Offload] = deque()
        self._retired = ""
        self._closed = False

    # What the wrapper adds to the engine's calls.

    def bind(self, agree: Callable[[bool], bool]) -> None:
        """``agree`` returns whether all ranks say so. Every rank calls it at the same moment."""
        self._agree = agree

    def behind(self, own_blocks: int, prefix: Optional[Prefix]) -> None:
        """States how many blocks lie before the keys of the calls that follow, and which."""
        self._own_blocks = own_blocks
        self._prefix = prefix
        self._asked = None

    def asked(self) -> Optional[Standing]:
        """What this rank was told since ``behind``, if it was asked at all."""
        return self._asked

    def give_up(self, rid: str) -> None:
        """There will be no load of what was found for a request."""
        self._hits.pop(rid, None)
        if rid in self._interests:
            self._interests.discard(rid)
            self._lookups.give_up(_name(rid), 0)

    def retire(self, why: str) -> None:
        """Neither finds nor saves anything from now on: what is computed now is not what it was."""
        if not self._retired:
            _LOG.warning("OrbitKV is not used any more until the engine starts again: %s", why)
        self._retired = why

    # What the engine calls.

    def lookup(self, rid: str, transfers: list[PoolTransfer]) -> list[int]:
        """Returns the numbers of pages that can be restored. Never raises."""
        self._asked = Standing.NONE
        try:
            return self._lookup(rid, transfers)
        except Exception:
            _LOG.exception("a lookup is a miss")
            return []

    def _lookup(self, rid: str, transfers: list[PoolTransfer]) -> list[int]:
        self._hits.pop(rid, None)
        asked = self._parts(transfers)
        if self._prefix is None or asked is None or self._retired:
            return []
        keys, prefix = asked.keys, self._prefix
        matched = self._lookups.lookup(
            _name(rid), self._own_blocks, bytes.fromhex(keys[-1]), lambda: bytes.fromhex("".join([*prefix(), *keys]))
        )
        self._asked = matched.standing
        if matched.standing is Standing.NONE:
            self._interests.discard(rid)
        else:
            self._interests.add(rid)
        if matched.standing is not Standing.HIT or not 0 < matched.blocks <= len(keys):
            return []
        looked_back = 0 if self._window is None else min(self._window.blocks, matched.blocks)
        if len(matched.window) != looked_back:
            return []
        self._hits[rid] = _Hit(matched.lease, self._own_blocks, matched.blocks, matched.window)
        # With a window there is no shorter one: it has the pages of its own end only.
        return list(range(1, matched.blocks + 1)) if self._window is None else [matched.blocks]

    def load(self, rid: str, transfers: list[PoolTransfer]) -> bool:
        """Has a hit copied into pages. False, on every rank, if some rank cannot: then no page is written."""
        load = None
        hit = self._hits.pop(rid, None)
        try:
            load = self._load(hit, transfers)
        except Exception:
            _LOG.exception("a load does not take place")
        if not self._agree(load is not None and load.whole):
            if load is not None:
                self._copies.cancel(load, _DRAIN_S)
            self.give_up(rid)
            return False
        assert load is not None and hit is not None
        # From here on its lease is the load's, whatever the same request is found later.
        self._interests.discard(rid)
        self._queued.loads[rid] = load
        self._queued.hits[rid] = hit
        return True

    def _load(self, hit: Optional[_Hit], transfers: list[PoolTransfer]) -> Optional[JointLoad]:
        asked = self._parts(transfers)
        if hit is None or asked is None or len(asked.keys) > hit.blocks:
            return None
        if self._window is not None and (len(asked.keys), len(asked.window_keys)) != (hit.blocks, len(hit.window)):
            return None
        pages = pages_of_slots(asked.slots(), self._page_tokens)
        window = pages_of_slots(asked.window_slots(), self._page_tokens)
        if (len(pages), len(window)) != (len(asked.keys), len(asked.window_keys)):
            return None
        return self._copies.load(hit.lease, hit.own_blocks, pages, list(zip(hit.window, window)))

    def start_layer_wise_loading(self) -> int:
        """Names the loads since the last call as a batch; -1 if there are none."""
        if not self._queued.loads:
            return -1
        self._last_batch += 1
        self._batches[self._last_batch] = self._queued
        self._queued = _Batch({}, {})
        return self._last_batch

    def finish_layer_wise_loading(self, counter_index: int) -> bool:
        """Returns whether all of a batch is in its pages, when nothing writes them any more.

        ``StuckError`` if that cannot be seen, ``KeyError`` for a batch that was not started: then nobody can say which
        pages are safe.
        """
        batch = self._batches[counter_index]
        for load in batch.loads.values():
            load.wait(_DRAIN_S)
        del self._batches[counter_index]
        for rid, hit in batch.hits.items():
            self._lookups.give_up(_name(rid), hit.lease)
        return all(load.landed for load in batch.loads.values())

    def cancel_queued_load(self, rid: str) -> bool:
        """Ends a load of no batch yet. When it returns true, nothing writes its pages any more."""
        load = self._queued.loads.get(rid)
        if load is None:
            return False
        self._copies.cancel(load, _DRAIN_S)
        del self._queued.loads[rid]
        self._lookups.give_up(_name(rid), self._queued.hits.pop(rid).lease)
        return True

    def offload(self, transfers: list[PoolTransfer]) -> bool:
        """Accepts pages to be saved, on every rank or on none; how it went is told by ``pop_completed_offload``."""
        asked = self._parts(transfers, may_lack_window=True)
        if not self._saves or asked is None or len(self._offloads) >= _MOST_OFFLOADS:
            return False
        pinned = sum(each.pages for each in self._offloads) + len(asked.keys)
        window_pinned = sum(each.window_pages for each in self._offloads) + len(asked.window_keys)
        # One by itself is taken whatever its size, or a long prompt would never be saved.
        if self._offloads and (pinned > self._most_pinned or window_pinned > self._most_window_pinned):
            return False
        save = JointSave.failed()
        try:
            save = self._save(asked)
        except Exception:
            # Accepted all the same: other ranks have.
            _LOG.exception("pages are not saved")
        self._offloads.append(_Offload(save, len(asked.keys), len(asked.window_keys)))
        return True

    def _save(self, asked: _Parts) -> JointSave:
        before = None if self._prefix is None else self._prefix()
        pages = pages_of_slots(asked.slots(), self._page_tokens)
        window = window_pages(asked.window_slots(), self._page_tokens)
        whole = (len(pages), len(window)) == (len(asked.keys), len(asked.window_keys))
        if before is None or not whole or self._retired or not self._copies.ready:
            return JointSave.failed()
        parts = [Part(bytes.fromhex(key), page) for key, page in zip(asked.window_keys, window) if page is not None]
        return self._copies.save(bytes.fromhex("".join([*before, *asked.keys])), len(before), pages, parts)

    def num_completed_offloads(self) -> int:
        """Returns how many of the oldest saves have ended."""
        count = 0
        for each in self._offloads:
            if each.save.stored is None:
                break
            count += 1
        return count

    def pop_completed_offload(self) -> bool:
        """Returns how the oldest save ended."""
        return bool(self._offloads.popleft().save.stored)

    def reset(self) -> None:
        """Ends what is under way. When it returns, nothing is copied any more."""
        self._copies.quiesce(_DRAIN_S)
        loading = [self._queued, *self._batches.values()]
        for rid in {*self._interests, *(rid for batch in loading for rid in batch.hits)}:
            self._lookups.give_up(_name(rid), 0)
        self._interests.clear()
        self._hits.clear()
        self._queued = _Batch({}, {})
        self._batches.clear()
        self._offloads.clear()

    def close(self) -> None:
        """Ends what is under way, and the agent of this rank with it. Idempotent."""
        if not self._closed:
            self._closed = True
            self.reset()
            self._resources.close()

    def _wait_for_started(self) -> None:
        for batch in self._batches.values():
            for load in batch.loads.values():
                load.wait(_DRAIN_S)

    def _follow_started(self, index: int, layer: int) -> None:
        """Has a batch's forward wait for a layer of its loads. Those before were waited for by their own."""
        batch = self._batches.get(index)
        waits = self._copies.layers
        if batch is not None and waits is not None:
            under_way = [load.mark for load in batch.loads.values() if not load.ended]
            if under_way:
                # They arrive one after another.
                waits.follow(layer, under_way[-1])

    def _parts(self, transfers: list[PoolTransfer], may_lack_window: bool = False) -> Optional[_Parts]:
        """Returns what is asked of each pool; nothing if it is of other pools than there are.

        A node that the engine has saved may have lost the pages of its layers with a sliding window.
        """
        by_pool = {transfer.name: transfer for transfer in transfers}
        expected = {PoolName.KV} if self._window is None else {PoolName.KV, PoolName.SWA}
        if may_lack_window and PoolName.SWA not in by_pool:
            expected = {PoolName.KV}
        if len(transfers) != len(by_pool) or set(by_pool) != expected or not by_pool[PoolName.KV].keys:
            return None
        return _Parts(by_pool[PoolName.KV], by_pool.get(PoolName.SWA))


class _Parts(NamedTuple):
    """What the engine asks of its pools."""

    pages: PoolTransfer
    window: Optional[PoolTransfer]

    @property
    def keys(self) -> list[str]:
        keys: list[str] = self.pages.keys
        return keys

    @property
    def window_keys(self) -> list[str]:
        return [] if self.window is None else list(self.window.keys or ())

    def slots(self) -> list[int]:
        return _slots(self.pages)

    def window_slots(self) -> list[int]:
        return [] if self.window is None else _slots(self.window)


def _slots(transfer: PoolTransfer) -> list[int]:
    assert transfer.device_indices is not None
    slots: list[int] = transfer.device_indices.tolist()
    return slots


def _name(rid: str) -> str:
    """A caller may name requests as it likes."""
    return rid if len(rid.encode(errors="replace")) <= _LONGEST_NAME else hashlib.sha256(rid.encode()).hexdigest()


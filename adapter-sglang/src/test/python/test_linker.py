"""What the linker promises the released wrapper, with an agent and an adapter that do as they are told."""

from __future__ import annotations

import typing
import unittest
from typing import Callable, Optional

import torch
from sglang.srt.mem_cache.hicache_storage import PoolName, PoolTransfer
from sglang.srt.mem_cache.unified_cache.unified_cache_linker import UnifiedCacheLinker

from orbitkv_agent.client import Transfer
from orbitkv_sglang import linker as module
from orbitkv_sglang.adapter import NOTHING
from orbitkv_sglang.copies import Copies
from orbitkv_sglang.linker import OrbitKvLinker
from orbitkv_sglang.memory import LayerWaits
from orbitkv_sglang.messages import Matched, Standing
from orbitkv_sglang.pools import Pages, Piece
from orbitkv_sglang.transfers import Load, Save, StuckError, Transfers
from orbitkv_sglang.window import Pools, Window

PAGE = 4


def _hash(number: int) -> str:
    return f"{number:064x}"


def _pages(first: int, count: int) -> torch.Tensor:
    return torch.arange(first * PAGE, (first + count) * PAGE)


def _transfer(*keys: int, page: int = 1) -> list[PoolTransfer]:
    return [
        PoolTransfer(name=PoolName.KV, keys=[_hash(key) for key in keys], device_indices=_pages(page, len(keys)))
    ]


def _pool(pages: int) -> Pages:
    """Returns a pool of one buffer that is nowhere."""
    return Pages("none", PAGE, 1, (Piece(0, pages, 1),))


def _as_transfers(fake: _Transfers) -> Transfers:
    return typing.cast(Transfers, fake)


class _Lookups:
    """An adapter."""

    def __init__(self) -> None:
        self.answer = NOTHING
        self.asked: list[tuple[str, int, bytes]] = []
        self.given_up: list[tuple[str, int]] = []

    def lookup(self, request: str, own_blocks: int, last: bytes, chain: Callable[[], bytes]) -> Matched:
        self.asked.append((request, own_blocks, chain()))
        assert chain()[-32:] == last
        return self.answer

    def give_up(self, request: str, lease: int) -> None:
        self.given_up.append((request, lease))


class _Transfers:
    """An agent."""

    def __init__(self) -> None:
        self.ready = True
        self.takes = True
        self.loads: list[tuple[int, int, list[int]]] = []
        self.loading: list[Load] = []
        self.cancelled: list[Load] = []
        self.saves: list[Save] = []
        self.quiesced = 0
        self.layers: Optional[LayerWaits] = None

    def load(self, lease: int, first_block: int, pages: list[int]) -> Optional[Load]:
        if not self.takes:
            return None
        self.loads.append((lease, first_block, list(pages)))
        self.loading.append(Load(Transfer(len(self.loads), True, tuple(pages)), len(self.loads)))
        return self.loading[-1]

    def load_each(self, parts: list[tuple[int, int, list[int]]]) -> list[Load]:
        return [load for part in parts if (load := self.load(*part)) is not None]

    def cancel(self, load: Load, limit_s: float) -> None:
        self.cancelled.append(load)
        load.end(0)

    def save(self, save: Save) -> None:
        self.saves.append(save)

    def quiesce(self, limit_s: float) -> None:
        self.quiesced += 1


class _Layers:
    """Streams of forwards."""

    def __init__(self) -> None:
        self.followed: list[tuple[int, int]] = []

    def next_mark(self) -> int:
        raise AssertionError("marks are the transfers'")

    def follow(self, layer: int, mark: int) -> None:
        self.followed.append((layer, mark))

    def passed(self, mark: int) -> None:
        raise AssertionError("ends are the transfers'")


class _Resources:
    closed = 0

    def close(self) -> None:
        self.closed += 1


class LinkerTest(unittest.TestCase):
    def setUp(self) -> None:
        self.lookups = _Lookups()
        self.transfers = _Transfers()
        self.resources = _Resources()
        self.linker = self._linker(saves=True)

    def _linker(self, saves: bool) -> OrbitKvLinker:
        made = OrbitKvLinker(
            pools=Pools(_pool(20), None), lookups=self.lookups, copies=Copies(_as_transfers(self.transfers)),
            saves=saves, resources=self.resources,
        )
        made.behind(1, lambda: [_hash(1)])
        return made

    def _hit(self, rid: str, blocks: int, lease: int = 9) -> None:
        self.lookups.answer = Matched(Standing.HIT, blocks, lease, [])
        self.assertEqual(list(range(1, blocks + 1)), self.linker.lookup(rid, _transfer(2, 3, 4)))

    def test_it_is_the_released_interface_and_leaves_nothing_of_it_open(self) -> None:
        self.assertIsInstance(self.linker, UnifiedCacheLinker)
        self.assertEqual(frozenset(), OrbitKvLinker.__abstractmethods__)

    def test_a_lookup_states_the_whole_chain_and_returns_every_length(self) -> None:
        self._hit("a", 2)
        chain = b"".join(bytes.fromhex(_hash(number)) for number in (1, 2, 3, 4))
        self.assertEqual([("a", 1, chain)], self.lookups.asked)
        self.assertIs(Standing.HIT, self.linker.asked())

    def test_a_lookup_never_raises(self) -> None:
        def broken() -> list[str]:
            raise RuntimeError("a tree that is not as it was")

        self.linker.behind(1, broken)
        with self.assertLogs("orbitkv_sglang", "ERROR"):
            self.assertEqual([], self.linker.lookup("a", _transfer(2)))

    def test_an_answer_that_makes_no_sense_is_a_miss(self) -> None:
        for answer in (
            Matched(Standing.HIT, 0, 9, []), Matched(Standing.HIT, 4, 9, []), Matched(Standing.PENDING, 0, 0, []), NOTHING,
        ):
            self.lookups.answer = answer
            self.assertEqual([], self.linker.lookup("a", _transfer(2, 3, 4)))

    def test_other_pools_are_no_hit_and_are_not_saved(self) -> None:
        self.lookups.answer = Matched(Standing.HIT, 1, 9, [])
        both = [*_transfer(2), PoolTransfer(name=PoolName.SWA, keys=[_hash(2)])]
        self.assertEqual([], self.linker.lookup("a", both))
        self.assertFalse(self.linker.offload(both))
        self.assertFalse(self.linker.load("a", both))
        self.assertEqual([], self.transfers.loads)

    def test_a_load_is_a_batch_s_and_its_lease_ends_with_it(self) -> None:
        self._hit("a", 3)
        self.assertTrue(self.linker.load("a", _transfer(2, 3, page=5)))
        self.assertEqual([(9, 1, [5, 6])], self.transfers.loads)
        self.assertEqual(0, self.linker.start_layer_wise_loading())
        self.assertEqual(-1, self.linker.start_layer_wise_loading())
        self.assertEqual([], self.lookups.given_up)
        self.transfers.loading[0].end(2)
        self.linker.layer_done_counter.set_consumer(0)
        self.linker.layer_done_counter.wait_until(1)
        self.assertTrue(self.linker.finish_layer_wise_loading(0))
        self.assertEqual([("a", 9)], self.lookups.given_up)

    def test_a_forward_waits_layer_by_layer_for_the_last_load_of_its_batch_that_is_under_way(self) -> None:
        self.transfers.layers = layers = _Layers()
        self.linker = self._linker(saves=True)
        fence = self.linker.layer_done_counter
        for rid in ("a", "b"):
            self._hit(rid, 3)
            self.linker.load(rid, _transfer(2))
        first = self.linker.start_layer_wise_loading()
        self._hit("c", 3)
        self.linker.load("c", _transfer(2))
        second = self.linker.start_layer_wise_loading()
        # Returns at once, though nothing has ended.
        fence.set_consumer(first)
        for layer in range(3):
            fence.wait_until(layer)
        fence.set_consumer(second)
        fence.wait_until(0)
        self.assertEqual([(0, 2), (1, 2), (2, 2), (0, 3)], layers.followed)
        fence.set_consumer(-1)
        fence.wait_until(0)
        self.transfers.loading[1].end(1)
        fence.set_consumer(first)
        fence.wait_until(7)
        self.transfers.loading[0].end(1)
        fence.wait_until(8)
        self.assertEqual([(7, 1)], layers.followed[4:])
        self.assertTrue(self.linker.finish_layer_wise_loading(first))
        fence.wait_until(9)
        self.assertEqual([(7, 1)], layers.followed[4:])

    def test_a_load_that_brings_less_has_failed(self) -> None:
        self._hit("a", 3)
        self.linker.load("a", _transfer(2, 3))
        index = self.linker.start_layer_wise_loading()
        self.transfers.loading[0].end(1)
        self.assertFalse(self.linker.finish_layer_wise_loading(index))

    def test_a_batch_that_nobody_started_and_one_that_does_not_end_raise(self) -> None:
        with self.assertRaises(KeyError):
            self.linker.finish_layer_wise_loading(-1)
        self._hit("a", 3)
        self.linker.load("a", _transfer(2))
        index = self.linker.start_layer_wise_loading()
        with self.assertRaises(KeyError):
            self.linker.finish_layer_wise_loading(index + 1)
        module._DRAIN_S, limit = 0.01, module._DRAIN_S
        self.addCleanup(setattr, module, "_DRAIN_S", limit)
        with self.assertRaises(StuckError):
            self.linker.layer_done_counter.set_consumer(index)
        with self.assertRaises(StuckError):
            self.linker.finish_layer_wise_loading(index)
        # Its owners are still held.
        self.assertEqual([], self.lookups.given_up)
        self.transfers.loading[0].end(1)
        self.assertTrue(self.linker.finish_layer_wise_loading(index))

    def test_a_load_that_an_agent_or_another_rank_does_not_take_is_computed(self) -> None:
        self._hit("a", 3)
        self.transfers.takes = False
        self.assertFalse(self.linker.load("a", _transfer(2)))
        self.assertEqual([("a", 0)], self.lookups.given_up)
        self.transfers.takes = True
        self._hit("a", 3)
        self.linker.bind(lambda own: False)
        self.assertFalse(self.linker.load("a", _transfer(2)))
        self.assertEqual(self.transfers.loading, self.transfers.cancelled)
        self.assertEqual(-1, self.linker.start_layer_wise_loading())

    def test_every_rank_is_asked_whether_it_takes_a_load_also_one_that_does_not(self) -> None:
        asked: list[bool] = []
        self.linker.bind(lambda own: asked.append(own) or own)  # type: ignore[func-returns-value]
        self.assertFalse(self.linker.load("nobody looked", _transfer(2)))
        self._hit("a", 1)
        self.assertFalse(self.linker.load("a", _transfer(2, 3)))
        self._hit("b", 1)
        broken = _transfer(2)
        broken[0].device_indices = torch.tensor([1, 2, 3, 4])
        with self.assertLogs("orbitkv_sglang", "ERROR"):
            self.assertFalse(self.linker.load("b", broken))
        self._hit("c", 1)
        self.assertTrue(self.linker.load("c", _transfer(2)))
        self.assertEqual([False, False, False, True], asked)

    def test_a_queued_load_is_drained_before_it_counts_as_cancelled(self) -> None:
        self._hit("a", 3)
        self.linker.load("a", _transfer(2))
        self.assertTrue(self.linker.cancel_queued_load("a"))
        self.assertEqual(self.transfers.loading, self.transfers.cancelled)
        self.assertEqual([("a", 9)], self.lookups.given_up)
        self.assertFalse(self.linker.cancel_queued_load("a"))
        self.assertEqual(-1, self.linker.start_layer_wise_loading())
        self._hit("b", 3)
        self.linker.load("b", _transfer(2))
        self.linker.start_layer_wise_loading()
        self.assertFalse(self.linker.cancel_queued_load("b"))

    def test_only_what_this_rank_may_come_back_for_is_given_up(self) -> None:
        self.linker.give_up("nobody")
        self.lookups.answer = NOTHING
        self.linker.lookup("missed", _transfer(2))
        self.linker.give_up("missed")
        self.assertEqual([], self.lookups.given_up)
        self.lookups.answer = Matched(Standing.PENDING, 0, 0, [])
        self.linker.lookup("waits", _transfer(2))
        self.linker.give_up("waits")
        self.linker.give_up("waits")
        self.assertEqual([("waits", 0)], self.lookups.given_up)

    def test_saves_end_in_the_order_in_which_they_were_accepted(self) -> None:
        for page in (1, 3, 5):
            self.assertTrue(self.linker.offload(_transfer(2, 3, page=page)))
        self.assertEqual([[1, 2], [3, 4], [5, 6]], [list(save.pages) for save in self.transfers.saves])
        first, second, third = self.transfers.saves
        self.assertEqual((1, 3 * 32), (first.first_block, len(first.chain)))
        second.stored = True
        self.assertEqual(0, self.linker.num_completed_offloads())
        first.stored = False
        self.assertEqual(2, self.linker.num_completed_offloads())
        self.assertEqual([False, True], [self.linker.pop_completed_offload() for _ in range(2)])
        self.assertEqual(0, self.linker.num_completed_offloads())
        third.stored = True
        self.assertTrue(self.linker.pop_completed_offload())

    def test_whether_a_save_is_accepted_follows_from_those_before_alone(self) -> None:
        self.transfers.ready = False
        self.assertTrue(self.linker.offload(_transfer(*range(2, 9))))
        self.assertEqual(1, self.linker.num_completed_offloads())
        # Half of twenty pages.
        self.assertFalse(self.linker.offload(_transfer(*range(2, 6))))
        self.assertTrue(self.linker.offload(_transfer(*range(2, 5))))
        broken = _transfer(2)
        broken[0].device_indices = torch.tensor([1, 2, 3, 4])
        self.linker.pop_completed_offload()
        with self.assertLogs("orbitkv_sglang", "ERROR"):
            self.assertTrue(self.linker.offload(broken))
        self.assertEqual([False, False], [self.linker.pop_completed_offload() for _ in range(2)])
        # A long one by itself is taken.
        self.assertTrue(self.linker.offload(_transfer(*range(2, 17))))
        self.assertFalse(self._linker(saves=False).offload(_transfer(2)))

    def test_no_more_saves_than_the_bound_are_under_way(self) -> None:
        linker = OrbitKvLinker(
            pools=Pools(_pool(100_000), None), lookups=self.lookups, copies=Copies(_as_transfers(self.transfers)),
            saves=True, resources=self.resources,
        )
        linker.behind(0, list)
        accepted = sum(linker.offload(_transfer(2, page=page)) for page in range(1, 400))
        self.assertEqual(256, accepted)

    def test_after_an_update_of_weights_nothing_is_found_or_saved(self) -> None:
        with self.assertLogs("orbitkv_sglang", "WARNING") as logged:
            self.linker.retire("weights")
            self.linker.retire("weights")
        self.assertEqual(1, len(logged.output))
        self.lookups.answer = Matched(Standing.HIT, 1, 9, [])
        self.assertEqual([], self.linker.lookup("a", _transfer(2)))
        self.assertTrue(self.linker.offload(_transfer(2)))
        self.assertFalse(self.linker.pop_completed_offload())
        self.assertEqual([], self.transfers.saves)

    def test_a_reset_ends_what_is_under_way_and_close_does_so_once(self) -> None:
        self._hit("looked", 1)
        self._hit("queued", 1)
        self.linker.load("queued", _transfer(2))
        self.linker.offload(_transfer(2))
        self.linker.reset()
        self.assertEqual({"looked", "queued"}, {name for name, _ in self.lookups.given_up})
        self.assertEqual(1, self.transfers.quiesced)
        self.assertEqual((0, -1), (self.linker.num_completed_offloads(), self.linker.start_layer_wise_loading()))
        self.linker.close()
        self.linker.close()
        self.assertEqual((2, 1), (self.transfers.quiesced, self.resources.closed))

    def test_a_request_may_have_any_name(self) -> None:
        for rid in ("é" * 100, "x" * 4000):
            self._hit(rid, 1)
        self.assertEqual([64, 64], [len(request) for request, _, _ in self.lookups.asked])


class WindowTest(unittest.TestCase):
    """A model with layers that look back on three pages, of which the engine gives out slots of their own."""

    def setUp(self) -> None:
        self.lookups = _Lookups()
        self.pages, self.window = _Transfers(), _Transfers()
        self.linker = OrbitKvLinker(
            pools=Pools(_pool(40), Window(_pool(12), 3, (0, 2))), lookups=self.lookups,
            copies=Copies(_as_transfers(self.pages), _as_transfers(self.window)), saves=True, resources=_Resources(),
        )
        self.linker.behind(1, lambda: [_hash(1)])

    def _asked(self, *keys: int, page: int = 1, window: int = 3, window_page: int = 7) -> list[PoolTransfer]:
        last = keys[-window:]
        return [
            *_transfer(*keys, page=page),
            PoolTransfer(
                name=PoolName.SWA, keys=[_hash(key) for key in last], device_indices=_pages(window_page, len(last))
            ),
        ]

    def _hit(self, rid: str, blocks: int, window: list[int]) -> list[int]:
        self.lookups.answer = Matched(Standing.HIT, blocks, 9, window)
        return self.linker.lookup(rid, self._asked(2, 3, 4, 5))

    def test_a_hit_has_one_length(self) -> None:
        self.assertEqual([4], self._hit("a", 4, [91, 92, 93]))
        self.assertEqual([2], self._hit("a", 2, [91, 92]))

    def test_a_hit_without_its_window_is_none(self) -> None:
        for blocks, window in ((4, []), (4, [91, 92]), (2, [91]), (2, [91, 92, 93])):
            self.assertEqual([], self._hit("a", blocks, window))

    def test_a_model_with_a_window_is_asked_about_both_pools(self) -> None:
        self.lookups.answer = Matched(Standing.HIT, 1, 9, [91])
        self.assertEqual([], self.linker.lookup("a", _transfer(2)))
        self.assertEqual([], self.lookups.asked)

    def test_a_load_is_of_every_pool_and_has_landed_when_all_have(self) -> None:
        self._hit("a", 4, [91, 92, 93])
        self.assertTrue(self.linker.load("a", self._asked(2, 3, 4, 5, page=5)))
        self.assertEqual([(9, 1, [5, 6, 7, 8])], self.pages.loads)
        self.assertEqual([(91, 0, [7]), (92, 0, [8]), (93, 0, [9])], self.window.loads)
        index = self.linker.start_layer_wise_loading()
        self.pages.loading[0].end(4)
        for load in self.window.loading[:2]:
            load.end(1)
        module._DRAIN_S, limit = 0.01, module._DRAIN_S
        self.addCleanup(setattr, module, "_DRAIN_S", limit)
        with self.assertRaises(StuckError):
            self.linker.finish_layer_wise_loading(index)
        self.window.loading[2].end(1)
        self.assertTrue(self.linker.finish_layer_wise_loading(index))
        self.assertEqual([("a", 9)], self.lookups.given_up)

    def test_a_window_that_does_not_land_fails_the_load(self) -> None:
        self._hit("a", 4, [91, 92, 93])
        self.linker.load("a", self._asked(2, 3, 4, 5))
        index = self.linker.start_layer_wise_loading()
        self.pages.loading[0].end(4)
        for load, blocks in zip(self.window.loading, (1, 0, 1)):
            load.end(blocks)
        self.assertFalse(self.linker.finish_layer_wise_loading(index))

    def test_a_load_that_one_pool_does_not_take_is_taken_by_none(self) -> None:
        self._hit("a", 4, [91, 92, 93])
        self.window.takes = False
        self.assertFalse(self.linker.load("a", self._asked(2, 3, 4, 5)))
        self.assertEqual(self.pages.loading, self.pages.cancelled)
        self.assertEqual([("a", 0)], self.lookups.given_up)
        self.window.takes, self.pages.takes = True, False
        self._hit("a", 4, [91, 92, 93])
        self.assertFalse(self.linker.load("a", self._asked(2, 3, 4, 5)))
        self.assertEqual([], self.window.loads)
        self.assertEqual(-1, self.linker.start_layer_wise_loading())

    def test_a_part_whose_end_cannot_be_seen_raises_and_does_not_count_as_untouched(self) -> None:
        def stuck(load: Load, limit_s: float) -> None:
            raise StuckError("a load")

        self._hit("a", 4, [91, 92, 93])
        self.window.takes = False
        self.pages.cancel = stuck  # type: ignore[method-assign]
        with self.assertRaises(StuckError):
            self.linker.load("a", self._asked(2, 3, 4, 5))

    def test_only_what_was_found_is_loaded(self) -> None:
        for asked in (self._asked(2, 3, 4), self._asked(2, 3, 4, 5, window=2), _transfer(2, 3, 4, 5)):
            self._hit("a", 4, [91, 92, 93])
            self.assertFalse(self.linker.load("a", asked))
        self.assertEqual([], self.pages.loads)

    def test_a_save_ends_when_all_pools_have_and_fails_if_one_does(self) -> None:
        for _ in range(2):
            self.assertTrue(self.linker.offload(self._asked(2, 3, window=2)))
        self.assertEqual([[7], [8]] * 2, [list(save.pages) for save in self.window.saves])
        self.assertEqual([bytes.fromhex(_hash(key)) for key in (2, 3)], [save.chain for save in self.window.saves[:2]])
        for save in self.pages.saves:
            save.stored = True
        self.assertEqual(0, self.linker.num_completed_offloads())
        kept, failed = self.window.saves[:2], self.window.saves[2:]
        for save in kept:
            save.stored = True
        failed[0].stored, failed[1].stored = True, False
        self.assertEqual(2, self.linker.num_completed_offloads())
        self.assertEqual([True, False], [self.linker.pop_completed_offload() for _ in range(2)])

    def test_pages_that_the_engine_gave_up_are_not_saved(self) -> None:
        asked = self._asked(2, 3, 4)
        asked[1].device_indices[:PAGE] = 0
        self.assertTrue(self.linker.offload(asked))
        self.assertEqual([[8], [9]], [list(save.pages) for save in self.window.saves])
        # A node may have lost all of them.
        self.assertTrue(self.linker.offload(_transfer(2)))
        self.assertEqual(2, len(self.pages.saves))

    def test_saves_hold_half_of_each_pool_at_most(self) -> None:
        self.assertTrue(self.linker.offload(self._asked(2, 3, 4)))
        self.assertTrue(self.linker.offload(self._asked(2, 3, 4)))
        self.assertFalse(self.linker.offload(self._asked(2)))
        self.assertTrue(self.linker.offload(_transfer(2)))


if __name__ == "__main__":
    unittest.main()

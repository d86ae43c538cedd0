"""The connector in vLLM's own scheduler, with an adapter and workers that do what a test says."""

from __future__ import annotations

import logging
import tempfile
import unittest
from typing import Any, Optional

from vllm.v1.core.kv_cache_utils import maybe_convert_block_hash

from engine import BLOCK, Engine, describe, engine_config
from fake_adapter import FakeAdapter
from orbitkv_vllm import messages
from orbitkv_vllm.metadata import Orders
from orbitkv_vllm.rendezvous import Rendezvous
from workers import Workers

_PROMPT = [7 * token % 500 + 3 for token in range(5 * BLOCK + 5)]
_BLOCKS = len(_PROMPT) // BLOCK


class SchedulerTest(unittest.TestCase):
    is_async = False

    def setUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.adapter: Optional[FakeAdapter] = None
        self.addCleanup(self.stop)

    def stop(self) -> None:
        if self.adapter is not None:
            self.adapter.close()
            self.adapter = None

    def start_adapter(self) -> FakeAdapter:
        path = Rendezvous(self.folder + "/run", "engine").scheduler_socket
        self.adapter = FakeAdapter(path, BLOCK)
        return self.adapter

    def engine(self, *, ranks: int = 1, blocks: int = 64, adapter: bool = True, **options: Any) -> Engine:
        """Returns an engine whose workers have shared their pages."""
        if adapter and self.adapter is None:
            self.start_adapter()
        config = engine_config(self.folder, ranks=ranks, is_async=self.is_async, engine_id="engine", **options)
        engine = Engine(config, Workers(ranks), blocks=blocks)
        describe(config, ranks)
        engine.connector.set_xfer_handshake_metadata_pp_aware({})
        self.addCleanup(engine.scheduler.shutdown)
        half = engine.connector._scheduler
        assert half is not None and half._client is not None
        # Ample, so that a busy machine fails no test.
        half._client._deadline_s = 60.0
        if adapter:
            self.meet(engine)
        return engine

    def meet(self, engine: Engine) -> None:
        """Waits until the scheduler half and its agent know each other."""
        half = engine.connector._scheduler
        assert half is not None and half._client is not None
        self.assertTrue(half._client.prepare(60.0))

    def stored(self, engine: Engine, prompt: list[int] = _PROMPT) -> None:
        """Computes a prompt, has it saved, and has the engine forget it."""
        engine.add(prompt, limit=1)
        engine.run()
        engine.settle(4)
        engine.require_empty()
        self.assertTrue(engine.scheduler.reset_prefix_cache())
        rank = engine.workers.ranks[0]
        rank.new_loads, rank.new_saves = [], []
        engine.orders.clear()

    @property
    def fake(self) -> FakeAdapter:
        assert self.adapter is not None
        return self.adapter

    def test_a_prompt_is_saved_block_by_block_and_loaded_after_it_was_evicted(self) -> None:
        engine = self.engine()
        cold = engine.add(_PROMPT)
        engine.run()
        engine.settle(4)
        engine.require_empty()
        self.assertEqual(_BLOCKS, len(self.fake.stored))
        self.assertTrue(engine.scheduler.reset_prefix_cache())
        warm = engine.add(_PROMPT)
        engine.run()
        engine.settle(4)
        engine.require_empty()
        (load,) = engine.workers.ranks[0].new_loads
        self.assertEqual((warm.request_id, 0, _BLOCKS), (load.request, load.first_block, len(load.pages)))
        self.assertEqual(engine.finished[cold.request_id], engine.finished[warm.request_id])

    def test_pages_that_are_ordered_are_those_of_the_request(self) -> None:
        engine = self.engine()
        request = engine.add(_PROMPT)
        engine.step()
        pages = engine.scheduler.kv_cache_manager.get_block_ids(request.request_id)[0]
        (save,) = engine.orders[-1].saves
        self.assertEqual(tuple(pages[:_BLOCKS]), save.pages)
        self.assertEqual(b"".join(request.block_hashes[:_BLOCKS]), save.hashes)
        engine.run()

    def test_what_the_engine_has_itself_is_not_loaded(self) -> None:
        engine = self.engine()
        self.stored(engine)
        engine.add(_PROMPT[: 2 * BLOCK + 1], limit=1)
        engine.run()
        engine.workers.ranks[0].new_loads = []
        engine.add(_PROMPT)
        engine.run()
        (load,) = engine.workers.ranks[0].new_loads
        self.assertEqual((2, _BLOCKS - 2), (load.first_block, len(load.pages)))
        engine.settle(4)
        engine.require_empty()

    def test_a_prompt_of_whole_blocks_is_loaded_whole_and_its_last_token_computed(self) -> None:
        engine = self.engine()
        prompt = _PROMPT[: 3 * BLOCK]
        self.stored(engine, prompt)
        engine.add(prompt)
        scheduled = [sum(engine.step().num_scheduled_tokens.values()) for _ in range(4)]
        self.assertEqual(1, next(tokens for tokens in scheduled if tokens))
        engine.run()
        self.assertEqual(3, len(engine.workers.ranks[0].new_loads[0].pages))
        engine.settle(4)
        engine.require_empty()

    def test_a_deferred_request_waits_and_then_hits(self) -> None:
        engine = self.engine()
        self.stored(engine)
        self.fake.defers = 3
        engine.add(_PROMPT)
        for _ in range(3):
            self.assertEqual({}, engine.step().num_scheduled_tokens)
        self.assertEqual([], engine.workers.ranks[0].new_loads)
        engine.step()
        self.assertEqual(1, len(engine.workers.ranks[0].new_loads))
        engine.run()
        engine.settle(4)
        engine.require_empty()

    def test_a_request_aborted_while_it_loads_keeps_its_pages_until_the_load_ends(self) -> None:
        engine = self.engine()
        self.stored(engine)
        engine.workers.ranks[0].holds_loads = True
        request = engine.add(_PROMPT)
        engine.step()
        engine.abort(request)
        engine.settle(4)
        self.assertEqual(engine.blocks - 1 - _BLOCKS, engine.free_blocks())
        engine.workers.ranks[0].holds_loads = False
        engine.settle(4)
        engine.require_empty()

    def test_a_request_aborted_while_it_waits_gives_its_lease_up(self) -> None:
        engine = self.engine()
        self.stored(engine)
        self.fake.defers = 1000
        request = engine.add(_PROMPT)
        engine.step()
        engine.abort(request)
        engine.settle(3)
        engine.require_empty()
        self.assertEqual(set(), self.fake.leases)
        self.assertEqual([request.request_id], self.fake.of(messages.Step)[-1].finished)

    def test_a_load_that_brings_nothing_is_computed_and_not_tried_again(self) -> None:
        engine = self.engine()
        self.stored(engine)
        engine.workers.ranks[0].load_blocks = 0
        request = engine.add(_PROMPT)
        engine.run()
        self.assertEqual(1, len(engine.workers.ranks[0].new_loads))
        self.assertEqual(4, len(engine.finished[request.request_id]))
        engine.settle(4)
        engine.require_empty()

    def test_a_load_that_brings_a_part_has_the_rest_computed(self) -> None:
        engine = self.engine()
        self.stored(engine)
        engine.workers.ranks[0].load_blocks = 2
        engine.add(_PROMPT)
        scheduled = [sum(engine.step().num_scheduled_tokens.values()) for _ in range(4)]
        self.assertEqual(len(_PROMPT) - 2 * BLOCK, next(tokens for tokens in scheduled if tokens))
        engine.run()
        engine.settle(4)
        engine.require_empty()

    def test_a_load_that_fails_ends_its_request_under_the_engine_s_other_policy(self) -> None:
        engine = self.engine(policy="fail")
        self.stored(engine)
        for blocks in (0, 2):
            engine.workers.ranks[0].load_blocks = blocks
            request = engine.add(_PROMPT)
            engine.run()
            self.assertEqual([], engine.finished[request.request_id])
            engine.settle(4)
            engine.require_empty()

    def test_an_order_that_never_comes_fails_the_request_s_load_and_no_more(self) -> None:
        engine = self.engine()
        self.stored(engine)
        self.fake.loads = False
        request = engine.add(_PROMPT)
        engine.run()
        self.assertEqual([], engine.workers.ranks[0].new_loads)
        self.assertEqual(4, len(engine.finished[request.request_id]))
        engine.settle(4)
        engine.require_empty()

    def test_an_agent_that_dies_between_a_hit_and_its_order_costs_a_load(self) -> None:
        engine = self.engine()
        self.stored(engine)
        self.fake.cut_at = messages.Step
        request = engine.add(_PROMPT)
        engine.run()
        self.assertEqual(4, len(engine.finished[request.request_id]))
        self.fake.cut_at = None
        engine.settle(4)
        engine.require_empty()

    def test_an_agent_that_dies_while_a_load_runs_does_not_end_it(self) -> None:
        engine = self.engine()
        self.stored(engine)
        engine.workers.ranks[0].holds_loads = True
        request = engine.add(_PROMPT)
        engine.step()
        self.stop()
        for _ in range(3):
            engine.step()
        self.assertNotIn(request.request_id, engine.finished)
        engine.workers.ranks[0].holds_loads = False
        engine.run()
        self.assertEqual(4, len(engine.finished[request.request_id]))
        engine.settle(4)
        engine.require_empty()

    def test_without_an_agent_everything_is_computed(self) -> None:
        engine = self.engine(adapter=False)
        request = engine.add(_PROMPT)
        engine.run()
        self.assertEqual(4, len(engine.finished[request.request_id]))
        engine.require_empty()

    def test_an_agent_that_comes_is_told_everything_of_a_running_request(self) -> None:
        engine = self.engine(adapter=False)
        request = engine.add(_PROMPT, limit=200)
        engine.step()
        self.start_adapter()
        self.meet(engine)
        engine.run()
        engine.settle(4)
        saved = sum(len(save.pages) for save in engine.workers.ranks[0].new_saves)
        self.assertEqual(len(request.block_hashes[: (len(_PROMPT) + 200 - 1) // BLOCK]), saved)
        engine.require_empty()

    def test_an_agent_that_comes_after_another_is_told_everything_again(self) -> None:
        engine = self.engine()
        request = engine.add(_PROMPT, limit=100)
        engine.settle(5)
        self.assertEqual(_BLOCKS, len(self.fake.stored))
        self.stop()
        self.start_adapter()
        engine.step()
        half = engine.connector._scheduler
        assert half is not None and half._client is not None
        half._client.counters()
        self.meet(engine)
        engine.run()
        engine.settle(4)
        self.assertEqual(set(request.block_hashes[: (len(_PROMPT) + 100 - 1) // BLOCK]), self.fake.stored)
        engine.require_empty()

    def test_what_one_agent_was_to_be_told_is_not_told_to_the_next(self) -> None:
        engine = self.engine()
        engine.workers.ranks[0].holds_saves = True
        request = engine.add(_PROMPT, limit=100)
        engine.settle(3)
        half = engine.connector._scheduler
        assert half is not None and half._client is not None
        # Gone before it hears that the save has ended, and that the request has.
        self.stop()
        half._client.counters()
        engine.workers.ranks[0].holds_saves = False
        half.reported(engine.workers.step(0, Orders()))
        engine.abort(request)
        self.start_adapter()
        self.meet(engine)
        engine.add(_PROMPT[1:], limit=2)
        engine.run()
        first = self.fake.of(messages.Step)[0]
        self.assertEqual(([], []), (first.finished, first.saves_ended))
        engine.settle(4)
        engine.require_empty()

    def test_only_what_a_step_computes_is_saved_behind_it(self) -> None:
        engine = self.engine(budget=2 * BLOCK + 3)
        engine.add(_PROMPT, limit=1)
        saved = []
        for _ in range(3):
            engine.step()
            saved.append([(save.first_block, len(save.pages)) for save in engine.orders[-1].saves])
        self.assertEqual([[(0, 2)], [(2, 2)], [(4, 1)]], saved)
        engine.run()
        engine.settle(4)
        engine.require_empty()

    def test_an_agent_that_still_reads_the_model_is_asked_again(self) -> None:
        self.start_adapter()
        self.fake.identifying = 1_000_000
        engine = self.engine(adapter=False)
        engine.add(_PROMPT, limit=2)
        engine.run()
        self.assertEqual([], self.fake.of(messages.Attach))
        self.fake.identifying = 0
        self.meet(engine)
        engine.add(_PROMPT[1:], limit=2)
        engine.run()
        self.assertEqual(1, len(self.fake.of(messages.Attach)))
        engine.settle(4)
        self.assertEqual(_BLOCKS, len(self.fake.stored))
        engine.require_empty()

    def test_pages_stay_with_a_save_until_it_is_reported_though_the_request_has_ended(self) -> None:
        engine = self.engine()
        engine.workers.ranks[0].holds_saves = True
        engine.add(_PROMPT, limit=1)
        engine.step()
        engine.settle(2)
        self.assertEqual(engine.blocks - 1 - _BLOCKS, engine.free_blocks())
        self.assertTrue(engine.connector.has_pending_block_frees())
        self.assertTrue(engine.connector.has_pending_push_work())
        engine.workers.ranks[0].holds_saves = False
        engine.settle(2)
        self.assertFalse(engine.connector.has_pending_block_frees())
        engine.require_empty()

    def test_saves_that_never_end_do_not_hold_the_engine_up(self) -> None:
        engine = self.engine()
        engine.workers.ranks[0].holds_saves = True
        engine.add(_PROMPT, limit=1)
        engine.step()
        half = engine.connector._scheduler
        assert half is not None
        now = half._pins_moved
        half._clock = lambda: now + 3.0
        self.assertFalse(engine.connector.has_pending_block_frees())
        self.assertTrue(engine.connector.has_pending_push_work())
        half._clock = lambda: now + 11.0
        self.assertFalse(engine.connector.has_pending_push_work())
        engine.run()

    def test_a_pause_of_the_engine_is_not_counted_as_its_patience(self) -> None:
        engine = self.engine()
        engine.workers.ranks[0].holds_saves = True
        engine.add(_PROMPT, limit=1)
        engine.run(3)
        engine.now += 60.0
        engine.step()
        self.assertTrue(engine.connector.has_pending_push_work())
        engine.workers.ranks[0].holds_saves = False
        engine.settle(4)
        self.assertFalse(engine.connector.has_pending_push_work())
        engine.require_empty()

    def test_saves_hold_half_of_the_pages_and_the_rest_is_saved_later(self) -> None:
        engine = self.engine(blocks=18)
        engine.workers.ranks[0].holds_saves = True
        engine.add(_PROMPT, limit=1)
        second = engine.add([token + 1 for token in _PROMPT], limit=BLOCK)
        engine.settle(4)
        saves = engine.workers.ranks[0].new_saves
        self.assertEqual([(0, _BLOCKS), (0, 9 - _BLOCKS)], [(save.first_block, len(save.pages)) for save in saves])
        self.assertEqual([0], [step.room for step in self.fake.of(messages.Step)[-1:]])
        engine.workers.ranks[0].holds_saves = False
        engine.settle(3)
        rest = saves[2]
        self.assertEqual((4, 4, 1), (rest.known, rest.first_block, len(rest.pages)))
        engine.run()
        engine.settle(4)
        engine.require_empty()
        self.assertLessEqual(set(second.block_hashes[:6]), self.fake.stored)

    def test_a_save_of_pages_that_are_not_the_request_s_is_not_begun(self) -> None:
        engine = self.engine()
        self.fake.shifts_pages = True
        engine.add(_PROMPT, limit=1)
        engine.run()
        engine.settle(3)
        (save,) = engine.workers.ranks[0].new_saves
        self.assertEqual(((), _BLOCKS * 32), (save.pages, len(save.hashes)))
        self.assertEqual(set(), self.fake.stored)
        engine.require_empty()

    def test_an_answer_is_saved_some_blocks_at_a_time_and_the_rest_at_its_end(self) -> None:
        engine = self.engine()
        request = engine.add(_PROMPT, limit=6 * BLOCK)
        engine.run()
        engine.settle(4)
        saves = [(save.first_block, len(save.pages)) for save in engine.workers.ranks[0].new_saves]
        self.assertEqual([(0, _BLOCKS), (_BLOCKS, 4), (_BLOCKS + 4, 2)], saves)
        self.assertEqual(set(request.block_hashes[: _BLOCKS + 6]), self.fake.stored)
        engine.require_empty()

    def test_no_step_tells_of_the_answers_of_all_requests(self) -> None:
        engine = self.engine(blocks=128)
        for number in range(8):
            engine.add([token + number for token in _PROMPT], limit=5 * BLOCK)
        for _ in range(5 * BLOCK - 1):
            engine.step()
        told = [len(step.advanced) for step in self.fake.of(messages.Step)]
        # Prompts as they are computed, and then one a step.
        self.assertEqual(8 + 8, sum(told))
        self.assertEqual([1] * 8, [count for count in told if count][-8:])
        engine.run()
        engine.settle(4)
        engine.require_empty()

    def test_what_an_aborted_request_was_not_asked_for_is_not_held(self) -> None:
        engine = self.engine()
        request = engine.add(_PROMPT, limit=3 * BLOCK)
        engine.settle(2 * BLOCK + 2)
        engine.abort(request)
        engine.settle(4)
        self.assertEqual(set(request.block_hashes[:_BLOCKS]), self.fake.stored)
        engine.require_empty()

    def test_an_engine_whose_agent_is_gone_takes_no_steps_for_ends_that_nobody_hears_of(self) -> None:
        engine = self.engine()
        engine.workers.ranks[0].holds_saves = True
        engine.add(_PROMPT, limit=1)
        engine.run(3)
        self.assertTrue(engine.connector.has_pending_push_work())
        self.stop()
        half = engine.connector._scheduler
        assert half is not None and half._client is not None
        # So it knows before the saves end.
        half._client.counters()
        engine.workers.ranks[0].holds_saves = False
        engine.settle(6)
        self.assertFalse(engine.connector.has_pending_push_work())
        engine.require_empty()

    def test_ends_of_saves_are_told_with_what_comes_next_or_after_a_while(self) -> None:
        engine = self.engine()
        engine.step_s = 0.01
        engine.add(_PROMPT, limit=3 * BLOCK)
        engine.settle(3)
        self.assertEqual([], [step for step in self.fake.of(messages.Step) if step.saves_ended])
        engine.settle(6)
        (ends,) = [step.saves_ended for step in self.fake.of(messages.Step) if step.saves_ended]
        self.assertEqual([_BLOCKS], [end.blocks for end in ends])
        engine.run()
        engine.settle(4)
        engine.require_empty()

    def test_blocks_of_generated_tokens_are_saved_when_they_are_confirmed(self) -> None:
        engine = self.engine()
        request = engine.add(_PROMPT, limit=3 * BLOCK)
        engine.run()
        engine.settle(4)
        whole = (len(_PROMPT) + 3 * BLOCK - 1) // BLOCK
        self.assertEqual(set(request.block_hashes[:whole]), self.fake.stored)
        engine.require_empty()

    def test_a_preempted_request_starts_over_and_is_loaded(self) -> None:
        engine = self.engine(blocks=24)
        first = engine.add(_PROMPT, limit=9 * BLOCK)
        second = engine.add([token + 1 for token in _PROMPT], limit=9 * BLOCK)
        engine.run(2000)
        engine.settle(4)
        self.assertGreater(first.num_preemptions + second.num_preemptions, 0)
        self.assertGreater(len(engine.workers.ranks[0].new_loads), 0)
        self.assertEqual({first.request_id: 9 * BLOCK, second.request_id: 9 * BLOCK},
                         {name: len(tokens) for name, tokens in engine.finished.items()})
        engine.require_empty()
        self.assertEqual(set(), self.fake.leases)

    def test_two_requests_with_one_prefix_each_load_it_or_find_it_loaded(self) -> None:
        engine = self.engine()
        self.stored(engine)
        engine.add(_PROMPT)
        engine.add(_PROMPT + [9, 9, 9])
        engine.run()
        engine.settle(4)
        self.assertIn(len(engine.workers.ranks[0].new_loads), (1, 2))
        engine.require_empty()
        self.assertEqual(set(), self.fake.leases)

    def test_a_slow_rank_holds_a_load_and_a_save_up(self) -> None:
        engine = self.engine(ranks=2)
        engine.workers.ranks[1].holds_saves = True
        engine.add(_PROMPT, limit=1)
        engine.step()
        engine.settle(2)
        self.assertEqual(set(), self.fake.stored)
        self.assertEqual(engine.blocks - 1 - _BLOCKS, engine.free_blocks())
        engine.workers.ranks[1].holds_saves = False
        engine.settle(3)
        engine.require_empty()
        self.assertEqual(_BLOCKS, len(self.fake.stored))
        engine.scheduler.reset_prefix_cache()
        engine.workers.ranks[1].holds_loads = True
        request = engine.add(_PROMPT)
        engine.settle(4)
        self.assertNotIn(request.request_id, engine.finished)
        engine.workers.ranks[1].holds_loads = False
        engine.run()
        engine.settle(4)
        engine.require_empty()

    def test_a_load_brings_what_the_rank_with_the_fewest_blocks_has(self) -> None:
        engine = self.engine(ranks=2)
        self.stored(engine)
        engine.workers.ranks[0].load_blocks = 4
        engine.workers.ranks[1].load_blocks = 1
        engine.workers.ranks[1].holds_loads = True
        engine.add(_PROMPT)
        engine.settle(3)
        engine.workers.ranks[1].holds_loads = False
        scheduled = [sum(engine.step().num_scheduled_tokens.values()) for _ in range(4)]
        self.assertEqual(len(_PROMPT) - BLOCK, next(tokens for tokens in scheduled if tokens))
        engine.run()
        engine.settle(4)
        engine.require_empty()

    def test_a_reset_is_a_miss_and_then_what_is_saved_anew_is_found(self) -> None:
        engine = self.engine()
        self.stored(engine)
        self.assertTrue(engine.scheduler.reset_prefix_cache(reset_connector=True))
        engine.add(_PROMPT, limit=1)
        engine.run()
        self.assertEqual([], engine.workers.ranks[0].new_loads)
        engine.settle(4)
        self.assertTrue(engine.scheduler.reset_prefix_cache())
        engine.add(_PROMPT, limit=1)
        engine.run()
        self.assertEqual(1, len(engine.workers.ranks[0].new_loads))

    def test_a_reset_is_refused_while_a_load_or_a_save_is_under_way(self) -> None:
        engine = self.engine()
        engine.workers.ranks[0].holds_saves = True
        engine.add(_PROMPT, limit=1)
        engine.step()
        self.assertFalse(engine.connector.reset_cache())
        engine.workers.ranks[0].holds_saves = False
        engine.settle(4)
        self.assertTrue(engine.scheduler.reset_prefix_cache())
        engine.workers.ranks[0].holds_loads = True
        engine.add(_PROMPT)
        engine.step()
        self.assertFalse(engine.scheduler.reset_prefix_cache(reset_connector=True))
        engine.workers.ranks[0].holds_loads = False
        engine.run()
        engine.settle(4)
        self.assertTrue(engine.scheduler.reset_prefix_cache(reset_connector=True))

    def test_an_agent_that_was_not_there_at_a_reset_is_told_of_it_first(self) -> None:
        engine = self.engine()
        self.stored(engine)
        stored = self.fake.stored
        self.stop()
        self.assertTrue(engine.scheduler.reset_prefix_cache(reset_connector=True))
        self.start_adapter().stored = stored
        self.meet(engine)
        engine.add(_PROMPT, limit=1)
        engine.run()
        self.assertEqual([], engine.workers.ranks[0].new_loads)
        self.assertEqual(1, len(self.fake.of(messages.Reset)))

    def test_running_requests_that_a_reset_preempts_go_on(self) -> None:
        engine = self.engine()
        request = engine.add(_PROMPT, limit=2 * BLOCK)
        engine.settle(6)
        self.assertTrue(engine.scheduler.reset_prefix_cache(reset_running_requests=True))
        engine.run()
        self.assertEqual(2 * BLOCK, len(engine.finished[request.request_id]))
        engine.settle(4)
        engine.require_empty()

    def test_a_request_that_may_not_read_the_cache_does_not_ask(self) -> None:
        engine = self.engine()
        self.stored(engine)
        engine.add(_PROMPT, sampling={"prompt_logprobs": 1})
        asked = len(self.fake.of(messages.Lookup))
        engine.step()
        self.assertEqual(asked, len(self.fake.of(messages.Lookup)))

    def test_a_request_with_streamed_input_goes_by_the_cache(self) -> None:
        engine = self.engine()
        self.stored(engine)
        before = len(self.fake.requests)
        engine.add(_PROMPT, resumable=True)
        for _ in range(3):
            engine.step()
        self.assertEqual(before, len(self.fake.requests))

    def test_blocks_that_are_stored_are_told_as_events(self) -> None:
        engine = self.engine(events=True)
        request = engine.add(_PROMPT, limit=1)
        engine.run()
        engine.settle(4)
        engine.events.clear()
        engine.add(_PROMPT[3:], limit=1)
        engine.run()
        engine.settle(4)
        stored = [event for event in engine.events if getattr(event, "medium", None) == "CPU"]
        self.assertEqual([_BLOCKS], [len(event.block_hashes) for event in stored])
        self.assertEqual(_PROMPT[3 : 3 + _BLOCKS * BLOCK], stored[0].token_ids)
        self.assertEqual((None, BLOCK), (stored[0].parent_block_hash, stored[0].block_size))
        self.assertEqual(_BLOCKS, len(request.block_hashes))
        engine.events.clear()
        self.assertTrue(engine.connector.reset_cache())
        self.assertEqual(["AllBlocksCleared"], [type(event).__name__ for event in engine.connector.take_events()])

    def told(self, engine: Engine) -> list[tuple[Any, ...]]:
        """What routers were told since the last call of blocks that are not in the engine's own cache."""
        engine.settle(1)
        told: list[tuple[Any, ...]] = []
        for event in engine.events:
            name = type(event).__name__
            if name == "AllBlocksCleared":
                told.append((name,))
            elif event.medium == "CPU":
                told.append((name, *event.block_hashes))
        engine.events.clear()
        return told

    def with_events(self, seconds: list[float]) -> Engine:
        """Returns an engine that tells events, and whose time is that of the list's only element."""
        engine = self.engine(events=True)
        half = engine.connector._scheduler
        assert half is not None
        half._clock = lambda: seconds[0]
        return engine

    def test_blocks_that_leave_are_told_as_events_though_the_engine_says_nothing_else(self) -> None:
        now = [1e6]
        engine = self.with_events(now)
        request = engine.add(_PROMPT, limit=1)
        engine.run()
        engine.settle(4)
        hashes = [maybe_convert_block_hash(block) for block in request.block_hashes]
        self.assertIn(("BlockStored", *hashes), self.told(engine))
        steps = len(self.fake.of(messages.Step))
        self.fake.departed = list(request.block_hashes[3:])
        self.assertEqual([], self.told(engine))
        self.assertEqual(steps, len(self.fake.of(messages.Step)))
        now[0] += 1
        self.assertEqual([("BlockRemoved", *hashes[3:])], self.told(engine))
        self.fake.cleared = True
        now[0] += 1
        self.assertEqual([("AllBlocksCleared",)], self.told(engine))
        self.fake.cleared = True
        now[0] += 1
        self.assertEqual([], self.told(engine), "nobody takes anything for stored")

    def test_a_block_that_leaves_before_its_save_is_reported_is_not_told_as_stored_afterwards(self) -> None:
        now = [1e6]
        engine = self.with_events(now)
        engine.workers.ranks[0].holds_saves = True
        request = engine.add(_PROMPT, limit=1)
        engine.run()
        engine.settle(2)
        self.told(engine)
        hashes = [maybe_convert_block_hash(block) for block in request.block_hashes]
        self.fake.departed = [request.block_hashes[2]]
        now[0] += 1
        self.assertEqual([("BlockRemoved", hashes[2])], self.told(engine))
        engine.workers.ranks[0].holds_saves = False
        engine.settle(3)
        self.assertEqual([("BlockStored", *hashes[:2])], self.told(engine))

    def test_an_agent_that_was_started_since_makes_all_that_was_told_unknown(self) -> None:
        now = [1e6]
        engine = self.with_events(now)
        engine.add(_PROMPT, limit=1)
        engine.run()
        engine.settle(4)
        self.told(engine)
        self.stop()
        self.start_adapter()
        half = engine.connector._scheduler
        assert half is not None and half._client is not None
        half._client.counters()
        self.meet(engine)
        engine.add(_PROMPT[5:], limit=2)
        now[0] += 1
        engine.run()
        self.assertIn(("AllBlocksCleared",), self.told(engine))

    def test_tokens_are_counted(self) -> None:
        engine = self.engine()
        self.stored(engine)
        engine.connector.get_kv_connector_stats()
        engine.add(_PROMPT, limit=1)
        half = engine.connector._scheduler
        assert half is not None
        counted: dict[str, float] = {}
        take = half.take_stats

        def watched() -> Any:
            stats = take()
            for name, amount in (stats.data if stats is not None else {}).items():
                counted[name] = counted.get(name, 0) + amount
            return stats

        half.take_stats = watched  # type: ignore[method-assign]
        engine.run()
        self.assertEqual({"loaded_tokens": _BLOCKS * BLOCK}, counted)

    def test_without_the_engine_s_own_prefix_cache_blocks_are_saved_and_loaded_all_the_same(self) -> None:
        engine = self.engine(caching=False)
        engine.add(_PROMPT, limit=1)
        engine.run()
        engine.settle(4)
        engine.add(_PROMPT, limit=1)
        engine.run()
        engine.settle(4)
        self.assertEqual(1, len(engine.workers.ranks[0].new_loads))
        engine.require_empty()


class AsyncSchedulerTest(SchedulerTest):
    is_async = True


if __name__ == "__main__":
    unittest.main()

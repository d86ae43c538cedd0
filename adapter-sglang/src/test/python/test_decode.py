"""What a decode worker has saved: pages of requests that finished well, by the released queues and both trees."""

from __future__ import annotations

import unittest
from collections.abc import Callable, Sequence
from typing import Any, Optional
from unittest import mock

import engine
import loaded
import torch
from decoding import PREFILL_RANKS, Decoding
from engine import PAGE, tokens_of
from orbitkv_sglang import factory
from orbitkv_sglang.copies import JointSave, Part
from orbitkv_sglang.decode import DecodeTree
from orbitkv_sglang.transfers import Save
from sglang.srt.disaggregation.base import KVPoll

DECODE: dict[str, Any] = {"disaggregation_mode": "decode", "disaggregation_decode_enable_radix_cache": True}


class _Agent:
    """An agent that takes every save and has it end when asked for."""

    def __init__(self, *_: Any) -> None:
        self.copies = self
        self.ready = True
        self.layers = None
        self.saves: list[tuple[Save, list[torch.Tensor]]] = []
        self.read: Callable[[torch.Tensor], list[torch.Tensor]] = lambda slots: []

    def save(self, chain: bytes, first_block: int, pages: Sequence[int], window: Sequence[Part]) -> JointSave:
        save = Save(chain, first_block, pages)
        slots = torch.cat([torch.arange(page * PAGE, (page + 1) * PAGE) for page in save.pages])
        self.saves.append((save, self.read(slots)))
        save.stored = True
        return JointSave(save)

    def blocks(self) -> set[bytes]:
        """Returns the names of what was saved."""
        return {
            save.chain[32 * (save.first_block + index) : 32 * (save.first_block + index + 1)]
            for save, _ in self.saves
            for index in range(len(save.pages))
        }

    def lookup(self, *_: Any) -> Any:
        raise AssertionError("a decode worker looks nothing up")

    def give_up(self, request: str, lease: int) -> None:
        pass

    def quiesce(self, limit_s: float) -> None:
        pass

    def close(self) -> None:
        pass


class DecodeTest(unittest.TestCase):
    core: Optional[str] = "python"

    def setUp(self) -> None:
        loaded.load()
        server = engine.publish_engine({"loads": "off"}, **DECODE)
        with mock.patch.object(factory, "Agent", _Agent), mock.patch.object(factory, "shared_pages"):
            self.of = engine.Engine(server, pool=engine.mha_pool(64), core=self.core)
        self.addCleanup(self.of.close)
        self.agent: _Agent = self.of.linker._copies
        self.agent.read = self.of.read
        self.worker = Decoding(self.of)

    def _chain(self, tokens: list[int]) -> list[bytes]:
        from sglang.srt.mem_cache.utils import get_hash_str

        whole = len(tokens) // PAGE * PAGE
        return [bytes.fromhex(name) for name in get_hash_str(tokens[:whole], None, page_size=PAGE)]

    def _run(self, rid: str, prompt: list[int]) -> Any:
        req = self.worker.deliver(self.worker.admit(rid, prompt))
        self.worker.begin(req)
        return req

    def _assert_saved(self, tokens: list[int]) -> None:
        """All of a prompt and an answer, with the bytes that they should have."""
        self.assertEqual(set(self._chain(tokens)), self.agent.blocks())
        for save, rows in self.agent.saves:
            first = save.first_block * PAGE
            for found, expected in zip(rows, self.of.expected(tokens)):
                self.assertTrue(torch.equal(found, expected[first : first + len(found)]))

    def _assert_nothing_is_held(self) -> None:
        self.of.tend()
        self.assertEqual(0, self.of.cache.protected_size())
        self.assertEqual(self.of.pool.size, self.of.allocator.available_size() + self.of.cache.evictable_size())

    def test_the_tree_is_the_released_one_and_restores_nothing(self) -> None:
        self.assertIsInstance(self.of.cache, DecodeTree)
        # Would call the agent, which knows of no lookups.
        self._run("a", tokens_of(1, 100))

    def test_what_was_delivered_is_saved_when_its_request_has_finished_well_and_not_before(self) -> None:
        prompt = tokens_of(1, 100)
        req = self._run("a", prompt)
        self.worker.generate(req, tokens_of(2, 30))
        self.assertEqual([], self.agent.saves)
        computed = [*prompt, *req.output_ids[:-1]]
        self.worker.finish(req)
        self._assert_saved(computed)
        self._assert_nothing_is_held()

    def test_an_answer_that_fills_no_page_has_its_prompt_saved_too(self) -> None:
        prompt = tokens_of(1, 96)
        req = self._run("a", prompt)
        self.worker.generate(req, [5, 6])
        self.worker.finish(req)
        self._assert_saved(prompt)

    def test_what_is_stored_is_not_offered_again(self) -> None:
        prompt = tokens_of(1, 96)
        for rid in ("a", "b"):
            req = self._run(rid, prompt)
            self.worker.finish(req)
            self.of.tend()
        self.assertEqual(1, len(self.agent.saves))

    def test_a_request_that_was_aborted_is_not_saved_whatever_had_arrived(self) -> None:
        running = self._run("running", tokens_of(1, 100))
        self.worker.generate(running, tokens_of(2, 30))
        self.worker.abort(running)
        # Delivered, not checked yet, and in no batch.
        self.worker.abort(self.worker.deliver(self.worker.admit("waiting", tokens_of(3, 100))))
        self.assertEqual([], self.agent.saves)
        self._assert_nothing_is_held()

    def test_a_shared_prefix_is_saved_with_the_first_that_finishes_well(self) -> None:
        common = tokens_of(1, 64)
        aborted = self._run("aborted", [*common, *tokens_of(2, 32)])
        finished = self._run("finished", [*common, *tokens_of(3, 32)])
        self.worker.abort(aborted)
        self.assertEqual([], self.agent.saves)
        self.worker.finish(finished)
        self._assert_saved([*common, *tokens_of(3, 32)])

    def test_nothing_of_a_failed_transfer_is_saved_and_its_pages_are_saved_again_once_it_is_drained(self) -> None:
        entry = self.worker.admit("failed", tokens_of(1, 96))
        pages = set((self.worker.slots(entry.req) // PAGE).tolist())
        self.worker.fail(entry, acknowledged=PREFILL_RANKS)
        self.assertEqual([], self.agent.saves)
        self._assert_nothing_is_held()
        # The engine uses them again, and so does what is saved.
        used: set[int] = set()
        for seed in range(2, 12):
            self.of.evict_all()
            req = self._run(f"next {seed}", tokens_of(seed, 96))
            used |= set((self.worker.slots(req) // PAGE).tolist())
            self.worker.finish(req)
            self.of.tend()
        self.assertTrue(pages & used)
        self.assertEqual(10, len(self.agent.saves))

    def test_nothing_is_saved_any_more_when_pages_are_used_again_that_may_still_be_written(self) -> None:
        for acknowledged in range(PREFILL_RANKS):
            with self.subTest(acknowledged):
                self.setUp()
                kept = self._run("kept", tokens_of(9, 96))
                self.worker.finish(kept)
                self.of.tend()
                before = len(self.agent.saves)
                self.assertEqual(1, before)
                running = self._run("running", tokens_of(8, 96))
                entry = self.worker.admit("lost", tokens_of(1, 96))
                with self.assertLogs("orbitkv_sglang", "WARNING") as logged:
                    self.worker.fail(entry, acknowledged=acknowledged)
                self.assertIn("'lost' was not seen to end", logged.output[0])
                self.worker.finish(running)
                self.worker.finish(self._run("next", tokens_of(1, 96)))
                self.assertEqual(before, len(self.agent.saves))
                self._assert_nothing_is_held()

    def test_a_failure_of_which_prefill_was_not_told_counts_as_one_that_may_still_be_written(self) -> None:
        self.worker.manager.enable_deferred_decode_kv_release = False
        entry = self.worker.admit("lost", tokens_of(1, 96))
        entry.kv_receiver.state = KVPoll.Failed
        with self.assertLogs("orbitkv_sglang", "WARNING"):
            self.worker.transfers.pop_transferred()
        self.worker.finish(self._run("next", tokens_of(1, 96)))
        self.assertEqual([], self.agent.saves)

    def test_a_step_of_the_released_loop_takes_what_has_ended(self) -> None:
        from sglang.srt.disaggregation.decode import SchedulerDisaggregationDecodeMixin

        self.worker.finish(self._run("a", tokens_of(1, 96)))
        self.assertEqual(1, len(self.of.cache.linker.pending_offloads))

        class _Enough(Exception):
            """The step goes on with what is not there in a test."""

        scheduler = mock.Mock(tree_cache=self.of.cache, enable_decode_hicache=False)
        scheduler.disagg_decode_transfer_queue.resolve_deferred_releases.side_effect = _Enough
        with self.assertRaises(_Enough):
            SchedulerDisaggregationDecodeMixin.process_decode_queue(scheduler)
        self.assertEqual([], self.of.cache.linker.pending_offloads)


class RustDecodeTest(DecodeTest):
    core = "rust"


if __name__ == "__main__":
    unittest.main()

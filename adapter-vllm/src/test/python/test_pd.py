"""OrbitKV and the transport between prefill and decode in vLLM's own scheduler: its MultiConnector and the scheduler
half of its NixlConnector as they are released. What NIXL's workers report is what a test says."""

from __future__ import annotations

import contextlib
import logging
import random
import socket
import tempfile
import time
import unittest
from collections.abc import Iterable
from typing import Any, NamedTuple, Optional
from unittest import mock

from vllm.config.kv_transfer import KVTransferConfig
from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory
from vllm.distributed.kv_transfer.kv_connector.v1.multi_connector import MultiConnector
from vllm.distributed.kv_transfer.kv_connector.v1.nixl.connector import NixlConnector
from vllm.distributed.kv_transfer.kv_connector.v1.nixl.metadata import NixlConnectorMetadata
from vllm.v1.core.sched.output import SchedulerOutput
from vllm.v1.outputs import KVConnectorOutput
from vllm.v1.request import Request, RequestStatus

from engine import BLOCK, Engine, Transport, describe, engine_config
from fake_adapter import FakeAdapter
from orbitkv_vllm import plugin
from orbitkv_vllm.rendezvous import Rendezvous
from workers import Workers

_PROMPT = [7 * token % 500 + 3 for token in range(5 * BLOCK + 5)]
_BLOCKS = len(_PROMPT) // BLOCK

_KEPT_S = 30
_SAVE = {"loads": "off", "saves": "finished", "delivery_s": _KEPT_S}
"""What decode is planned with."""


class _Filled(NamedTuple):
    """What a page holds: leading tokens of one block of a request."""

    request: Request
    block: int
    tokens: int


class PdEngine(Engine):
    """An engine whose pages have contents: what was computed, what the transport brought, and what it left behind."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        (self.nixl,) = [child for child in self.children if isinstance(child, NixlConnector)]
        self.pages: dict[int, Optional[_Filled]] = {}
        """Nothing for a page that nobody knows the content of."""
        self.receiving: dict[str, list[int]] = {}
        self.sending: set[str] = set()
        self.answers: dict[str, Any] = {}
        self.saved: list[bytes] = []
        self._say = KVConnectorOutput()
        self._requests: dict[str, Request] = {}

    def add(self, *arguments: Any, **options: Any) -> Request:
        request = super().add(*arguments, **options)
        self._requests[request.request_id] = request
        return request

    def deliver(self, name: str, blocks: Optional[int] = None) -> None:
        """The transfer of a request ends, with so many leading pages of it; the others hold anything."""
        pages = self.receiving.pop(name)
        request = self._requests[name]
        known = self.scheduler.kv_cache_manager.get_block_ids(name)[0]
        good = len(pages) if blocks is None else blocks
        for index, page in enumerate(pages):
            block = known.index(page)
            tokens = min(BLOCK, request.num_prompt_tokens - block * BLOCK)
            self.pages[page] = _Filled(request, block, tokens) if index < good else None
        self._say.finished_recving = (self._say.finished_recving or set()) | {name}
        if good == 0:
            self._say.failed_recving |= {name}
        self._say.invalid_block_ids |= set(pages[good:])

    def sent(self, name: str) -> None:
        """The other side has the pages of a request."""
        self.sending.remove(name)
        self._say.finished_sending = (self._say.finished_sending or set()) | {name}

    def transferred(self, output: SchedulerOutput, results: KVConnectorOutput) -> KVConnectorOutput:
        self._compute(output)
        self._check(self.orders[-1].saves)
        told = self.told(output, self.nixl)
        assert isinstance(told, NixlConnectorMetadata)
        for name, meta in told.reqs_to_recv.items():
            if meta.awaiting_kvs:
                self.receiving[name] = list(meta.local_block_ids[0])
                for page in self.receiving[name]:
                    # Written at any moment from now on.
                    self.pages[page] = None
        self.sending |= set(told.reqs_to_send)
        results = super().transferred(output, results)
        say, self._say = self._say, KVConnectorOutput()
        results.finished_recving = (results.finished_recving or set()) | (say.finished_recving or set()) or None
        results.finished_sending = say.finished_sending
        results.failed_recving = results.failed_recving | say.failed_recving
        results.invalid_block_ids = results.invalid_block_ids | say.invalid_block_ids
        return results

    def _compute(self, output: SchedulerOutput) -> None:
        for name, scheduled in output.num_scheduled_tokens.items():
            request = self.scheduler.requests[name]
            pages = self.scheduler.kv_cache_manager.get_block_ids(name)[0]
            # The scheduler has counted them already.
            end = request.num_computed_tokens
            start = end - scheduled
            for block in range(start // BLOCK, (end - 1) // BLOCK + 1):
                page = pages[block]
                self._require(name, pages[:block], request)
                offset = max(start - block * BLOCK, 0)
                found = self.pages.get(page)
                assert offset == 0 or found is not None and found.tokens >= offset, f"{name} computes behind a gap"
                self.pages[page] = _Filled(request, block, min(BLOCK, end - block * BLOCK))

    def _require(self, name: str, pages: Iterable[int], request: Request) -> None:
        for block, page in enumerate(pages):
            found = self.pages.get(page)
            assert found is not None and found.tokens == BLOCK, f"{name} reads page {page}, which holds {found}"
            tokens = (block + 1) * BLOCK
            assert (found.block, found.request.all_token_ids[:tokens]) == (block, request.all_token_ids[:tokens])

    def _check(self, saves: Iterable[Any]) -> None:
        for save in saves:
            hashes = [save.hashes[at : at + 32] for at in range(0, len(save.hashes), 32)]
            for index, page in enumerate(save.pages):
                found = self.pages.get(page)
                assert found is not None and found.tokens == BLOCK, f"page {page} is saved, and holds {found}"
                name = hashes[save.first_block + index - save.known]
                assert found.request.block_hashes[found.block] == name, "a block is saved under another's name"
                self.saved.append(name)


class PdTest(unittest.TestCase):
    def setUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        with contextlib.closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        environment = {"VLLM_NIXL_SIDE_CHANNEL_PORT": port}
        patched = mock.patch.dict("os.environ", environment)
        patched.start()
        self.addCleanup(patched.stop)
        self.adapters: dict[str, FakeAdapter] = {}
        self.kept_from: dict[str, object] = {"orbitkv_kept_from": time.time()}

    def adapter(self, name: str) -> FakeAdapter:
        if name not in self.adapters:
            fake = FakeAdapter(Rendezvous(self.folder + "/run", name).scheduler_socket, BLOCK)
            self.adapters[name] = fake
            self.addCleanup(fake.close)
        return self.adapters[name]

    def engine(
        self, name: str, role: str, *, first: bool = False, blocks: int = 64, is_async: bool = False, **options: Any
    ) -> PdEngine:
        self.adapter(name)
        config = engine_config(
            self.folder, engine_id=name, transport=Transport(role, first), is_async=is_async, **options)
        engine = PdEngine(config, Workers(), blocks=blocks)
        self.addCleanup(engine.scheduler.shutdown)
        describe(config, 1)
        # NIXL's half would listen from now on, for workers that are not here.
        engine.connector.set_xfer_handshake_metadata_pp_aware({})
        half = engine.connector._scheduler
        assert half is not None and half._client is not None
        half._client._deadline_s = 60.0
        self.assertTrue(half._client.prepare(60.0))
        return engine

    def prefill(self, **options: Any) -> PdEngine:
        return self.engine("p", "kv_producer", **options)

    def decode(self, **options: Any) -> PdEngine:
        return self.engine("d", "kv_consumer", extra=options.pop("extra", _SAVE), **options)

    def received(self, engine: PdEngine, prompt: list[int] = _PROMPT, **options: Any) -> Request:
        """Adds a request whose prompt another engine has computed."""
        return engine.add(prompt, sampling=_transfer({
            "do_remote_prefill": True, "do_remote_decode": False, "remote_block_ids": (list(range(1, 9)),),
            "remote_engine_id": "other", "remote_request_id": "r", "remote_host": "127.0.0.1", "remote_port": 1,
            "tp_size": 1, "remote_num_tokens": len(prompt), **self.kept_from,
        }), **options)

    # What the released classes make of the two.

    def test_delivery_is_reliable_where_the_transport_needs_it(self) -> None:
        prefill, decode = self.prefill(), self.decode()
        self.assertFalse(prefill.connector.requires_kv_delivery)
        self.assertTrue(prefill.outer.requires_kv_delivery)
        self.assertTrue(prefill.scheduler.requires_kv_delivery)
        self.assertFalse(decode.scheduler.requires_kv_delivery)

    def test_both_children_have_one_layout(self) -> None:
        config = engine_config(self.folder, transport=Transport("kv_producer"))
        self.assertEqual("LBHNC", MultiConnector.get_required_kvcache_layout(config))

    def test_counts_are_found_by_the_child_s_name(self) -> None:
        plugin.register()
        self.assertEqual("OrbitKvConnector", KVConnectorFactory.get_connector_class_by_name(plugin.CONNECTOR).__name__)
        stats = MultiConnector.build_kv_connector_stats({"OrbitKvConnector": {"saved_tokens": 3}})
        assert stats is not None
        self.assertEqual({"saved_tokens": 3}, dict(stats.data["OrbitKvConnector"].data))

    def test_a_child_with_an_engine_id_of_its_own_cannot_be_made(self) -> None:
        config = engine_config(self.folder, transport=Transport("kv_producer"))
        transfer = config.kv_transfer_config
        assert isinstance(transfer, KVTransferConfig)
        transfer.kv_connector_extra_config["connectors"][1]["engine_id"] = "mine"
        with self.assertRaisesRegex(TypeError, "multiple values for keyword argument 'engine_id'"):
            MultiConnector.get_required_kvcache_layout(config)

    # Prefill.

    def test_prefill_restores_and_hands_over(self) -> None:
        self._restores_and_hands_over(self.prefill())

    def test_prefill_does_so_whichever_child_comes_first(self) -> None:
        self._restores_and_hands_over(self.prefill(first=True))

    def _restores_and_hands_over(self, engine: PdEngine) -> None:
        engine.add(_PROMPT, limit=1)
        engine.run()
        engine.settle(4)
        self.assertEqual(_BLOCKS, len(self.adapters["p"].stored))
        self.assertTrue(engine.scheduler.reset_prefix_cache())
        request = engine.add(_PROMPT, limit=1, sampling=_transfer({"do_remote_decode": True}))
        engine.step()
        (load,) = engine.orders[-1].loads
        self.assertEqual((0, _BLOCKS), (load.first_block, len(load.pages)))
        for block, page in enumerate(load.pages):
            engine.pages[page] = _Filled(request, block, BLOCK)
        engine.settle(6)
        self.assertIn(request.request_id, engine.finished)
        self.assertEqual({request.request_id}, engine.sending)
        self.assertEqual(engine.blocks - 1 - (_BLOCKS + 1), engine.free_blocks(), "kept for decode")
        engine.sent(request.request_id)
        engine.settle(2)
        engine.require_empty()
        self.assertEqual(set(), self.adapters["p"].leases)

    def test_the_lease_of_a_child_that_was_not_chosen_is_given_up(self) -> None:
        engine = self.engine("d", "kv_consumer", first=True)
        fake = self.adapters["d"]
        engine.add(_PROMPT, limit=1)
        engine.run()
        engine.settle(4)
        self.assertTrue(engine.scheduler.reset_prefix_cache())
        request = self.received(engine)
        engine.step()
        self.assertEqual([], engine.orders[-1].loads)
        self.assertEqual([request.request_id], list(engine.receiving))
        self.assertEqual(set(), fake.leases)
        engine.deliver(request.request_id)
        engine.run()
        engine.settle(4)
        engine.require_empty()

    # Decode.

    def test_what_was_delivered_is_saved_when_its_request_has_finished(self) -> None:
        self._saved_when_it_has_finished(self.decode())

    def test_it_is_with_a_step_more_under_way(self) -> None:
        self._saved_when_it_has_finished(self.decode(is_async=True))

    def _saved_when_it_has_finished(self, engine: PdEngine) -> None:
        request = self.received(engine, limit=3 * BLOCK)
        engine.settle(3)
        self.assertEqual({}, engine.finished)
        engine.deliver(request.request_id)
        for _ in range(2 * BLOCK):
            engine.step()
        self.assertEqual([], engine.saved, "its request goes on")
        engine.run()
        engine.settle(4)
        whole = (len(_PROMPT) + 3 * BLOCK - 1) // BLOCK
        self.assertEqual(request.block_hashes[:whole], engine.saved)
        engine.require_empty()

    def test_a_block_whose_last_token_is_the_last_is_not_saved(self) -> None:
        engine = self.decode(is_async=True)
        request = self.received(engine, limit=BLOCK - len(_PROMPT) % BLOCK)
        engine.settle(3)
        engine.deliver(request.request_id)
        engine.run()
        engine.settle(4)
        self.assertEqual(0, request.num_tokens % BLOCK)
        self.assertEqual(request.block_hashes[:_BLOCKS], engine.saved)
        engine.require_empty()

    def test_decode_asks_the_cache_for_nothing(self) -> None:
        engine = self.decode()
        engine.add(_PROMPT, limit=1)
        engine.run()
        engine.settle(4)
        self.assertTrue(engine.scheduler.reset_prefix_cache())
        again = engine.add(_PROMPT, limit=1)
        engine.run()
        engine.settle(4)
        self.assertEqual([], engine.workers.ranks[0].new_loads)
        self.assertIn(again.request_id, engine.finished)
        engine.require_empty()

    def test_a_transfer_that_was_cancelled_leaves_nothing(self) -> None:
        engine = self.decode()
        request = self.received(engine)
        engine.settle(2)
        engine.abort(request)
        engine.settle(4)
        self.assertEqual(engine.blocks - 1 - (_BLOCKS + 1), engine.free_blocks(), "the transport may still write")
        engine.deliver(request.request_id)
        engine.settle(4)
        self.assertEqual([], engine.saved)
        engine.require_empty()

    def test_a_peer_that_is_lost_keeps_its_pages_and_saves_none(self) -> None:
        engine = self.decode()
        request = self.received(engine)
        engine.settle(50)
        self.assertEqual([], engine.saved)
        self.assertEqual(RequestStatus.WAITING_FOR_REMOTE_KVS, request.status)
        other = engine.add(_PROMPT[1:], limit=2)
        engine.settle(6)
        self.assertIn(other.request_id, engine.finished)
        engine.abort(request)
        engine.settle(4)
        self.assertEqual(engine.blocks - 1 - (_BLOCKS + 1), engine.free_blocks())

    def test_a_transfer_that_failed_is_computed_and_saved_as_computed(self) -> None:
        for delivered in (0, 2):
            with self.subTest(delivered=delivered):
                engine = self.engine(f"d{delivered}", "kv_consumer", extra=_SAVE)
                request = self.received(engine)
                engine.settle(2)
                engine.deliver(request.request_id, delivered)
                engine.run()
                engine.settle(4)
                self.assertEqual(request.block_hashes[:_BLOCKS], engine.saved)
                engine.require_empty()

    def test_a_transfer_that_failed_ends_its_request_and_saves_nothing_under_the_other_policy(self) -> None:
        for delivered in (0, 2):
            with self.subTest(delivered=delivered):
                engine = self.engine(f"f{delivered}", "kv_consumer", extra=_SAVE, policy="fail")
                request = self.received(engine)
                engine.settle(2)
                engine.deliver(request.request_id, delivered)
                engine.run()
                engine.settle(4)
                self.assertEqual([], engine.finished[request.request_id])
                self.assertEqual([], engine.saved)
                engine.require_empty()

    def test_a_delivery_that_took_longer_than_its_pages_are_kept_is_not_saved(self) -> None:
        for late, whole in ((0.0, _BLOCKS), (-1.0, _BLOCKS), (0.5, 0), (9e9, 0)):
            with self.subTest(late=late):
                engine = self.engine(f"l{late}", "kv_consumer", extra=_SAVE)
                now = [1000.0]
                engine.connector._handovers._clock = lambda: now[0]
                self.kept_from = {"orbitkv_kept_from": now[0]}
                request = self.received(engine)
                engine.settle(2)
                now[0] += _KEPT_S + late
                engine.deliver(request.request_id)
                engine.run()
                now[0] += _KEPT_S
                engine.settle(4)
                self.assertEqual(request.block_hashes[:whole], engine.saved)
                again = engine.add(list(request.all_token_ids), limit=1)
                own = engine.scheduler.kv_cache_manager.get_computed_blocks(again)[1]
                self.assertEqual(whole * BLOCK, own, "nor does anybody else get what came late")
                engine.run()
                engine.settle(4)
                engine.require_empty()

    def test_a_delivery_of_which_nobody_says_since_when_it_was_kept_is_not_saved(self) -> None:
        cases: list[dict[str, object]] = [{}, {"orbitkv_kept_from": None}, {"orbitkv_kept_from": "now"}]
        for said in cases:
            with self.subTest(said=said):
                self.kept_from = said
                engine = self.engine(f"n{len(self.adapters)}", "kv_consumer", extra=_SAVE)
                request = self.received(engine)
                engine.settle(2)
                engine.deliver(request.request_id)
                engine.run()
                engine.settle(4)
                self.assertEqual([], engine.saved)
                engine.require_empty()

    def test_prefill_says_since_when_it_keeps_what_it_hands_over(self) -> None:
        engine = self.prefill()
        before = time.time()
        request = engine.add(_PROMPT, limit=1, sampling=_transfer({"do_remote_decode": True}))
        engine.run()
        said = engine.handed_over[request.request_id]
        assert said is not None
        self.assertTrue(before <= said["orbitkv_kept_from"] <= time.time())
        self.assertTrue(said["do_remote_prefill"], "with what the transport says")
        mine = engine.add(_PROMPT[1:], limit=1)
        engine.run()
        self.assertIsNone(engine.handed_over[mine.request_id])

    def test_a_request_that_was_aborted_after_its_delivery_saves_nothing(self) -> None:
        engine = self.decode()
        request = self.received(engine, limit=100)
        engine.settle(2)
        engine.deliver(request.request_id)
        engine.settle(2 * BLOCK)
        engine.abort(request)
        engine.settle(4)
        self.assertEqual([], engine.saved)
        engine.require_empty()

    def test_an_acknowledgement_that_comes_late_frees_pages_that_nobody_saved(self) -> None:
        engine = self.decode(blocks=2 * (_BLOCKS + 1) + 1)
        request = self.received(engine)
        engine.settle(2)
        engine.abort(request)
        others = [engine.add([9 * number + token for token in _PROMPT], limit=2) for number in range(1, 4)]
        engine.settle(40)
        self.assertTrue({other.request_id for other in others} <= set(engine.finished))
        saved = len(engine.saved)
        engine.deliver(request.request_id, 0)
        engine.settle(4)
        self.assertEqual(saved, len(engine.saved))
        # Its pages are others' now.
        self.received(engine, [token + 77 for token in _PROMPT])
        engine.settle(2)
        (name,) = engine.receiving
        engine.deliver(name)
        engine.run()
        engine.settle(4)
        self.assertEqual(saved + _BLOCKS, len(engine.saved))
        engine.require_empty()

    def test_without_an_agent_nothing_is_held(self) -> None:
        engine = self.decode()
        self.adapters["d"].cut_at = object
        request = self.received(engine)
        engine.settle(2)
        engine.deliver(request.request_id)
        engine.run()
        engine.settle(4)
        self.assertEqual([], engine.saved)
        engine.require_empty()

    def test_a_name_that_is_used_again_at_once_is_another_s(self) -> None:
        engine = self.decode()
        request = self.received(engine, limit=1, name="same")
        engine.settle(2)
        engine.deliver("same")
        while "same" not in engine.finished:
            engine.step()
        engine.add(_PROMPT[3:], limit=1, name="same")
        engine.run()
        engine.settle(4)
        self.assertNotIn(request.block_hashes[0], engine.saved)
        self.assertEqual(_BLOCKS, len(engine.saved))
        engine.require_empty()

    def test_whatever_happens_nothing_wrong_is_saved_and_nothing_left(self) -> None:
        seen = dict.fromkeys(("saved", "delivered", "failed", "aborted"), 0)
        for seed in range(25):
            for is_async in (False, True):
                with self.subTest(seed=seed, is_async=is_async):
                    self._anything(random.Random(seed), f"d{seed}{is_async}", is_async, seen)
        # One that comes to nothing would find nothing wrong.
        self.assertGreater(min(seen.values()), 50, seen)

    def _anything(self, chance: random.Random, name: str, is_async: bool, seen: dict[str, int]) -> None:
        engine = self.engine(name, "kv_consumer", extra=_SAVE, is_async=is_async, blocks=3 * (_BLOCKS + 3))
        ours: list[Request] = []
        for _ in range(120):
            choice = chance.randrange(12)
            live = [one for one in ours if not one.is_finished()]
            if choice < 2 and len(live) < 4:
                offset = 100 * chance.randrange(3)
                prompt = [offset + token for token in _PROMPT[: chance.randrange(BLOCK, len(_PROMPT))]]
                if chance.random() < 0.7:
                    ours.append(self.received(engine, prompt, limit=chance.randrange(1, 2 * BLOCK)))
                else:
                    ours.append(engine.add(prompt, limit=chance.randrange(1, 2 * BLOCK)))
            elif choice == 2 and live:
                engine.abort(chance.choice(live))
                seen["aborted"] += 1
            elif choice in (3, 4) and engine.receiving:
                some = chance.choice(list(engine.receiving))
                pages = len(engine.receiving[some])
                brought = chance.choice((pages, pages, chance.randrange(pages + 1)))
                engine.deliver(some, brought)
                seen["delivered" if brought == pages else "failed"] += 1
            elif choice == 5:
                rank = engine.workers.ranks[0]
                rank.holds_saves = not rank.holds_saves
            else:
                engine.step()
        engine.workers.ranks[0].holds_saves = False
        for one in list(engine.receiving):
            engine.deliver(one)
        for _ in range(400):
            for one in list(engine.receiving):
                engine.deliver(one)
            engine.step()
            if not engine.scheduler.has_unfinished_requests():
                break
        engine.settle(6)
        engine.require_empty()
        seen["saved"] += len(engine.saved)


def _transfer(parameters: dict[str, Any]) -> dict[str, Any]:
    return {"extra_args": {"kv_transfer_params": parameters}}


if __name__ == "__main__":
    unittest.main()

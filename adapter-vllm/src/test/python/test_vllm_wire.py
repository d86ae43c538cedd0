"""What the scheduler half sees of its agent, in particular when something is wrong with it."""

from __future__ import annotations

import logging
import os
import tempfile
import time
import unittest
from typing import Any, Optional

from fake_adapter import NAMESPACE, FakeAdapter
from orbitkv_vllm import messages
from orbitkv_vllm.messages import Standing
from orbitkv_vllm.vllm_wire import AdapterClient, Identity, Instance
from orbitkv_wire.messages import Refusal

_IDENTITY = Identity("/models/m", b"", ("/adapters/a",), (("name", "value"),))
_INSTANCE = Instance("engine", 7, 2, 4096, 16, 1000, True, False)
_EMPTY = messages.Step([], [], [], [], [], [], 0)


class AdapterClientTest(unittest.TestCase):
    def setUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "scheduler.sock")
        self.now = 0.0
        self.client = self.connecting()
        self.adapter: Optional[FakeAdapter] = None
        self.addCleanup(self.stop)

    def connecting(self, **options: Any) -> AdapterClient:
        given: dict[str, Any] = {
            "identity": _IDENTITY, "engine_version": "0.31.0", "instance": _INSTANCE, "deadline_s": 5.0, "retry_s": 1.0,
            "max_retry_s": 4.0, "clock": lambda: self.now}
        client = AdapterClient(self.path, **{**given, **options})
        self.addCleanup(client.close)
        return client

    def start(self) -> FakeAdapter:
        self.adapter = FakeAdapter(self.path, 16)
        return self.adapter

    def stop(self) -> None:
        if self.adapter is not None:
            self.adapter.close()
            self.adapter = None

    def test_without_an_agent_there_is_nothing_at_once(self) -> None:
        self.assertFalse(self.client.prepare())
        self.assertIsNone(self.client.namespace())
        self.assertIsNone(self.client.lookup("a", 0, 16, 0, bytes(32)))
        self.assertIsNone(self.client.step(_EMPTY))
        self.assertEqual({}, self.client.counters())
        self.assertIn("FileNotFoundError", self.client.trouble)

    def test_it_says_who_it_is_and_what_its_blocks_are(self) -> None:
        adapter = self.start()
        self.assertTrue(self.client.prepare())
        hello, identify, attach = adapter.requests
        assert isinstance(hello, messages.Hello) and isinstance(identify, messages.Identify)
        self.assertEqual((1, "0.31.0"), (hello.protocol, hello.engine_version))
        self.assertEqual(("/models/m", b"", ["/adapters/a"], [("name", "value")]), (
            identify.model_path, identify.asserted_digest, identify.adapter_paths, identify.facts))
        self.assertEqual(messages.Attach("engine", 7, NAMESPACE, 2, 4096, 16, 1000, True, False), attach)
        self.assertTrue(self.client.prepare())
        self.assertEqual(3, len(adapter.requests))

    def test_an_agent_that_comes_is_found_when_the_pause_is_over(self) -> None:
        self.assertFalse(self.client.prepare())
        self.start()
        self.assertFalse(self.client.prepare())
        self.now += 1.0
        self.assertTrue(self.client.prepare())
        self.assertEqual(1, self.client.connections)

    def test_an_agent_that_reads_files_is_asked_again_but_not_all_the_time(self) -> None:
        adapter = self.start()
        adapter.identifying = 1
        for _ in range(3):
            self.assertFalse(self.client.prepare())
        self.assertEqual(1, len(adapter.of(messages.Identify)))
        self.now += 0.1
        self.assertTrue(self.client.prepare())

    def test_an_agent_without_a_cache_is_asked_again(self) -> None:
        adapter = self.start()
        adapter.attaches = False
        self.assertFalse(self.client.prepare())
        self.assertIsNone(self.client.lookup("a", 0, 16, 0, bytes(32)))
        adapter.attaches = True
        self.now += 0.5
        self.assertTrue(self.client.prepare())
        matched = self.client.lookup("a", 0, 16, 0, bytes(32))
        self.assertEqual(messages.Matched(Standing.NONE, 0), matched)

    def test_a_worker_learns_the_namespace_and_attaches_nothing(self) -> None:
        adapter = self.start()
        worker = self.connecting(instance=None)
        self.assertEqual(NAMESPACE, worker.namespace())
        self.assertFalse(worker.prepare())
        self.assertEqual([], adapter.of(messages.Attach))

    def test_an_agent_that_hangs_costs_the_deadline_and_the_connection(self) -> None:
        adapter = self.start()
        client = self.connecting(deadline_s=0.05)
        # A busy machine may not answer in time even so.
        client._deadline_s = 5.0
        self.assertTrue(client.prepare())
        adapter.silent.clear()
        client._deadline_s = 0.05
        began = time.monotonic()
        self.assertIsNone(client.lookup("a", 0, 16, 0, bytes(32)))
        self.assertLess(time.monotonic() - began, 1.0)
        adapter.silent.set()
        self.assertFalse(client.ready)
        self.assertFalse(client.prepare())
        self.now += 1.0
        client._deadline_s = 5.0
        self.assertTrue(client.prepare())
        self.assertEqual(2, client.connections)

    def test_an_agent_that_hangs_up_is_nothing_and_is_found_again(self) -> None:
        adapter = self.start()
        self.assertTrue(self.client.prepare())
        adapter.cut_at = messages.Step
        self.assertIsNone(self.client.step(_EMPTY))
        adapter.cut_at = None
        self.now += 1.0
        self.assertTrue(self.client.prepare())
        self.assertIsNotNone(self.client.step(_EMPTY))

    def test_a_reset_is_said_again_to_every_later_agent(self) -> None:
        adapter = self.start()
        self.assertTrue(self.client.prepare())
        self.assertTrue(self.client.reset())
        self.stop()
        adapter = self.start()
        self.client.counters()
        self.now += 1.0
        self.assertTrue(self.client.prepare())
        self.assertEqual(1, len(adapter.of(messages.Reset)))

    def test_a_refusal_ends_the_connection_and_says_why(self) -> None:
        adapter = self.start()
        adapter._reply = lambda request: messages.Refused(  # type: ignore[method-assign]
            Refusal.REFUSED, "connector of another release")
        self.assertFalse(self.client.prepare())
        self.assertEqual("REFUSED: connector of another release", self.client.trouble)

    def test_a_forked_child_asks_nothing(self) -> None:
        self.start()
        self.assertTrue(self.client.prepare())
        self.client._pid = -1
        self.assertIsNone(self.client.step(_EMPTY))


if __name__ == "__main__":
    unittest.main()

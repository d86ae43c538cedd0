"""What the scheduler half sees of its agent, in particular when something is wrong with it."""

from __future__ import annotations

import logging
import os
import tempfile
import unittest
from typing import Any, Optional

from fake_adapter import NAMESPACE, FakeAdapter
from orbitkv_vllm import messages
from orbitkv_vllm.messages import Standing
from orbitkv_vllm.vllm_wire import AdapterClient, Identity, Instance

_IDENTITY = Identity("/models/m", b"", ("/adapters/a",), (("name", "value"),))
_INSTANCE = Instance("engine", 7, 2, 4096, 16, 1000, True, False)
_SOON_S = 20.0
_EMPTY = messages.Step([], [], [], [], [], [], 0)


class AdapterClientTest(unittest.TestCase):
    def setUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "scheduler.sock")
        self.client = self.connecting()
        self.adapter: Optional[FakeAdapter] = None
        self.addCleanup(self.stop)

    def connecting(self, **options: Any) -> AdapterClient:
        # Ample, so that a busy machine fails no test.
        given: dict[str, Any] = {
            "identity": _IDENTITY, "engine_version": "0.31.0", "instance": _INSTANCE, "deadline_s": _SOON_S,
            "retry_s": 0.01, "max_retry_s": 0.02}
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
        self.assertIsNone(self.client.lookup("a", 0, 16, 0, bytes(32)))
        self.assertIsNone(self.client.step(_EMPTY))
        self.assertEqual({}, self.client.counters())

    def test_it_says_who_it_is_and_which_start_of_which_engine(self) -> None:
        adapter = self.start()
        self.assertTrue(self.client.prepare(_SOON_S))
        hello, identify, attach = adapter.requests
        assert isinstance(hello, messages.Hello) and isinstance(identify, messages.Identify)
        self.assertEqual((1, "0.31.0"), (hello.protocol, hello.engine_version))
        self.assertEqual(("/models/m", b"", ["/adapters/a"], [("name", "value")]), (
            identify.model_path, identify.asserted_digest, identify.adapter_paths, identify.facts))
        self.assertEqual(messages.Attach("engine", 7, NAMESPACE, 2, 4096, 16, 1000, True, False), attach)
        matched = self.client.lookup("a", 0, 16, 0, bytes(32))
        self.assertEqual(messages.Matched(Standing.NONE, 0), matched)

    def test_a_worker_learns_the_namespace_and_attaches_nothing(self) -> None:
        adapter = self.start()
        worker = self.connecting(instance=None)
        self.assertEqual(NAMESPACE, worker.namespace(_SOON_S))
        self.assertFalse(worker.prepare())
        self.assertEqual([], adapter.of(messages.Attach))

    def test_an_agent_that_hangs_up_is_nothing_and_is_found_again(self) -> None:
        adapter = self.start()
        self.assertTrue(self.client.prepare(_SOON_S))
        adapter.cut_at = messages.Step
        self.assertIsNone(self.client.step(_EMPTY))
        adapter.cut_at = None
        self.assertTrue(self.client.prepare(_SOON_S))
        self.assertIsNotNone(self.client.step(_EMPTY))

    def test_a_reset_is_said_again_to_every_later_agent(self) -> None:
        adapter = self.start()
        self.assertTrue(self.client.prepare(_SOON_S))
        self.assertTrue(self.client.reset())
        self.stop()
        adapter = self.start()
        self.client.counters()
        self.assertTrue(self.client.prepare(_SOON_S))
        self.assertEqual(1, len(adapter.of(messages.Reset)))

    def test_a_reset_while_there_is_no_agent_is_said_before_anything_is_asked(self) -> None:
        adapter = self.start()
        self.assertFalse(self.client.prepare())
        # Said while the agent that comes, or has come meanwhile, was told of no reset.
        self.assertTrue(self.client.reset())
        self.assertTrue(self.client.prepare(_SOON_S))
        self.client.lookup("a", 0, 16, 0, bytes(32))
        self.assertIsInstance(adapter.requests[-2], messages.Reset)

    def test_an_agent_that_does_not_accept_a_reset_of_before_is_none(self) -> None:
        adapter = self.start()
        reply = adapter._reply
        adapter._reply = lambda request: (  # type: ignore[method-assign]
            messages.ResetDone(False) if isinstance(request, messages.Reset) else reply(request))
        self.assertTrue(self.client.reset())
        self.assertFalse(self.client.prepare(1.0))
        self.assertIsNone(self.client.lookup("a", 0, 16, 0, bytes(32)))
        self.assertEqual([], adapter.of(messages.Lookup))


if __name__ == "__main__":
    unittest.main()

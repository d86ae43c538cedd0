"""What an engine worker sees of its agent, in particular when something is wrong with it."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from typing import Optional

from fake_agent import FakeAgent, welcoming
from orbitkv_agent import AgentClient, Finished, LayerStanding, PageGroup, SharedPool, messages
from orbitkv_agent.process import SeenProcess
from orbitkv_wire.messages import Refusal, Standing

_CHAIN = bytes(range(64))
_GROUPS = [PageGroup(0, 2, 8, 16, 128, 16)]


def _hash(block: int) -> bytes:
    return bytes([block]) * 32


class AgentClientTest(unittest.TestCase):
    def setUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "agent.sock")
        self.now = 0.0
        self.pool = SharedPool(_GROUPS, folder=folder.name)
        self.client = AgentClient(
            self.path, instance="test", incarnation=7, namespace=bytes(32), groups=_GROUPS, memory=self.pool.path,
            deadline_s=60.0, retry_s=1.0, max_retry_s=4.0, clock=lambda: self.now)
        self.addCleanup(self.client.close)
        self.agent: Optional[FakeAgent] = None
        self.addCleanup(self.stop)

    def start(self) -> FakeAgent:
        self.agent = FakeAgent(self.path)
        return self.agent

    def stop(self) -> None:
        if self.agent is not None:
            self.client.close()
            self.agent.close()
            self.agent = None

    def test_without_an_agent_everything_misses_at_once(self) -> None:
        answer = self.client.query(0, 0, _CHAIN)
        self.assertEqual((Standing.MISS, "NO_AGENT", None), (answer.standing, answer.reason, answer.lease))
        self.assertIsNone(self.client.load(1, [0]))
        self.assertIsNone(self.client.save(_CHAIN, 0, [0, 1]))
        self.assertEqual([], self.client.progress())
        self.assertEqual(frozenset(), self.client.held_pages)
        self.assertIn("FileNotFoundError", self.client.trouble)

    def test_an_agent_that_comes_is_found_when_the_pause_is_over(self) -> None:
        self.assertIsNone(self.client.save(_CHAIN, 0, [0]))
        agent = self.start()
        self.assertIsNone(self.client.save(_CHAIN, 0, [0]))
        self.assertEqual([], agent.requests)
        self.now += 1.0
        self.assertIsNotNone(self.client.save(_CHAIN, 0, [0]))
        self.assertTrue(self.client.connected)

    def test_it_connects_before_there_is_anything_to_do(self) -> None:
        self.assertFalse(self.client.connect())
        agent = self.start()
        self.assertFalse(self.client.connect())
        self.now += 1.0
        self.assertTrue(self.client.connect())
        self.assertTrue(self.client.connect())
        self.assertEqual([messages.Hello, messages.Open], [type(request) for request in agent.requests])

    def test_a_load_is_reported_with_the_pages_that_failed(self) -> None:
        self.start()
        transfer = self.client.load(5, [3, 1, 2], first_block=4)
        assert transfer is not None
        self.assertEqual(frozenset({1, 2, 3}), self.client.held_pages)
        finished = self.client.progress()
        self.assertEqual([Finished(transfer, 1)], finished)
        self.assertEqual((1, 2), finished[0].failed_pages)
        self.assertEqual(frozenset(), self.client.held_pages)
        self.assertEqual([], self.client.progress())

    def test_pages_of_a_broken_connection_are_held_until_an_agent_welcomes_again(self) -> None:
        agent = self.start()
        transfer = self.client.save(_CHAIN, 0, [3, 4])
        assert transfer is not None
        agent.script = lambda request: None
        self.assertIs(LayerStanding.FAILED, self.client.layer_ready(transfer, 0))
        self.assertEqual([], self.client.progress())
        self.assertEqual(frozenset({3, 4}), self.client.held_pages)
        self.now += 10.0
        # It hangs up on a greeting too: nothing is proved by that.
        self.assertEqual([], self.client.progress())
        self.assertEqual(frozenset({3, 4}), self.client.held_pages)
        agent.script = welcoming
        self.now += 10.0
        self.assertEqual([Finished(transfer, 0)], self.client.progress())
        self.assertEqual(frozenset(), self.client.held_pages)

    def test_a_save_that_copies_nothing_says_how_much_is_stored(self) -> None:
        agent = self.start()
        agent.script = lambda request: (
            messages.Started(0, 2) if isinstance(request, messages.Save) else welcoming(request)
        )
        self.assertIsNone(self.client.save(_CHAIN, 0, [0, 1]))
        self.assertEqual(2, self.client.stored)
        agent.script = welcoming
        self.assertIsNotNone(self.client.save(_CHAIN, 0, [0, 1]))
        self.assertEqual(0, self.client.stored)

    def saves(self) -> list[tuple[int, int]]:
        """Of each save that the agent was asked for, how many hashes it was to know and how many it was told."""
        assert self.agent is not None
        return [
            (request.known, len(request.chain) // 32)
            for request in self.agent.requests
            if isinstance(request, messages.Save)
        ]

    def test_saves_of_a_series_state_their_new_hashes(self) -> None:
        self.start()
        self.client.save(_CHAIN, 0, [0, 1], series=9)
        self.client.save(_hash(2), 2, [2], series=9, known=2)
        self.client.save(_hash(2) + _hash(3), 3, [3], series=9, known=2)
        self.assertEqual([(0, 2), (2, 1), (2, 2)], self.saves())

    def test_another_connection_is_told_the_whole_series(self) -> None:
        agent = self.start()
        self.client.save(_CHAIN, 0, [0, 1], series=9)
        agent.script = lambda request: None
        self.assertIs(Standing.MISS, self.client.query(0, 0, _CHAIN).standing)
        agent.script = welcoming
        self.now += 10.0
        self.client.save(_hash(2), 2, [2], series=9, known=2)
        self.client.save(_hash(3), 3, [3], series=9, known=3)
        self.assertEqual([(0, 2), (0, 3), (3, 1)], self.saves())

    def test_an_agent_that_forgot_a_series_is_told_it_again(self) -> None:
        agent = self.start()
        self.client.save(_CHAIN, 0, [0, 1], series=9)
        agent.script = lambda request: (
            messages.Refused(Refusal.CLOSED, "series 9")
            if isinstance(request, messages.Save) and request.known > 0
            else welcoming(request)
        )
        self.assertIsNotNone(self.client.save(_hash(2), 2, [2], series=9, known=2))
        self.assertEqual([(0, 2), (2, 1), (0, 3)], self.saves())

    def test_a_series_that_has_a_gap_is_not_asked_for(self) -> None:
        agent = self.start()
        self.assertIsNone(self.client.save(_hash(2), 2, [2], series=9, known=2))
        self.assertIsNone(self.client.save(_hash(2), 2, [2], series=9, known=-1))
        self.assertIsNone(self.client.save(_CHAIN[:33], 0, [0], series=9))
        self.assertEqual([], agent.requests)

    def test_a_forgotten_series_begins_anew(self) -> None:
        agent = self.start()
        self.client.save(_CHAIN, 0, [0, 1], series=9)
        self.client.forget(9)
        self.client.forget(9)
        self.assertEqual([messages.Forget(9)], agent.requests[-1:])
        self.assertIsNone(self.client.save(_hash(2), 2, [2], series=9, known=2))
        self.assertEqual(3 + 1, len(agent.requests))

    def test_the_series_that_was_used_least_recently_is_forgotten_among_too_many(self) -> None:
        self.start()
        for series in range(1, 1025):
            self.client.save(b"", 0, [], series=series)
        self.client.save(_hash(0), 0, [0], series=1)
        self.client.save(_hash(0), 0, [0], series=2000)
        self.assertIsNotNone(self.client.save(_hash(1), 1, [1], series=1, known=1))
        self.client.save(_hash(0), 0, [0], series=2)
        self.assertEqual([(0, 1), (0, 1), (1, 1), (0, 1)], self.saves()[-4:])

    def test_a_request_whose_answer_is_lost_may_have_begun(self) -> None:
        agent = self.start()
        agent.script = lambda request: None if isinstance(request, messages.Load) else welcoming(request)
        transfer = self.client.load(5, [6])
        assert transfer is not None
        self.assertEqual(frozenset({6}), self.client.held_pages)
        agent.script = welcoming
        self.now += 10.0
        self.assertEqual((6,), self.client.progress()[0].failed_pages)

    def test_a_deadline_ends_the_connection(self) -> None:
        agent = self.start()
        self.assertIsNotNone(self.client.save(_CHAIN, 0, [1]))
        released = threading.Event()
        self.addCleanup(released.set)

        def late(request: messages.Request) -> Optional[messages.Reply]:
            released.wait()
            return welcoming(request)

        agent.script = late
        answer = self.client.query(0, 0, _CHAIN, deadline_s=0.05)
        released.set()
        self.assertEqual("NO_AGENT", answer.reason)
        self.assertFalse(self.client.connected)

    def test_a_refusal_holds_nothing(self) -> None:
        agent = self.start()
        agent.script = lambda request: (
            messages.Refused(Refusal.REFUSED, "page 99") if isinstance(request, messages.Load) else welcoming(request))
        self.assertIsNone(self.client.load(5, [99]))
        self.assertEqual(frozenset(), self.client.held_pages)
        self.assertTrue(self.client.connected)

    def test_a_caller_s_mistake_is_a_miss_and_costs_no_connection(self) -> None:
        self.start()
        self.assertIsNone(self.client.save(_CHAIN[:33], 0, [0]))
        self.assertIsNone(self.client.load(1, [1 << 40]))
        self.assertEqual(Standing.MISS, self.client.query(1, 0, [b"short"]).standing)
        self.assertTrue(self.client.connected)

    def test_a_close_that_is_answered_proves_that_nothing_is_copied(self) -> None:
        agent = self.start()
        self.client.save(_CHAIN, 0, [1])
        agent.script = lambda request: messages.Done()
        self.assertTrue(self.client.close())
        self.assertEqual(frozenset(), self.client.held_pages)

    def test_a_close_that_is_not_answered_proves_nothing(self) -> None:
        agent = self.start()
        self.client.save(_CHAIN, 0, [1])
        agent.script = lambda request: None
        self.assertFalse(self.client.close())
        self.assertEqual(frozenset({1}), self.client.held_pages)

    def test_a_process_is_gone_when_it_has_ended(self) -> None:
        with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
            seen = SeenProcess.of(process.pid)
            assert seen is not None
            self.assertFalse(seen.is_gone())
            process.kill()
            # A zombie until it is waited for.
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            self.assertTrue(seen.is_gone())
            process.wait()
            self.assertTrue(seen.is_gone())
            self.assertTrue(SeenProcess(os.getpid(), seen.start_time - 1).is_gone())
            self.assertIsNone(SeenProcess.of(0))


if __name__ == "__main__":
    unittest.main()

"""When a worker half begins what a step orders, with an engine that returns before its work is done."""

from __future__ import annotations

import time
import unittest
from typing import Any
from unittest import mock

from orbitkv_vllm.layout import Pool
from orbitkv_vllm.metadata import LoadOrder, Orders, SaveOrder
from orbitkv_vllm.worker import WorkerHalf
from test_courier import FakeClient

_LIMIT_S = 60.0


class _Pages:
    """A GPU's pages: what was recorded last is done when a test says so."""

    memory = "cuda-ipc:"
    offset = 0

    def __init__(self) -> None:
        self.records = 0
        self.done = False

    def follow_engine(self) -> None:
        self.records += 1
        self.done = False

    def engine_followed(self) -> bool:
        return self.done

    def close(self) -> None:
        pass


class FollowingTest(unittest.TestCase):
    def setUp(self) -> None:
        self.client = FakeClient()
        self.pages = _Pages()
        parts: Any = mock.Mock()
        parts.introduction.client = self.client
        self.half = WorkerHalf(
            agent=parts.agent, introduction=parts.introduction, pool=Pool(0, 0, ()), pages=self.pages,
            rendezvous=parts.rendezvous)
        self.addCleanup(self.half.close)
        # Saves are left to the agent when a test says so, and not when a busy machine is slow with the test.
        patience = mock.patch("orbitkv_vllm.worker._FOLLOWING_S", 3600.0)
        patience.start()
        self.addCleanup(patience.stop)

    def save(self, number: int, **orders: Any) -> None:
        self.half.start_saves(Orders(saves=[SaveOrder(number, 9, 0, b"", 0, (number,))], **orders))

    def saved(self, count: int) -> list[int]:
        """Waits until so many saves are reported."""
        end = time.monotonic() + _LIMIT_S
        numbers: list[int] = []
        while len(numbers) < count:
            self.half.poll()
            reports = self.half.take_reports()
            if reports is not None:
                numbers += reports.saves
            self.assertLess(time.monotonic(), end, "in time")
            time.sleep(0.001)
        return numbers

    def test_saves_begin_when_the_engine_has_done_their_step(self) -> None:
        self.save(1)
        self.half.poll()
        self.assertEqual((1, [], (0, 1)), (self.pages.records, self.client.said, self.half.under_way))
        self.pages.done = True
        self.assertEqual([1], self.saved(1))
        self.assertEqual(1, self.pages.records)

    def test_what_saves_wait_for_does_not_move_with_each_step(self) -> None:
        self.save(1)
        self.save(2)
        self.save(3, ended_series=[9])
        self.assertEqual((1, (0, 3)), (self.pages.records, self.half.under_way))
        self.pages.done = True
        self.assertEqual([1], self.saved(1))
        # The others follow the engine from here on.
        self.assertEqual(2, self.pages.records)
        self.assertEqual(["save"], [what[0] for what in self.client.said])
        self.pages.done = True
        self.assertEqual([2, 3], self.saved(2))
        self.assertEqual(["save", "save", "save", "forget"], [what[0] for what in self.client.said])

    def test_loads_are_begun_at_once_behind_what_was_begun_before(self) -> None:
        self.half.start_loads(Orders(loads=[LoadOrder("a", 5, 0, (1, 2))]))
        self.assertEqual(1, self.pages.records)
        end = time.monotonic() + _LIMIT_S
        while "a" not in self.half.poll().finished_recving:
            self.assertLess(time.monotonic(), end, "in time")
            time.sleep(0.001)

    def test_saves_are_left_to_the_agent_when_the_engine_is_not_done_for_long(self) -> None:
        with mock.patch("orbitkv_vllm.worker._FOLLOWING_S", 0.0):
            self.save(1)
            self.assertEqual([1], self.saved(1))
        self.assertFalse(self.pages.done)


if __name__ == "__main__":
    unittest.main()

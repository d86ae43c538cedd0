"""What is handed to the agent, and a client that a test has answer when it says so."""

from __future__ import annotations

import unittest
from typing import Any, Optional

from orbitkv_agent import Transfer
from orbitkv_agent.client import Finished
from orbitkv_vllm.courier import Courier, LoadEnd, SaveEnd
from orbitkv_vllm.metadata import LoadOrder, SaveOrder

class FakeClient:
    """What is used of an ``AgentClient``."""

    def __init__(self) -> None:
        self.refuses = False
        self.silent = False
        self.said: list[tuple[Any, ...]] = []
        self.posts: list[bool] = []
        """Of each time that it was asked for progress, whether the answer was left to the next time."""
        self.finished: list[Finished] = []
        self._ids = 0

    def post_load(self, lease: int, pages: tuple[int, ...], *, first_block: int) -> Optional[Transfer]:
        return self._started(True, pages, ("load", lease, first_block))

    def post_save(
        self, hashes: bytes, first_block: int, pages: tuple[int, ...], *, series: int, known: int
    ) -> Optional[Transfer]:
        return self._started(False, pages, ("save", series, known, hashes))

    def forget(self, series: int) -> None:
        self.said.append(("forget", series))

    def progress(self, *, post: bool) -> list[Finished]:
        self.posts.append(post)
        if self.silent:
            return []
        finished, self.finished = self.finished, []
        return finished

    def close(self, *, deadline_s: float) -> bool:
        return True

    def _started(self, is_load: bool, pages: tuple[int, ...], what: tuple[Any, ...]) -> Optional[Transfer]:
        self.said.append(what)
        if self.refuses:
            return None
        self._ids += 1
        transfer = Transfer(self._ids, is_load, pages)
        self.finished = [*self.finished, Finished(transfer, len(pages))]
        return transfer


class CourierTest(unittest.TestCase):
    def setUp(self) -> None:
        self.client = FakeClient()
        client: Any = self.client
        self.courier = Courier(client)
    def test_each_order_has_one_end(self) -> None:
        load, save = LoadOrder("a", 5, 2, (1, 2)), SaveOrder(3, 9, 0, b"h" * 32, 0, (4,))
        self.courier.load(load)
        self.courier.save(save)
        self.assertEqual((1, 1), (self.courier.loads, self.courier.saves))
        ends = self.courier.take()
        self.assertEqual({("a", 2)}, {(end.order.request, end.blocks) for end in ends if isinstance(end, LoadEnd)})
        self.assertEqual({(3, 1)}, {(end.order.save, end.blocks) for end in ends if isinstance(end, SaveEnd)})
        self.assertEqual([("load", 5, 2), ("save", 9, 0, b"h" * 32)], self.client.said)
        self.assertEqual((0, 0), (self.courier.loads, self.courier.saves))
        self.assertEqual([], self.courier.take())

    def test_what_an_agent_does_not_report_stays_open(self) -> None:
        self.client.silent = True
        self.courier.load(LoadOrder("a", 5, 0, (1,)))
        for number in range(100):
            self.courier.save(SaveOrder(number + 1, 9, 0, b"", 0, (2,)))
            self.assertEqual([], self.courier.take())
        self.assertEqual((1, 100), (self.courier.loads, self.courier.saves))
        self.client.silent = False
        self.assertEqual(101, len(self.courier.take()))
        self.assertEqual((0, 0), (self.courier.loads, self.courier.saves))

    def test_an_answer_is_waited_for_only_if_a_request_does(self) -> None:
        self.courier.take()
        self.courier.save(SaveOrder(1, 9, 0, b"", 0, (2,)))
        self.courier.take()
        self.courier.save(SaveOrder(2, 9, 0, b"", 0, (2,)))
        self.courier.load(LoadOrder("a", 5, 0, (1,)))
        self.courier.take()
        self.assertEqual([True, False], self.client.posts)

    def test_what_is_not_taken_ends_with_nothing(self) -> None:
        self.client.refuses = True
        self.courier.load(LoadOrder("a", 5, 0, (1,)))
        self.courier.save(SaveOrder(1, 9, 0, b"", 0, (2,)))
        self.assertEqual([0, 0], [end.blocks for end in self.courier.take()])

    def test_hashes_of_orders_without_pages_are_told_with_the_next_ones(self) -> None:
        self.courier.save(SaveOrder(0, 9, 0, b"a" * 64, 0, ()))
        self.courier.save(SaveOrder(0, 9, 2, b"b" * 32, 2, ()))
        self.courier.save(SaveOrder(1, 9, 3, b"c" * 32, 3, (7,)))
        self.courier.save(SaveOrder(0, 8, 0, b"d" * 32, 0, ()))
        self.courier.forget(8)
        self.courier.save(SaveOrder(2, 8, 0, b"e" * 32, 0, (8,)))
        self.assertEqual(2, len(self.courier.take()))
        self.assertEqual(
            [("save", 9, 0, b"a" * 64 + b"b" * 32 + b"c" * 32), ("forget", 8), ("save", 8, 0, b"e" * 32)],
            self.client.said)


if __name__ == "__main__":
    unittest.main()

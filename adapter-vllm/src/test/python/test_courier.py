"""The thread that speaks with the agent, and a client that a test has answer when it says so."""

from __future__ import annotations

import threading
import time
import unittest
from typing import Any, Callable, Optional

from orbitkv_agent import Transfer
from orbitkv_agent.client import Finished
from orbitkv_vllm.courier import Courier, LoadEnd, SaveEnd
from orbitkv_vllm.metadata import LoadOrder, SaveOrder

_LIMIT_S = 60.0


class FakeClient:
    """What is used of an ``AgentClient``."""

    def __init__(self) -> None:
        self.connected = True
        self.gate = threading.Event()
        self.gate.set()
        self.refuses = False
        self.said: list[tuple[Any, ...]] = []
        self.finished: list[Finished] = []
        self.questions = 0
        self._ids = 0

    def load(self, lease: int, pages: tuple[int, ...], *, first_block: int) -> Optional[Transfer]:
        return self._started(True, pages, ("load", lease, first_block))

    def save(
        self, hashes: bytes, first_block: int, pages: tuple[int, ...], *, series: int, known: int
    ) -> Optional[Transfer]:
        return self._started(False, pages, ("save", series, known, hashes))

    def forget(self, series: int) -> None:
        self.said.append(("forget", series))

    def progress(self, *, wait_s: float) -> list[Finished]:
        self.questions += 1
        time.sleep(min(wait_s, 0.001))
        finished, self.finished = self.finished, []
        return finished

    def close(self, *, deadline_s: float) -> bool:
        return True

    def _started(self, is_load: bool, pages: tuple[int, ...], what: tuple[Any, ...]) -> Optional[Transfer]:
        self.gate.wait(_LIMIT_S)
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
        self.addCleanup(self.courier.close)
        self.addCleanup(self.client.gate.set)

    def ends(self, count: int) -> list[Any]:
        taken: list[Any] = []

        def enough() -> bool:
            taken.extend(self.courier.take())
            return len(taken) >= count

        self.until(enough)
        return taken

    def until(self, condition: Callable[[], Any]) -> None:
        end = time.monotonic() + _LIMIT_S
        while not condition():
            self.assertLess(time.monotonic(), end, "in time")
            time.sleep(0.001)

    def let_go_when_closing(self) -> None:
        self.until(lambda: self.courier._closing)
        self.client.gate.set()

    def test_each_order_has_one_end(self) -> None:
        load, save = LoadOrder("a", 5, 2, (1, 2)), SaveOrder(3, 9, 0, b"h" * 32, 0, (4,))
        self.courier.load(load)
        self.courier.save(save)
        self.assertEqual((1, 1), (self.courier.loads, self.courier.saves))
        ends = self.ends(2)
        self.assertEqual({("a", 2)}, {(end.order.request, end.blocks) for end in ends if isinstance(end, LoadEnd)})
        self.assertEqual({(3, 1)}, {(end.order.save, end.blocks) for end in ends if isinstance(end, SaveEnd)})
        self.assertEqual([("load", 5, 2), ("save", 9, 0, b"h" * 32)], self.client.said)
        self.assertEqual((0, 0), (self.courier.loads, self.courier.saves))
        self.assertEqual([], self.courier.take())

    def test_nobody_waits_for_an_agent_that_does_not_answer(self) -> None:
        self.client.gate.clear()
        self.courier.load(LoadOrder("a", 5, 0, (1,)))
        for number in range(100):
            self.courier.save(SaveOrder(number + 1, 9, 0, b"", 0, (2,)))
            self.assertEqual([], self.courier.take())
        self.assertEqual([], self.client.said)
        self.client.gate.set()
        self.assertEqual(101, len(self.ends(101)))

    def test_saves_are_asked_for_now_and_then(self) -> None:
        now = [0.0]
        client: Any = self.client
        courier = Courier(client, lambda: now[0])
        self.addCleanup(courier.close)
        self.client.gate.clear()
        courier.save(SaveOrder(1, 9, 0, b"", 0, (2,)))
        for _ in range(100):
            courier.take()
        self.client.gate.set()
        self.until(lambda: self.client.questions)
        courier.save(SaveOrder(2, 9, 0, b"", 0, (2,)))
        self.until(lambda: len(self.client.said) == 2)
        self.assertEqual([1], [end.order.save for end in courier.take() if isinstance(end, SaveEnd)])
        self.assertEqual(1, self.client.questions)
        now[0] = 1.0
        courier.take()
        self.until(lambda: self.client.questions == 2)

    def test_what_is_not_taken_ends_with_nothing(self) -> None:
        self.client.refuses = True
        self.courier.load(LoadOrder("a", 5, 0, (1,)))
        self.courier.save(SaveOrder(1, 9, 0, b"", 0, (2,)))
        self.assertEqual([0, 0], [end.blocks for end in self.ends(2)])

    def test_hashes_of_orders_without_pages_are_told_with_the_next_ones(self) -> None:
        self.courier.save(SaveOrder(0, 9, 0, b"a" * 64, 0, ()))
        self.courier.save(SaveOrder(0, 9, 2, b"b" * 32, 2, ()))
        self.courier.save(SaveOrder(1, 9, 3, b"c" * 32, 3, (7,)))
        self.courier.save(SaveOrder(0, 8, 0, b"d" * 32, 0, ()))
        self.courier.forget(8)
        self.courier.save(SaveOrder(2, 8, 0, b"e" * 32, 0, (8,)))
        self.assertEqual(2, len(self.ends(2)))
        self.assertEqual(
            [("save", 9, 0, b"a" * 64 + b"b" * 32 + b"c" * 32), ("forget", 8), ("save", 8, 0, b"e" * 32)],
            self.client.said)

    def test_a_load_goes_on_without_a_connection(self) -> None:
        self.client.connected = False
        self.courier.load(LoadOrder("a", 5, 0, (1,)))
        self.courier.load(LoadOrder("b", 6, 0, (2,)))
        self.assertEqual({"a", "b"}, {end.order.request for end in self.ends(2)})

    def test_closing_gives_the_client_back_and_drops_what_was_not_said(self) -> None:
        self.client.gate.clear()
        for number in range(10):
            self.courier.save(SaveOrder(number + 1, 9, 0, b"", 0, (2,)))
        threading.Thread(target=self.let_go_when_closing).start()
        self.assertIs(self.client, self.courier.close())
        self.assertLess(len(self.client.said), 10)


if __name__ == "__main__":
    unittest.main()

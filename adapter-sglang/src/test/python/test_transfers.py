"""How many copies are asked of an agent at once, and what a save is said to have come to."""

from __future__ import annotations

import threading
import typing
import unittest
from collections.abc import Sequence
from typing import Optional

from orbitkv_agent import AgentClient
from orbitkv_agent.client import Finished, Transfer
from orbitkv_sglang import transfers as module
from orbitkv_sglang.transfers import Save, Transfers

_CHAIN = bytes(32 * 4)


class _Agent:
    """Copies when it is told to."""

    def __init__(self) -> None:
        self.connected = True
        self.stored = 0
        self.copies = threading.Event()
        self.under_way: list[Transfer] = []
        self.most = 0
        self.taken = 0
        self.takes = 1 << 30
        self.marks: list[int] = []
        self.arrive = 1

    def connect(self, *, deadline_s: float) -> bool:
        return True

    def _start(self, is_load: bool, pages: Sequence[int]) -> Optional[Transfer]:
        if self.taken >= self.takes:
            return None
        self.taken += 1
        self.under_way.append(Transfer(self.taken, is_load, tuple(pages)))
        self.most = max(self.most, len(self.under_way))
        return self.under_way[-1]

    def load(self, lease: int, pages: Sequence[int], *, first_block: int, mark: int) -> Optional[Transfer]:
        self.marks.append(mark)
        return self._start(True, pages)

    def save(self, chain: bytes, first_block: int, pages: Sequence[int]) -> Optional[Transfer]:
        return self._start(False, pages)

    def progress(self, *, wait_s: float) -> list[Finished]:
        if not self.copies.wait(wait_s):
            return []
        ended, self.under_way = self.under_way, []
        return [Finished(transfer, len(transfer.pages) * self.arrive) for transfer in ended]

    def close(self, *, deadline_s: float) -> bool:
        return True


class _Client:
    """An agent's client, whose agent copies so many blocks of a save, and has stored so many if it copies none."""

    connected = True

    def __init__(self, *, copies: int, stored: int) -> None:
        self._copies = copies
        self.stored = stored
        self._begun: list[Transfer] = []

    def connect(self, *, deadline_s: float) -> bool:
        return True

    def save(self, chain: bytes, first_block: int, pages: Sequence[int]) -> Optional[Transfer]:
        if self._copies == 0:
            return None
        self._begun.append(Transfer(1, False, tuple(pages)))
        return self._begun[-1]

    def progress(self, *, wait_s: float) -> list[Finished]:
        ended = [Finished(transfer, self._copies) for transfer in self._begun]
        self._begun = []
        return ended

    def close(self, *, deadline_s: float) -> bool:
        return True


class _NoFence:
    def record(self) -> None:
        """Nothing is on its way."""


class SaveTest(unittest.TestCase):
    def _stored(self, client: Optional[_Client]) -> Optional[bool]:
        transfers = Transfers(lambda: client, _NoFence())  # type: ignore[arg-type, return-value]
        self.addCleanup(transfers.close, 10.0)
        save = Save(_CHAIN, 0, [1, 2, 3, 4])
        transfers.save(save)
        transfers.quiesce(10.0)
        return save.stored

    def test_all_of_it_was_copied(self) -> None:
        self.assertIs(True, self._stored(_Client(copies=4, stored=0)))

    def test_none_of_it_was_copied_since_all_is_stored(self) -> None:
        self.assertIs(True, self._stored(_Client(copies=0, stored=4)))

    def test_what_is_not_known_to_be_stored_is_offered_again(self) -> None:
        for client in (_Client(copies=0, stored=3), _Client(copies=3, stored=0), _Client(copies=0, stored=0), None):
            self.assertIs(False, self._stored(client))

    def test_threads_end_with_their_transfers(self) -> None:
        before = threading.active_count()
        transfers = Transfers(lambda: None, _NoFence())
        transfers.close(10.0)
        self.assertEqual(before, threading.active_count())


class _Layers:
    """What forwards wait for."""

    def __init__(self) -> None:
        self.marks = 0
        self.ended: list[int] = []

    def next_mark(self) -> int:
        self.marks += 1
        return self.marks

    def follow(self, layer: int, mark: int) -> None:
        raise AssertionError("nobody waits here")

    def passed(self, mark: int) -> None:
        self.ended.append(mark)


class TransfersTest(unittest.TestCase):
    def setUp(self) -> None:
        self.agent = _Agent()
        self.transfers = Transfers(lambda: typing.cast(AgentClient, self.agent), _NoFence())
        self.addCleanup(self.transfers.close, 20.0)
        self.addCleanup(self.agent.copies.set)

    def test_no_more_saves_are_under_way_than_an_agent_takes_beside_loads(self) -> None:
        saves = [Save(bytes(32), 0, (page,)) for page in range(3 * module._MOST_SAVES)]
        for save in saves:
            self.transfers.save(save)
        with self.transfers._state:
            self.assertTrue(
                self.transfers._state.wait_for(lambda: len(self.transfers._saves) == module._MOST_SAVES, 20.0)
            )
        self.agent.copies.set()
        self.transfers.quiesce(20.0)
        self.assertEqual({True}, {save.stored for save in saves})
        self.assertLessEqual(self.agent.most, module._MOST_SAVES)

    def test_loads_have_marks_in_the_order_in_which_they_are_asked_for_and_pass_however_they_end(self) -> None:
        layers = _Layers()
        transfers = Transfers(lambda: typing.cast(AgentClient, self.agent), _NoFence(), layers)
        self.addCleanup(transfers.close, 20.0)
        loads = [transfers.load(5, 0, [page]) for page in range(3)]
        self.assertEqual(([1, 2, 3], []), ([load.mark for load in loads if load is not None], layers.ended))
        self.agent.takes = 3
        self.assertIsNone(transfers.load(5, 0, [4]))
        self.agent.arrive = 0
        self.agent.copies.set()
        transfers.quiesce(20.0)
        self.assertEqual(([1, 2, 3, 4], [1, 2, 3]), (self.agent.marks, layers.ended))
        self.assertEqual({(True, False)}, {(load.ended, load.landed) for load in loads if load is not None})

    def test_loads_that_nobody_waits_for_have_no_mark(self) -> None:
        self.agent.copies.set()
        load = self.transfers.load(5, 0, [1])
        assert load is not None
        load.wait(20.0)
        self.assertEqual((0, [0]), (load.mark, self.agent.marks))

    def test_loads_of_several_leases_end_at_the_first_that_is_not_taken(self) -> None:
        self.agent.takes = 2
        loads = self.transfers.load_each([(lease, 0, (lease,)) for lease in range(5, 9)])
        self.assertEqual([(5,), (6,)], [load.transfer.pages for load in loads])
        self.agent.copies.set()
        self.transfers.quiesce(20.0)
        self.assertTrue(all(load.landed for load in loads))


if __name__ == "__main__":
    unittest.main()

"""How many copies are asked of an agent at once."""

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


class _Agent:
    """Copies when it is told to."""

    def __init__(self) -> None:
        self.connected = True
        self.copies = threading.Event()
        self.under_way: list[Transfer] = []
        self.most = 0
        self.taken = 0
        self.takes = 1 << 30
        self.wants = True

    def connect(self, *, deadline_s: float) -> bool:
        return True

    def _start(self, is_load: bool, pages: Sequence[int]) -> Optional[Transfer]:
        if self.taken >= self.takes or not self.wants:
            return None
        self.taken += 1
        self.under_way.append(Transfer(self.taken, is_load, tuple(pages)))
        self.most = max(self.most, len(self.under_way))
        return self.under_way[-1]

    def load(self, lease: int, pages: Sequence[int], *, first_block: int) -> Optional[Transfer]:
        return self._start(True, pages)

    def save(self, chain: bytes, first_block: int, pages: Sequence[int]) -> Optional[Transfer]:
        return self._start(False, pages)

    def progress(self, *, wait_s: float) -> list[Finished]:
        if not self.copies.wait(wait_s):
            return []
        ended, self.under_way = self.under_way, []
        return [Finished(transfer, len(transfer.pages)) for transfer in ended]

    def close(self, *, deadline_s: float) -> bool:
        return True


class _NoFence:
    def record(self) -> None:
        """Nothing is on its way."""


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

    def test_a_save_that_the_cache_does_not_want_is_told_from_one_that_failed(self) -> None:
        self.agent.wants = False
        unwanted, failed = Save(bytes(32), 0, (1,)), Save(bytes(32), 0, (2,))
        self.transfers.save(unwanted)
        self.transfers.quiesce(20.0)
        self.agent.connected = False
        self.transfers.save(failed)
        self.transfers.quiesce(20.0)
        self.assertEqual([(False, True), (False, False)], [(save.stored, save.unwanted) for save in (unwanted, failed)])

    def test_loads_of_several_leases_end_at_the_first_that_is_not_taken(self) -> None:
        self.agent.takes = 2
        loads = self.transfers.load_each([(lease, 0, (lease,)) for lease in range(5, 9)])
        self.assertEqual([(5,), (6,)], [load.transfer.pages for load in loads])
        self.agent.copies.set()
        self.transfers.quiesce(20.0)
        self.assertTrue(all(load.landed for load in loads))


if __name__ == "__main__":
    unittest.main()

"""What a save is said to have come to, with an agent that does as it is told."""

from __future__ import annotations

import threading
import unittest
from collections.abc import Sequence
from typing import Optional

from orbitkv_agent.client import Finished, Transfer
from orbitkv_sglang.transfers import Save, Transfers

_CHAIN = bytes(32 * 4)


class _Fence:
    def record(self) -> None:
        pass


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


class SaveTest(unittest.TestCase):
    def _stored(self, client: Optional[_Client]) -> Optional[bool]:
        transfers = Transfers(lambda: client, _Fence())  # type: ignore[arg-type, return-value]
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
        transfers = Transfers(lambda: None, _Fence())
        transfers.close(10.0)
        self.assertEqual(before, threading.active_count())


if __name__ == "__main__":
    unittest.main()

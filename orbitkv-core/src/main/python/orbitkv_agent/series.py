"""The chains that saves continue, kept so that any agent can be told all of one."""

from __future__ import annotations

from typing import Optional

from orbitkv_wire.messages import HASH_BYTES

_MAX_SERIES = 1024


class SeriesChains:
    """What saves stated of each series, and how much of it the agent has.

    When there are too many, the series that was used least recently goes.
    """

    def __init__(self) -> None:
        self._chains: dict[int, bytes] = {}
        self._told: dict[int, int] = {}

    def extend(self, series: int, known: int, more: bytes) -> Optional[bytes]:
        """Keeps and returns the whole chain; nothing if the hashes before ``more`` are not there."""
        chain = self._chains.get(series, b"")
        if not 0 <= known * HASH_BYTES <= len(chain):
            return None
        chain = chain[: known * HASH_BYTES] + more
        self._chains.pop(series, None)
        self._chains[series] = chain
        self._told[series] = min(known, self._told.get(series, 0))
        if len(self._chains) > _MAX_SERIES:
            self.forget(next(iter(self._chains)))
        return chain

    def told(self, series: int) -> int:
        """How many hashes of the chain the agent has."""
        return self._told.get(series, 0)

    def tell(self, series: int) -> None:
        """The agent has the whole chain."""
        if series in self._chains:
            self._told[series] = len(self._chains[series]) // HASH_BYTES

    def untell(self, series: int) -> bool:
        """The agent may have nothing of it. Returns whether it was thought to have something."""
        told = self._told.get(series, 0)
        self._told[series] = 0
        return told > 0

    def untell_all(self) -> None:
        """It is another agent, or another connection to it."""
        self._told = dict.fromkeys(self._told, 0)

    def forget(self, series: int) -> bool:
        """Drops a series. Returns whether the agent has something of it."""
        self._chains.pop(series, None)
        return self._told.pop(series, 0) > 0

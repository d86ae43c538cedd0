"""Hands orders to the agent and learns how they end, while the engine waits for neither.

It does so on the engine's thread: one of its own would have to take turns with an engine that leaves Python only now and
then, and a request that waits for its prefix would wait for every turn.
"""

from __future__ import annotations

import time
from typing import NamedTuple, Union

from orbitkv_agent import AgentClient
from orbitkv_vllm.metadata import LoadOrder, SaveOrder
from orbitkv_wire.messages import HASH_BYTES


class LoadEnd(NamedTuple):
    """A load that is over: its leading ``blocks`` are in their pages."""

    order: LoadOrder
    blocks: int
    seconds: float


class SaveEnd(NamedTuple):
    """A save that is over: this rank has committed ``blocks``."""

    order: SaveOrder
    blocks: int


class _Loading(NamedTuple):
    order: LoadOrder
    since: float


class Courier:
    """One rank's orders. Each order with pages has one end. One thread."""

    def __init__(self, client: AgentClient) -> None:
        """The client is this one's alone until it is closed."""
        self._client = client
        self._loading: dict[int, _Loading] = {}
        self._saving: dict[int, SaveOrder] = {}
        self._ends: list[Union[LoadEnd, SaveEnd]] = []
        """Of what was not begun."""
        self._untold: dict[int, tuple[int, bytes]] = {}
        """Of series whose last saves did not reach the agent: how many hashes it was told, and those behind them."""

    @property
    def client(self) -> AgentClient:
        """The client."""
        return self._client

    @property
    def loads(self) -> int:
        """Loads whose ends were not taken."""
        return len(self._loading) + sum(isinstance(end, LoadEnd) for end in self._ends)

    @property
    def saves(self) -> int:
        """Saves whose ends were not taken."""
        return len(self._saving) + sum(isinstance(end, SaveEnd) for end in self._ends)

    def load(self, order: LoadOrder) -> None:
        """Has a load begun."""
        transfer = self._client.post_load(order.lease, order.pages, first_block=order.first_block)
        if transfer is None:
            self._ends.append(LoadEnd(order, 0, 0.0))
        else:
            self._loading[transfer.id] = _Loading(order, time.monotonic())

    def save(self, order: SaveOrder) -> None:
        """Has a save begun. One without pages has no end: its hashes are told with those of the next."""
        known, hashes = self._untold.pop(order.series, (order.known, b""))
        # As the order has it, or with what stands between that and what was told.
        known = min(known, order.known)
        hashes = hashes[: (order.known - known) * HASH_BYTES] + order.hashes
        if not order.pages:
            self._untold[order.series] = (known, hashes)
            return
        transfer = self._client.post_save(hashes, order.first_block, order.pages, series=order.series, known=known)
        if transfer is None:
            self._ends.append(SaveEnd(order, 0))
        else:
            self._saving[transfer.id] = order

    def forget(self, series: int) -> None:
        """States that no save of a series follows."""
        self._untold.pop(series, None)
        self._client.forget(series)

    def take(self) -> list[Union[LoadEnd, SaveEnd]]:
        """Returns what is known to have ended since the last call."""
        taken, self._ends = self._ends, []
        if self._loading or self._saving:
            # A request waits for a load, so the engine asks for its answer; nobody waits for a save.
            for finished in self._client.progress(post=not self._loading):
                loading = self._loading.pop(finished.transfer.id, None)
                saving = self._saving.pop(finished.transfer.id, None)
                if loading is not None:
                    taken.append(LoadEnd(loading.order, finished.blocks, time.monotonic() - loading.since))
                elif saving is not None:
                    taken.append(SaveEnd(saving, finished.blocks))
        return taken

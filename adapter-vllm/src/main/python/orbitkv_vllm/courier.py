"""Hands orders to the agent and learns how they end, while no step of the engine waits for the agent.

It does so on the engine's thread: one of its own would have to take turns with an engine that leaves Python only now and
then, and a request that waits for its prefix would wait for every turn.
"""

from __future__ import annotations

import time
from typing import NamedTuple, Optional, Union

from orbitkv_agent import AgentClient
from orbitkv_vllm.metadata import LoadOrder, SaveOrder
from orbitkv_wire.messages import HASH_BYTES

_PATIENCE_S = 0.0002
"""A request waits for a load, so a step asks whether it has ended, and waits so long for an answer. An agent that is well
answers in a quarter of it."""


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

    def __init__(self) -> None:
        """Has nobody to hand anything to, and so every order ends at once."""
        self._client: Optional[AgentClient] = None
        self._loading: dict[int, _Loading] = {}
        self._saving: dict[int, SaveOrder] = {}
        self._ends: list[Union[LoadEnd, SaveEnd]] = []
        """Not taken yet."""
        self._untold: dict[int, tuple[int, bytes]] = {}
        """Of series whose last saves did not reach the agent: how many hashes it was told, and those behind them."""

    def join(self, client: AgentClient) -> None:
        """Has a client that the agent knows, for itself alone until ``part``."""
        self._client = client

    def part(self) -> Optional[AgentClient]:
        """Gives the client back, if there is one. What is open with it stays open until it has joined again."""
        self._learn()
        client, self._client = self._client, None
        return client

    @property
    def has_client(self) -> bool:
        """Whether there is a client, be it connected or not."""
        return self._client is not None

    @property
    def has_lost_agent(self) -> bool:
        """Whether the client's connection is broken."""
        return self._client is not None and not self._client.connected

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
        client = self._connected()
        transfer = None
        if client is not None:
            transfer = client.post_load(order.lease, order.pages, first_block=order.first_block)
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
        client = self._connected()
        if client is None or not order.pages:
            self._untold[order.series] = (known, hashes)
            if order.pages:
                self._ends.append(SaveEnd(order, 0))
            return
        transfer = client.post_save(hashes, order.first_block, order.pages, series=order.series, known=known)
        if transfer is None:
            self._ends.append(SaveEnd(order, 0))
        else:
            self._saving[transfer.id] = order

    def forget(self, series: int) -> None:
        """States that no save of a series follows."""
        self._untold.pop(series, None)
        client = self._connected()
        if client is not None:
            client.forget(series)

    def _connected(self) -> Optional[AgentClient]:
        """Connecting takes its time, and is done elsewhere."""
        return None if self._client is None or not self._client.connected else self._client

    def take(self) -> list[Union[LoadEnd, SaveEnd]]:
        """Returns what is known to have ended since the last call."""
        self._learn()
        taken, self._ends = self._ends, []
        return taken

    def _learn(self) -> None:
        if self._client is None or not (self._loading or self._saving):
            return
        for finished in self._client.progress(post=True, wait_s=_PATIENCE_S if self._loading else 0.0):
            loading = self._loading.pop(finished.transfer.id, None)
            saving = self._saving.pop(finished.transfer.id, None)
            if loading is not None:
                self._ends.append(LoadEnd(loading.order, finished.blocks, time.monotonic() - loading.since))
            elif saving is not None:
                self._ends.append(SaveEnd(saving, finished.blocks))

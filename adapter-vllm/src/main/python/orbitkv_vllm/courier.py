"""Speaks with the agent in the engine's stead, so that no step of the engine waits for an answer."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from typing import Callable, NamedTuple, Union

from orbitkv_agent import AgentClient
from orbitkv_vllm.metadata import LoadOrder, SaveOrder
from orbitkv_wire.messages import HASH_BYTES

_PATIENCE_S = 0.002
"""How long the agent is asked at once whether loads have ended. Orders wait for that."""

_QUESTIONS_S = 0.01
"""How often the agent is asked whether saves have ended. Nobody waits for that but pages, and each question takes turns
with the engine's thread at the interpreter."""


class LoadEnd(NamedTuple):
    """A load that is over: its leading ``blocks`` are in their pages."""

    order: LoadOrder
    blocks: int
    seconds: float


class SaveEnd(NamedTuple):
    """A save that is over: this rank has committed ``blocks``."""

    order: SaveOrder
    blocks: int


class _SeriesEnd(NamedTuple):
    series: int


class _Question(NamedTuple):
    """Whether saves have ended."""


class _Loading(NamedTuple):
    order: LoadOrder
    since: float


class Courier:
    """Hands orders to the agent one behind another, and learns how they end, on a thread of its own.

    The engine's thread gives orders and takes ends, neither of which waits. Each order with pages has one end.
    """

    def __init__(self, client: AgentClient, clock: Callable[[], float] = time.monotonic) -> None:
        """Begins. The client is this thread's alone until ``close``."""
        self._client = client
        self._orders: queue.SimpleQueue[Union[LoadOrder, SaveOrder, _SeriesEnd, _Question, None]] = queue.SimpleQueue()
        self._ends: deque[Union[LoadEnd, SaveEnd]] = deque()
        self._open_loads = 0
        self._open_saves = 0
        self._asked = False
        self._ask_at = 0.0
        self._clock = clock
        self._closing = False
        self._loading: dict[int, _Loading] = {}
        self._saving: dict[int, SaveOrder] = {}
        self._untold: dict[int, tuple[int, bytes]] = {}
        """Of series whose last saves did not reach the agent: how many hashes it was told, and those behind them."""
        self._thread = threading.Thread(target=self._run, name="orbitkv-courier", daemon=True)
        self._thread.start()

    # The engine's thread.

    @property
    def client(self) -> AgentClient:
        """The client, whose properties anybody may read."""
        return self._client

    @property
    def loads(self) -> int:
        """Loads whose ends were not taken."""
        return self._open_loads

    @property
    def saves(self) -> int:
        """Saves whose ends were not taken."""
        return self._open_saves

    def load(self, order: LoadOrder) -> None:
        """Has a load begun."""
        self._open_loads += 1
        self._orders.put(order)

    def save(self, order: SaveOrder) -> None:
        """Has a save begun. One without pages has no end."""
        self._open_saves += bool(order.pages)
        self._orders.put(order)

    def forget(self, series: int) -> None:
        """States that no save of a series follows."""
        self._orders.put(_SeriesEnd(series))

    def take(self) -> list[Union[LoadEnd, SaveEnd]]:
        """Returns what has ended since the last call, and has the agent asked for more."""
        taken: list[Union[LoadEnd, SaveEnd]] = []
        while self._ends:
            end = self._ends.popleft()
            if isinstance(end, LoadEnd):
                self._open_loads -= 1
            else:
                self._open_saves -= 1
            taken.append(end)
        # Loads are asked for all the time.
        if self._open_saves and not self._asked and self._clock() >= self._ask_at:
            self._asked = True
            self._ask_at = self._clock() + _QUESTIONS_S
            self._orders.put(_Question())
        return taken

    def close(self) -> AgentClient:
        """Ends the thread, and gives the client back. What it was not told by then, the agent is not told."""
        self._closing = True
        self._orders.put(None)
        self._thread.join()
        return self._client

    # This thread.

    def _run(self) -> None:
        while not self._closing:
            try:
                if not self._loading:
                    order = self._orders.get()
                elif self._client.connected:
                    order = self._orders.get_nowait()
                else:
                    order = self._orders.get(timeout=_PATIENCE_S)
            except queue.Empty:
                # A request waits for this.
                self._learn(_PATIENCE_S)
                continue
            if isinstance(order, LoadOrder):
                self._load(order)
            elif isinstance(order, SaveOrder):
                self._save(order)
            elif isinstance(order, _SeriesEnd):
                self._untold.pop(order.series, None)
                self._client.forget(order.series)
            elif isinstance(order, _Question):
                self._asked = False
                self._learn(0.0)

    def _load(self, order: LoadOrder) -> None:
        since = time.monotonic()
        transfer = self._client.load(order.lease, order.pages, first_block=order.first_block)
        if transfer is None:
            self._ends.append(LoadEnd(order, 0, time.monotonic() - since))
        else:
            self._loading[transfer.id] = _Loading(order, since)

    def _save(self, order: SaveOrder) -> None:
        known, hashes = self._untold.pop(order.series, (order.known, b""))
        # As the order has it, or with what stands between that and what was told.
        known = min(known, order.known)
        hashes = hashes[: (order.known - known) * HASH_BYTES] + order.hashes
        if not order.pages:
            self._untold[order.series] = (known, hashes)
            return
        transfer = self._client.save(hashes, order.first_block, order.pages, series=order.series, known=known)
        if transfer is None:
            self._ends.append(SaveEnd(order, 0))
        else:
            self._saving[transfer.id] = order

    def _learn(self, wait_s: float) -> None:
        if not self._loading and not self._saving:
            return
        for finished in self._client.progress(wait_s=wait_s):
            loading = self._loading.pop(finished.transfer.id, None)
            saving = self._saving.pop(finished.transfer.id, None)
            if loading is not None:
                self._ends.append(LoadEnd(loading.order, finished.blocks, time.monotonic() - loading.since))
            elif saving is not None:
                self._ends.append(SaveEnd(saving, finished.blocks))

"""The worker half: shares one rank's pages with the agent of that rank, hands it orders and reports their ends."""

from __future__ import annotations

import logging
import queue
import threading
import time
from typing import TYPE_CHECKING, Callable, NamedTuple, Optional, Protocol

from orbitkv_agent import AgentClient
from orbitkv_vllm.adopt import AdoptedMemory
from orbitkv_vllm.layout import Pool
from orbitkv_vllm.metadata import Ended, LoadOrder, Orders, Reports, SaveOrder
from orbitkv_vllm.rendezvous import Rendezvous
from orbitkv_vllm.stats import OrbitKvStats
from orbitkv_vllm.vllm_wire import AdapterClient
from orbitkv_wire.messages import HASH_BYTES

if TYPE_CHECKING:
    from vllm.distributed.kv_transfer.kv_connector.v1.base import KVConnectorTransferResults

_LOG = logging.getLogger("orbitkv_vllm")

# vLLM gives a worker five seconds to end. An agent that needs longer ends by itself.
_DRAIN_S = 2.0
_END_S = 2.0
_PAUSE_S = 0.05
_INTRODUCTION_S = 10.0


class AgentProcess(Protocol):
    """An agent that is kept running."""

    def wait(self, limit_s: float = ...) -> bool: ...

    def close(self, limit_s: float = ...) -> bool: ...


class Introduction:
    """Has the agent know this rank, in the background: at first that takes as long as reading the model's files does.

    An agent that was started again answers slowly at first too, and no step of the engine has to wait for that.
    """

    def __init__(
        self, agent: AgentProcess, adapter: AdapterClient, connect: Callable[[bytes], AgentClient]
    ) -> None:
        """``adapter`` tells the namespace, with which ``connect`` makes a client that nobody else has yet."""
        self._agent = agent
        self._adapter = adapter
        self._connect = connect
        self._closing = threading.Event()
        self._client: Optional[AgentClient] = None
        self._lost: queue.SimpleQueue[Optional[AgentClient]] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="orbitkv-introduction", daemon=True)
        self._thread.start()

    @property
    def client(self) -> Optional[AgentClient]:
        """The client that the agent knows, as soon as there is one: its user's alone from then on."""
        return self._client

    def again(self, client: AgentClient) -> None:
        """Takes back a client that has lost its agent, until the agent, or the next one, knows it again."""
        self._client = None
        self._lost.put(client)

    def close(self) -> None:
        """Goes no further."""
        self._closing.set()
        self._lost.put(None)
        self._thread.join()

    def _run(self) -> None:
        client = self._made()
        self._adapter.close()
        while client is not None:
            while not self._closing.is_set() and not self._connected(client):
                self._closing.wait(_PAUSE_S)
            self._client = client
            client = self._lost.get()

    def _made(self) -> Optional[AgentClient]:
        while not self._closing.is_set():
            if self._agent.wait(_PAUSE_S):
                namespace = self._adapter.namespace()
                if namespace is not None:
                    return self._connect(namespace)
        return None

    def _connected(self, client: AgentClient) -> bool:
        return self._agent.wait(_PAUSE_S) and client.connect(deadline_s=_INTRODUCTION_S)


class _Loading(NamedTuple):
    order: LoadOrder
    since: float


class WorkerHalf:
    """One rank. One thread."""

    def __init__(
        self,
        *,
        agent: AgentProcess,
        introduction: Introduction,
        pool: Pool,
        memory: AdoptedMemory,
        rendezvous: Rendezvous,
    ) -> None:
        """Takes over all that can be closed, and closes it in the end."""
        self._process = agent
        self._introduction = introduction
        self._pool = pool
        self._memory = memory
        self._rendezvous = rendezvous
        self._client: Optional[AgentClient] = None
        self._loading: dict[int, _Loading] = {}
        self._saving: dict[int, SaveOrder] = {}
        self._untold: dict[int, tuple[int, bytes]] = {}
        """Of series whose last saves did not reach the agent: how many hashes it was told, and those behind them."""
        self._reports = Reports()
        self._finished: set[str] = set()
        self._failed: set[str] = set()
        self._failed_pages: set[int] = set()
        self._stats = OrbitKvStats()

    def start_loads(self, orders: Orders) -> None:
        """Begins the loads of a step."""
        for name in orders.without_load:
            self._finished.add(name)
            self._failed.add(name)
        for order in orders.loads:
            client = self._agent()
            transfer = None
            if client is not None:
                transfer = client.load(order.lease, order.pages, first_block=order.first_block)
            if transfer is None:
                self._load_ended(order, 0)
            else:
                self._loading[transfer.id] = _Loading(order, time.monotonic())

    def start_saves(self, orders: Orders) -> None:
        """Begins the saves of a step, whose forward has run."""
        for order in orders.saves:
            known, hashes = self._untold.pop(order.series, (order.known, b""))
            # As the order has it, or with what stands between that and what was told.
            known = min(known, order.known)
            hashes = hashes[: (order.known - known) * HASH_BYTES] + order.hashes
            client = self._agent()
            if client is None or not order.pages:
                self._untold[order.series] = (known, hashes)
                if order.pages:
                    self._save_ended(order, 0)
                continue
            transfer = client.save(hashes, order.first_block, order.pages, series=order.series, known=known)
            if transfer is None:
                self._save_ended(order, 0)
            else:
                self._saving[transfer.id] = order
        for series in orders.ended_series:
            self._untold.pop(series, None)
            if self._client is not None:
                self._client.forget(series)

    def poll(self) -> KVConnectorTransferResults:
        """Returns requests whose loads ended since the last call, each once."""
        from vllm.distributed.kv_transfer.kv_connector.v1.base import KVConnectorTransferResults

        if self._client is not None and (self._loading or self._saving):
            for ended in self._client.progress():
                loading = self._loading.pop(ended.transfer.id, None)
                saved = self._saving.pop(ended.transfer.id, None)
                if loading is not None:
                    self._stats.count("load_microseconds", round(1e6 * (time.monotonic() - loading.since)))
                    self._load_ended(loading.order, ended.blocks)
                elif saved is not None:
                    self._save_ended(saved, ended.blocks)
        results = KVConnectorTransferResults(finished_recving=self._finished, failed_recving=self._failed)
        self._finished, self._failed = set(), set()
        return results

    def take_failed_pages(self) -> set[int]:
        """Returns the pages that loads did not reach though they reached earlier ones, since the last call."""
        pages, self._failed_pages = self._failed_pages, set()
        return pages

    def take_reports(self) -> Optional[Reports]:
        """Returns what is to be told the scheduler half; nothing if there is nothing."""
        if not self._reports.saves and not self._reports.loads:
            return None
        reports, self._reports = self._reports, Reports()
        return reports

    def take_stats(self) -> Optional[OrbitKvStats]:
        """Returns counts since the last call; nothing if there are none."""
        if self._stats.is_empty():
            return None
        stats, self._stats = self._stats, OrbitKvStats()
        return stats

    def close(self) -> None:
        """Ends the agent in order, and takes the pages back. Idempotent."""
        self._introduction.close()
        client, self._client = self._agent(), None
        if client is not None:
            client.close(deadline_s=_DRAIN_S)
        self._process.close(_END_S)
        # Whatever an agent that has not ended may still write goes to the file, and no longer to the engine's pages.
        self._memory.close()
        self._rendezvous.leave()

    def _agent(self) -> Optional[AgentClient]:
        client = self._client
        if client is None:
            self._client = self._introduction.client
        elif not client.connected and not self._loading and not self._saving:
            # With something under way it is asked here what has become of that.
            self._client = None
            self._introduction.again(client)
        return self._client

    def _load_ended(self, order: LoadOrder, blocks: int) -> None:
        self._reports.loads[order.request] = Ended(1, blocks)
        self._finished.add(order.request)
        if blocks == 0:
            self._failed.add(order.request)
        else:
            # The engine keeps those before the first of these.
            self._failed_pages.update(order.pages[blocks:])
        self._stats.count("loaded_bytes", blocks * self._pool.shard_bytes)

    def _save_ended(self, order: SaveOrder, blocks: int) -> None:
        self._reports.saves[order.save] = Ended(1, blocks)
        self._stats.count("saved_bytes", blocks * self._pool.shard_bytes)

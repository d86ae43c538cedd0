"""The worker half: shares one rank's pages with the agent of that rank, hands it orders and reports their ends."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Callable, Optional, Protocol, Union

from orbitkv_agent import AgentClient
from orbitkv_vllm.courier import Courier, LoadEnd
from orbitkv_vllm.layout import Pool
from orbitkv_vllm.metadata import Ended, LoadOrder, Orders, Reports, SaveOrder
from orbitkv_vllm.rendezvous import Rendezvous
from orbitkv_vllm.shared import SharedPages
from orbitkv_vllm.stats import OrbitKvStats
from orbitkv_vllm.vllm_wire import AdapterClient

if TYPE_CHECKING:
    from vllm.distributed.kv_transfer.kv_connector.v1.base import KVConnectorTransferResults

_LOG = logging.getLogger("orbitkv_vllm")

# vLLM gives a worker five seconds to end. An agent that needs longer ends by itself.
_DRAIN_S = 2.0
_END_S = 2.0
_PAUSE_S = 0.05
_INTRODUCTION_S = 10.0

_FOLLOWING_S = 1.0
"""So long saves wait for the engine; then the agent does, whatever that costs. Loads in each step move what both wait for."""


class AgentProcess(Protocol):
    """An agent that is kept running."""

    def wait(self, limit_s: float = ...) -> bool: ...

    def close(self, limit_s: float = ...) -> bool: ...


class Introduction:
    """Has the agent know this rank, in the background: it takes as long as reading the model's files does."""

    def __init__(
        self, agent: AgentProcess, adapter: AdapterClient, connect: Callable[[bytes], AgentClient]
    ) -> None:
        """``adapter`` tells the namespace, with which ``connect`` makes a client that nobody else has yet."""
        self._agent = agent
        self._adapter = adapter
        self._connect = connect
        self._closing = threading.Event()
        self._client: Optional[AgentClient] = None
        self._thread = threading.Thread(target=self._run, name="orbitkv-introduction", daemon=True)
        self._thread.start()

    @property
    def client(self) -> Optional[AgentClient]:
        """The client that the agent knows, as soon as there is one: its user's alone from then on."""
        return self._client

    def close(self) -> None:
        """Goes no further."""
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        client: Optional[AgentClient] = None
        while not self._closing.is_set():
            if not self._agent.wait(_PAUSE_S):
                continue
            if client is None:
                namespace = self._adapter.namespace()
                client = None if namespace is None else self._connect(namespace)
            if client is not None and client.connect(deadline_s=_INTRODUCTION_S):
                self._client = client
                break
            # The engine computes meanwhile, and the agent reads files: neither is to wait for a thread that only asks.
            self._closing.wait(_PAUSE_S)
        self._adapter.close()


class WorkerHalf:
    """One rank. One thread."""

    def __init__(
        self,
        *,
        agent: AgentProcess,
        introduction: Introduction,
        pool: Pool,
        pages: SharedPages,
        rendezvous: Rendezvous,
    ) -> None:
        """Takes over all that can be closed, and closes it in the end."""
        self._process = agent
        self._introduction = introduction
        self._pool = pool
        self._pages = pages
        self._rendezvous = rendezvous
        self._courier: Optional[Courier] = None
        self._untold: list[SaveOrder] = []
        """Saves of before there was a courier: their hashes belong to their series."""
        self._fresh: list[Union[SaveOrder, int]] = []
        """Saves, and series that end with them, that nothing is known of yet."""
        self._following: list[Union[SaveOrder, int]] = []
        self._following_until = 0.0
        """Those that begin when the engine has done what it had begun when they were ordered."""
        self._reports = Reports()
        self._finished: set[str] = set()
        self._failed: set[str] = set()
        self._failed_pages: set[int] = set()
        self._stats = OrbitKvStats()

    @property
    def under_way(self) -> tuple[int, int]:
        """Loads and saves that are not reported yet."""
        waiting = sum(isinstance(order, SaveOrder) for order in self._fresh + self._following)
        if self._courier is None:
            return 0, waiting
        return self._courier.loads, self._courier.saves + waiting

    def start_loads(self, orders: Orders) -> None:
        """Begins the loads of a step, before its forward."""
        for name in orders.without_load:
            self._finished.add(name)
            self._failed.add(name)
        if not orders.loads:
            return
        courier = self._agent()
        # Behind the last steps that used these pages. Saves that follow the engine then follow it to here.
        self._pages.follow_engine()
        for order in orders.loads:
            if courier is None:
                self._load_ended(order, 0)
            else:
                courier.load(order)

    def start_saves(self, orders: Orders) -> None:
        """Takes the saves of a step, whose forward was begun."""
        self._fresh += orders.saves
        self._fresh += orders.ended_series
        self._advance_saves()

    def _advance_saves(self) -> None:
        """Begins those whose pages are written.

        An agent would wait for that as well. But as long as it waits, what it waits for must not move to a later step,
        and if it does not end soon, the agent has the GPU wait, for which the engine's work is interrupted.
        """
        if self._following and (self._pages.engine_followed() or time.monotonic() > self._following_until):
            self._begin_saves()
        if self._fresh and not self._following:
            self._following, self._fresh = self._fresh, []
            self._following_until = time.monotonic() + _FOLLOWING_S
            self._pages.follow_engine()
            if self._pages.engine_followed():
                self._begin_saves()

    def _begin_saves(self) -> None:
        orders, self._following = self._following, []
        courier = self._agent()
        for order in orders:
            if courier is not None:
                if isinstance(order, int):
                    courier.forget(order)
                else:
                    courier.save(order)
            elif isinstance(order, int):
                self._untold = [untold for untold in self._untold if untold.series != order]
            else:
                self._untold.append(order._replace(pages=()))
                if order.pages:
                    self._save_ended(order, 0)

    def poll(self) -> KVConnectorTransferResults:
        """Returns requests whose loads ended since the last call, each once."""
        from vllm.distributed.kv_transfer.kv_connector.v1.base import KVConnectorTransferResults

        self._advance_saves()
        if self._courier is not None and (self._courier.loads or self._courier.saves):
            for end in self._courier.take():
                if isinstance(end, LoadEnd):
                    self._stats.count("load_microseconds", round(1e6 * end.seconds))
                    self._load_ended(end.order, end.blocks)
                else:
                    self._save_ended(end.order, end.blocks)
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
        courier, self._courier = self._agent(), None
        if courier is not None:
            courier.close().close(deadline_s=_DRAIN_S)
        self._process.close(_END_S)
        self._pages.close()
        self._rendezvous.leave()

    def _agent(self) -> Optional[Courier]:
        if self._courier is None and self._introduction.client is not None:
            self._courier = Courier(self._introduction.client)
            for order in self._untold:
                self._courier.save(order)
            self._untold = []
        return self._courier

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

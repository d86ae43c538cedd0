"""The scheduler half: tells the agent of rank 0 what the scheduler does, and the workers what the agent has decided.

What is kept here is what must outlive an agent: the references that keep pages from being used again while they are
saved, the loads that requests wait for, and which requests failed to load.
"""

from __future__ import annotations

import logging
import struct
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Callable, NamedTuple, Optional

from orbitkv_vllm import messages
from orbitkv_vllm.events import CacheEvents
from orbitkv_vllm.messages import Standing
from orbitkv_vllm.metadata import Ended, LoadOrder, Orders, Reports, SaveOrder
from orbitkv_vllm.profile import RequestProfile
from orbitkv_vllm.settings import Saves
from orbitkv_vllm.stats import OrbitKvStats
from orbitkv_vllm.vllm_wire import AdapterClient

if TYPE_CHECKING:
    from vllm.distributed.kv_events import KVCacheEvent
    from vllm.v1.core.block_pool import BlockPool
    from vllm.v1.core.kv_cache_manager import KVCacheBlocks
    from vllm.v1.core.kv_cache_utils import KVCacheBlock
    from vllm.v1.core.sched.output import SchedulerOutput
    from vllm.v1.outputs import KVConnectorOutput
    from vllm.v1.request import Request

_LOG = logging.getLogger("orbitkv_vllm")

_PATIENCE_S = 2.0
"""How long the scheduler waits for pages of saves rather than take them from a request."""

_PINNED_SHARE = 2
"""Saves hold at most one page in so many."""

_IDLE_PATIENCE_S = 10.0
"""How long an engine with nothing else to do waits for saves to end."""

_PAUSE_S = 1.0
"""A longer time without a step is a pause. Ends of saves are learnt in steps, so that patience does not count it."""

_NOTHING = messages.Plan([], [], b"", b"", False, b"")

_NEWS_S = 0.1
"""How often the agent is asked for news, if it has to be told of none."""

_ENDS_S = 0.05
"""How long the agent is not told that saves have ended, if it has to be told of nothing else."""

_ANSWER_TOKENS = 64
"""So many tokens of an answer are saved together: what a save costs a step is the same for one block and for some."""

_ANSWERS_A_STEP = 32
"""One request in so many, and one more, is told of in a step because of its answer. Twice as many as are due, so that
no step has to tell of all."""

_WELL = ("FINISHED_STOPPED", "FINISHED_LENGTH_CAPPED")
"""How a request ends whose tokens are all that it should have."""


class _Told:
    """What the agent was told of a request in one connection."""

    __slots__ = ("connection", "external_tokens", "hashes", "pages", "request", "whole")

    def __init__(self, request: Request) -> None:
        self.request = request
        self.connection = -1
        self.hashes = 0
        self.pages = 0
        self.whole = 0
        """Blocks that the agent knows to be computed."""
        self.external_tokens = 0
        """To be loaded, as was agreed when it got pages."""

    def tell_again(self, connection: int) -> None:
        self.connection = connection
        self.hashes = self.pages = self.whole = 0


class _Pin(NamedTuple):
    """Pages of a save, held by a reference of this half's own until every rank has reported it."""

    connection: int
    save: int
    blocks: list[KVCacheBlock]
    ended: Ended


class _Done(NamedTuple):
    """A request that finished well with blocks that the agent was not told of. Their pages are held by a reference of
    this half's own until it has been."""

    told: _Told
    pages: Sequence[int]
    """All of its whole blocks'."""
    first: int
    """The first block whose page is held."""
    blocks: list[KVCacheBlock]


class _Load(NamedTuple):
    blocks: int
    ended: Ended


class SchedulerHalf:
    """One engine's scheduler. One thread.

    No call raises for what the agent does or does not do, and none takes longer than the client's deadline.
    """

    def __init__(
        self,
        *,
        block_tokens: int,
        ranks: int,
        profile: RequestProfile,
        loads: bool,
        saves: Saves,
        events: Optional[CacheEvents],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Serves nothing until ``connect``."""
        self._block_tokens = block_tokens
        self._ranks = ranks
        self._profile = profile
        self._may_load = loads
        self._saves = saves
        self._events = events
        self._clock = clock
        self._client: Optional[AdapterClient] = None
        self._pool: Optional[BlockPool] = None
        self._told: dict[str, _Told] = {}
        self._refused: set[str] = set()
        """Requests out of the profile, with which the cache has nothing to do."""
        self._failed: set[str] = set()
        """Requests that failed to load: what failed once may fail again, and again."""
        self._allocated: dict[str, Sequence[int]] = {}
        self._finished: list[str] = []
        self._done: list[_Done] = []
        self._pins: dict[int, _Pin] = {}
        self._pinned_blocks = 0
        self._pins_moved = clock()
        self._stepped_at = clock()
        self._pins_full = False
        """Whether saves wait for others to end."""
        self._last_pin = 0
        self._loads: dict[str, _Load] = {}
        self._saves_ended: list[messages.SaveEnded] = []
        self._loads_ended: list[messages.LoadEnded] = []
        self._ended_series: list[int] = []
        self._stats = OrbitKvStats()
        self._told_at = clock()
        self._told_of = 0
        """The connection that what waits to be told is meant for."""
        self._heard_of = 0
        """The connection over which the last news came."""

    def connect(self, client: AdapterClient) -> None:
        """Has an agent from now on."""
        self._client = client
        # So that it is there when the first request comes.
        client.prepare()

    def bind(self, pool: BlockPool) -> None:
        """Has the engine's pages from now on."""
        self._pool = pool

    def lookup(self, request: Request, computed_tokens: int) -> tuple[Optional[int], bool]:
        """How many tokens behind the computed ones can be loaded; nothing to be asked again in the next step."""
        client = self._client
        hashes = request.block_hashes
        if (
            client is None
            or not self._may_load
            or request.skip_reading_prefix_cache
            or len(hashes) * self._block_tokens <= computed_tokens
            or request.request_id in self._failed
            or not self._accepts(request)
            or not self._meets(client)
        ):
            return 0, False
        told = self._up_to_date(request, client)
        matched = client.lookup(
            request.request_id, computed_tokens, request.num_tokens, told.hashes, b"".join(hashes[told.hashes :])
        )
        if matched is None:
            return 0, False
        told.hashes = len(hashes)
        if matched.standing is Standing.DEFER:
            return None, False
        whole_tokens = len(hashes) * self._block_tokens
        if matched.standing is Standing.NONE or not 0 < matched.tokens <= whole_tokens - computed_tokens:
            return 0, False
        return matched.tokens, True

    def allocated(self, request: Request, blocks: KVCacheBlocks, external_tokens: int) -> None:
        """A request has pages: to load into, or to run."""
        if not self._accepts(request):
            return
        told = self._told.setdefault(request.request_id, _Told(request))
        told.external_tokens = external_tokens
        told.whole = 0
        self._allocated[request.request_id] = blocks.get_block_ids()[0]

    def orders(self, output: SchedulerOutput) -> Orders:
        """Tells what a step does, and returns what the workers are to do in it."""
        orders = Orders()
        client = self._client
        now = self._clock()
        if now - self._stepped_at > _PAUSE_S:
            self._pins_moved += now - self._stepped_at
        self._stepped_at = now
        allocated, self._allocated = self._allocated, {}
        waiting = {name: pages for name, pages in allocated.items() if self._told[name].external_tokens > 0}
        plan = None
        if client is not None and self._meets(client):
            plan = self._step(client, output, allocated, orders)
        else:
            self._drop_untold()
            self._let_go(self._done)
            self._done = []
        if plan is not None:
            for load in plan.loads:
                pages = struct.unpack(f">{len(load.pages) // 4}i", load.pages)
                if pages and waiting.pop(load.request, None) is not None:
                    orders.loads.append(LoadOrder(load.request, load.lease, load.first_block, pages))
                    self._loads[load.request] = _Load(len(pages), Ended(0, len(pages)))
                else:
                    _LOG.error("a load for %s, which does not wait for one, is not started", load.request)
        for name in waiting:
            # Without an answer nobody would ever report these.
            orders.without_load.append(name)
            self._failed.add(name)
            self._stats.count("failed_loads")
        return orders

    def reported(self, output: KVConnectorOutput) -> None:
        """Takes what the workers say."""
        reports = output.kv_connector_worker_meta
        if not isinstance(reports, Reports):
            return
        for number, ended in reports.saves.items():
            pin = self._pins.get(number)
            if pin is not None:
                self._pins[number] = pin = pin._replace(ended=pin.ended | ended)
                if pin.ended.ranks >= self._ranks:
                    self._unpin(number)
        for name, ended in reports.loads.items():
            load = self._loads.get(name)
            if load is not None:
                self._loads[name] = load = load._replace(ended=load.ended | ended)
                if load.ended.ranks >= self._ranks:
                    self._load_ended(name, self._loads.pop(name))

    def finished(self, request: Request, pages: Sequence[int]) -> None:
        """Forgets a request, whose pages are still its own. A load that it waits for goes on until the workers report
        it."""
        name = request.request_id
        told = self._told.pop(name, None)
        self._refused.discard(name)
        self._failed.discard(name)
        self._allocated.pop(name, None)
        if told is None:
            return
        if self._saves is not Saves.OFF and request.status.name in _WELL and self._hold(told, pages):
            return
        if self._client is not None and told.connection == self._client.connections:
            self._finished.append(name)

    def reset(self) -> bool:
        """Puts everything stored so far out of reach, if nothing is under way."""
        waiting = any(self._told[name].external_tokens > 0 for name in self._allocated)
        if self._pins or self._done or self._loads or waiting:
            return False
        if self._client is not None:
            if self._meets(self._client):
                # It has to know what ended since the last step, or it believes that it still goes on.
                self._tell(self._client, [], [], [], 0, at_once=True)
            if not self._client.reset():
                return False
        if self._events is not None:
            self._events.cleared()
        return True

    def frees_soon(self) -> bool:
        """Whether pages of saves will be free without anybody's being preempted."""
        return self._saves_end_within(_PATIENCE_S)

    def works(self) -> bool:
        """Whether the engine has to take steps though it has no request: saves are ordered and reported in steps."""
        return bool(self._done or self._saves_ended) or self._saves_end_within(_IDLE_PATIENCE_S)

    def take_events(self) -> Iterable[KVCacheEvent]:
        """Returns what became known since the last call."""
        return () if self._events is None else self._events.take()

    def take_stats(self) -> Optional[OrbitKvStats]:
        """Returns counts since the last call; nothing if there are none."""
        if self._stats.is_empty():
            return None
        stats, self._stats = self._stats, OrbitKvStats()
        return stats

    def close(self) -> None:
        """Leaves the agent."""
        if self._client is not None:
            self._client.close()

    def _meets(self, client: AdapterClient) -> bool:
        """Returns whether there is an agent to ask."""
        if not client.prepare():
            return False
        if client.connections != self._told_of:
            self._told_of = client.connections
            self._drop_untold()
        return True

    def _drop_untold(self) -> None:
        """Whoever ordered these does not hear of them any more, and the next agent did not order them."""
        self._finished.clear()
        self._saves_ended.clear()
        self._loads_ended.clear()

    def _saves_end_within(self, patience_s: float) -> bool:
        return bool(self._pins) and self._clock() - self._pins_moved < patience_s

    def _accepts(self, request: Request) -> bool:
        if request.request_id in self._told:
            return True
        if request.request_id in self._refused:
            return False
        if not self._profile.accepts(request):
            self._refused.add(request.request_id)
            return False
        return True

    def _up_to_date(self, request: Request, client: AdapterClient) -> _Told:
        told = self._told.setdefault(request.request_id, _Told(request))
        if told.connection != client.connections:
            told.tell_again(client.connections)
        return told

    def _step(
        self, client: AdapterClient, output: SchedulerOutput, allocated: dict[str, Sequence[int]], orders: Orders
    ) -> Optional[messages.Plan]:
        told_allocated = []
        for name, pages in allocated.items():
            told = self._up_to_date(self._told[name].request, client)
            told_allocated.append(messages.Allocated(name, told.external_tokens, _numbers(pages)))
            told.pages = len(pages)
        done = self._take_done(client)
        advanced = self._completed(client, done)
        if self._saves is Saves.ON:
            advanced += self._advanced(client, output)
        # Pages that a request gets anew say by themselves that it lost those that it had.
        preempted = [
            name
            for name in output.preempted_req_ids or ()
            if name not in allocated and name in self._told and self._told[name].connection == client.connections
        ]
        # Nothing else may come to be told of, and saves wait for what has ended.
        at_once = not output.num_scheduled_tokens or self._pins_full
        plan = self._tell(client, told_allocated, advanced, preempted, self._room(), at_once=at_once)
        for save in () if plan is None else plan.saves:
            self._pin(client, save, output, done, orders)
        self._pins_full = not self._room()
        self._let_go(done)
        # In the step behind that in which they were told to have more: what has finished has nothing to save.
        self._finished += [one.told.request.request_id for one in done if one.told.connection == client.connections]
        if plan is None:
            return None
        orders.ended_series, self._ended_series = self._ended_series, []
        return plan

    def _tell(
        self,
        client: AdapterClient,
        allocated: list[messages.Allocated],
        advanced: list[messages.Advanced],
        preempted: list[str],
        room: int,
        *,
        at_once: bool = False,
    ) -> Optional[messages.Plan]:
        if self._events is not None and client.connections != self._heard_of:
            # An agent that was started since does not know what has left meanwhile.
            self._heard_of = client.connections
            self._events.lost()
        at_once = at_once and bool(self._saves_ended)
        if not (at_once or allocated or advanced or preempted or self._finished or self._loads_ended):
            since = self._clock() - self._told_at
            if not (self._saves_ended and since >= _ENDS_S) and (self._events is None or since < _NEWS_S):
                # Most steps: nobody needs to hear of them.
                return _NOTHING
        self._told_at = self._clock()
        finished, self._finished = self._finished, []
        saves_ended, self._saves_ended = self._saves_ended, []
        loads_ended, self._loads_ended = self._loads_ended, []
        plan = client.step(messages.Step(allocated, advanced, preempted, finished, saves_ended, loads_ended, room))
        if plan is not None:
            self._ended_series += struct.unpack(f">{len(plan.ended_series) // 8}q", plan.ended_series)
            if self._events is not None:
                # In this order: what is stored now has not left before.
                if plan.cleared:
                    self._events.lost()
                self._events.departed(plan.departed)
                self._events.stored(struct.unpack(f">{len(plan.stored) // 8}q", plan.stored))
        return plan

    def _room(self) -> int:
        return 0 if self._pool is None else max(0, len(self._pool.blocks) // _PINNED_SHARE - self._pinned_blocks)

    def _advanced(self, client: AdapterClient, output: SchedulerOutput) -> list[messages.Advanced]:
        """Returns the requests with more whole, confirmed blocks behind this step."""
        advanced: list[messages.Advanced] = []
        block_tokens = self._block_tokens
        connection = client.connections
        state = output.kv_connector_block_state
        answers = 1 + len(output.num_scheduled_tokens) // _ANSWERS_A_STEP
        for name, scheduled in output.num_scheduled_tokens.items():
            told = self._told.get(name)
            if told is None:
                continue
            if told.connection != connection:
                told.tell_again(connection)
            request = told.request
            # Hashes are of confirmed tokens only; computed tokens may be ahead of them.
            hashes = request.block_hashes
            computed = request.num_computed_tokens + scheduled
            whole = min(computed // block_tokens, len(hashes))
            if whole <= told.whole or state is None:
                continue
            is_answer = (told.whole + 1) * block_tokens > request.num_prompt_tokens
            if is_answer and (not answers or (whole - told.whole) * block_tokens < _ANSWER_TOKENS):
                continue
            groups = state.get_block_ids(name)
            if groups is None or len(groups[0]) < whole:
                continue
            answers -= is_answer
            advanced.append(self._more(told, groups[0][:whole]))
        return advanced

    def _completed(self, client: AdapterClient, done: Sequence[_Done]) -> list[messages.Advanced]:
        """Returns the requests that have finished well."""
        completed = []
        for one in done:
            if one.told.connection != client.connections:
                one.told.tell_again(client.connections)
            completed.append(self._more(one.told, one.pages))
        return completed

    def _more(self, told: _Told, pages: Sequence[int]) -> messages.Advanced:
        """Returns that a request has these leading blocks."""
        request = told.request
        hashes = request.block_hashes
        whole = len(pages)
        advanced = messages.Advanced(
            request.request_id, whole * self._block_tokens, told.hashes, b"".join(hashes[told.hashes :]),
            min(told.pages, whole), _numbers(pages[told.pages :]),
        )
        told.hashes = len(hashes)
        told.pages = max(told.pages, whole)
        told.whole = whole
        return advanced

    def _hold(self, told: _Told, pages: Sequence[int]) -> bool:
        """Keeps the whole blocks of a request that has finished well. Returns whether there are some to tell of."""
        request, pool, client = told.request, self._pool, self._client
        # Its last token was sampled, and not computed.
        tokens = min(request.num_computed_tokens, request.num_tokens - 1)
        whole = min(tokens // self._block_tokens, len(request.block_hashes), len(pages))
        if pool is None or client is None:
            return False
        first = told.whole if told.connection == client.connections else 0
        if whole <= first:
            return False
        blocks = [pool.blocks[page] for page in pages[first:whole]]
        pool.touch(blocks)
        self._done.append(_Done(told, pages[:whole], first, blocks))
        return True

    def _take_done(self, client: AdapterClient) -> list[_Done]:
        """Returns the requests that have finished well. One whose name is another's by now is forgotten at once."""
        done, self._done = self._done, []
        again = [one for one in done if one.told.request.request_id in self._told]
        self._let_go(again)
        self._finished += [one.told.request.request_id for one in again if one.told.connection == client.connections]
        return [one for one in done if one.told.request.request_id not in self._told]

    def _let_go(self, done: Sequence[_Done]) -> None:
        for one in done:
            if self._pool is not None:
                self._pool.free_blocks(reversed(one.blocks))

    def _pin(
        self,
        client: AdapterClient,
        save: messages.Save,
        output: SchedulerOutput,
        done: Sequence[_Done],
        orders: Orders,
    ) -> None:
        """Holds the pages of a save, and has the workers do it."""
        pool = self._pool
        state = output.kv_connector_block_state
        pages = struct.unpack(f">{len(save.pages) // 4}i", save.pages)
        owned: Sequence[int] = ()
        told = self._told.get(save.request)
        for one in done:
            if one.told.request.request_id == save.request and save.first_block >= one.first:
                told, owned = one.told, one.pages
        if state is not None and save.request in self._told:
            # Also of a request that has nothing to compute in this step.
            owned = state.resolve_block_ids(save.request)[0]
        end = save.first_block + len(pages)
        if pool is None or told is None or not pages or tuple(owned[save.first_block : end]) != pages:
            # It was preempted, of which the agent hears when the request gets pages again.
            # What follows in the series builds on these hashes.
            orders.saves.append(SaveOrder(0, save.series, save.known, save.hashes, save.first_block, ()))
            self._saves_ended.append(messages.SaveEnded(save.save, 0))
            return
        blocks = [pool.blocks[page] for page in pages]
        pool.touch(blocks)
        if not self._pins:
            self._pins_moved = self._clock()
        self._last_pin += 1
        self._pins[self._last_pin] = _Pin(client.connections, save.save, blocks, Ended(0, len(blocks)))
        self._pinned_blocks += len(blocks)
        orders.saves.append(SaveOrder(self._last_pin, save.series, save.known, save.hashes, save.first_block, pages))
        if self._events is not None:
            self._events.saving(save.save, told.request, save.first_block, len(pages))

    def _unpin(self, number: int) -> None:
        pin = self._pins.pop(number)
        self._pinned_blocks -= len(pin.blocks)
        self._pins_moved = self._clock()
        if self._pool is not None:
            # As the engine frees a request's: the last block is used again first.
            self._pool.free_blocks(reversed(pin.blocks))
        self._stats.count("saved_tokens", pin.ended.blocks * self._block_tokens)
        if self._client is not None and pin.connection == self._client.connections:
            self._saves_ended.append(messages.SaveEnded(pin.save, pin.ended.blocks))

    def _load_ended(self, name: str, load: _Load) -> None:
        loaded = load.ended.blocks == load.blocks
        self._stats.count("loaded_tokens", load.ended.blocks * self._block_tokens)
        self._loads_ended.append(messages.LoadEnded(name, loaded))
        if not loaded:
            self._stats.count("failed_loads")
            if name in self._told:
                self._failed.add(name)


def _numbers(values: Sequence[int]) -> bytes:
    return struct.pack(f">{len(values)}i", *values)



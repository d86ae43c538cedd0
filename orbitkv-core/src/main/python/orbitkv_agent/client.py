"""An engine worker's view of its agent: has it copy, and does without it when it is gone."""

from __future__ import annotations

import logging
import os
import struct
import time
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Callable, NamedTuple, Optional, TypeVar, Union

import msgspec

from orbitkv_agent import messages
from orbitkv_agent.connection import AgentConnection
from orbitkv_agent.messages import LayerStanding, Reply, Request
from orbitkv_agent.pool import PageGroup, layout_bytes
from orbitkv_agent.process import SeenProcess
from orbitkv_agent.series import SeriesChains
from orbitkv_wire.breaker import Breaker
from orbitkv_wire.connection import MalformedError
from orbitkv_wire.messages import HASH_BYTES, Standing, probe

_T = TypeVar("_T")

_LOG = logging.getLogger("orbitkv_agent")

Chain = Union[bytes, bytearray, memoryview, Iterable[bytes]]
"""The hashes of a prompt's whole blocks, first block first: 32 bytes a block, or an iterable of them."""


class Answer(msgspec.Struct, frozen=True):
    """How a query stands. ``reason`` says why a hit is not longer, what a miss is due to, or which bound was met."""

    standing: Standing
    lease: Optional[int] = None
    dram_blocks: int = 0
    ssd_blocks: int = 0
    reason: str = ""

    @property
    def blocks(self) -> int:
        """Leading blocks that the lease holds."""
        return self.dram_blocks + self.ssd_blocks if self.lease is not None else 0


_NO_AGENT = Answer(Standing.MISS, reason="NO_AGENT")


class Transfer(msgspec.Struct, frozen=True):
    """A load or a save. Its pages are not the engine's until ``AgentClient.progress`` reports it."""

    id: int
    is_load: bool
    pages: tuple[int, ...]


class Finished(msgspec.Struct, frozen=True):
    """A transfer whose copies are drained: its pages are the engine's again.

    Of a load, the first ``blocks`` pages hold their blocks; ``failed_pages`` are the others, to be computed. Of a save,
    ``blocks`` counts what this rank committed.
    """

    transfer: Transfer
    blocks: int

    @property
    def failed_pages(self) -> tuple[int, ...]:
        return self.transfer.pages[self.blocks :] if self.transfer.is_load else ()


class _Session(NamedTuple):
    connection: AgentConnection
    agent: Optional[SeenProcess]
    by_number: dict[int, Transfer]
    """Transfers that the agent has under way, by the agent's numbers."""


class _RefusedError(Exception):
    """The agent will not have this connection."""


class AgentClient:
    """Drives an agent for one engine worker. One thread at a time.

    No call raises for what the agent or the socket does, and none takes longer than its deadline. Without an agent,
    calls return at once: a miss, or nothing. A connection is tried again by a call, at most once in an interval that doubles
    with every failure from ``retry_s`` to ``max_retry_s``.

    Pages of a transfer stay with the agent until ``progress`` reports it, also when the connection breaks: then nobody
    can say whether copies still run. They are reported, as failed, when an agent welcomes this worker again, which it
    does when every earlier copy is drained, or when its process is seen gone. ``held_pages`` has them all.
    """

    def __init__(
        self,
        socket_path: str | os.PathLike[str],
        *,
        instance: str,
        incarnation: int,
        namespace: bytes,
        groups: Sequence[PageGroup],
        memory: str,
        rank: int = 0,
        ranks: int = 1,
        whole: Optional[bool] = None,
        block_tokens: int = 0,
        software: str = "orbitkv_agent 0.1.0",
        deadline_s: float = 0.5,
        retry_s: float = 0.1,
        max_retry_s: float = 2.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Remembers who this is; connects with the first call.

        ``memory`` is the path of the file with the pages, one for each start of the engine, or what ``cuda_pool`` says of
        memory on a GPU. ``whole`` says that this
        worker asks queries too; unless said otherwise, that of an instance of one rank does.
        """
        if len(namespace) != HASH_BYTES:
            raise ValueError(f"namespace has {len(namespace)} bytes, expected {HASH_BYTES}")
        self._path = os.path.abspath(os.fspath(socket_path))
        self._software = software
        self._open = messages.Open(
            instance,
            incarnation,
            namespace,
            rank,
            ranks,
            ranks == 1 if whole is None else whole,
            block_tokens,
            layout_bytes(groups),
            memory if memory.startswith("cuda-ipc:") else os.path.abspath(memory),
        )
        self._deadline_s = deadline_s
        self._breaker = Breaker(retry_s, max_retry_s, clock, _LOG, f"no agent at {self._path}")
        self._session: Optional[_Session] = None
        self._doubtful: list[Transfer] = []
        self._doubtful_agent: Optional[SeenProcess] = None
        self._settled: list[Finished] = []
        self._series = SeriesChains()
        self._last_id = 0
        self.stored = 0
        """Of the last save, if it copies nothing: how many of its blocks are stored already, for everybody to find."""
        self._pid = os.getpid()

    @property
    def connected(self) -> bool:
        """Whether the last call left a connection."""
        return self._session is not None

    @property
    def trouble(self) -> str:
        """What the last failure was; empty when all is well."""
        return self._breaker.trouble

    @property
    def held_pages(self) -> frozenset[int]:
        """Pages that copies may be reading or writing: those of every transfer that is not reported."""
        transfers = list(self._doubtful)
        transfers += [finished.transfer for finished in self._settled]
        if self._session is not None:
            transfers += self._session.by_number.values()
        return frozenset(page for transfer in transfers for page in transfer.pages)

    def connect(self, *, deadline_s: Optional[float] = None) -> bool:
        """Connects, if that was not done and is not too early. Returns whether there is a connection."""
        limit = self._deadline_s if deadline_s is None else deadline_s
        if self._session is None and limit > 0 and os.getpid() == self._pid:
            try:
                self._connect(time.monotonic() + limit)
            except Exception as e:
                self._breaker.failed(f"{type(e).__name__}: {e}")
        return self._session is not None

    def query(self, operation: int, revision: int, chain: Chain, *, deadline_s: Optional[float] = None) -> Answer:
        """Asks for the longest stored prefix of a chain; again with the same ids and chain, polls."""
        return self._answer(lambda: messages.Query(operation, revision, _hashes(chain)), deadline_s)

    def poll(self, operation: int, revision: int, *, deadline_s: Optional[float] = None) -> Answer:
        """Asks how a query stands. A hit is handed over by the first answer that has it."""
        return self._answer(lambda: messages.Poll(operation, revision), deadline_s)

    def cancel_query(self, operation: int, revision: int, *, deadline_s: Optional[float] = None) -> None:
        """Drops the interest in a query."""
        self._ask(lambda: messages.CancelQuery(operation, revision), deadline_s)

    def release(self, lease: int, *, deadline_s: Optional[float] = None) -> None:
        """Gives up a lease that this worker was answered. Loads that were started keep their share."""
        self._ask(lambda: messages.Release(lease), deadline_s)

    def load(
        self,
        lease: int,
        pages: Sequence[int],
        *,
        first_block: int = 0,
        mark: int = 0,
        deadline_s: Optional[float] = None,
    ) -> Optional[Transfer]:
        """Starts to copy blocks of a leased prefix into pages. Nothing: no page is touched; compute the blocks.

        ``mark`` is one of ``LayerGates``, if a stream of the engine is to wait for layers of this load.
        """
        return self._start(
            True, pages, lambda: messages.Load(lease, first_block, _ints(pages), mark), deadline_s
        )

    def save(
        self,
        chain: Chain,
        first_block: int,
        pages: Sequence[int],
        *,
        series: int = 0,
        known: int = 0,
        deadline_s: Optional[float] = None,
    ) -> Optional[Transfer]:
        """Starts to copy blocks out of pages. Nothing: none is copied, and the pages are the engine's at once.

        With a series, ``chain`` has the hashes behind the first ``known`` ones, which earlier saves of the series
        stated. An agent that does not have those, as one that was started since, is told the whole chain.
        """
        if series == 0:
            return self._start(
                False, pages, lambda: messages.Save(0, 0, _hashes(chain), first_block, _ints(pages)), deadline_s
            )
        try:
            whole = self._series.extend(series, known, _hashes(chain))
        except (TypeError, ValueError) as e:
            _LOG.error("not asked: %s", e)
            return None
        if whole is None:
            _LOG.error("not asked: the first %d hashes of series %d are not known", known, series)
            return None

        def request() -> Request:
            told = self._series.told(series)
            return messages.Save(series, told, whole[told * HASH_BYTES :], first_block, _ints(pages))

        limit = self._deadline_s if deadline_s is None else deadline_s
        end = time.monotonic() + limit
        transfer = self._transfer(False, pages)
        reply = self._ask(request, limit, starting=transfer)
        if isinstance(reply, messages.Refused) and self._series.untell(series):
            # It may have forgotten the series, among too many.
            reply = self._ask(request, end - time.monotonic(), starting=transfer)
        if isinstance(reply, messages.Started):
            self._series.tell(series)
        return self._begun(transfer, reply)

    def forget(self, series: int, *, deadline_s: Optional[float] = None) -> None:
        """States that no save of a series follows."""
        if self._series.forget(series):
            self._ask(lambda: messages.Forget(series), deadline_s)

    def layer_ready(
        self, transfer: Transfer, layer: int, *, wait_s: float = 0.0, deadline_s: Optional[float] = None
    ) -> LayerStanding:
        """Asks whether a layer of a load is in its pages, and waits a while for it."""
        number = self._number(transfer)
        if number is None:
            return LayerStanding.FAILED
        millis = _millis(wait_s)
        reply = self._ask(lambda: messages.LayerReady(number, layer, millis), deadline_s, millis / 1000)
        return reply.standing if isinstance(reply, messages.Layer) else LayerStanding.FAILED

    def progress(self, *, wait_s: float = 0.0, deadline_s: Optional[float] = None) -> list[Finished]:
        """Returns the transfers that are drained, each once, and waits a while for the first."""
        finished: list[Finished] = []
        if self._session is not None and self._session.by_number and not self._settled:
            millis = _millis(wait_s)
            reply = self._ask(lambda: messages.Progress(millis), deadline_s, millis / 1000)
            if isinstance(reply, messages.Finished) and self._session is not None:
                count = len(reply.loads)
                numbers = struct.unpack(f">{count}q", reply.transfers)
                blocks = struct.unpack(f">{count}i", reply.blocks)
                for number, arrived in zip(numbers, blocks):
                    transfer = self._session.by_number.pop(number, None)
                    if transfer is not None:
                        finished.append(Finished(transfer, arrived))
        elif self._doubtful:
            self._settle(deadline_s)
        finished += self._settled
        self._settled = []
        return finished

    def cancel(self, transfer: Transfer, *, deadline_s: Optional[float] = None) -> None:
        """Drops the interest in what a transfer brings. It is reported when its copies are drained, as failed."""
        number = self._number(transfer)
        if number is not None:
            self._ask(lambda: messages.Cancel(number), deadline_s)

    def close(self, *, deadline_s: Optional[float] = None) -> bool:
        """Leaves the agent in order. Returns whether nothing of this worker is copied any more."""
        if self._session is not None and os.getpid() == self._pid:
            reply = self._ask(messages.Close, deadline_s)
            if isinstance(reply, messages.Done) and self._session is not None:
                self._session.by_number.clear()
        self._disconnect()
        if self._doubtful_agent is not None and self._doubtful_agent.is_gone():
            self._doubtful = []
        return not self._doubtful

    def __enter__(self) -> AgentClient:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        value: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def _answer(self, request: Callable[[], Request], deadline_s: Optional[float]) -> Answer:
        reply = self._ask(request, deadline_s)
        if isinstance(reply, messages.Answered):
            lease = reply.lease if reply.standing is Standing.HIT else None
            return Answer(reply.standing, lease, reply.dram_blocks, reply.ssd_blocks, reply.reason)
        if isinstance(reply, messages.Refused):
            return Answer(Standing.MISS, reason=reply.refusal.value)
        return _NO_AGENT

    def _start(
        self, is_load: bool, pages: Sequence[int], request: Callable[[], Request], deadline_s: Optional[float]
    ) -> Optional[Transfer]:
        transfer = self._transfer(is_load, pages)
        return self._begun(transfer, self._ask(request, deadline_s, starting=transfer))

    def _transfer(self, is_load: bool, pages: Sequence[int]) -> Transfer:
        self._last_id += 1
        return Transfer(self._last_id, is_load, tuple(pages))

    def _begun(self, transfer: Transfer, reply: Optional[Reply]) -> Optional[Transfer]:
        self.stored = 0
        if isinstance(reply, messages.Started):
            if reply.transfer != 0 and self._session is not None:
                self._session.by_number[reply.transfer] = transfer
                return transfer
            self.stored = reply.blocks
            return None
        # The request may have arrived though its answer did not.
        return transfer if transfer in self._doubtful else None

    def _number(self, transfer: Transfer) -> Optional[int]:
        if self._session is not None:
            for number, known in self._session.by_number.items():
                if known.id == transfer.id:
                    return number
        return None

    def _ask(
        self,
        request: Callable[[], Request],
        deadline_s: Optional[float],
        wait_s: float = 0.0,
        starting: Optional[Transfer] = None,
    ) -> Optional[Reply]:
        """Returns the reply; nothing if there is none, for whatever reason."""
        limit = self._deadline_s if deadline_s is None else deadline_s
        if limit <= 0 or os.getpid() != self._pid:
            # A forked child shares the socket, and would take its parent's answers.
            return None
        deadline = time.monotonic() + limit + wait_s
        session = self._session
        sent = False
        try:
            session = session or self._connect(deadline)
            if session is None:
                return None
            try:
                message = request()
            except (TypeError, ValueError, OverflowError, struct.error) as e:
                # A caller's mistake is a miss too: an engine must not fail for its cache.
                _LOG.error("not asked: %s", e)
                return None
            sent = True
            reply = session.connection.ask(message, deadline)
        except BaseException as e:
            # Also if interrupted: the reply would be taken for that to the next request.
            if sent and starting is not None:
                self._doubtful.append(starting)
            self._disconnect(session)
            if not isinstance(e, Exception):
                raise
            self._breaker.failed(f"{type(e).__name__}: {e}")
            return None
        self._breaker.succeeded()
        if isinstance(reply, messages.Refused):
            _LOG.warning("%s was refused: %s", type(message).__name__, reply.message)
        return reply

    def _connect(self, deadline: float) -> Optional[_Session]:
        """Connects; nothing if it is too early to try again."""
        if self._breaker.is_open:
            return None
        connection = AgentConnection.open(self._path, deadline)
        try:
            hello = messages.Hello(messages.VERSION, self._software, probe())
            _expect(messages.Welcome, connection.ask(hello, deadline))
            # It welcomes when all that it copied for earlier connections is drained; and where it listens, no other
            # agent can have copies under way, since each holds a lock for that.
            self._give_back()
            agent = SeenProcess.of(connection.peer_pid)
            opened = _expect(messages.Opened, connection.ask(self._open, deadline))
        except BaseException:
            connection.close()
            raise
        self._series.untell_all()
        self._session = _Session(connection, agent, {})
        _LOG.info("connected to the agent at %s%s", self._path, "" if opened.attached else ", which has no cache yet")
        return self._session

    def _settle(self, deadline_s: Optional[float]) -> None:
        """Finds out what has become of the transfers that were under way when a connection broke."""
        if self._doubtful_agent is not None and self._doubtful_agent.is_gone():
            self._give_back()
        elif self._session is None:
            # Connecting settles them; the question itself is of no interest.
            self._ask(lambda: messages.Progress(0), deadline_s)

    def _give_back(self) -> None:
        self._settled += [Finished(transfer, 0) for transfer in self._doubtful]
        self._doubtful = []
        self._doubtful_agent = None

    def _disconnect(self, session: Optional[_Session] = None) -> None:
        session = session or self._session
        self._session = None
        if session is not None:
            self._doubtful += session.by_number.values()
            self._doubtful_agent = session.agent if self._doubtful else None
            session.by_number.clear()
            session.connection.close()


def _expect(kind: type[_T], reply: Reply) -> _T:
    if isinstance(reply, messages.Refused):
        raise _RefusedError(f"{reply.refusal.value}: {reply.message}")
    if not isinstance(reply, kind):
        raise MalformedError(f"reply: expected {kind.__name__}, found {type(reply).__name__}")
    return reply


def _millis(wait_s: float) -> int:
    return max(0, min(messages.MAX_WAIT_MILLIS, int(wait_s * 1000)))


def _ints(values: Sequence[int]) -> bytes:
    return struct.pack(f">{len(values)}i", *values)


def _hashes(chain: Chain) -> bytes:
    if isinstance(chain, (bytes, bytearray, memoryview)):
        hashes = bytes(chain)
        if len(hashes) % HASH_BYTES:
            raise ValueError(f"chain has {len(hashes)} bytes, expected a multiple of {HASH_BYTES}")
        return hashes
    parts = list(chain)
    if any(len(part) != HASH_BYTES for part in parts):
        raise ValueError(f"chain has a hash that is not {HASH_BYTES} bytes long")
    return b"".join(parts)

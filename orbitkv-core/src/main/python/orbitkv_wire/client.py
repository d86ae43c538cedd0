"""A scheduler's view of the Manager: asks it, and does without it when it is gone."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterable
from types import TracebackType
from typing import Callable, NamedTuple, Optional, TypeVar, Union

import msgspec

from orbitkv_wire import messages
from orbitkv_wire.breaker import Breaker
from orbitkv_wire.connection import Connection, MalformedError
from orbitkv_wire.messages import HASH_BYTES, SCHEDULER, CacheStats, Refusal, Reply, Request, Standing

_T = TypeVar("_T")

_LOG = logging.getLogger("orbitkv_wire")

Chain = Union[bytes, bytearray, memoryview, Iterable[bytes]]
"""The hashes of a prompt's whole blocks, first block first: 32 bytes a block, or an iterable of them."""


class Lease(msgspec.Struct, frozen=True):
    """What a hit holds. The ranks restore by its ``number``, in the registration of its ``generation``."""

    manager: int
    generation: int
    number: int
    bytes: int


class Answer(msgspec.Struct, frozen=True):
    """How a query stands.

    ``reason`` says why a hit is not longer or what a miss is due to: the name of a ``MissReason``, or of the
    ``Refusal`` with which the Manager answered, or ``NO_MANAGER``. ``bound`` says of which bound ``BUSY`` speaks.
    """

    standing: Standing
    lease: Optional[Lease] = None
    dram_blocks: int = 0
    ssd_blocks: int = 0
    reason: str = ""
    bound: str = ""

    @property
    def blocks(self) -> int:
        """Leading blocks that the lease holds."""
        return self.dram_blocks + self.ssd_blocks if self.lease is not None else 0


_NO_MANAGER = Answer(Standing.MISS, reason="NO_MANAGER")


class _Session(NamedTuple):
    connection: Connection
    manager: int
    generation: int


class _RefusedError(Exception):
    """The Manager will not have this connection or registration."""


class ManagerClient:
    """Asks a Manager on behalf of one member of an engine instance, and transfers nothing. One thread at a time.

    No call raises for what the Manager or the socket does, and none takes longer than its deadline. When there is no
    Manager, calls return at once: a miss, or nothing. A connection is tried again by a call, at most once in an
    interval that doubles with every failure from ``retry_s`` to ``max_retry_s``; in between, the socket is not touched.

    A deadline that passes ends the connection, and with it this registration of the instance, so it has to be longer
    than any pause of a Manager that works. A lease ends with its registration.
    """

    def __init__(
        self,
        socket_path: str | os.PathLike[str],
        *,
        instance: str,
        incarnation: int,
        namespace: bytes,
        ranks: int,
        shard_bytes: int,
        block_tokens: int = 0,
        member: int = SCHEDULER,
        software: str = "orbitkv_wire 0.1.0",
        deadline_s: float = 0.25,
        retry_s: float = 0.1,
        max_retry_s: float = 2.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Remembers what to register as; connects with the first call.

        ``incarnation`` is shared by the members of one start of the instance. ``deadline_s`` holds for calls that give
        none of their own. ``clock`` measures the intervals between attempts, in seconds. ``ValueError`` or
        ``TypeError`` says what cannot be registered.
        """
        self._path = os.path.abspath(os.fspath(socket_path))
        self._software = software
        register = messages.Register(instance, incarnation, namespace, ranks, shard_bytes, block_tokens, member)
        # Checks the types and bounds of what was given.
        self._register = msgspec.msgpack.decode(msgspec.msgpack.encode(register), type=messages.Register)
        self._deadline_s = deadline_s
        self._breaker = Breaker(retry_s, max_retry_s, clock, _LOG, f"no Manager at {self._path}")
        self._connection: Optional[Connection] = None
        self._manager = 0
        self._session: Optional[_Session] = None
        self._pid = os.getpid()

    @property
    def registered(self) -> bool:
        """Whether the last call left a registration with a Manager."""
        return self._session is not None

    @property
    def trouble(self) -> str:
        """What the last failure was; empty when all is well."""
        return self._breaker.trouble

    def query(self, operation: int, revision: int, chain: Chain, *, deadline_s: Optional[float] = None) -> Answer:
        """Asks for the longest stored prefix of a chain; again with the same ids and chain, polls.

        A new operation has a greater number than those before it. One that has its final answer is not asked again.
        """
        return self._answer(
            lambda generation: messages.Query(generation, _int64(operation), _int32(revision), _hashes(chain)),
            deadline_s)

    def poll(self, operation: int, revision: int, *, deadline_s: Optional[float] = None) -> Answer:
        """Asks how a query stands. A hit is handed over by the first answer that has it."""
        return self._answer(
            lambda generation: messages.Poll(generation, _int64(operation), _int32(revision)), deadline_s)

    def cancel(self, operation: int, revision: int, *, deadline_s: Optional[float] = None) -> None:
        """Drops the interest in a query."""
        self._ask(lambda generation: messages.Cancel(generation, _int64(operation), _int32(revision)), deadline_s)

    def release(self, lease: Lease, *, deadline_s: Optional[float] = None) -> None:
        """Gives up the shares of a lease that no rank has taken. One of an earlier registration has ended already."""
        session = self._session
        if session and (session.manager, session.generation) == (lease.manager, lease.generation):
            self._ask(lambda generation: messages.Release(generation, lease.number), deadline_s)

    def stats(self, *, deadline_s: Optional[float] = None) -> Optional[CacheStats]:
        """Returns the Manager's counters, or nothing when there is none."""
        reply = self._ask(lambda _: messages.Stats(), deadline_s)
        return reply.stats if isinstance(reply, messages.Statistics) else None

    def close(self, *, deadline_s: Optional[float] = None) -> None:
        """Leaves the instance, if it is registered, and disconnects. The next call would join again."""
        if self._session is not None:
            self._ask(messages.Leave, deadline_s)
        self._disconnect()

    def __enter__(self) -> ManagerClient:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        value: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def _answer(self, request: Callable[[int], Request], deadline_s: Optional[float]) -> Answer:
        reply = self._ask(request, deadline_s)
        if isinstance(reply, messages.Answered):
            session = self._session
            lease = None
            if reply.standing is Standing.HIT and session is not None:
                lease = Lease(session.manager, session.generation, reply.lease, reply.bytes)
            return Answer(reply.standing, lease, reply.dram_blocks, reply.ssd_blocks, reply.reason, reply.bound)
        if isinstance(reply, messages.Refused):
            return Answer(Standing.MISS, reason=reply.refusal.value)
        return _NO_MANAGER

    def _ask(self, request: Callable[[int], Request], deadline_s: Optional[float]) -> Optional[Reply]:
        """Returns the reply; nothing if there is none, for whatever reason."""
        limit = self._deadline_s if deadline_s is None else deadline_s
        if limit <= 0 or os.getpid() != self._pid:
            # A forked child shares the socket, and would take its parent's answers.
            return None
        deadline = time.monotonic() + limit
        try:
            session = self._session or self._attach(deadline)
            if session is None:
                return None
            try:
                message = request(session.generation)
            except (TypeError, ValueError) as e:
                # A caller's mistake is a miss too, and costs no registration: an engine must not fail for its cache.
                _LOG.error("not asked: %s", e)
                return None
            reply = session.connection.call(message, deadline)
        except Exception as e:
            self._lost(e)
            return None
        except BaseException:
            # Interrupted between a request and its reply, which would be taken for that to the next request.
            self._disconnect()
            raise
        if isinstance(reply, messages.Refused) and reply.refusal is Refusal.SUPERSEDED:
            self._session = None
            self._breaker.failed(f"superseded: {reply.message}")
        else:
            self._breaker.succeeded()
        return reply

    def _attach(self, deadline: float) -> Optional[_Session]:
        """Connects and registers; nothing if it is too early to try again."""
        if self._breaker.is_open:
            return None
        connection = self._connection
        if connection is None:
            connection = self._connection = Connection.open(self._path, deadline)
            hello = messages.Hello(messages.VERSION, self._software, os.getpid(), _pid_namespace(), messages.probe())
            self._manager = _expect(messages.Welcome, connection.call(hello, deadline)).incarnation
        registered = _expect(messages.Registered, connection.call(self._register, deadline))
        self._session = _Session(connection, self._manager, registered.generation)
        _LOG.info("registered with the Manager at %s in generation %d", self._path, registered.generation)
        return self._session

    def _lost(self, error: Exception) -> None:
        self._disconnect()
        self._breaker.failed(f"{type(error).__name__}: {error}")

    def _disconnect(self) -> None:
        self._session = None
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _expect(kind: type[_T], reply: Reply) -> _T:
    if isinstance(reply, messages.Refused):
        raise _RefusedError(f"{reply.refusal.value}: {reply.message}")
    if not isinstance(reply, kind):
        raise MalformedError(f"reply: expected {kind.__name__}, found {type(reply).__name__}")
    return reply


def _pid_namespace() -> int:
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return 0


def _hashes(chain: Chain) -> bytes:
    if isinstance(chain, (bytes, bytearray, memoryview)):
        hashes = bytes(chain)
    else:
        parts = list(chain)
        if any(len(part) != HASH_BYTES for part in parts):
            raise ValueError(f"chain has a hash that is not {HASH_BYTES} bytes long")
        hashes = b"".join(parts)
    if len(hashes) > messages.MAX_BLOCKS * HASH_BYTES:
        raise ValueError(f"chain has {len(hashes) // HASH_BYTES} blocks, expected at most {messages.MAX_BLOCKS}")
    return hashes


def _int64(value: int) -> int:
    if not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"{value} does not fit in 64 bits")
    return value


def _int32(value: int) -> int:
    if not -(1 << 31) <= value < 1 << 31:
        raise ValueError(f"{value} does not fit in 32 bits")
    return value

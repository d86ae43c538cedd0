"""The scheduler half's view of the agent of rank 0: asks it, and does without it when it is gone."""

from __future__ import annotations

import logging
import os
import socket
import time
from typing import Callable, NamedTuple, Optional, TypeVar

import msgspec

from orbitkv_vllm import messages
from orbitkv_vllm.messages import Reply, Request
from orbitkv_wire.breaker import Breaker
from orbitkv_wire.connection import Connection, MalformedError
from orbitkv_wire.messages import probe

_T = TypeVar("_T")

_LOG = logging.getLogger("orbitkv_vllm")

_YOUNG_REPLIES = 32
_YOUNG_FACTOR = 10.0
"""An agent that has just started compiles its way for a while. Of a connection that was greeted, and so of an agent that
answers, the first requests are given that much longer: once, since a miss is for good, and a stall is not."""

_IDENTIFY_PAUSE_S = 0.1
_ATTACH_PAUSE_S = 0.5

SOFTWARE = "orbitkv_vllm 0.1.0"


class Identity(NamedTuple):
    """What blocks of this engine belong to, in words. The agent makes a namespace of it."""

    model_path: str
    asserted_digest: bytes
    adapter_paths: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]


class Instance(NamedTuple):
    """This start of this engine, as the cache has to know it."""

    name: str
    incarnation: int
    ranks: int
    shard_bytes: int
    block_tokens: int
    defer_millis: int
    saves: bool
    departures: bool


class _RefusedError(Exception):
    """The agent will not have this connection, or what was asked."""


class AdapterConnection(Connection):
    """The engine's end. One thread at a time; after any exception it is of no use."""

    def __init__(self, connected: socket.socket) -> None:
        super().__init__(connected, messages.MAX_FRAME_BYTES)
        self._answers: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)

    def ask(self, request: Request, deadline: float) -> Reply:
        """Sends a request and waits for the reply."""
        # The base class writes any message; what it reads is the agent's own.
        self.send(request, deadline)
        return self._receive(self._answers, deadline)


class AdapterClient:
    """Drives the adapter in the agent of rank 0. One thread at a time.

    No call raises for what the agent or the socket does, and none takes longer than its deadline, which is ten times as
    long for the first requests of a connection. Without an agent, calls return at once: nothing. A connection is tried
    again by a call, at most once in an interval that doubles with every failure. What the agent knew of requests ends
    with the connection: ``connections`` counts them, so that a caller who sees another number says everything again.
    """

    def __init__(
        self,
        socket_path: str,
        *,
        identity: Identity,
        engine_version: str,
        instance: Optional[Instance] = None,
        deadline_s: float = 0.05,
        retry_s: float = 0.1,
        max_retry_s: float = 2.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Remembers who this is; connects with the first call. Without an instance it identifies and does no more."""
        self._path = socket_path
        self._identity = identity
        self._engine_version = engine_version
        self._instance = instance
        self._deadline_s = deadline_s
        self._clock = clock
        self._breaker = Breaker(retry_s, max_retry_s, clock, _LOG, f"no agent at {socket_path}")
        self._connection: Optional[AdapterConnection] = None
        self._replies = 0
        self._namespace: Optional[bytes] = None
        self._attached = False
        self._forgets = False
        self._ask_again_at = clock()
        self._pid = os.getpid()
        self.connections = 0
        """Connections so far."""

    @property
    def trouble(self) -> str:
        """What the last failure was; empty when all is well."""
        return self._breaker.trouble

    @property
    def ready(self) -> bool:
        """Whether requests can be looked up, as far as is known."""
        return self._connection is not None and self._attached

    def namespace(self) -> Optional[bytes]:
        """Returns the namespace as soon as the agent knows the model's files; nothing until then."""
        if self._namespace is None:
            self._guarded(self._identified)
        return self._namespace

    def prepare(self) -> bool:
        """Connects, identifies and attaches, as far as that can be done now. Returns whether it is done."""
        return self.ready or bool(self._guarded(self._prepared))

    def lookup(
        self, request: str, computed_tokens: int, total_tokens: int, known: int, hashes: bytes
    ) -> Optional[messages.Matched]:
        """Asks what the cache has behind what is computed; nothing without an agent."""
        return self._asked(messages.Matched, messages.Lookup(request, computed_tokens, total_tokens, known, hashes))

    def step(self, step: messages.Step) -> Optional[messages.Plan]:
        """Tells what a step does and receives what is to be copied; nothing without an agent."""
        return self._asked(messages.Plan, step)

    def reset(self) -> bool:
        """Puts everything stored so far out of this start's reach; False, and nothing done, if the agent cannot now.

        Without an agent it is done too: the next one is told before it is asked anything.
        """
        done = self._asked(messages.ResetDone, messages.Reset())
        if done is not None and not done.accepted:
            return False
        self._forgets = True
        return True

    def counters(self) -> dict[str, int]:
        """Returns counts of the agent's by name; none without an agent."""
        counted = self._asked(messages.Counted, messages.Counters())
        return {} if counted is None else counted.values

    def close(self) -> None:
        """Leaves the agent."""
        self._disconnect()

    def _asked(self, kind: type[_T], request: Request) -> Optional[_T]:
        """Returns the reply; nothing if there is none, for whatever reason."""
        if not self.ready:
            return None
        return self._guarded(lambda deadline: _expect(kind, self._open(deadline).ask(request, deadline)))

    def _guarded(self, call: Callable[[float], Optional[_T]]) -> Optional[_T]:
        if os.getpid() != self._pid or (self._connection is None and self._breaker.is_open):
            return None
        young = self._connection is not None and self._replies < _YOUNG_REPLIES
        try:
            result = call(time.monotonic() + self._deadline_s * (_YOUNG_FACTOR if young else 1.0))
        except _RefusedError as e:
            # The connection is good, but what is not understood now will not be later: begin anew.
            self._lost(str(e))
            return None
        except Exception as e:
            self._lost(f"{type(e).__name__}: {e}")
            return None
        except BaseException:
            # The reply would be taken for that to the next request.
            self._disconnect()
            raise
        self._breaker.succeeded()
        self._replies += 1
        return result

    def _open(self, deadline: float) -> AdapterConnection:
        if self._connection is None:
            connection = AdapterConnection.open(self._path, deadline)
            try:
                hello = messages.Hello(messages.VERSION, SOFTWARE, self._engine_version, probe())
                _expect(messages.Welcome, connection.ask(hello, deadline))
            except BaseException:
                connection.close()
                raise
            self._connection = connection
            self._replies = 0
            self.connections += 1
            self._ask_again_at = self._clock()
        return self._connection

    def _identified(self, deadline: float) -> Optional[bytes]:
        if self._clock() < self._ask_again_at and self._connection is not None:
            return None
        identity = self._identity
        request = messages.Identify(
            identity.model_path, identity.asserted_digest, list(identity.adapter_paths), list(identity.facts)
        )
        reply = self._open(deadline).ask(request, deadline)
        if isinstance(reply, messages.Identifying):
            self._ask_again_at = self._clock() + _IDENTIFY_PAUSE_S
            return None
        self._namespace = _expect(messages.Identified, reply).namespace
        return self._namespace

    def _prepared(self, deadline: float) -> bool:
        # Also with a namespace at hand: an agent that was started again has to be told.
        instance = self._instance
        if instance is None:
            return False
        if self._clock() < self._ask_again_at and self._connection is not None:
            return False
        namespace = self._identified(deadline)
        if namespace is None:
            return False
        attach = messages.Attach(
            instance.name, instance.incarnation, namespace, instance.ranks, instance.shard_bytes,
            instance.block_tokens, instance.defer_millis, instance.saves, instance.departures,
        )
        connection = self._open(deadline)
        attached = _expect(messages.Attached, connection.ask(attach, deadline)).attached
        if attached and self._forgets:
            # This agent may be another one than was told.
            attached = _expect(messages.ResetDone, connection.ask(messages.Reset(), deadline)).accepted
        self._attached = attached
        if attached:
            _LOG.info("the cache is there, by way of the agent at %s", self._path)
        else:
            self._ask_again_at = self._clock() + _ATTACH_PAUSE_S
        return attached

    def _lost(self, trouble: str) -> None:
        self._disconnect()
        self._breaker.failed(trouble)

    def _disconnect(self) -> None:
        self._attached = False
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _expect(kind: type[_T], reply: Reply) -> _T:
    if isinstance(reply, messages.Refused):
        raise _RefusedError(f"{reply.refusal.value}: {reply.message}")
    if not isinstance(reply, kind):
        raise MalformedError(f"reply: expected {kind.__name__}, found {type(reply).__name__}")
    return reply

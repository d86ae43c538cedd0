"""The linker's view of the agent of rank 0: asks it, and does without it when it is gone."""

from __future__ import annotations

import logging
import os
import socket
import time
from typing import Callable, NamedTuple, Optional, TypeVar

import msgspec

from orbitkv_sglang import messages
from orbitkv_sglang.messages import Reply, Request, Standing
from orbitkv_sglang.window import window_namespace
from orbitkv_wire.breaker import Breaker
from orbitkv_wire.connection import Connection, MalformedError
from orbitkv_wire.messages import probe

_T = TypeVar("_T")

_LOG = logging.getLogger("orbitkv_sglang")

_PAUSE_S = 0.1
"""Between two questions whether the namespace is known, or the cache there."""

_MAX_TOLD = 8192

SOFTWARE = "orbitkv_sglang 0.1.0"

NOTHING = messages.Matched(Standing.NONE, 0, 0, [])


class Identity(NamedTuple):
    """What blocks of this engine belong to, in words. The agent makes a namespace of it."""

    model_path: str
    asserted_digest: bytes
    adapter_paths: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]


class WindowInstance(NamedTuple):
    """The instance that keeps the pages of layers with a sliding window, beside the other layers'."""

    name: str
    blocks: int
    shard_bytes: int


class Instance(NamedTuple):
    """This start of this engine, as the cache has to know it, and which rank of it this is."""

    name: str
    incarnation: int
    rank: int
    ranks: int
    shard_bytes: int
    block_tokens: int
    pending_millis: int
    window: Optional[WindowInstance] = None


class _RefusedError(Exception):
    """The agent will not have this connection, or what was asked."""


class _AdapterConnection(Connection):
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

    No call raises for what the agent or the socket does, and none takes longer than its deadline. Without an agent,
    calls return at once: nothing. A connection is tried again by a call, at most once in an interval that doubles with
    every failure.
    """

    def __init__(
        self,
        socket_path: str,
        *,
        identity: Identity,
        engine_version: str,
        instance: Instance,
        deadline_s: float = 0.05,
        retry_s: float = 0.1,
        max_retry_s: float = 2.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Remembers who this is; connects with the first call."""
        self._path = socket_path
        self._identity = identity
        self._engine_version = engine_version
        self._instance = instance
        self._deadline_s = deadline_s
        self._clock = clock
        self._breaker = Breaker(retry_s, max_retry_s, clock, _LOG, f"no agent at {socket_path}")
        self._connection: Optional[_AdapterConnection] = None
        self._namespace: Optional[bytes] = None
        self._attached = False
        self._ask_again_at = clock()
        self._told: dict[str, bytes] = {}
        """The last hash of each request's chain that this connection was told."""
        self._pid = os.getpid()

    @property
    def ready(self) -> bool:
        """Whether requests can be looked up, as far as is known."""
        return self._connection is not None and self._attached

    def namespace(self, deadline_s: float) -> Optional[bytes]:
        """Returns the namespace as soon as the agent knows the model's files; nothing until then."""
        if self._namespace is None:
            self._guarded(self._identified, deadline_s)
        return self._namespace

    def prepare(self, deadline_s: Optional[float] = None) -> bool:
        """Connects, identifies and attaches, as far as that can be done now. Returns whether it is done."""
        return self.ready or bool(self._guarded(self._prepared, deadline_s))

    def lookup(self, request: str, own_blocks: int, last: bytes, chain: Callable[[], bytes]) -> messages.Matched:
        """Asks what the cache has behind the engine's own blocks.

        ``chain`` returns all hashes, the last being ``last``; it is called if the agent does not know them.
        """
        if not self.prepare():
            return NOTHING

        def ask(deadline: float) -> messages.Matched:
            connection = self._open(deadline)
            told = self._told.get(request) == last
            hashes = b"" if told else chain()
            matched = _expect(
                messages.Matched, connection.ask(messages.Lookup(request, own_blocks, last, hashes), deadline)
            )
            if matched.standing is Standing.UNKNOWN:
                again = messages.Lookup(request, own_blocks, last, chain())
                matched = _expect(messages.Matched, connection.ask(again, deadline))
            if len(self._told) >= _MAX_TOLD:
                self._told.clear()
            self._told[request] = last
            return matched

        return self._guarded(ask) or NOTHING

    def give_up(self, request: str, lease: int) -> None:
        """States that this rank does not need what was found for a request any more."""
        self._told.pop(request, None)
        if self.ready:
            self._guarded(
                lambda deadline: _expect(
                    messages.Done, self._open(deadline).ask(messages.GiveUp(request, lease), deadline)
                )
            )

    def counters(self) -> dict[str, int]:
        """Returns counts of the agent's by name; none without an agent."""
        if not self.ready:
            return {}
        counted = self._guarded(
            lambda deadline: _expect(messages.Counted, self._open(deadline).ask(messages.Counters(), deadline))
        )
        return {} if counted is None else counted.values

    def close(self) -> None:
        """Leaves the agent."""
        self._disconnect()

    def _guarded(self, call: Callable[[float], Optional[_T]], deadline_s: Optional[float] = None) -> Optional[_T]:
        if os.getpid() != self._pid or (self._connection is None and self._breaker.is_open):
            return None
        try:
            result = call(time.monotonic() + (self._deadline_s if deadline_s is None else deadline_s))
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
        return result

    def _open(self, deadline: float) -> _AdapterConnection:
        if self._connection is None:
            connection = _AdapterConnection.open(self._path, deadline)
            try:
                hello = messages.Hello(messages.VERSION, SOFTWARE, self._engine_version, probe())
                _expect(messages.Welcome, connection.ask(hello, deadline))
            except BaseException:
                connection.close()
                raise
            self._connection = connection
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
            self._ask_again_at = self._clock() + _PAUSE_S
            return None
        self._namespace = _expect(messages.Identified, reply).namespace
        return self._namespace

    def _prepared(self, deadline: float) -> bool:
        if self._clock() < self._ask_again_at and self._connection is not None:
            return False
        # Also with a namespace at hand: an agent that was started again has to be told.
        namespace = self._identified(deadline)
        if namespace is None:
            return False
        instance, window = self._instance, self._instance.window
        attach = messages.Attach(
            instance.name, instance.incarnation, namespace, instance.rank, instance.ranks, instance.shard_bytes,
            instance.block_tokens, instance.pending_millis,
            *((0, "", b"", 0) if window is None
              else (window.blocks, window.name, window_namespace(namespace), window.shard_bytes)),
        )
        self._attached = _expect(messages.Attached, self._open(deadline).ask(attach, deadline)).attached
        if self._attached:
            _LOG.info("the cache is there, by way of the agent at %s", self._path)
        else:
            self._ask_again_at = self._clock() + _PAUSE_S
        return self._attached

    def _lost(self, trouble: str) -> None:
        self._disconnect()
        self._breaker.failed(trouble)

    def _disconnect(self) -> None:
        self._attached = False
        self._told.clear()
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _expect(kind: type[_T], reply: Reply) -> _T:
    if isinstance(reply, messages.Refused):
        raise _RefusedError(f"{reply.refusal.value}: {reply.message}")
    if not isinstance(reply, kind):
        raise MalformedError(f"reply: expected {kind.__name__}, found {type(reply).__name__}")
    return reply

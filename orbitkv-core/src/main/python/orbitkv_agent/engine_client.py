"""An engine's view of the adapter in an agent: asks it, and does without it when it is gone."""

from __future__ import annotations

import logging
import os
import time
from typing import Any, Callable, NamedTuple, Optional, TypeVar

import msgspec

from orbitkv_agent.engine_messages import Hello, Identify
from orbitkv_agent.greeting import EngineConnection, Greeting, Introduced, RefusedError, expect
from orbitkv_wire.breaker import Breaker
from orbitkv_wire.messages import Message

_T = TypeVar("_T")

_YOUNG_REPLIES = 32
_YOUNG_FACTOR = 10.0
"""An agent that has just started compiles its way for a while. Of an agent that answers, the first requests are given that
much longer: once, since a miss is for good, and a stall is not."""


class Identity(NamedTuple):
    """What blocks of an engine belong to, in words. The agent makes a namespace of it."""

    model_path: str
    asserted_digest: bytes
    adapter_paths: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]


class EngineClient:
    """Drives the adapter in the agent of rank 0. One thread at a time.

    No call raises for what the agent or the socket does, and none takes longer than its deadline, which is ten times as
    long for the first requests of a connection. Without an agent, calls return at once: nothing.

    Who this is, is said on a thread of its own, which a call starts and which ends when the cache is there: connecting
    may take as long as a busy machine needs, and reading a model's files takes minutes. It tries again in an interval
    that doubles with every failure, and begins anew when a connection breaks. What the agent knew of requests ends with
    the connection: ``connections`` counts them, so that a caller who sees another number says everything again.
    """

    def __init__(
        self,
        socket_path: str,
        *,
        hello: Hello,
        identity: Identity,
        answers: msgspec.msgpack.Decoder[Any],
        attach: Optional[Callable[[bytes], Message]],
        log: logging.Logger,
        deadline_s: float = 0.05,
        retry_s: float = 0.1,
        max_retry_s: float = 2.0,
    ) -> None:
        """Remembers who this is; connects when it is first asked for something.

        ``answers`` reads the replies of this engine's protocol. ``attach`` returns the message that attaches this start of
        the engine to a namespace; without it, the namespace is all that can be asked for.
        """
        self._path = socket_path
        identify = Identify(
            identity.model_path, identity.asserted_digest, list(identity.adapter_paths), list(identity.facts)
        )
        self._introduced = Introduced(hello, identify, attach)
        self._answers = answers
        self._log = log
        self._deadline_s = deadline_s
        self._breaker = Breaker(retry_s, max_retry_s, time.monotonic, log, f"no agent at {socket_path}")
        self._greeting: Optional[Greeting] = None
        self._connection: Optional[EngineConnection] = None
        self._replies = 0
        self._namespace: Optional[bytes] = None
        self._closed = False
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
        return self._connection is not None

    def namespace(self, wait_s: float = 0.0) -> Optional[bytes]:
        """Returns the namespace as soon as the agent knows the model's files, and waits a while for that."""
        if self._namespace is None:
            greeting = self._greet()
            if greeting is not None:
                self._namespace = greeting.namespace(wait_s)
        return self._namespace

    def prepare(self, wait_s: float = 0.0) -> bool:
        """Returns whether requests can be looked up. If not, that is seen to, and waited for a while."""
        if self._connection is None:
            greeting = self._greet()
            connection = None if greeting is None else greeting.take(wait_s)
            if greeting is not None and connection is not None:
                self._namespace = greeting.namespace(0.0)
                self._greeting = None
                self._connection = connection
                self._replies = 0
                self.connections += 1
                self._began()
        return self.ready

    def close(self) -> None:
        """Leaves the agent."""
        self._closed = True
        if os.getpid() == self._pid and self._greeting is not None:
            self._greeting.close()
            self._greeting = None
        self._disconnect()

    def _began(self) -> None:
        """There is a connection over which nothing was asked yet."""

    def _asked(self, kind: type[_T], request: Message) -> Optional[_T]:
        """Returns the reply; nothing if there is none, for whatever reason."""
        return self._guarded(lambda deadline: self._ask(kind, request, deadline))

    def _guarded(self, call: Callable[[float], _T]) -> Optional[_T]:
        """Returns what a call returns that asks by a deadline; nothing if there is no answer, for whatever reason."""
        if self._connection is None or os.getpid() != self._pid:
            return None
        young = self._replies < _YOUNG_REPLIES
        try:
            result = call(time.monotonic() + self._deadline_s * (_YOUNG_FACTOR if young else 1.0))
        except RefusedError as e:
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
        self._replies += 1
        return result

    def _ask(self, kind: type[_T], request: Message, deadline: float) -> _T:
        assert self._connection is not None
        return expect(kind, self._connection.ask(request, self._answers, deadline))

    def _greet(self) -> Optional[Greeting]:
        """Sees to it that somebody connects. A forked child has no part in this."""
        if self._greeting is None and self._connection is None and not self._closed and os.getpid() == self._pid:
            self._greeting = Greeting(self._path, self._introduced, self._answers, self._breaker, self._log)
        return self._greeting if os.getpid() == self._pid else None

    def _lost(self, trouble: str) -> None:
        self._disconnect()
        self._breaker.failed(trouble)
        self._greet()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

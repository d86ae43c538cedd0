"""Has the adapter in an agent know an engine, on a thread of its own, however long that takes."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any, Callable, NamedTuple, Optional, TypeVar

import msgspec

from orbitkv_agent.engine_messages import Attached, Hello, Identified, Identify, Identifying, Refused, Welcome
from orbitkv_wire.breaker import Breaker
from orbitkv_wire.connection import Connection, MalformedError
from orbitkv_wire.messages import Message

_T = TypeVar("_T")

_ANSWER_S = 10.0
"""How long an answer may take. An agent on a busy machine needs seconds for its first, and nobody else waits for it."""

_IDENTIFY_PAUSE_S = 0.1
_ATTACH_PAUSE_S = 0.5
_END_S = 1.0


class RefusedError(Exception):
    """The agent will not have this connection, or what was asked."""


class EngineConnection(Connection):
    """The engine's end. One thread at a time; after any exception it is of no use."""

    def ask(self, request: Message, answers: msgspec.msgpack.Decoder[Any], deadline: float) -> object:
        """Sends a request and waits for the reply. ``RefusedError`` if that is a refusal."""
        self.send(request, deadline)
        reply = self._receive(answers, deadline)
        if isinstance(reply, Refused):
            raise RefusedError(f"{reply.refusal.value}: {reply.message}")
        return reply


def expect(kind: type[_T], reply: object) -> _T:
    """Returns a reply of the kind that was asked for."""
    if not isinstance(reply, kind):
        raise MalformedError(f"reply: expected {kind.__name__}, found {type(reply).__name__}")
    return reply


class Introduced(NamedTuple):
    """What an engine says of itself. ``attach`` returns what attaches a namespace; left out, nothing is attached."""

    hello: Hello
    identify: Identify
    attach: Optional[Callable[[bytes], Message]]


class Greeting:
    """Tries until it is done. What it came to is handed over once.

    The breaker is its own until then: an agent that is not there is looked for less and less often.
    """

    def __init__(
        self,
        path: str,
        introduced: Introduced,
        answers: msgspec.msgpack.Decoder[Any],
        breaker: Breaker,
        log: logging.Logger,
    ) -> None:
        """Begins."""
        self._path = path
        self._introduced = introduced
        self._answers = answers
        self._breaker = breaker
        self._log = log
        self._lock = threading.Lock()
        self._connection: Optional[EngineConnection] = None
        self._namespace = b""
        self._identified = threading.Event()
        self._done = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="orbitkv-greeting", daemon=True)
        self._thread.start()

    def namespace(self, wait_s: float) -> Optional[bytes]:
        """Returns the namespace as soon as the agent knows the model's files."""
        return self._namespace if self._identified.wait(wait_s) else None

    def take(self, wait_s: float) -> Optional[EngineConnection]:
        """Returns the connection as soon as the cache is there."""
        if not self._done.wait(wait_s):
            return None
        with self._lock:
            connection, self._connection = self._connection, None
        return connection

    def close(self) -> None:
        """Goes no further, and hangs up."""
        self._closing.set()
        with self._lock:
            if self._connection is not None:
                self._connection.interrupt()
        self._thread.join(_END_S)
        connection = self.take(0.0)
        if connection is not None:
            connection.close()

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                if self._greet():
                    return
            except RefusedError as e:
                # The connection is good, but what is not understood now will not be later: begin anew.
                self._failed(str(e))
            except Exception as e:
                self._failed(f"{type(e).__name__}: {e}")
            self._closing.wait(self._breaker.pause_s)

    def _failed(self, trouble: str) -> None:
        if not self._closing.is_set():
            self._breaker.failed(trouble)

    def _greet(self) -> bool:
        """Goes as far as can be gone with one connection. Returns whether that was all the way."""
        connection = EngineConnection.open(self._path, time.monotonic() + _ANSWER_S)
        with self._lock:
            self._connection = connection
        try:
            through = self._introduce(connection)
        except BaseException:
            self._hang_up(connection)
            raise
        if self._introduced.attach is None or not through:
            self._hang_up(connection)
        else:
            self._log.info("the cache is there, by way of the agent at %s", self._path)
            self._done.set()
        return through

    def _hang_up(self, connection: EngineConnection) -> None:
        with self._lock:
            self._connection = None
        connection.close()

    def _introduce(self, connection: EngineConnection) -> bool:
        hello, identify, attach = self._introduced
        if self._closing.is_set():
            return False
        expect(Welcome, self._ask(connection, hello))
        while not self._closing.is_set():
            # Also with a namespace at hand: an agent that was started again has to be told.
            reply = self._ask(connection, identify)
            if isinstance(reply, Identifying):
                self._closing.wait(_IDENTIFY_PAUSE_S)
                continue
            self._namespace = expect(Identified, reply).namespace
            self._identified.set()
            if attach is None or expect(Attached, self._ask(connection, attach(self._namespace))).attached:
                return True
            self._closing.wait(_ATTACH_PAUSE_S)
        return False

    def _ask(self, connection: EngineConnection, request: Message) -> object:
        reply = connection.ask(request, self._answers, time.monotonic() + _ANSWER_S)
        self._breaker.succeeded()
        return reply

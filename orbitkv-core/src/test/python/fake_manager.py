"""A Manager that answers as a test tells it to."""

from __future__ import annotations

import pathlib
import socket
import threading
import time
from types import TracebackType
from typing import Callable, Optional, Union

import msgspec

from orbitkv_wire import ClosedError, Connection, MalformedError, Standing
from orbitkv_wire.messages import (
    Answered, Done, Hello, Query, Register, Registered, Reply, Request, Welcome)

HANG = "hang"
"""No answer, until the client gives up."""

CLOSE = "close"
"""The end of the connection instead of an answer."""

Answer = Union[Reply, bytes, str]

HIT = Answered(Standing.HIT, 7, 4096, 2, 1, "NOT_STORED", "")


def frame(message: Reply) -> bytes:
    """Returns a reply as it travels."""
    body = msgspec.msgpack.encode(message)
    return len(body).to_bytes(4, "big") + body


class FakeManager:
    """Listens in a folder, serves one connection after another, and remembers what was asked."""

    def __init__(self, folder: pathlib.Path, incarnation: int = 1) -> None:
        self.path = folder / "manager.sock"
        self.incarnation = incarnation
        self.requests: list[Request] = []
        self.generation = 0
        self.answer: Callable[[Request], Optional[Answer]] = lambda request: None
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.bind(str(self.path))
        self._listening.listen()
        self._serving: Optional[socket.socket] = None
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def __enter__(self) -> FakeManager:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        value: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.path.unlink()
        # Unlike close, shutdown ends a call of another thread.
        self._listening.shutdown(socket.SHUT_RDWR)
        if self._serving is not None:
            try:
                self._serving.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # It has ended already.
        self._thread.join()
        self._listening.close()

    def asked(self, kind: type[Request]) -> list[Request]:
        """Returns the requests of a kind so far."""
        return [request for request in self.requests if isinstance(request, kind)]

    def _serve(self) -> None:
        while True:
            try:
                accepted, _ = self._listening.accept()
            except OSError:
                return
            with accepted:
                self._serving = accepted
                connection = Connection(accepted)
                try:
                    while self._turn(connection, accepted):
                        pass
                except (ClosedError, MalformedError, ConnectionError):
                    pass  # The client left.

    def _turn(self, connection: Connection, accepted: socket.socket) -> bool:
        late = time.monotonic() + 60
        request = connection.receive_request(late)
        self.requests.append(request)
        answer = self.answer(request)
        if answer is None:
            answer = self._usual(request)
        if answer is CLOSE:
            return False
        if isinstance(answer, bytes):
            accepted.sendall(answer)
        elif not isinstance(answer, str):
            connection.send(answer, late)
        return True

    def _usual(self, request: Request) -> Reply:
        if isinstance(request, Hello):
            return Welcome(1, "fake", self.incarnation, "blocks.arena", 0)
        if isinstance(request, Register):
            self.generation += 1
            return Registered(self.generation, self.generation, "witness-1", 0)
        if isinstance(request, Query):
            return HIT
        return Done()

"""An agent that answers as a test tells it to, and copies nothing."""

from __future__ import annotations

import os
import socket
import struct
import threading
from typing import Callable, Optional

import msgspec

from orbitkv_agent import messages

Script = Callable[[messages.Request], Optional[messages.Reply]]


def welcoming(request: messages.Request) -> Optional[messages.Reply]:
    """Greets and opens, and starts what it is asked to start, numbered from 1."""
    if isinstance(request, messages.Hello):
        return messages.Welcome(1, "fake", os.getpid())
    if isinstance(request, messages.Open):
        return messages.Opened(True)
    if isinstance(request, (messages.Load, messages.Save)):
        return messages.Started(1, len(request.pages) // 4)
    if isinstance(request, messages.Progress):
        return messages.Finished(struct.pack(">q", 1), b"\1", struct.pack(">i", 1))
    return messages.Done()


class FakeAgent:
    """Serves one connection after the other. A script that returns nothing cuts the connection."""

    def __init__(self, path: str, script: Script = welcoming) -> None:
        self.script = script
        self.requests: list[messages.Request] = []
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.bind(path)
        self._listening.listen(4)
        self._path = path
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        os.unlink(self._path)
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            with connection:
                try:
                    while self._answer(connection):
                        pass
                except OSError:
                    pass

    def _answer(self, connection: socket.socket) -> bool:
        header = _read(connection, 4)
        if not header:
            return False
        decoder: msgspec.msgpack.Decoder[messages.Request] = msgspec.msgpack.Decoder(messages.Request)
        request = decoder.decode(_read(connection, int.from_bytes(header, "big")))
        self.requests.append(request)
        reply = self.script(request)
        if reply is None:
            return False
        body = msgspec.msgpack.encode(reply)
        connection.sendall(len(body).to_bytes(4, "big") + body)
        return True


def _read(connection: socket.socket, count: int) -> bytes:
    parts = b""
    while len(parts) < count:
        part = connection.recv(count - len(parts))
        if not part:
            return b""
        parts += part
    return parts

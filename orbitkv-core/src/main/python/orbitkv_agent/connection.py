"""One connection to an agent, over the frames that the Manager's protocol has too."""

from __future__ import annotations

import socket
import struct

import msgspec

from orbitkv_agent.messages import MAX_FRAME_BYTES, Reply, Request
from orbitkv_wire.connection import Connection

_CREDENTIALS = struct.Struct("3i")


class AgentConnection(Connection):
    """The engine's end. One thread at a time; after any exception it is of no use."""

    def __init__(self, connected: socket.socket) -> None:
        super().__init__(connected, MAX_FRAME_BYTES)
        self._answers: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)
        credentials = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        self.peer_pid: int = _CREDENTIALS.unpack(credentials)[0]
        """The agent's process, in this process's own pid namespace; zero if it is in none that is seen here."""

    def ask(self, request: Request, deadline: float) -> Reply:
        """Sends a request and waits for the reply."""
        self.send(request, deadline)
        return self._receive(self._answers, deadline)

"""Frames over a Unix stream socket: four bytes of length, big-endian, and a message."""

from __future__ import annotations

import os
import socket
import struct
import time
from typing import TypeVar

import msgspec

from orbitkv_wire.messages import MAX_FRAME_BYTES, Message, Reply, Request

_HEADER_BYTES = 4
_FIRST_BYTES = 64 * 1024

_T = TypeVar("_T")


class MalformedError(Exception):
    """What arrived is no message of the protocol."""


class ClosedError(OSError):
    """The other side closed the connection between two frames."""


class Connection:
    """Either end of a connection. One thread at a time; one request under way.

    Deadlines are moments of ``time.monotonic()``. After any exception but ``ValueError`` from sending, the connection
    is of no use: a late answer would be taken for that to the next request. So close it.
    """

    def __init__(self, connected: socket.socket, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        # The kernel keeps the time: a timeout of the socket object would cost two calls more at each turn.
        connected.setblocking(True)
        self._socket = connected
        self._timeout = 0.0
        self._max_frame_bytes = max_frame_bytes
        self._outgoing = bytearray(_HEADER_BYTES)
        self._incoming = bytearray(_FIRST_BYTES)
        self._encoder = msgspec.msgpack.Encoder()
        self._requests: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)
        self._replies: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)

    @classmethod
    def open(cls, path: str | os.PathLike[str], deadline: float) -> Connection:
        """Connects to a Manager's socket."""
        connecting = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connecting.settimeout(_left(deadline))
            connecting.connect(os.fspath(path))
        except BaseException:
            connecting.close()
            raise
        return cls(connecting)

    def send(self, message: Message, deadline: float) -> None:
        """Sends a message. ``ValueError`` means that it cannot be written and that nothing was sent."""
        frame = self._outgoing
        try:
            self._encoder.encode_into(message, frame, _HEADER_BYTES)
        except (OverflowError, TypeError) as e:
            raise ValueError(f"{type(message).__name__}: {e}") from e
        length = len(frame) - _HEADER_BYTES
        if length > self._max_frame_bytes:
            raise ValueError(f"frame has {length} bytes, expected at most {self._max_frame_bytes}")
        frame[:_HEADER_BYTES] = length.to_bytes(_HEADER_BYTES, "big")
        self._limit(deadline)
        try:
            self._socket.sendall(frame)
        except BlockingIOError as e:
            raise TimeoutError("the deadline has passed") from e

    def receive_request(self, deadline: float) -> Request:
        """Waits for a request."""
        return self._receive(self._requests, deadline)

    def receive_reply(self, deadline: float) -> Reply:
        """Waits for a reply."""
        return self._receive(self._replies, deadline)

    def call(self, request: Request, deadline: float) -> Reply:
        """Sends a request and waits for the reply."""
        self.send(request, deadline)
        return self._receive(self._replies, deadline)

    def close(self) -> None:
        """Closes the socket."""
        self._socket.close()

    def _receive(self, decoder: msgspec.msgpack.Decoder[_T], deadline: float) -> _T:
        end = self._read_frame(deadline)
        try:
            return decoder.decode(memoryview(self._incoming)[_HEADER_BYTES:end])
        except (msgspec.DecodeError, UnicodeDecodeError) as e:
            raise MalformedError(f"message: {e}") from e

    def _read_frame(self, deadline: float) -> int:
        filled = 0
        while filled < _HEADER_BYTES:
            filled = self._read(filled, deadline)
        length = int.from_bytes(self._incoming[:_HEADER_BYTES], "big")
        if not 1 <= length <= self._max_frame_bytes:
            raise MalformedError(f"frame: expected 1 to {self._max_frame_bytes} bytes, found {length}")
        end = _HEADER_BYTES + length
        while filled < end:
            if filled == len(self._incoming):
                # With what has really arrived, so that a length alone takes no memory.
                self._incoming.extend(bytes(min(filled, end - filled)))
            filled = self._read(filled, deadline)
        if filled > end:
            raise MalformedError(f"frame: {filled - end} bytes behind it, before it was answered")
        return end

    def _read(self, filled: int, deadline: float) -> int:
        self._limit(deadline)
        try:
            if filled == 0:
                count = self._socket.recv_into(self._incoming)
            else:
                with memoryview(self._incoming) as buffer, buffer[filled:] as rest:
                    count = self._socket.recv_into(rest)
        except BlockingIOError as e:
            raise TimeoutError("the deadline has passed") from e
        if count == 0 and filled == 0:
            raise ClosedError("the other side closed the connection")
        if count == 0:
            raise MalformedError(f"frame: the other side closed the connection after {filled} bytes of it")
        return filled + count

    def _limit(self, deadline: float) -> None:
        """Has the next transfer end by the deadline, or a hundredth of a second after it."""
        left = _left(deadline)
        if not left / 2 <= self._timeout <= left + 0.01:
            # Rounded up: to the kernel zero means for ever.
            seconds, micros = divmod(int(left * 1e6) + 1, 1_000_000)
            limit = struct.pack("@ll", seconds, micros)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
            self._timeout = left


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("the deadline has passed")
    return left

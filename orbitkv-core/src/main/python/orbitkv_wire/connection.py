"""Frames over a Unix stream socket: four bytes of length, big-endian, and a message."""

from __future__ import annotations

import os
import socket
import struct
import time
from typing import TypeVar

import msgspec

from orbitkv_wire.messages import MAX_FRAME_BYTES, Message, Reply, Request

_HEADER = struct.Struct(">I")
_READ_BYTES = 64 * 1024

_T = TypeVar("_T")
_C = TypeVar("_C", bound="Connection")


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
        self._outgoing = bytearray(_HEADER.size)
        self._encoder = msgspec.msgpack.Encoder()
        self._requests: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)
        self._replies: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)

    @classmethod
    def open(cls: type[_C], path: str | os.PathLike[str], deadline: float) -> _C:
        """Connects to the socket of whoever answers."""
        connecting = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connecting.settimeout(_left(deadline))
            connecting.connect(os.fspath(path))
            return cls(connecting)
        except BaseException:
            connecting.close()
            raise

    def send(self, message: Message, deadline: float) -> None:
        """Sends a message. ``ValueError`` means that it cannot be written and that nothing was sent."""
        frame = self._outgoing
        try:
            self._encoder.encode_into(message, frame, _HEADER.size)
        except (OverflowError, TypeError) as e:
            raise ValueError(f"{type(message).__name__}: {e}") from e
        length = len(frame) - _HEADER.size
        if length > self._max_frame_bytes:
            raise ValueError(f"frame has {length} bytes, expected at most {self._max_frame_bytes}")
        _HEADER.pack_into(frame, 0, length)
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

    def interrupt(self) -> None:
        """Has the call end that another thread is in, as if the other side had closed the connection."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            # It is not connected any more.
            pass

    def close(self) -> None:
        """Closes the socket."""
        self._socket.close()

    def _receive(self, decoder: msgspec.msgpack.Decoder[_T], deadline: float) -> _T:
        message = self._read_frame(deadline)
        try:
            return decoder.decode(message)
        except (msgspec.DecodeError, UnicodeDecodeError) as e:
            raise MalformedError(f"message: {e}") from e

    def _read_frame(self, deadline: float) -> bytes | bytearray:
        """Returns the message of a frame. Most frames are there whole with the first read."""
        frame: bytes | bytearray = self._read(deadline)
        if not frame:
            raise ClosedError("the other side closed the connection")
        while len(frame) < _HEADER.size:
            frame += self._read_on(len(frame), deadline)
        (length,) = _HEADER.unpack_from(frame)
        if not 1 <= length <= self._max_frame_bytes:
            raise MalformedError(f"frame: expected 1 to {self._max_frame_bytes} bytes, found {length}")
        end = _HEADER.size + length
        if len(frame) < end:
            # Grows with what has really arrived, so that a length alone takes no memory.
            frame = bytearray(frame)
            while len(frame) < end:
                frame += self._read_on(len(frame), deadline)
        if len(frame) > end:
            raise MalformedError(f"frame: {len(frame) - end} bytes behind it, before it was answered")
        return frame[_HEADER.size:]

    def _read_on(self, begun: int, deadline: float) -> bytes:
        more = self._read(deadline)
        if not more:
            raise MalformedError(f"frame: the other side closed the connection after {begun} bytes of it")
        return more

    def _read(self, deadline: float) -> bytes:
        self._limit(deadline)
        try:
            return self._socket.recv(_READ_BYTES)
        except BlockingIOError as e:
            raise TimeoutError("the deadline has passed") from e

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

"""A program with the command line of ``orbitkv agent`` that keeps blocks in a folder of files, one a rank and block.

It copies for real, so that a test sees whether the right bytes were in the right pages, and knows nothing of a cache.
"""

from __future__ import annotations

import argparse
import fcntl
import mmap
import os
import signal
import socket
import struct
import sys
import threading
from typing import Optional

import msgspec

from fake_adapter import FakeAdapter
from orbitkv_agent import messages
from orbitkv_agent.pool import PageGroup
from orbitkv_wire.messages import HASH_BYTES, Refusal


class _Agent:
    def __init__(self, path: str, store: str) -> None:
        self._store = store
        self._lock = open(path + ".lock", "w", encoding="ascii")
        fcntl.lockf(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.exists(path):
            os.unlink(path)
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.bind(path)
        self._listening.listen(4)
        self._memory: Optional[mmap.mmap] = None
        self._groups: list[PageGroup] = []
        self._rank = 0
        self._namespace = b""
        self._series: dict[int, bytes] = {}
        self._ended: list[tuple[int, bool, int]] = []
        self._next = 0

    def serve(self) -> None:
        while True:
            connection, _ = self._listening.accept()
            self._series, self._ended = {}, []
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
        body = msgspec.msgpack.encode(self._reply(decoder.decode(_read(connection, int.from_bytes(header, "big")))))
        connection.sendall(len(body).to_bytes(4, "big") + body)
        return True

    def _reply(self, request: messages.Request) -> messages.Reply:
        if isinstance(request, messages.Hello):
            return messages.Welcome(1, "fake", os.getpid())
        if isinstance(request, messages.Open):
            with open(request.memory, "r+b") as file:
                self._memory = mmap.mmap(file.fileno(), 0)
            numbers = struct.unpack(f">{len(request.layout) // 8}q", request.layout)
            self._groups = [PageGroup(*numbers[at : at + 6]) for at in range(0, len(numbers), 6)]
            self._rank = request.rank
            self._namespace = request.namespace
            return messages.Opened(True)
        if isinstance(request, messages.Save):
            chain = self._series.get(request.series, b"")
            if request.known * HASH_BYTES > len(chain):
                return messages.Refused(Refusal.CLOSED, "the series is not known")
            chain = chain[: request.known * HASH_BYTES] + request.chain
            self._series[request.series] = chain
            return self._copied(False, chain, request.first_block, request.pages)
        if isinstance(request, messages.Load):
            try:
                with open(os.path.join(self._store, f"lease-{request.lease}"), "rb") as file:
                    chain = file.read()
            except FileNotFoundError:
                return messages.Refused(Refusal.CLOSED, "no such lease")
            return self._copied(True, chain, request.first_block, request.pages)
        if isinstance(request, messages.Progress):
            ended, self._ended = self._ended, []
            return messages.Finished(
                struct.pack(f">{len(ended)}q", *(one[0] for one in ended)),
                bytes(one[1] for one in ended),
                struct.pack(f">{len(ended)}i", *(one[2] for one in ended)),
            )
        return messages.Done()

    def _copied(self, is_load: bool, chain: bytes, first: int, packed: bytes) -> messages.Reply:
        pages = struct.unpack(f">{len(packed) // 4}i", packed)
        blocks = 0
        for index, page in enumerate(pages, first):
            name = chain[index * HASH_BYTES : (index + 1) * HASH_BYTES]
            path = os.path.join(self._store, f"{self._namespace[:4].hex()}-{self._rank}-{name.hex()}")
            if is_load and not os.path.exists(path):
                break
            if is_load:
                with open(path, "rb") as file:
                    self._write(page, file.read())
            else:
                with open(path + ".new", "wb") as file:
                    file.write(self._bytes(page))
                os.replace(path + ".new", path)
            blocks += 1
        self._next += 1
        self._ended.append((self._next, is_load, blocks))
        return messages.Started(self._next, len(pages))

    def _bytes(self, page: int) -> bytes:
        assert self._memory is not None
        return b"".join(
            self._memory[group.offset(layer, page) : group.offset(layer, page) + group.page_bytes]
            for group in self._groups
            for layer in range(group.layers)
        )

    def _write(self, page: int, shard: bytes) -> None:
        assert self._memory is not None
        at = 0
        for group in self._groups:
            for layer in range(group.layers):
                begin = group.offset(layer, page)
                self._memory[begin : begin + group.page_bytes] = shard[at : at + group.page_bytes]
                at += group.page_bytes


class _Adapter(FakeAdapter):
    """One whose leases the agents of all ranks find."""

    def __init__(self, path: str, block_tokens: int, store: str) -> None:
        super().__init__(path, block_tokens)
        self._store = store

    def leased(self, lease: int, hashes: list[bytes]) -> None:
        with open(os.path.join(self._store, f"lease-{lease}"), "wb") as file:
            file.write(b"".join(hashes))


def _read(connection: socket.socket, count: int) -> bytes:
    parts = b""
    while len(parts) < count:
        part = connection.recv(count - len(parts))
        if not part:
            return b""
        parts += part
    return parts


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["agent"])
    parser.add_argument("--socket", required=True)
    parser.add_argument("--until-eof", action="store_true", required=True)
    parser.add_argument("--engine")
    parser.add_argument("--engine-socket")
    parser.add_argument("--manager")
    parser.add_argument("--host-manager")
    parser.add_argument("--dram")
    parser.add_argument("--ssd")
    parser.add_argument("--block-bytes")
    options = parser.parse_args()
    store = options.host_manager or os.path.dirname(options.manager)
    os.makedirs(store, exist_ok=True)
    agent = _Agent(options.socket, store)
    threading.Thread(target=agent.serve, daemon=True).start()
    if options.engine is not None:
        if os.path.exists(options.engine_socket):
            os.unlink(options.engine_socket)
        _Adapter(options.engine_socket, int(os.environ["FAKE_BLOCK_TOKENS"]), store)
    print("ready: fake", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    sys.stdin.buffer.read()


if __name__ == "__main__":
    main()

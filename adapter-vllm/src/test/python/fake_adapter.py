"""An adapter with the least that the protocol promises: hashes that are stored, and nothing of bytes."""

from __future__ import annotations

import os
import socket
import struct
import threading
from dataclasses import dataclass, field
from typing import Optional, TypeVar

import msgspec

from orbitkv_vllm import messages
from orbitkv_vllm.messages import HASH_BYTES, Standing

_R = TypeVar("_R")

NAMESPACE = bytes(range(32))


@dataclass
class _Known:
    hashes: list[bytes] = field(default_factory=list)
    pages: list[int] = field(default_factory=list)
    cursor: int = 0
    complete: int = 0
    series: int = 0
    told: int = 0
    first: int = 0
    lease: Optional[int] = None


class FakeAdapter:
    """Serves each connection on a thread of its own. The scheduler's is the one that attached last."""

    def __init__(self, path: str, block_tokens: int) -> None:
        self.stored: set[bytes] = set()
        self.block_tokens = block_tokens
        self.identifying = 0
        """How often it is still reading files when it is asked."""
        self.defers = 0
        """How often it answers that a request is to be asked again."""
        self.attaches = True
        self.loads = True
        """Whether it orders the loads that are due."""
        self.shifts_pages = False
        """Whether it orders saves of pages that are another request's."""
        self.cleared = False
        self.departed: list[bytes] = []
        """What it says next of blocks that have left."""
        self.cut_at: Optional[type] = None
        """A request of this kind cuts the connection."""
        self.silent = threading.Event()
        self.silent.set()
        self.salt = b""
        self.requests: list[messages.Request] = []
        self.leases: set[int] = set()
        self.saving: dict[int, list[bytes]] = {}
        self._resets = 0
        self._next = 1
        self._known: dict[str, _Known] = {}
        self._loading: set[str] = set()
        self._path = path
        self._open = True
        self._connections: list[socket.socket] = []
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.bind(path)
        self._listening.listen(4)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends, as a killed process does."""
        self._open = False
        self.silent.set()
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for connection in list(self._connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self._thread.join()
        os.unlink(self._path)

    def leased(self, lease: int, hashes: list[bytes]) -> None:
        """Blocks are held, under the names that they are stored by."""

    def of(self, kind: type[_R]) -> list[_R]:
        """Returns the requests of a kind."""
        return [request for request in self.requests if isinstance(request, kind)]

    def _serve(self) -> None:
        while self._open:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self._connections.append(connection)
            if not self._open:
                # Accepted while this one was ending.
                connection.close()
                return
            threading.Thread(target=self._converse, args=(connection,), daemon=True).start()

    def _converse(self, connection: socket.socket) -> None:
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
        if self.cut_at is not None and isinstance(request, self.cut_at):
            return False
        self.silent.wait()
        body = msgspec.msgpack.encode(self._reply(request))
        connection.sendall(len(body).to_bytes(4, "big") + body)
        return True

    def _reply(self, request: messages.Request) -> messages.Reply:
        if isinstance(request, messages.Hello):
            return messages.Welcome(1, "fake", os.getpid())
        if isinstance(request, messages.Identify):
            if self.identifying > 0:
                self.identifying -= 1
                return messages.Identifying(0, 1)
            return messages.Identified(NAMESPACE)
        if isinstance(request, messages.Attach):
            self._known = {}
            self._loading = set()
            self.leases = set()
            self.saving = {}
            return messages.Attached(self.attaches)
        if isinstance(request, messages.Lookup):
            return self._lookup(request)
        if isinstance(request, messages.Step):
            return self._step(request)
        if isinstance(request, messages.Reset):
            if self.saving or self._loading:
                return messages.ResetDone(False)
            self._resets += 1
            self.salt = bytes([self._resets])
            return messages.ResetDone(True)
        return messages.Counted({"resets": self._resets})

    def _of(self, name: str, known: int, more: bytes) -> _Known:
        state = self._known.setdefault(name, _Known())
        assert known <= len(state.hashes), f"{name}: {known} hashes are known, and {len(state.hashes)} were sent"
        state.hashes[known:] = [more[at : at + HASH_BYTES] for at in range(0, len(more), HASH_BYTES)]
        return state

    def _lookup(self, request: messages.Lookup) -> messages.Matched:
        state = self._of(request.request, request.known, request.hashes)
        self._release(state)
        state.cursor, state.complete, state.pages = 0, 0, []
        first = request.computed_tokens // self.block_tokens
        end = 0
        while end < len(state.hashes) and self.salt + state.hashes[end] in self.stored:
            end += 1
        if end <= first:
            return messages.Matched(Standing.NONE, 0)
        if self.defers > 0:
            self.defers -= 1
            return messages.Matched(Standing.DEFER, 0)
        state.lease = self._number()
        state.first = first
        self.leases.add(state.lease)
        self.leased(state.lease, state.hashes[:end])
        return messages.Matched(Standing.HIT, (end - first) * self.block_tokens)

    def _step(self, step: messages.Step) -> messages.Plan:
        stored = []
        for ended in step.saves_ended:
            hashes = self.saving.pop(ended.save)
            if ended.blocks > 0:
                self.stored.update(self.salt + one for one in hashes)
                stored.append(ended.save)
        for loaded in step.loads_ended:
            self._loading.discard(loaded.request)
        ended_series = []
        for name in step.preempted:
            state = self._known[name]
            self._release(state)
            state.cursor, state.complete, state.pages = 0, 0, []
        for name in step.finished:
            gone = self._known.pop(name)
            self._release(gone)
            if gone.series:
                ended_series.append(gone.series)
        loads = [load for load in map(self._load, step.allocated) if load is not None]
        for advanced in step.advanced:
            self._advance(advanced)
        saves = []
        room = step.room
        for name, state in self._known.items():
            save = self._save(name, state, room)
            if save is not None:
                saves.append(save)
                room -= len(save.pages) // 4
        cleared, self.cleared = self.cleared, False
        departed, self.departed = self.departed, []
        self.stored.difference_update(self.salt + one for one in departed)
        return messages.Plan(loads, saves, _longs(ended_series), _longs(stored), cleared, b"".join(departed))

    def _load(self, allocated: messages.Allocated) -> Optional[messages.Load]:
        state = self._known.setdefault(allocated.request, _Known())
        state.pages = list(struct.unpack(f">{len(allocated.pages) // 4}i", allocated.pages))
        if allocated.external_tokens == 0 or state.lease is None or not self.loads:
            self._release(state)
            return None
        end = state.first + allocated.external_tokens // self.block_tokens
        state.cursor = end
        lease, state.lease = state.lease, None
        self.leases.discard(lease)
        self._loading.add(allocated.request)
        pages = state.pages[state.first : end]
        return messages.Load(allocated.request, lease, state.first, _ints(pages))

    def _advance(self, advanced: messages.Advanced) -> None:
        state = self._of(advanced.request, advanced.known, advanced.hashes)
        pages = struct.unpack(f">{len(advanced.pages) // 4}i", advanced.pages)
        assert advanced.first_page <= len(state.pages), f"pages before {advanced.first_page} were not sent"
        state.pages[advanced.first_page : advanced.first_page + len(pages)] = pages
        state.complete = advanced.computed_tokens // self.block_tokens

    def _save(self, name: str, state: _Known, room: int) -> Optional[messages.Save]:
        while state.cursor < state.complete and self.salt + state.hashes[state.cursor] in self.stored:
            state.cursor += 1
        first = state.cursor
        end = min(state.complete, first + room)
        if first >= end:
            return None
        state.cursor = end
        number = self._number()
        self.saving[number] = state.hashes[first:end]
        if state.series == 0:
            state.series = self._number()
        known, state.told = state.told, end
        hashes = b"".join(state.hashes[known:end])
        saved = _ints([page + self.shifts_pages for page in state.pages[first:end]])
        return messages.Save(number, name, state.series, known, hashes, first, saved)

    def _release(self, state: _Known) -> None:
        if state.lease is not None:
            self.leases.discard(state.lease)
            state.lease = None

    def _number(self) -> int:
        self._next += 1
        return self._next


def _ints(values: list[int]) -> bytes:
    return struct.pack(f">{len(values)}i", *values)


def _longs(values: list[int]) -> bytes:
    return struct.pack(f">{len(values)}q", *values)


def _read(connection: socket.socket, count: int) -> bytes:
    parts = b""
    while len(parts) < count:
        part = connection.recv(count - len(parts))
        if not part:
            return b""
        parts += part
    return parts

"""Makes memory that the engine allocated for itself a file that the agent maps too, where it is.

A CPU engine computes in anonymous memory of its process, which nobody else can map. Its pages are copied into a file in
memory, and the file is mapped over them: the engine's addresses stay, and both sides then have the same pages.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import re
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Callable, NamedTuple, Optional, TypeVar

from orbitkv_agent.living_file import FOLDER, PREFIX, LivingFile

_A = TypeVar("_A", bound="AdoptedRanges")

_PORTION = 64 * 1024 * 1024
_PAGE = mmap.PAGESIZE

_PROT = mmap.PROT_READ | mmap.PROT_WRITE
_MAP_FIXED = 0x10
_MREMAP_MAYMOVE = 1
_MREMAP_FIXED = 2

_SHARED_PAGE = (
    "; another engine's KV cache of this process lies in the same page: start one of them in a process of its own"
)

_MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S{4}) \S+ \S+ ([0-9]+) *(.*)\n?")


def _function(name: str, *arguments: type) -> Callable[..., Optional[int]]:
    # With the interpreter's lock held, so that next to no other thread of Python runs between a copy and its mapping.
    function = getattr(ctypes.PyDLL(None, use_errno=True), name)
    function.restype = ctypes.c_void_p
    function.argtypes = arguments
    found: Callable[..., Optional[int]] = function
    return found


_mmap = _function(
    "mmap", ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long
)
_mremap = _function("mremap", ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)
_memmove = _function("memmove", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_FAILED = ctypes.c_void_p(-1).value


class AdoptError(RuntimeError):
    """Memory that cannot be shared as it is."""


class _Part(NamedTuple):
    """Whole pages of this process, and where they lie in the file."""

    begin: int
    size: int
    offset: int


class AdoptedRanges:
    """Bytes of this process that are a file's, until ``close``.

    What lies beside them in their first and last page is in the file as well, since mappings are of whole pages. The
    agent never touches it: it touches pages of the pool's layout, and no others.
    """

    def __init__(self, ranges: Sequence[tuple[int, int]], folder: str = FOLDER) -> None:
        """Takes over ranges of bytes, each an address and a size, which nobody else may be writing meanwhile.

        ``AdoptError`` says why they cannot be, and leaves them as they were.
        """
        self._parts = _parts(ranges)
        self._shared: list[_Part] = []
        for part in self._parts:
            _require_private(part.begin, part.size)
        self._file = LivingFile(folder)
        self.path = self._file.path
        try:
            self._reserve(folder)
            # Portion by portion, so that there is never much of it twice.
            for portion in (portion for part in self._parts for portion in _portions(part)):
                self._share(portion)
                self._shared.append(portion)
        except BaseException:
            self.close()
            raise

    def offset_of(self, address: int) -> int:
        """Returns where a byte that was taken over lies in the file."""
        for part in self._parts:
            if part.begin <= address < part.begin + part.size:
                return part.offset + address - part.begin
        raise ValueError(f"the byte at {address:#x} was not taken over")

    def close(self) -> None:
        """Gives the bytes back to this process alone, as they are, and removes the file. Idempotent.

        Nobody may be writing them meanwhile, neither here nor through the file.
        """
        if not self._file.is_held:
            return
        for portion in self._shared:
            _restore(portion)
        self._shared = []
        self._file.remove()

    def __enter__(self: _A) -> _A:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        value: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def _reserve(self, folder: str) -> None:
        try:
            # Now: a file that finds no room when it is written ends the process.
            os.posix_fallocate(self._file.descriptor, 0, _end(self._parts))
        except OSError as e:
            if e.errno != errno.ENOSPC:
                raise
            free = os.statvfs(folder)
            raise AdoptError(
                f"{folder} has {free.f_bavail * free.f_frsize} bytes free, and the KV cache needs {_end(self._parts)};"
                " give it more room (containers: --shm-size, or an emptyDir with medium Memory)"
            ) from e

    def _share(self, part: _Part) -> None:
        with mmap.mmap(self._file.descriptor, part.size, mmap.MAP_SHARED, _PROT, offset=part.offset) as copy:
            target = ctypes.addressof(ctypes.c_char.from_buffer(copy))
            ctypes.memmove(target, part.begin, part.size)
            # Again, for what shares these two pages and may have changed while the rest was copied.
            for edge in (0, part.size - _PAGE):
                _memmove(target + edge, part.begin + edge, _PAGE)
            mapped = _mmap(
                part.begin, part.size, _PROT, mmap.MAP_SHARED | _MAP_FIXED, self._file.descriptor, part.offset
            )
        if mapped == _FAILED:
            raise AdoptError(f"cannot map the KV cache over itself: {os.strerror(ctypes.get_errno())}")


class AdoptedMemory(AdoptedRanges):
    """One range of bytes."""

    def __init__(self, address: int, size: int, folder: str = FOLDER) -> None:
        """Takes over ``size`` bytes at ``address``."""
        super().__init__([(address, size)], folder)
        self.offset = self.offset_of(address)
        """Where the first of the bytes lies in the file."""


def _parts(ranges: Sequence[tuple[int, int]]) -> list[_Part]:
    """Rounds ranges to whole pages, and joins those that share one."""
    parts: list[_Part] = []
    for address, size in sorted(ranges):
        begin = address // _PAGE * _PAGE
        end = -(-(address + size) // _PAGE) * _PAGE
        last = parts[-1] if parts else _Part(begin, 0, 0)
        if parts and begin <= last.begin + last.size:
            parts[-1] = last._replace(size=max(last.size, end - last.begin))
        else:
            parts.append(_Part(begin, end - begin, last.offset + last.size))
    return parts


def _end(parts: Sequence[_Part]) -> int:
    return parts[-1].offset + parts[-1].size


def _portions(part: _Part) -> Iterator[_Part]:
    for at in range(0, part.size, _PORTION):
        yield _Part(part.begin + at, min(_PORTION, part.size - at), part.offset + at)


def _restore(part: _Part) -> None:
    own = _mmap(None, part.size, _PROT, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    if own is None or own == _FAILED:
        # Still the file's, which stays mapped without its name.
        return
    ctypes.memmove(own, part.begin, part.size)
    for edge in (0, part.size - _PAGE):
        _memmove(own + edge, part.begin + edge, _PAGE)
    _mremap(own, part.size, part.size, _MREMAP_MAYMOVE | _MREMAP_FIXED, part.begin)


def _require_private(begin: int, size: int) -> None:
    """Refuses memory that is not this process's alone."""
    at = begin
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            found = _MAPPING.fullmatch(line)
            if found is None:
                continue
            first, end = int(found[1], 16), int(found[2], 16)
            if end <= at:
                continue
            if first > at:
                break
            if found[3] != "rw-p" or found[4] != "0" or found[5] == "[stack]":
                raise AdoptError(
                    f"the KV cache lies in memory that cannot be taken over: {found[3]} {found[5] or 'anonymous'}"
                    + (_SHARED_PAGE if f"/{PREFIX}" in found[5] else "")
                )
            at = end
            if at >= begin + size:
                return
    raise AdoptError(f"the KV cache ends at {begin + size:#x}, and memory there ends at {at:#x}")

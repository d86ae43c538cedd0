"""Memory for the pages of an engine that computes on the CPU: a file that its agent maps too."""

from __future__ import annotations

import mmap
import os
import struct
import tempfile
from collections.abc import Sequence
from types import TracebackType
from typing import NamedTuple, Optional


class PageGroup(NamedTuple):
    """Equal layers of a pool. Page ``p`` of layer ``l`` begins at ``base + l * layer_stride + p * page_stride``."""

    base: int
    layers: int
    pages: int
    page_bytes: int
    layer_stride: int
    page_stride: int

    def offset(self, layer: int, page: int) -> int:
        """Returns where a page begins in the pool."""
        return self.base + layer * self.layer_stride + page * self.page_stride

    @property
    def end(self) -> int:
        """How many bytes the pool has to have for this group."""
        return self.offset(self.layers - 1, self.pages - 1) + self.page_bytes


def layout_bytes(groups: Sequence[PageGroup]) -> bytes:
    """Returns groups as ``Open`` has them."""
    return b"".join(struct.pack(">6q", *group) for group in groups)


class SharedPool:
    """A file of its own for each start of an engine, in memory, of this user alone."""

    def __init__(self, groups: Sequence[PageGroup], *, folder: str = "/dev/shm") -> None:
        self.groups = tuple(groups)
        size = max(group.end for group in self.groups)
        descriptor, self.path = tempfile.mkstemp(prefix="orbitkv-pool-", dir=folder)
        try:
            os.ftruncate(descriptor, size)
            self._map = mmap.mmap(descriptor, size)
        except BaseException:
            os.unlink(self.path)
            raise
        finally:
            os.close(descriptor)

    def pieces(self, page: int) -> list[memoryview]:
        """Returns a page of every layer, to read and to write."""
        view = memoryview(self._map)
        return [
            view[group.offset(layer, page) : group.offset(layer, page) + group.page_bytes]
            for group in self.groups
            for layer in range(group.layers)
        ]

    def close(self) -> None:
        """Removes the file. What is mapped stays until the last view and the agent let it go."""
        try:
            os.unlink(self.path)
        except FileNotFoundError:
            pass

    def __enter__(self) -> SharedPool:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        value: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

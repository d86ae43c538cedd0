"""The engine's pages as its agent reaches them, and how copies are ordered behind the engine's work."""

from __future__ import annotations

import itertools
from typing import Any, Optional, Protocol

from orbitkv_agent.pool import PageGroup
from orbitkv_sglang.pools import Pages
from orbitkv_sglang.profile import ProfileError


class SharedPages(Protocol):
    """Pages that an agent can open."""

    @property
    def memory(self) -> str:
        """What an agent opens them by."""
        ...

    @property
    def groups(self) -> list[PageGroup]: ...

    def record(self) -> None: ...

    def close(self) -> None: ...


class HostPages:
    """Pages in the process's own memory, which become a file's. Work on them has ended when a call returns."""

    def __init__(self, pages: Pages) -> None:
        from orbitkv_agent.adopt import AdoptedRanges

        self._adopted = AdoptedRanges(pages.ranges)
        self.memory = self._adopted.path
        self.groups = pages.groups([self._adopted.offset_of(address) for address, _ in pages.ranges])

    def record(self) -> None:
        """Nothing is ever on its way."""

    def close(self) -> None:
        """Gives the pages back to this process alone."""
        self._adopted.close()


class GpuPages:
    """Pages on a GPU. Copies wait for what the engine's two streams have been given before them."""

    def __init__(self, pages: Pages, forward_stream: Any) -> None:
        import torch
        from orbitkv_agent.cuda_pool import CudaPool, MemoryRange

        self._torch: Any = torch
        self._forward = forward_stream
        # Of its own, so that neither of the engine's waits for the other.
        self._order = self._torch.cuda.Stream()
        self._pool = CudaPool([MemoryRange(address, size) for address, size in pages.ranges])
        self.memory = self._pool.memory
        # The agent has the ranges one behind another.
        self.groups = pages.groups([0, *itertools.accumulate(size for _, size in pages.ranges)])

    def record(self) -> None:
        """Orders copies behind what the scheduler and the forwards have asked for. On the scheduler's thread."""
        self._order.wait_stream(self._torch.cuda.current_stream())
        if self._forward is not None:
            self._order.wait_stream(self._forward)
        self._pool.record(self._order.cuda_stream)

    def close(self) -> None:
        """Gives the event up."""
        self._pool.close()


def shared_pages(pages: Pages, device: str, forward_stream: Optional[Any]) -> SharedPages:
    """Shares a pool's pages. ``ProfileError`` if they are on a device that is not served."""
    kind = device.partition(":")[0]
    if kind == "cpu":
        return HostPages(pages)
    if kind == "cuda":
        return GpuPages(pages, forward_stream)
    raise ProfileError(f"OrbitKV for SGLang: pages are on {device}, and those of a CPU or of an NVIDIA GPU are served")


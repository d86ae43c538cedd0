"""The engine's pages as its agent opens them: a file of host memory, or a GPU's memory by handles of the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Optional, Protocol

from orbitkv_agent.cuda_pool import CudaPool, MemoryRange
from orbitkv_agent.adopt import AdoptedMemory
from orbitkv_vllm.layout import Pool

if TYPE_CHECKING:
    import torch


class SharedPages(Protocol):
    """One rank's pool, shared with the agent of that rank until ``close``."""

    @property
    def memory(self) -> str:
        """What the agent is told to open."""

    @property
    def offset(self) -> int:
        """Where the pool begins in it."""

    def follow_engine(self) -> None:
        """Has copies that are asked for from now on wait for all that the engine has begun."""

    def engine_followed(self) -> bool:
        """Whether all that is done, and copies would wait for nothing."""

    def close(self) -> None:
        """Ends the sharing, when no agent copies any more. Idempotent."""


class HostPages:
    """A CPU engine's pages. What it has begun, it has done: its steps end before they return."""

    def __init__(self, pool: Pool) -> None:
        """Takes the memory over, which nobody else may be writing meanwhile."""
        self._adopted = AdoptedMemory(pool.address, pool.size)
        self.memory = self._adopted.path
        self.offset = self._adopted.offset

    def follow_engine(self) -> None:
        """Nothing is under way."""

    def engine_followed(self) -> bool:
        return True

    def close(self) -> None:
        # Whatever an agent that has not ended may still write goes to the file, and no longer to the engine's pages.
        self._adopted.close()


class GpuPages:
    """Pages in the memory of an NVIDIA GPU.

    A step returns when its work is enqueued. An event in the stream that the step used says when that is done.
    """

    def __init__(self, pool: Pool, stream: Callable[[], int], *, exported: Callable[..., CudaPool] = CudaPool) -> None:
        """Exports the memory, on the thread that the engine's CUDA context is current on.

        ``stream`` tells the number of the stream that the calling thread uses. ``NotExportableError`` has the setting
        to change.
        """
        self._stream = stream
        self._exported: Optional[CudaPool] = exported([MemoryRange(pool.address, pool.size)])
        self.memory = self._exported.memory
        self.offset = 0

    def follow_engine(self) -> None:
        if self._exported is not None:
            # Fails only with the context, and then the engine does too.
            self._exported.record(self._stream())

    def engine_followed(self) -> bool:
        return self._exported is None or self._exported.reached()

    def close(self) -> None:
        exported, self._exported = self._exported, None
        if exported is not None:
            exported.close()


def share(pool: Pool, device: torch.device) -> SharedPages:
    """Shares a pool that lies on a device: the CPU, or a GPU of NVIDIA's."""
    if device.type == "cpu":
        return HostPages(pool)
    import torch

    return GpuPages(pool, lambda: int(torch.cuda.current_stream(device).cuda_stream))

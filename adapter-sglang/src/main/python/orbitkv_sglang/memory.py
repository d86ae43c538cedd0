"""The engine's pages as its agent reaches them, and how copies are ordered behind the engine's work."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Optional, Protocol

from orbitkv_agent.pool import PageGroup
from orbitkv_sglang.pools import Pages
from orbitkv_sglang.profile import ProfileError

_GATES = 4
"""So many parts of a load's layers are waited for. Each is a copy more of every block."""


class SharedPages(Protocol):
    """Pages of all of an engine's pools, which an agent can open. Together: two pools may share a page of memory."""

    @property
    def memory(self) -> str:
        """What an agent opens them by."""
        ...

    @property
    def device(self) -> list[str]:
        """What an agent is started with, so that it has the device that they are on."""
        ...

    @property
    def groups(self) -> list[list[PageGroup]]:
        """Where each pool's buffers lie in it."""
        ...

    @property
    def layers(self) -> Optional[LayerWaits]:
        """What a forward waits for layer by layer, if it does."""
        ...

    def record(self) -> None: ...

    def close(self) -> None: ...


class LayerWaits(Protocol):
    """Has forwards wait for layers of loads. Each load has a mark, later than those before."""

    def next_mark(self) -> int: ...

    def follow(self, layer: int, mark: int) -> None:
        """Has what the caller asks of its device from now on wait for a layer of a load."""

    def passed(self, mark: int) -> None:
        """States that nothing of a load is copied any more. From any thread."""


class HostPages:
    """Pages in the process's own memory, which become a file's. Work on them has ended when a call returns."""

    def __init__(self, pools: Sequence[Pages]) -> None:
        from orbitkv_agent.adopt import AdoptedRanges

        self._adopted = AdoptedRanges([each for pages in pools for each in pages.ranges])
        self.memory = self._adopted.path
        self.device: list[str] = []
        self.layers: Optional[LayerWaits] = None
        self.groups = [
            pages.groups([self._adopted.offset_of(address) for address, _ in pages.ranges]) for pages in pools
        ]

    def record(self) -> None:
        """Nothing is ever on its way."""

    def close(self) -> None:
        """Gives the pages back to this process alone."""
        self._adopted.close()


class GpuLayerWaits:
    """Gates of the pages' layers, for which a forward's stream waits."""

    def __init__(self, pages: Pages) -> None:
        import torch
        from orbitkv_agent.layer_gates import LayerGates

        self._torch: Any = torch
        # A layer has one buffer, or keys and values in two, of which the last arrives last.
        self._buffers = len(pages.pieces) // pages.layers
        self.gates = LayerGates(len(pages.pieces), min(len(pages.pieces), _GATES))

    def next_mark(self) -> int:
        return self.gates.next_mark()

    def follow(self, layer: int, mark: int) -> None:
        last = (layer + 1) * self._buffers - 1
        self.gates.wait(self._torch.cuda.current_stream().cuda_stream, last, mark)

    def passed(self, mark: int) -> None:
        self.gates.passed(mark)

    def close(self) -> None:
        self.gates.close()


class GpuPages:
    """Pages on a GPU. Copies wait for what the engine's two streams have been given before them."""

    def __init__(self, pools: Sequence[Pages], forward_stream: Any, layered: bool) -> None:
        import torch
        from orbitkv_agent.cuda_pool import CudaPool, MemoryRange

        self._torch: Any = torch
        self._forward = forward_stream
        # Of its own, so that neither of the engine's waits for the other.
        self._order = self._torch.cuda.Stream()
        ranges = [MemoryRange(address, size) for pages in pools for address, size in pages.ranges]
        self.layers = GpuLayerWaits(pools[0]) if layered else None
        try:
            self._pool = CudaPool(ranges, gates=None if self.layers is None else self.layers.gates)
        except BaseException:
            self._close_layers()
            raise
        self.memory = self._pool.memory
        # The agent has this process's environment, and so numbers GPUs as it does.
        self.device = ["--device", "cuda", "--device-ordinal", str(self._torch.cuda.current_device())]
        # The agent has the ranges one behind another.
        bases = itertools.accumulate((each.size for each in ranges), initial=0)
        self.groups = [pages.groups(list(itertools.islice(bases, len(pages.pieces)))) for pages in pools]

    def record(self) -> None:
        """Orders copies behind what the scheduler and the forwards have asked for. On the scheduler's thread."""
        self._order.wait_stream(self._torch.cuda.current_stream())
        if self._forward is not None:
            self._order.wait_stream(self._forward)
        self._pool.record(self._order.cuda_stream)

    def close(self) -> None:
        """Gives the event up, and the gates."""
        self._pool.close()
        self._close_layers()

    def _close_layers(self) -> None:
        if self.layers is not None:
            self.layers.close()


def shared_pages(
    pools: Sequence[Pages], device: str, forward_stream: Optional[Any], layered: bool = False
) -> SharedPages:
    """Shares the pages of all pools. ``ProfileError`` if they are on a device that is not served.

    ``layered`` is whether forwards wait layer by layer, which those of one pool on a GPU can.
    """
    kind = device.partition(":")[0]
    if layered and (kind != "cuda" or len(pools) != 1):
        raise ProfileError(
            f"OrbitKV for SGLang: layered is on, for one pool on a GPU; there are {len(pools)} on {device}. Set it off"
        )
    if kind == "cpu":
        return HostPages(pools)
    if kind == "cuda":
        return GpuPages(pools, forward_stream, layered)
    raise ProfileError(f"OrbitKV for SGLang: pages are on {device}, and those of a CPU or of an NVIDIA GPU are served")


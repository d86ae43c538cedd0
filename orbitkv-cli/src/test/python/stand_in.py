"""One rank of an engine that computes nothing: its pages hold what their block's name says, so every byte can be compared."""

from __future__ import annotations

import random
import struct
import time
from typing import Callable, Optional

from orbitkv_agent import AgentClient, Finished, PageGroup, SharedPool, Transfer

PAGES = 64
NAMESPACE = bytes(range(32))
LIMIT_S = 60.0

# Four layers of 48 KiB, layer-major, and behind them two of 4 KiB, page-major.
_LARGE = PageGroup(0, 4, PAGES, 49152, 49152 * PAGES, 49152)
_SMALL = PageGroup(_LARGE.end, 2, PAGES, 4096, 4096, 8192)
GROUPS = [_LARGE, _SMALL]
LAYERS = _LARGE.layers + _SMALL.layers
SHARD_BYTES = 4 * 49152 + 2 * 4096


def chain(seed: int, blocks: int) -> bytes:
    """A prompt of its own for each seed."""
    return b"".join(struct.pack(">4q", seed, block, 1, 2) for block in range(blocks))


class Worker:
    """One rank: its pool, its client, and what it computes."""

    def __init__(
        self,
        socket_path: str,
        rank: int = 0,
        ranks: int = 1,
        *,
        instance: str = "stand-in",
        incarnation: int = 7,
        deadline_s: float = 10.0,
        pools: str = "/dev/shm",
    ) -> None:
        self.rank = rank
        self.pool = SharedPool(GROUPS, folder=pools)
        self._connect: Callable[[str], AgentClient] = lambda path: AgentClient(
            path, instance=instance, incarnation=incarnation, namespace=NAMESPACE, groups=GROUPS, memory=self.pool.path,
            rank=rank, ranks=ranks, block_tokens=16, deadline_s=deadline_s, retry_s=0.05, max_retry_s=0.2)
        self.client = self._connect(socket_path)

    def go_to(self, socket_path: str) -> None:
        """Leaves the agent, and uses the one that is reached by another path."""
        assert self.client.close(), "pages are with the agent"
        self.client = self._connect(socket_path)

    def content(self, seed: int, block: int) -> bytes:
        """What a block's shard of this rank is."""
        return random.Random((seed * 1000 + block) * 100 + self.rank).randbytes(SHARD_BYTES)

    def compute(self, seed: int, pages: list[int]) -> None:
        """Fills pages with the first blocks of a prompt."""
        for block, page in enumerate(pages):
            content, at = self.content(seed, block), 0
            for piece in self.pool.pieces(page):
                piece[:] = content[at : at + len(piece)]
                at += len(piece)

    def holds(self, seed: int, pages: list[int], first_block: int = 0) -> bool:
        """Compares every byte of pages with what a prompt's blocks are."""
        return all(
            b"".join(self.pool.pieces(page)) == self.content(seed, first_block + i) for i, page in enumerate(pages))

    def finish(self, transfer: Optional[Transfer]) -> Finished:
        """Waits for the report of a transfer."""
        assert transfer is not None, self.client.trouble
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            for finished in self.client.progress(wait_s=0.5):
                if finished.transfer == transfer:
                    return finished
        raise AssertionError(f"{transfer} was not reported")

    def store(self, seed: int, pages: list[int]) -> int:
        """Computes and saves, as soon as a cache takes it. Returns how many blocks were committed."""
        self.compute(seed, pages)
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            transfer = self.client.save(chain(seed, len(pages)), 0, pages)
            if transfer is not None:
                return self.finish(transfer).blocks
            time.sleep(0.02)
        raise AssertionError(f"nobody took the save: {self.client.trouble}")

    def close(self) -> None:
        """Leaves the agent, and removes the pool."""
        self.client.close()
        self.pool.close()

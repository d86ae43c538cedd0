"""How old a prompt's pages were when another engine had read them.

Between prefill and decode a transport copies pages that prefill keeps for a while. When that while is over it uses them
again, even if decode still reads them, and nobody sees in the bytes what they are of. So prefill says with each prompt
since when it keeps the pages. What decode got too late is not saved, nor does it stay in the engine's own cache, from
which others would compute and be saved.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable, Optional

if TYPE_CHECKING:
    from vllm.v1.core.block_pool import BlockPool
    from vllm.v1.request import Request

_LOG = logging.getLogger("orbitkv_vllm")

_KEPT_FROM = "orbitkv_kept_from"
"""Among the parameters of a transfer, which routers pass on: since when prefill keeps the pages. Seconds of the wall
clock, the one clock that processes share."""


class Handovers:
    """Both sides: a request is handed over by one engine, and delivered to another. One thread."""

    def __init__(self, limit_s: Optional[int], clock: Callable[[], float] = time.time) -> None:
        """``limit_s`` is how long pages are kept for this engine; without it, nothing is asked of a delivery."""
        self._limit_s = limit_s
        self._clock = clock
        self._pool: Optional[BlockPool] = None
        self._late: set[str] = set()

    def bind(self, pool: BlockPool) -> None:
        """Has the engine's pages from now on."""
        self._pool = pool

    def allocated(self, request: Request, pages: Sequence[int]) -> None:
        """A request has pages to be delivered into, or, when it is allocated once more, pages that were."""
        if self._limit_s is None or not _is_delivered(request):
            return
        kept_from = _parameters(request).get(_KEPT_FROM)
        age = self._clock() - kept_from if isinstance(kept_from, (int, float)) else None
        if age is not None and age <= self._limit_s:
            return
        if request.request_id not in self._late:
            self._late.add(request.request_id)
            _LOG.warning(
                "request %s is not saved: its prompt's pages came %s; prefill keeps them for %d s", request.request_id,
                "without a time" if age is None else f"{age:.1f} s after they were computed", self._limit_s)
        self._forget(pages)

    def finished(self, request: Request, pages: Sequence[int]) -> bool:
        """Forgets a request. Returns whether its pages may be saved: nothing was delivered into them, or in time."""
        if request.request_id not in self._late:
            return True
        self._late.remove(request.request_id)
        self._forget(pages)
        return False

    def parameters(self, request: Request) -> Optional[dict[str, Any]]:
        """Returns what goes with a prompt that is handed over; nothing if it is not."""
        return {_KEPT_FROM: self._clock()} if _parameters(request).get("do_remote_decode") else None

    def _forget(self, pages: Sequence[int]) -> None:
        if self._pool is not None:
            self._pool.evict_blocks(set(pages))


def _parameters(request: Request) -> dict[str, Any]:
    return request.kv_transfer_params or {}


def _is_delivered(request: Request) -> bool:
    # What asks for a delivery is cleared when it has begun.
    return not _parameters(request).get("do_remote_decode") and "remote_engine_id" in _parameters(request)

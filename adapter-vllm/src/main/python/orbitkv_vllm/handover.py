"""How old a prompt's pages were when another engine had read them.

Between prefill and decode a transport copies pages that prefill keeps for a while. When that while is over it uses them
again, even if decode still reads them, and nobody sees in the bytes what they are of. So prefill says with each prompt
when it had it, and what decode got later than it may is not saved.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, Callable, Optional

if TYPE_CHECKING:
    from vllm.v1.request import Request

_LOG = logging.getLogger("orbitkv_vllm")

_KEPT_FROM = "orbitkv_kept_from"
"""Among the parameters of a transfer, which routers pass on: since when prefill keeps the pages. Seconds of the wall clock,
the one clock that processes share."""


class Handovers:
    """Both sides: a request is handed over by one engine, and delivered to another. One thread."""

    def __init__(self, limit_s: Optional[int], clock: Callable[[], float] = time.time) -> None:
        """``limit_s`` is how long pages are kept for this engine; without it, nothing is asked of a delivery."""
        self._limit_s = limit_s
        self._clock = clock
        self._allocated_at: dict[str, float] = {}

    def allocated(self, request: Request) -> None:
        """A request has pages to be delivered into, or, when it is allocated once more, pages that were."""
        if self._limit_s is not None and _is_delivered(request):
            self._allocated_at[request.request_id] = self._clock()

    def finished(self, request: Request) -> bool:
        """Forgets a request. Returns whether its pages may be saved: nothing was delivered into them, or in time."""
        allocated_at = self._allocated_at.pop(request.request_id, None)
        if self._limit_s is None or not _is_delivered(request):
            return True
        kept_from = (request.kv_transfer_params or {}).get(_KEPT_FROM)
        if isinstance(kept_from, (int, float)) and allocated_at is not None:
            age = allocated_at - kept_from
            if age <= self._limit_s:
                return True
            _LOG.warning(
                "request %s is not saved: its prompt's pages came %.1f s after they were computed, and were kept for %d s",
                request.request_id, age, self._limit_s)
        else:
            _LOG.warning(
                "request %s is not saved: its prompt's pages came without the time since when they were kept",
                request.request_id)
        return False

    def parameters(self, request: Request) -> Optional[dict[str, Any]]:
        """Returns what goes with a prompt that is handed over; nothing if it is not."""
        if (request.kv_transfer_params or {}).get("do_remote_decode"):
            return {_KEPT_FROM: self._clock()}
        return None


def _is_delivered(request: Request) -> bool:
    parameters = request.kv_transfer_params
    # What asks for a delivery is cleared when it has begun.
    return bool(parameters) and not parameters.get("do_remote_decode") and "remote_engine_id" in parameters

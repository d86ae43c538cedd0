"""The tree of a decode worker, which has saved what requests leave that have finished well, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sglang.srt.managers.schedule_batch import FINISH_ABORT
from sglang.srt.mem_cache.unified_radix_cache import UnifiedRadixCache

if TYPE_CHECKING:
    from sglang.srt.managers.schedule_batch import Req


class DecodeTree(UnifiedRadixCache):
    """The released tree.

    The engine hands it a request's pages as soon as they have been delivered, and when a request ends, however it does.
    """

    def checkpoint(self, req: Req, *, up_to: int, **keywords: Any) -> None:
        if not req.finished() or isinstance(req.finished_reason, FINISH_ABORT):
            super().checkpoint(req, up_to=up_to, **keywords)
            return
        # The release offers a node to its linker when a request counts as a hit on it, which those handed over before
        # have been told already.
        req.kv.cache_inserted_len = 0
        with self.linker.offering():
            super().checkpoint(req, up_to=up_to, **keywords)

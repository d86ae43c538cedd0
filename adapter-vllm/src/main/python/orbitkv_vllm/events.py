"""KV events for routers that follow which engine has which prefix."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from vllm.distributed.kv_events import MEDIUM_CPU, AllBlocksCleared, BlockStored, KVCacheEvent
from vllm.v1.core.kv_cache_utils import maybe_convert_block_hash

if TYPE_CHECKING:
    from vllm.v1.request import Request

_MAX_SAVES = 4096


class StoredEvents:
    """Blocks that the cache has from now on. What it evicts later is not told: a router learns that by a miss."""

    def __init__(self, block_tokens: int) -> None:
        self._block_tokens = block_tokens
        self._saving: dict[int, BlockStored] = {}
        self._events: list[KVCacheEvent] = []

    def saving(self, save: int, request: Request, first_block: int, blocks: int) -> None:
        """Keeps what there will be to say of a save."""
        end = first_block + blocks
        adapter = request.lora_request
        hashes = request.block_hashes
        self._saving[save] = BlockStored(
            block_hashes=[maybe_convert_block_hash(block) for block in hashes[first_block:end]],
            parent_block_hash=maybe_convert_block_hash(hashes[first_block - 1]) if first_block > 0 else None,
            token_ids=list(request.all_token_ids[first_block * self._block_tokens : end * self._block_tokens]),
            block_size=self._block_tokens,
            lora_id=None if adapter is None else adapter.lora_int_id,
            medium=MEDIUM_CPU,
            lora_name=None if adapter is None else adapter.lora_name,
        )
        if len(self._saving) > _MAX_SAVES:
            del self._saving[next(iter(self._saving))]

    def stored(self, saves: Iterable[int]) -> None:
        """Every block of these saves can be found."""
        for save in saves:
            event = self._saving.pop(save, None)
            if event is not None:
                self._events.append(event)

    def cleared(self) -> None:
        """Nothing that was stored can be found."""
        self._saving.clear()
        self._events.append(AllBlocksCleared())

    def take(self) -> list[KVCacheEvent]:
        """Returns the events since the last call."""
        events, self._events = self._events, []
        return events

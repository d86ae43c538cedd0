"""KV events for routers that follow which engine has which prefix."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec
from vllm.distributed.kv_events import MEDIUM_CPU, AllBlocksCleared, BlockRemoved, BlockStored, KVCacheEvent
from vllm.v1.core.kv_cache_utils import BlockHash, maybe_convert_block_hash

from orbitkv_wire.messages import HASH_BYTES

if TYPE_CHECKING:
    from vllm.v1.request import Request

_MAX_SAVES = 4096


class CacheEvents:
    """Blocks that can be found from now on, and blocks that cannot any more."""

    def __init__(self, block_tokens: int) -> None:
        self._block_tokens = block_tokens
        self._saving: dict[int, BlockStored] = {}
        self._events: list[KVCacheEvent] = []
        self._told = False
        """Whether there is anything that a router takes for stored."""

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
                self._told = True

    def departed(self, hashes: bytes) -> None:
        """These blocks cannot be found any more, whoever had saved them."""
        if not hashes:
            return
        blocks = [
            maybe_convert_block_hash(BlockHash(hashes[at : at + HASH_BYTES])) for at in range(0, len(hashes), HASH_BYTES)
        ]
        gone = set(blocks)
        for save, event in list(self._saving.items()):
            # It may be that one left before anybody reported that it was saved, and with it all that follow it.
            kept = next((index for index, block in enumerate(event.block_hashes) if block in gone), None)
            if kept == 0:
                del self._saving[save]
            elif kept is not None:
                self._saving[save] = msgspec.structs.replace(
                    event, block_hashes=event.block_hashes[:kept], token_ids=event.token_ids[: kept * self._block_tokens]
                )
        self._events.append(BlockRemoved(block_hashes=blocks, medium=MEDIUM_CPU))

    def lost(self) -> None:
        """Nobody knows what is still there of all that was told. Says so, if anything was."""
        self._saving.clear()
        if self._told:
            self._told = False
            self._events.append(AllBlocksCleared())

    def cleared(self) -> None:
        """Nothing that was stored can be found."""
        self._saving.clear()
        self._told = False
        self._events.append(AllBlocksCleared())

    def take(self) -> list[KVCacheEvent]:
        """Returns the events since the last call."""
        events, self._events = self._events, []
        return events

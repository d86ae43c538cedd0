"""A decode worker's queues as released, over the pools of a test, which is the transport and the model."""

from __future__ import annotations

import time
from array import array
from collections.abc import Sequence
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any
from unittest import mock

import engine
import torch
from sglang.srt.disaggregation.base import KVPoll
from sglang.srt.disaggregation.common.conn import CommonKVManager, CommonKVReceiver
from sglang.srt.disaggregation.decode import DecodePreallocQueue, DecodeRequest, DecodeTransferQueue
from sglang.srt.managers.schedule_batch import FINISH_ABORT, FINISH_LENGTH, Req
from sglang.srt.mem_cache.common import checkpoint_kv_cache, release_kv_cache
from sglang.srt.sampling.sampling_params import SamplingParams

PREFILL_RANKS = 2

_RELEASE_S = 0.05


class Decoding:
    """Takes requests through the released queues: allocation, transfer, the first batch, and the end."""

    def __init__(self, of: engine.Engine) -> None:
        self.of = of
        self.manager = CommonKVManager.__new__(CommonKVManager)
        self.manager.enable_deferred_decode_kv_release = True
        self.manager.defer_decode_allocation = False
        self.manager.deferred_bootstrap = None
        self.manager._deferred_abort_ack_tracker = {}
        self.manager._deferred_abort_generation = 0
        self.scheduler = SimpleNamespace(
            enable_decode_hicache=False, enable_hisparse=False, enable_lora=False, output_streamer=mock.Mock(),
            metrics_reporter=SimpleNamespace(enable_metrics=False), tree_cache=of.cache,
            tp_worker=SimpleNamespace(is_hybrid_swa=False), sliding_window_size=None, disagg_decode_prealloc_queue=None,
        )
        self.prealloc = DecodePreallocQueue.__new__(DecodePreallocQueue)
        self.prealloc.scheduler = self.scheduler
        self.prealloc.tree_cache = of.cache
        self.prealloc.req_to_token_pool = of.rows
        self.prealloc.token_to_kv_pool_allocator = of.allocator
        self.prealloc.token_to_kv_pool = of.pool
        self.transfers = DecodeTransferQueue.__new__(DecodeTransferQueue)
        self.transfers.queue = []
        self.transfers.scheduler = self.scheduler
        self.transfers.tree_cache = of.cache
        self.transfers.tp_rank = 0
        self.transfers.gloo_group = None
        self.transfers.enable_staging = False
        self.transfers.enable_host_receive = False
        self.transfers.enable_deferred_kv_release = True
        self.transfers.deferred_kv_release_timeout = _RELEASE_S
        self.transfers._deferred_releases = []
        self.transfers.metadata_buffers = SimpleNamespace(bootstrap_room=[0] * 64)
        self.transfers.req_to_metadata_buffer_idx_allocator = mock.Mock()
        # Of one rank there is nobody to agree with.
        self.transfers._poll_with_metadata_gate = lambda: [entry.kv_receiver.poll() for entry in self.transfers.queue]
        self._room = 0

    def admit(self, rid: str, prompt: Sequence[int]) -> DecodeRequest:
        """Allocates what prefill is told to write to, behind what the tree has."""
        self._room += 1
        req = Req(rid, "", array("q", prompt), SamplingParams(max_new_tokens=64), bootstrap_room=self._room)
        match = self.prealloc._match_prefix_and_lock(req)
        assert not match.needs_local_restore, "something is to be restored beside the transport"
        self.prealloc._pre_alloc(req, match.prefix_indices, match.l1_prefix_len, match.decode_prefix_len)
        req.kv.cache_protected_len = match.decode_prefix_len
        receiver = _Receiver(self.manager, self._room)
        entry = DecodeRequest(req=req, kv_receiver=receiver, prefix_match=match, metadata_buffer_index=self._room % 64)
        self.transfers.extend([entry])
        return entry

    def slots(self, req: Req) -> torch.Tensor:
        """Returns where a request's tokens are."""
        row: torch.Tensor = self.of.rows.req_to_token[req.kv.req_pool_idx, : req.kv.kv_allocated_len]
        return row.to(torch.int64)

    def deliver(self, entry: DecodeRequest) -> Req:
        """Has prefill write all that it was told to, and say so."""
        req = entry.req
        begin = req.kv.cache_protected_len
        self.of.compute(req.origin_input_ids, begin, self.slots(req)[begin:])
        # Its metadata are a token, the first of the answer.
        self.transfers.queue.remove(entry)
        req.output_ids.append(7)
        entry.kv_receiver = None
        return req

    def begin(self, req: Req) -> None:
        """The first batch of a request: the tree is handed what was delivered."""
        checkpoint_kv_cache(req, self.of.cache)

    def generate(self, req: Req, tokens: Sequence[int]) -> None:
        """Computes the tokens of an answer, the last of which has no keys and values yet."""
        for token in tokens:
            have = req.kv.kv_committed_len
            last = self.slots(req)[-1:]
            lengths = torch.tensor([have]), torch.tensor([have + 1])
            slot = self.of.allocator.alloc_extend(lengths[0], lengths[0], lengths[1], lengths[1], last, 1)
            self.of.rows.write((req.kv.req_pool_idx, slice(have, have + 1)), slot.to(torch.int32))
            known = [*req.origin_input_ids, *req.output_ids]
            self.of.compute(known, have, slot)
            req.kv.kv_committed_len = req.kv.kv_allocated_len = have + 1
            req.output_ids.append(token)

    def finish(self, req: Req) -> None:
        """Ends a request as one at its length does."""
        req.finished_reason = FINISH_LENGTH(length=len(req.output_ids))
        release_kv_cache(req, self.of.cache, checkpoint=True)

    def abort(self, req: Req) -> None:
        """Ends a request whose pages were delivered as its caller's abort does: the tree keeps them."""
        req.finished_reason = FINISH_ABORT("Aborted", HTTPStatus.SERVICE_UNAVAILABLE)
        release_kv_cache(req, self.of.cache, checkpoint=True)

    def fail(self, entry: DecodeRequest, *, acknowledged: int) -> None:
        """Has a transfer fail, of which so many prefill ranks say that they write no more, and its pages be freed."""
        entry.kv_receiver.state = KVPoll.Failed
        assert self.transfers.pop_transferred() == []
        for rank in range(acknowledged):
            self.manager.note_abort_ack(entry.req.bootstrap_room, rank, self.manager._deferred_abort_generation)
        end = time.monotonic() + 60
        while self.transfers.has_pending_deferred_releases():
            assert time.monotonic() < end, "pages are not released"
            self.transfers.resolve_deferred_releases()


class _Receiver(CommonKVReceiver):
    """The released receiver, with prefill ranks that hear nothing."""

    def __init__(self, manager: CommonKVManager, room: int) -> None:
        self.kv_mgr = manager
        self.bootstrap_room = room
        self.bootstrap_infos: list[dict[str, Any]] = [{} for _ in range(PREFILL_RANKS)]
        self.abort_notified = False
        self.init_time = time.time()
        self.state = KVPoll.WaitingForInput
        self._abort_generation = None

    def poll(self) -> KVPoll:
        return self.state

    def failure_exception(self) -> Any:
        raise RuntimeError("the peer is gone")

    def clear(self) -> None:
        pass

    def send_metadata(self, *_: Any, **__: Any) -> None:
        pass

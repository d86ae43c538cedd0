"""The released tree, allocator and pools, as the engine's scheduler drives them."""

from __future__ import annotations

import json
import os
import time
from array import array
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Optional

import torch
from sglang.srt.arg_groups.lora_hook import check_lora_server_args
from sglang.srt.mem_cache.allocator.paged import PagedTokenToKVPoolAllocator
from sglang.srt.mem_cache.base_prefix_cache import EvictParams, InitLoadBackParams, InsertParams, MatchPrefixParams
from sglang.srt.mem_cache.cache_init_params import CacheInitParams
from sglang.srt.mem_cache.memory_pool import MHATokenToKVPool, MLATokenToKVPool, ReqToTokenPool
from sglang.srt.mem_cache.radix_cache import RadixKey
from sglang.srt.mem_cache.registry import TreeCacheBuildContext, create_tree_cache
from sglang.srt.mem_cache.unified_radix_cache import UnifiedRadixCache
from sglang.srt.runtime_context import SpawnRanks, publish, reset_context
from sglang.srt.server_args import ServerArgs

from own_pages import OwnPages

PAGE = 16
LAYERS = 3
HEADS = 2
DIM = 32

_ROW = 7919
"""Every token's row of every layer has bytes of its own."""


def publish_engine(settings: dict[str, Any], *, rank: int = 0, ranks: int = 1, **arguments: Any) -> ServerArgs:
    """Makes an engine's settings those of this process."""
    reset_context()
    arguments = {
        "model_path": "dummy",
        "device": "cpu",
        "page_size": PAGE,
        "tp_size": ranks,
        "radix_cache_backend": "orbitkv",
        "enable_unified_cache_external_linker": True,
        "hicache_storage_backend_extra_config": json.dumps({"model_digest": "ab" * 32, **settings}),
    } | arguments
    server = ServerArgs(**arguments)
    # As a server does it when its model is known.
    check_lora_server_args(server)
    publish(server, role="scheduler", ranks=SpawnRanks(world_rank=rank, dp_rank=None))
    return server


class Worker:
    """What the factory uses of a worker."""

    def __init__(self) -> None:
        self.model_runner = SimpleNamespace(forward_stream=None)
        self.counter: Any = None

    def register_hicache_layer_transfer_counter(self, counter: Any) -> None:
        self.counter = counter


def mha_pool(
    pages: int, *, heads: int = HEADS, dim: int = DIM, layers: int = LAYERS, device: str = "cpu"
) -> MHATokenToKVPool:
    with OwnPages():
        return MHATokenToKVPool(
            size=pages * PAGE, page_size=PAGE, dtype=torch.bfloat16, head_num=heads, head_dim=dim, layer_num=layers,
            device=device, enable_memory_saver=False,
        )


def mla_pool(pages: int) -> MLATokenToKVPool:
    with OwnPages():
        return MLATokenToKVPool(
            size=pages * PAGE, page_size=PAGE, dtype=torch.bfloat16, kv_lora_rank=48, qk_rope_head_dim=16,
            layer_num=LAYERS, device="cpu", enable_memory_saver=False,
        )


class Request:
    """What the tree uses of a request that waits."""

    def __init__(self, rid: str, tokens: Sequence[int], extra_key: Optional[str] = None) -> None:
        self.rid = rid
        self.tokens = array("q", tokens)
        self.extra_key = extra_key
        self.kv: Any = None
        self.swa_branching_seqlen = None
        self.session = None
        self.last_node: Any = None
        self.prefix: torch.Tensor = torch.empty(0, dtype=torch.int64)
        self.match: Any = None

    @property
    def key(self) -> RadixKey:
        return RadixKey(self.tokens, self.extra_key)


class Engine:
    """One rank, without a model: a token's keys and values follow from the token, its place and the rank."""

    window_tokens: Optional[int] = None
    """How far some of the layers look back, if there are such."""

    def __init__(self, server: ServerArgs, *, pool: Any, rank: int = 0, ranks: int = 1, group: Any = None,
                 core: Optional[str] = None, worker: Optional[Worker] = None) -> None:
        self.pool = pool
        self.rank = rank
        for buffer in self.buffers():
            # A sentinel in every byte, so that one that nobody should have written is seen.
            buffer.view(torch.uint8).fill_(0xA5)
        self.allocator = self._allocator()
        self.worker = worker if worker is not None else Worker()
        self.rows = ReqToTokenPool(size=16, max_context_len=4096, device=pool.device, enable_memory_saver=False)
        params = CacheInitParams(
            disable=False,
            req_to_token_pool=self.rows,
            token_to_kv_pool_allocator=self.allocator,
            page_size=PAGE,
            tp_cache_group=group,
            attn_tp_cache_group=group,
            tree_core_backend=core,
            sliding_window_size=self.window_tokens,
        )
        self.cache: Any = create_tree_cache(
            TreeCacheBuildContext(
                server_args=server, params=params, is_hybrid_swa=self.window_tokens is not None, is_hybrid_ssm=False,
                enable_hierarchical_cache=False, disable_radix_cache=False, tp_worker=self.worker,
                model_config=SimpleNamespace(dtype=torch.bfloat16, hf_config=SimpleNamespace(to_dict=lambda: {"a": 1})),
                tp_size=ranks, tp_rank=rank, tp_group=None,
            )
        )
        assert isinstance(self.cache, UnifiedRadixCache)

    def _allocator(self) -> Any:
        return PagedTokenToKVPoolAllocator(
            size=self.pool.size, page_size=PAGE, dtype=torch.bfloat16, device=self.pool.device, kvcache=self.pool,
            need_sort=False,
        )

    @property
    def linker(self) -> Any:
        return self.cache.linker.cache_linker

    def buffers(self) -> list[torch.Tensor]:
        if isinstance(self.pool, MHATokenToKVPool):
            return [*self.pool.k_buffer, *self.pool.v_buffer]
        return list(self.pool.kv_buffer)

    def expected(self, tokens: Sequence[int]) -> list[torch.Tensor]:
        """Returns the bytes of each buffer for tokens of a prompt, a row each: every one depends on all before it."""
        rows = torch.empty(len(tokens), dtype=torch.int64)
        state = 1 + self.rank
        for index, token in enumerate(tokens):
            state = (state * 1_000_003 + token + 1) % 2_147_483_647
            rows[index] = state
        expected = []
        for number, buffer in enumerate(self.buffers()):
            width = buffer[0].numel() * buffer.element_size()
            columns = torch.arange(width, dtype=torch.int64) * _ROW + number * 104729
            expected.append(((rows[:, None] * 31 + columns[None, :]) >> 3).to(torch.uint8))
        return expected

    def compute(self, tokens: Sequence[int], begin: int, slots: torch.Tensor) -> None:
        """Writes keys and values of tokens from ``begin`` on, as a forward does."""
        for buffer, rows in zip(self.buffers(), self.expected(tokens)):
            rows = rows[begin : begin + len(slots)].to(buffer.device)
            buffer.view(torch.uint8).reshape(buffer.shape[0], -1)[slots] = rows

    def read(self, slots: torch.Tensor) -> list[torch.Tensor]:
        return [buffer.view(torch.uint8).reshape(buffer.shape[0], -1)[slots].cpu() for buffer in self.buffers()]

    def snapshot(self) -> list[torch.Tensor]:
        return [buffer.view(torch.uint8).reshape(buffer.shape[0], -1).cpu().clone() for buffer in self.buffers()]

    def wrong(self, tokens: Sequence[int], slots: torch.Tensor) -> int:
        """Returns how many rows of a prompt's beginning are not what they should be."""
        bad = torch.zeros(len(slots), dtype=torch.bool)
        for found, rows in zip(self.read(slots), self.expected(tokens)):
            bad |= (found != rows[: len(slots)]).any(dim=1)
        return int(bad.sum())

    # What a scheduler does for a request, step by step.

    def look(self, request: Request) -> int:
        """Returns how many tokens can be restored behind the engine's own."""
        request.match = self.cache.match_prefix(MatchPrefixParams(key=request.key, req=request))
        request.last_node = request.match.last_device_node
        path = self.cache.path_device_indices(request.last_node)
        request.prefix = path[: request.match.device_prefix_len].clone()
        return int(request.match.host_hit_length)

    def load_back(self, request: Request) -> int:
        """Has what was found loaded into slots of the request. Returns how many tokens they are."""
        lock = self.cache.lock(request.last_node)
        loaded, request.last_node = self.cache.init_load_back(
            InitLoadBackParams(
                best_match_node=request.match.best_match_node, host_hit_length=request.match.host_hit_length,
                req=request,
            )
        )
        if loaded:
            tail = self.cache.linker.private_load_indices[request.rid]
            request.prefix = torch.cat([request.prefix, tail])
        self.cache.unlock(lock)
        return int(loaded)

    def start(self) -> int:
        return int(self.cache.ready_to_load_host_cache())

    def forward(self, index: int, requests: Sequence[Request]) -> list[Request]:
        """Computes what is not there, and returns the requests whose loads failed."""
        self.worker.counter.set_consumer(index)
        for request in requests:
            whole = len(request.tokens) // PAGE * PAGE
            begin = len(request.prefix)
            if whole > begin:
                slots = self.alloc(whole - begin)
                self.compute(request.tokens, begin, slots)
                request.prefix = torch.cat([request.prefix, slots])
        for layer in range(self.pool.layer_num):
            self.worker.counter.wait_until(layer)
        return list(self.cache.finish_external_linker_loads(list(requests)))

    def alloc(self, tokens: int) -> torch.Tensor:
        """Returns slots for a request, as soon as there are: nodes that are saved are locked."""
        end = time.monotonic() + 60.0
        while True:
            slots: Optional[torch.Tensor] = self._take(tokens)
            if slots is not None:
                return slots
            assert time.monotonic() < end, "no room for a request"
            self.tend()
            self.cache.evict(EvictParams(num_tokens=tokens, swa_num_tokens=tokens))

    def _take(self, tokens: int) -> Optional[torch.Tensor]:
        slots: Optional[torch.Tensor] = self.allocator.alloc(tokens)
        return slots

    def accounts(self) -> list[tuple[int, int, int]]:
        """Returns of each pool how many slots are free, how many the tree can give up, and how many there are."""
        return [(self.allocator.available_size(), self.cache.evictable_size(), self.pool.size)]

    def insert(self, request: Request, own: int) -> None:
        """Hands a request's slots to the tree, of which the first ``own`` are the tree's already."""
        slots = request.prefix
        result = self.cache.insert(
            InsertParams(
                key=RadixKey(request.tokens[: len(slots)], request.extra_key), value=slots.clone(),
                prev_prefix_len=own,
            )
        )
        # What the tree had by now is of no use.
        if result.prefix_len > own:
            self.allocator.free(slots[own : result.prefix_len])

    def run(self, request: Request) -> int:
        """Serves one request from its lookup to the tree. Returns how many tokens were restored."""
        self.look(request)
        own = len(request.prefix)
        lock = self.cache.lock(request.match.last_device_node)
        loaded = self.load_back(request) if request.match.host_hit_length else 0
        failed = self.forward(self.start(), [request])
        if failed:
            self.allocator.free(request.prefix[own:])
            self.cache.unlock(lock)
            return -1
        self.insert(request, own)
        self.cache.unlock(lock)
        return loaded

    def tend(self) -> None:
        """Takes what has ended, as each step of a scheduler does."""
        self.cache.check_hicache_events()

    def drain(self, limit_s: float = 60.0) -> None:
        """Steps until no save is under way."""
        end = time.monotonic() + limit_s
        while self.cache.linker.pending_offloads:
            self.tend()
            assert time.monotonic() < end, "saves have not ended"
            time.sleep(0.005)

    def await_cache(self, limit_s: float = 180.0) -> None:
        """Waits until lookups reach a cache."""
        end = time.monotonic() + limit_s
        while not (self.linker._copies.ready and self.linker._lookups._introduction.adapter is not None):
            assert time.monotonic() < end, "the agent is not there"
            time.sleep(0.05)
        # A machine that does much else at the same time is not what is tried here.
        introduction = self.linker._lookups._introduction
        for client in (introduction.adapter, *introduction.clients):
            client._deadline_s = 5.0

    def counters(self) -> dict[str, int]:
        """Returns what the adapter counts."""
        counted: dict[str, int] = self.linker._lookups.counters()
        return counted

    def agent_pid(self) -> int:
        """Returns the process of this rank's agent."""
        pid: int = self.linker._resources._process.agent_pid
        return pid

    def evict_all(self) -> None:
        self.cache.evict(EvictParams(num_tokens=self.pool.size))

    def close(self) -> None:
        self.cache.release_host_resources()


def tokens_of(seed: int, count: int) -> list[int]:
    """Returns a prompt."""
    return [(seed * 7907 + index * 31) % 50_000 for index in range(count)]


def agent_command() -> list[str]:
    """Returns what starts an agent out of this build."""
    return [os.path.abspath(os.path.join(os.path.dirname(__file__), "../../../../orbitkv"))]

"""vLLM's own scheduler with the connector in it, and steps that a test drives by hand."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Optional

import torch
from vllm import SamplingParams
from vllm.config import (
    CacheConfig,
    DeviceConfig,
    KVEventsConfig,
    KVTransferConfig,
    ModelConfig,
    ParallelConfig,
    SchedulerConfig,
    VllmConfig,
)
from vllm.distributed.kv_transfer.kv_connector.utils import KVOutputAggregator
from vllm.distributed.kv_transfer.kv_connector.v1.multi_connector import (
    MultiConnector,
    MultiKVConnectorMetadata,
    MultiKVConnectorWorkerMetadata,
)
from vllm.utils.hashing import get_hash_fn_by_name
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.output import SchedulerOutput
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
from vllm.v1.outputs import KVConnectorOutput, ModelRunnerOutput
from vllm.v1.request import Request, RequestStatus
from vllm.v1.structured_output import StructuredOutputManager

from orbitkv_vllm.connector import OrbitKvConnector
from orbitkv_vllm.identity import incarnation
from orbitkv_vllm.metadata import Described, Orders
from orbitkv_vllm.rendezvous import Rendezvous
from workers import Workers

BLOCK = 16

_MODEL = {
    "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 64, "intermediate_size": 64,
    "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 32, "vocab_size": 512,
    "max_position_embeddings": 4096, "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "tie_word_embeddings": False,
    "torch_dtype": "float32", "hidden_act": "silu", "attention_bias": False, "bos_token_id": 1, "eos_token_id": 2,
}


class Transport(NamedTuple):
    """NixlConnector beside OrbitKV, in a MultiConnector."""

    role: str
    first: bool = False


def write_model(folder: str) -> str:
    """Makes a folder that vLLM takes for a model's, without weights."""
    path = os.path.join(folder, "model")
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, "config.json"), "w", encoding="utf-8") as file:
        json.dump(_MODEL, file)
    return path


def engine_config(
    folder: str,
    *,
    extra: Optional[dict[str, Any]] = None,
    ranks: int = 1,
    is_async: bool = False,
    policy: Literal["recompute", "fail"] = "recompute",
    engine_id: Optional[str] = None,
    events: bool = False,
    budget: int = 256,
    caching: bool = True,
    transport: Optional[Transport] = None,
) -> VllmConfig:
    """Returns the configuration of an engine that has the connector and a model of two layers."""
    model = ModelConfig(
        model=write_model(folder), skip_tokenizer_init=True, dtype="float32", seed=0, max_model_len=1024,
        enforce_eager=True,
    )
    cache = CacheConfig(
        block_size=BLOCK, gpu_memory_utilization=0.5, enable_prefix_caching=caching, prefix_caching_hash_algo="sha256",
    )
    ours: dict[str, Any] = {
        "kv_connector": "OrbitKvConnector", "kv_connector_module_path": "orbitkv_vllm.connector", "kv_role": "kv_both",
        "kv_load_failure_policy": policy,
        "kv_connector_extra_config": {
            "runtime_dir": os.path.join(folder, "run"), "model_digest": "ab" * 32, **(extra or {}),
        },
    }
    if transport is not None:
        theirs = {"kv_connector": "NixlConnector", "kv_role": transport.role}
        children = [theirs, ours] if transport.first else [ours, theirs]
        ours = {
            "kv_connector": "MultiConnector", "kv_role": "kv_both", "kv_load_failure_policy": policy,
            "kv_connector_extra_config": {"connectors": children},
        }
    transfer = KVTransferConfig(engine_id=engine_id, **ours)
    config = VllmConfig(
        model_config=model,
        cache_config=cache,
        parallel_config=ParallelConfig(tensor_parallel_size=ranks, distributed_executor_backend="mp"),
        scheduler_config=SchedulerConfig(
            max_num_seqs=8, max_num_batched_tokens=budget, max_model_len=1024, is_encoder_decoder=False,
            enable_chunked_prefill=True, async_scheduling=is_async, watermark=0.0,
        ),
        device_config=DeviceConfig("cpu"),
        kv_transfer_config=transfer,
        kv_events_config=KVEventsConfig(enable_kv_cache_events=True, publisher="null") if events else None,
    )
    # As in the processes of one start, which have one object's copies.
    config.instance_id = "start"
    return config


def rendezvous(config: VllmConfig) -> Rendezvous:
    """Returns where the processes of an engine find each other."""
    transfer = config.kv_transfer_config
    assert transfer is not None and transfer.engine_id is not None
    extra = transfer.kv_connector_extra_config
    for child in extra.get("connectors", ()):
        if child["kv_connector"] == "OrbitKvConnector":
            extra = child["kv_connector_extra_config"]
    return Rendezvous(extra["runtime_dir"], transfer.engine_id)


def start_of(config: VllmConfig) -> int:
    """Returns the number of an engine's start, whose scheduler is in this process."""
    transfer = config.kv_transfer_config
    assert transfer is not None and transfer.engine_id is not None
    return incarnation(transfer.engine_id, config.instance_id, os.getpid())


def describe(config: VllmConfig, ranks: int) -> None:
    """Leaves what workers leave that have shared their pages."""
    os.makedirs(rendezvous(config).folder, mode=0o700, exist_ok=True)
    for rank in range(ranks):
        rendezvous(config).describe(start_of(config), Described(rank, 4096, (("fact", "value"),)))


def cache_config(blocks: int, spec: Optional[FullAttentionSpec] = None) -> KVCacheConfig:
    """Returns a KV cache of one group, without memory."""
    spec = spec or FullAttentionSpec(block_size=BLOCK, num_kv_heads=1, head_size=1, dtype=torch.float32)
    return KVCacheConfig(
        num_blocks=blocks, kv_cache_tensors=[], kv_cache_groups=[KVCacheGroupSpec(["layer"], spec)]
    )


class Engine:
    """A scheduler and workers, in lockstep or, with async scheduling, with one step more under way."""

    step_s = 0.05
    """What a step takes by the connector's clock, which stands still meanwhile."""

    _names = itertools.count(1)

    def __init__(self, config: VllmConfig, workers: Workers, *, blocks: int = 64) -> None:
        self.blocks = blocks
        self.workers = workers
        config.cache_config.num_gpu_blocks = blocks
        hash_function = get_hash_fn_by_name(config.cache_config.prefix_caching_hash_algo)
        init_none_hash(hash_function)
        self._hasher = get_request_block_hasher(BLOCK, hash_function)
        kind = AsyncScheduler if config.scheduler_config.async_scheduling else Scheduler
        self.scheduler: Scheduler = kind(
            vllm_config=config, kv_cache_config=cache_config(blocks), log_stats=True, block_size=BLOCK,
            hash_block_size=BLOCK, structured_output_manager=StructuredOutputManager(config),
        )
        outer = self.scheduler.get_kv_connector()
        assert outer is not None
        self.outer = outer
        self.children = outer.sub_connectors if isinstance(outer, MultiConnector) else [outer]
        (self.connector,) = [child for child in self.children if isinstance(child, OrbitKvConnector)]
        self._aggregator = KVOutputAggregator.from_connector(outer, len(workers.ranks))
        self._depth = 2 if config.scheduler_config.async_scheduling else 1
        self._under_way: list[tuple[SchedulerOutput, ModelRunnerOutput]] = []
        self.finished: dict[str, list[int]] = {}
        self.handed_over: dict[str, Optional[dict[str, Any]]] = {}
        self.tokens: dict[str, list[int]] = {}
        self.orders: list[Orders] = []
        self.events: list[Any] = []
        half = self.connector._scheduler
        assert half is not None
        self.now = half._clock()
        half._clock = lambda: self.now
        publisher: Any = self.scheduler.kv_event_publisher
        publisher.publish = lambda batch: self.events.extend(batch.events)

    def add(
        self, tokens: Sequence[int], *, limit: int = 4, name: Optional[str] = None, **options: Any
    ) -> Request:
        """Adds a request for some tokens more."""
        parameters = SamplingParams(max_tokens=limit, temperature=0.0, ignore_eos=True, **options.pop("sampling", {}))
        parameters.update_from_generation_config({}, 2)
        request = Request(
            request_id=name or f"request-{next(self._names)}", prompt_token_ids=list(tokens),
            sampling_params=parameters, pooling_params=None, block_hasher=self._hasher, **options,
        )
        self.scheduler.add_request(request)
        self.tokens[request.request_id] = []
        return request

    def step(self) -> SchedulerOutput:
        """Schedules a step, has the workers do it, and takes the output of the oldest step under way."""
        self.now += self.step_s
        output = self.scheduler.schedule()
        orders = self.told(output, self.connector)
        assert isinstance(orders, Orders)
        self.orders.append(orders)
        self._under_way.append((output, self._execute(output, orders)))
        if len(self._under_way) >= self._depth:
            self._take()
        return output

    def told(self, output: SchedulerOutput, child: Any) -> Any:
        """Returns what a child of the connector, or the connector itself, tells its workers in a step."""
        metadata = output.kv_connector_metadata
        if isinstance(metadata, MultiKVConnectorMetadata):
            return metadata.metadata[self.children.index(child)]
        return metadata

    def run(self, limit: int = 500) -> None:
        """Takes steps until every request has finished and nothing is outstanding."""
        for _ in range(limit):
            if not self.scheduler.has_requests():
                break
            self.step()
        while self._under_way:
            self._take()
        assert not self.scheduler.has_unfinished_requests(), "the engine is stuck"

    def settle(self, limit: int = 50) -> None:
        """Takes steps until the workers have nothing more to report."""
        for _ in range(limit):
            self.step()
        while self._under_way:
            self._take()

    def abort(self, request: Request) -> None:
        """Aborts a request."""
        self.scheduler.finish_requests(request.request_id, RequestStatus.FINISHED_ABORTED)

    def free_blocks(self) -> int:
        """How many blocks are free."""
        return int(self.scheduler.kv_cache_manager.block_pool.get_num_free_blocks())

    def require_empty(self) -> None:
        """Checks that nothing is left of any request."""
        scheduler = self.scheduler
        assert not scheduler.requests and not scheduler.running, (scheduler.requests, scheduler.running)
        assert len(scheduler.waiting) == 0 and len(scheduler.kv_holding_waiting) == 0
        assert not scheduler.finished_recving_kv_req_ids and not scheduler.failed_recving_kv_req_ids
        pool = scheduler.kv_cache_manager.block_pool
        assert [block.block_id for block in pool.blocks if block.ref_cnt > 0 and not block.is_null] == []
        assert self.free_blocks() == self.blocks - 1, f"{self.free_blocks()} of {self.blocks - 1} blocks are free"
        half = self.connector._scheduler
        assert half is not None
        left = (
            half._told, half._pins, half._done, half._loads, half._allocated, half._refused, half._failed,
        )
        assert not any(left), left

    def _execute(self, output: SchedulerOutput, orders: Orders) -> ModelRunnerOutput:
        names = list(output.num_scheduled_tokens)
        outputs = []
        for rank in range(len(self.workers.ranks)):
            results = self.transferred(output, self.workers.step(rank, orders))
            outputs.append(
                ModelRunnerOutput(
                    req_ids=names,
                    req_id_to_index={name: index for index, name in enumerate(names)},
                    sampled_token_ids=[self._sampled(name, output) for name in names],
                    kv_connector_output=results,
                )
            )
        if len(outputs) == 1:
            return outputs[0]
        aggregated = self._aggregator.aggregate(list(outputs))
        assert isinstance(aggregated, ModelRunnerOutput)
        return aggregated

    def transferred(self, output: SchedulerOutput, results: KVConnectorOutput) -> KVConnectorOutput:
        """Returns what all children of the connector say in a step of a worker."""
        reports = results.kv_connector_worker_meta
        if len(self.children) > 1 and reports is not None:
            results.kv_connector_worker_meta = MultiKVConnectorWorkerMetadata(
                tuple(reports if child is self.connector else None for child in self.children)
            )
        return results

    def _sampled(self, name: str, output: SchedulerOutput) -> list[int]:
        request = self.scheduler.requests[name]
        # Tokens that a model would compute, given the same prompt.
        computed = request.num_computed_tokens
        known = request.num_tokens + request.num_output_placeholders
        return [100 + computed % 300] if computed >= known - request.num_output_placeholders else []

    def _take(self) -> None:
        output, result = self._under_way.pop(0)
        for core_outputs in self.scheduler.update_from_output(output, result).values():
            for one in core_outputs.outputs:
                self.tokens.setdefault(one.request_id, []).extend(one.new_token_ids)
                if one.finish_reason is not None:
                    self.handed_over[one.request_id] = one.kv_transfer_params
                    self.finished[one.request_id] = self.tokens[one.request_id]


def connector_output(**fields: Any) -> KVConnectorOutput:
    """Returns what a worker's connector says in a step."""
    return KVConnectorOutput(**fields)

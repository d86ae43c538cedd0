"""What this connector uses of the engine, and the record of the release that it was made for."""

from __future__ import annotations

import os

from orbitkv_agent.surface import Surface

ENGINE_VERSION = "0.31.0"

_RECORD = os.path.join(os.path.dirname(__file__), "surface.json")

_BASE = "vllm.distributed.kv_transfer.kv_connector.v1.base"
_OUTPUT = "vllm.v1.core.sched.output"
_CACHE = "vllm.v1.kv_cache_interface"
_METRICS = "vllm.distributed.kv_transfer.kv_connector.v1.metrics"
_EVENTS = "vllm.distributed.kv_events"

_SURFACE = Surface(
    whole=(
        (_BASE, "KVConnectorBase_V1"),
        (_BASE, "SupportsHMA"),
        (_BASE, "KVConnectorMetadata"),
        (_BASE, "KVConnectorWorkerMetadata"),
        (_BASE, "KVConnectorHandshakeMetadata"),
        (_METRICS, "KVConnectorStats"),
        (_METRICS, "KVConnectorPromMetrics"),
    ),
    fields=(
        (_BASE, "KVConnectorRole"),
        (_BASE, "KVConnectorTransferResults"),
        ("vllm.v1.kv_cache_layout", "KVCacheLayout"),
        ("vllm.v1.outputs", "KVConnectorOutput"),
    ("vllm.v1.request", "RequestStatus"),
        (_OUTPUT, "SchedulerOutput"),
        (_OUTPUT, "CachedRequestData"),
        (_OUTPUT, "NewRequestData"),
        (_OUTPUT, "KVConnectorBlockState"),
        (_CACHE, "KVCacheConfig"),
        (_CACHE, "KVCacheTensor"),
        (_CACHE, "KVCacheGroupSpec"),
        (_CACHE, "KVCacheGroupRole"),
        (_CACHE, "KVCacheSpec"),
        (_CACHE, "AttentionSpec"),
        (_CACHE, "FullAttentionSpec"),
        ("vllm.config.kv_transfer", "KVTransferConfig"),
        (_EVENTS, "BlockStored"),
        (_EVENTS, "AllBlocksCleared"),
        ("vllm.lora.request", "LoRARequest"),
    ),
    members=(
        (_OUTPUT, "KVConnectorBlockState", ("get_block_ids",)),
        (_CACHE, "AttentionSpec", ("num_heads", "num_states", "state_content_size_bytes", "page_size_bytes")),
        (_CACHE, None, ("group_kernel_blocks",)),
        ("vllm.config.cache", "CacheConfig", ("get_resolved_kv_cache_layout",)),
        ("vllm.v1.core.block_pool", "BlockPool", ("touch", "free_blocks", "get_num_free_blocks", "evict_blocks")),
        ("vllm.v1.core.kv_cache_manager", "KVCacheBlocks", ("get_block_ids",)),
        ("vllm.v1.core.kv_cache_utils", None, ("resolve_none_hash_seed", "maybe_convert_block_hash")),
        ("vllm.utils.hashing", None, ("get_hash_fn_by_name",)),
        ("vllm.distributed.kv_transfer.kv_connector.factory", "KVConnectorFactory", ("register_connector",)),
        ("vllm.config.vllm", "VllmConfig", ("use_v2_model_runner",)),
    ("vllm.v1.request", "Request", ("num_tokens",)),
    ),
    attributes=(
        (
            "vllm.v1.request",
            "Request",
            (
                "request_id", "block_hashes", "num_computed_tokens", "all_token_ids", "lora_request", "cache_salt",
                "skip_reading_prefix_cache", "resumable", "session_id", "num_preemptions", "num_in_flight_tokens", "status",
                "kv_transfer_params",
            ),
        ),
        ("vllm.v1.core.block_pool", "BlockPool", ("blocks", "num_gpu_blocks", "free_block_queue")),
    ),
)


class UnknownEngineError(RuntimeError):
    """The engine is not the one that this connector was made for."""


def require_known_engine() -> str:
    """Returns the engine's version, or raises ``UnknownEngineError`` that names what differs."""
    import vllm

    version = str(vllm.__version__)
    # A build for other hardware has a suffix.
    if version.partition("+")[0] != ENGINE_VERSION:
        raise UnknownEngineError(
            f"OrbitKV for vLLM {ENGINE_VERSION} is not for vLLM {version}; install vllm=={ENGINE_VERSION}, or leave"
            " kv_connector OrbitKvConnector out of --kv-transfer-config"
        )
    difference = _SURFACE.difference(_RECORD)
    if difference is not None:
        raise UnknownEngineError(f"this vLLM {version} is not the released one: {difference}")
    return ENGINE_VERSION


def observed() -> dict[str, str]:
    """Returns what is there, by name: parameters of functions, fields of classes in their order, members of enums."""
    return _SURFACE.observed()

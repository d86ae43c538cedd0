"""What this linker uses of the engine, and the record of the release that it was made for."""

from __future__ import annotations

import os

from orbitkv_agent.surface import Surface

ENGINE_VERSION = "0.5.22"

_RECORD = os.path.join(os.path.dirname(__file__), "surface.json")

_CACHE = "sglang.srt.mem_cache"
_LINKER = f"{_CACHE}.unified_cache.unified_cache_linker"
_BASE = f"{_CACHE}.base_prefix_cache"
_DECODE = "sglang.srt.disaggregation.decode"
_UPDATER = "sglang.srt.managers.scheduler_components.weight_updater"

_SURFACE = Surface(
    whole=(
        (_LINKER, "UnifiedCacheLinker"),
        (_LINKER, "UnifiedCacheLinkerWrapper"),
    ),
    fields=(
        (_LINKER, "ExternalCacheHitMarker"),
        (_BASE, "MatchResult"),
        (_BASE, "CacheRequestHandle"),
        (f"{_CACHE}.hicache_storage", "PoolTransfer"),
        (f"{_CACHE}.hicache_storage", "PoolName"),
        (f"{_CACHE}.hicache_storage", "PoolHitPolicy"),
        (f"{_CACHE}.registry", "TreeCacheBuildContext"),
        (f"{_CACHE}.cache_init_params", "CacheInitParams"),
        (f"{_CACHE}.unified_cache.component_type", "ComponentType"),
        ("sglang.srt.managers.schedule_policy", "AddReqResult"),
        ("sglang.srt.managers.schedule_batch", "ReqKvInfo"),
        (_DECODE, "DecodeRequest"),
        ("sglang.srt.lora.lora_registry", "LoRARef"),
        ("sglang.srt.plugins.hook_registry", "HookType"),
    ),
    members=(
        (
            f"{_CACHE}.unified_radix_cache",
            "UnifiedRadixCache",
            (
                "__init__", "reset", "release_host_resources", "match_prefix", "init_load_back", "check_hicache_events",
                "ready_to_load_host_cache", "finish_external_linker_loads", "release_aborted_request",
                "load_back_is_cache_owned", "get_prefix_hash_values", "get_last_hash_value", "_all_reduce_attn_groups",
                "checkpoint",
            ),
        ),
        (f"{_CACHE}.unified_cache.unified_tree_core", "UnifiedTreeCore", ("get_hash_values", "get_prefix_hash_values")),
        (f"{_CACHE}.rust_tree_core.adapter", "RustUnifiedTreeCore", ("get_hash_values", "get_prefix_hash_values")),
        (f"{_CACHE}.registry", None, ("register_radix_cache_backend", "get_radix_cache_factory")),
        (f"{_CACHE}.utils", None, ("get_hash_str",)),
        ("sglang.srt.model_executor.cuda_graph_config", None, ("check_cuda_graph_backend",)),
        (f"{_CACHE}.memory_pool", "KVCache", ("register_layer_transfer_counter",)),
        (f"{_CACHE}.swa_memory_pool", "SWAKVPool", ("register_layer_transfer_counter",)),
        (f"{_CACHE}.allocator.swa", "SWATokenToKVPoolAllocator", ("swa_req_ring",)),
        (
            f"{_CACHE}.unified_cache.components.swa", "SWAComponent",
            ("build_external_linker_transfer", "update_external_linker_load"),
        ),
        ("sglang.srt.managers.schedule_policy", "PrefillAdder", ("add_one_req",)),
        ("sglang.srt.managers.schedule_batch", "Req", ("init_next_round_input",)),
        ("sglang.srt.managers.scheduler", "Scheduler", ("_add_request_to_queue",)),
        ("sglang.srt.managers.tp_worker", "TpModelWorker", ("set_hicache_consumer", "forward_batch_generation")),
        (
            "sglang.srt.managers.tp_worker", "TpModelWorker", ("register_hicache_layer_transfer_counter",),
        ),
        (
            _UPDATER,
            "SchedulerWeightUpdaterManager",
            (
                "update_weights_from_disk", "update_weights_from_distributed", "update_weights_from_tensor",
                "update_weights_from_ipc",
            ),
        ),
        (_DECODE, "DecodeTransferQueue", ("_release_request", "resolve_deferred_releases")),
        (_DECODE, "SchedulerDisaggregationDecodeMixin", ("process_decode_queue",)),
        ("sglang.srt.disaggregation.common.conn", "CommonKVManager", ("is_abort_release_safe",)),
        ("sglang.srt.plugins.hook_registry", "HookRegistry", ("register", "apply_hooks")),
    ),
    attributes=(
        (
            f"{_CACHE}.memory_pool",
            "MHATokenToKVPool",
            ("k_buffer", "v_buffer", "kv_cache_layout", "post_capture_active"),
        ),
        (f"{_CACHE}.swa_memory_pool", "SWAKVPool", ("full_kv_pool", "swa_kv_pool", "layers_mapping")),
        (f"{_CACHE}.memory_pool", "KVCache", ("size", "page_size", "dtype", "store_dtype", "layer_num", "device")),
        (_LINKER, "UnifiedCacheLinkerWrapper", ("hit_markers", "inflight_load_rids", "private_load_indices")),
    ),
)


class UnknownEngineError(RuntimeError):
    """The engine is not the one that this linker was made for."""


def require_known_engine() -> str:
    """Returns the engine's version, or raises ``UnknownEngineError`` that names what differs."""
    import sglang

    version = str(sglang.__version__)
    # A build for other hardware has a suffix.
    if version.partition("+")[0] != ENGINE_VERSION:
        raise UnknownEngineError(
            f"OrbitKV for SGLang {ENGINE_VERSION} is not for SGLang {version}; install sglang=={ENGINE_VERSION}, or"
            " leave --radix-cache-backend orbitkv out"
        )
    difference = _SURFACE.difference(_RECORD)
    if difference is not None:
        raise UnknownEngineError(f"this SGLang {version} is not the released one: {difference}")
    return ENGINE_VERSION


def observed() -> dict[str, str]:
    """Returns what is there, by name: parameters of functions, fields of classes in their order, members of enums."""
    return _SURFACE.observed()

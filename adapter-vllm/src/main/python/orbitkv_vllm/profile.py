"""What this connector is for, and what it refuses before anything is connected, each by the setting to change."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Optional

from vllm import envs
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheGroupRole

from orbitkv_vllm.layout import LAYOUTS
from orbitkv_vllm.settings import Settings

if TYPE_CHECKING:
    from vllm.config import VllmConfig
    from vllm.v1.kv_cache_interface import KVCacheConfig
    from vllm.v1.request import Request

_LOG = logging.getLogger("orbitkv_vllm")

_HASH_ALGORITHMS = ("sha256", "sha256_cbor")
_EXECUTORS = (None, "uni", "mp")


class ProfileError(ValueError):
    """The engine is set up in a way that this connector does not serve."""


def require_supported(config: VllmConfig, kv_cache: KVCacheConfig, settings: Settings) -> None:
    """Raises ``ProfileError`` with the first thing that is not served."""
    reason = (
        _refuse_runner(config)
        or _refuse_parallelism(config)
        or _refuse_features(config)
        or _refuse_adapters(config, settings)
        or _refuse_cache(config, kv_cache)
    )
    if reason is not None:
        raise ProfileError(f"OrbitKV for vLLM: {reason}")
    transfer = config.kv_transfer_config
    if transfer is not None and transfer.kv_load_failure_policy == "fail":
        _LOG.warning(
            "kv_load_failure_policy is 'fail', vLLM's default: a load that fails ends its request with an error; set it"
            " to 'recompute' in --kv-transfer-config to have the request computed instead"
        )


def only_group(kv_cache: KVCacheConfig) -> FullAttentionSpec:
    """Returns the specification of the one group that there is, when ``require_supported`` has passed."""
    spec = kv_cache.kv_cache_groups[0].kv_cache_spec
    if not isinstance(spec, FullAttentionSpec):
        raise ProfileError(f"OrbitKV for vLLM: the model has {type(spec).__name__}, and FullAttentionSpec is served")
    return spec


class RequestProfile:
    """Which requests are served from the cache. The others go by it: they are computed, and not kept."""

    def __init__(self, adapters: tuple[tuple[str, str], ...]) -> None:
        self._folders = dict(adapters)
        self._said: set[str] = set()

    def accepts(self, request: Request) -> bool:
        """Returns whether what the request's hashes say is all there is to know of it."""
        reason = self._reason(request)
        if reason is not None and reason not in self._said:
            self._said.add(reason)
            _LOG.warning("requests go by the cache: %s (the first was %s)", reason, request.request_id)
        return reason is None

    def _reason(self, request: Request) -> Optional[str]:
        # Its tokens are taken back and replaced between two inputs.
        if request.resumable:
            return "a request with streamed input"
        adapter = request.lora_request
        if self._folders and request.session_id is not None:
            return "a request of a session, with adapters"
        if adapter is None:
            return None
        if self._folders.get(adapter.lora_name) != adapter.lora_path:
            return "an adapter that kv_connector_extra_config.adapters does not name, or with another folder"
        if adapter.load_inplace or adapter.tensorizer_config_dict is not None:
            return "an adapter that is loaded anew or from a tensor store"
        return None


def _refuse_runner(config: VllmConfig) -> Optional[str]:
    if config.use_v2_model_runner:
        return (
            "vLLM's model runner V2 prepares pages before its connector may; set VLLM_USE_V2_MODEL_RUNNER=0 in the"
            " environment"
        )
    runner = config.model_config.runner_type
    if runner != "generate":
        return f"--runner is {runner!r}, and only 'generate' is served"
    if config.model_config.is_diffusion:
        return "diffusion models rewrite tokens that were sampled; use one that does not (--model)"
    return None


def _refuse_parallelism(config: VllmConfig) -> Optional[str]:
    parallel = config.parallel_config
    for option, value in (
        ("--pipeline-parallel-size", parallel.pipeline_parallel_size),
        ("--decode-context-parallel-size", parallel.decode_context_parallel_size),
        ("--prefill-context-parallel-size", parallel.prefill_context_parallel_size),
    ):
        if value > 1:
            return f"{option} is {value}, and only tensor parallelism is served; set it to 1"
    if parallel.data_parallel_size > 1:
        return (
            f"--data-parallel-size is {parallel.data_parallel_size}; start one engine for each replica instead, and"
            " have them share a node's Manager with kv_connector_extra_config.manager"
        )
    if parallel.nnodes > 1:
        return f"--nnodes is {parallel.nnodes}, and the ranks of an engine must be on one machine"
    if parallel.distributed_executor_backend not in _EXECUTORS:
        return (
            f"--distributed-executor-backend is {parallel.distributed_executor_backend!r}, expected 'mp', or 'uni' with"
            " one rank"
        )
    return None


def _refuse_features(config: VllmConfig) -> Optional[str]:
    transfer = config.kv_transfer_config
    if transfer is None or transfer.kv_role != "kv_both":
        return f"kv_role is {None if transfer is None else transfer.kv_role!r}, expected 'kv_both'"
    if config.speculative_config is not None:
        return "--speculative-config is set, and a draft's tokens may be taken back after their pages were saved"
    for variable in ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"):
        if "expandable_segments:true" in os.environ.get(variable, "").replace(" ", "").lower():
            return f"{variable} has expandable_segments:True, whose memory moves; leave it out"
        if "backend:cudamallocasync" in os.environ.get(variable, "").replace(" ", "").lower():
            return f"{variable} has backend:cudaMallocAsync, whose memory no other process can open; leave it out"
    if config.model_config.enable_sleep_mode or config.model_config.enable_cumem_allocator:
        return "--enable-sleep-mode or --enable-cumem-allocator takes pages away while they are shared; leave it out"
    algorithm = config.cache_config.prefix_caching_hash_algo
    if algorithm not in _HASH_ALGORITHMS:
        return (
            f"--prefix-caching-hash-algo is {algorithm!r}, expected one of {', '.join(_HASH_ALGORITHMS)}: others"
            " collide or differ in every process"
        )
    if transfer.enable_permute_local_kv:
        return "enable_permute_local_kv is set in --kv-transfer-config, and pages are kept as they are; leave it out"
    return None


def _refuse_adapters(config: VllmConfig, settings: Settings) -> Optional[str]:
    if config.lora_config is None:
        if settings.adapters:
            return "kv_connector_extra_config.adapters is set, and --enable-lora is not"
        return None
    if not settings.adapters:
        return (
            "--enable-lora needs kv_connector_extra_config.adapters, an object with the name and the local folder of"
            " each adapter there will be: blocks are kept for what its files are when the engine starts"
        )
    if envs.VLLM_ALLOW_RUNTIME_LORA_UPDATING:
        return "VLLM_ALLOW_RUNTIME_LORA_UPDATING is set, and an adapter that changed would be given its old blocks"
    if config.lora_config.default_mm_loras:
        return "default_mm_loras chooses an adapter without the request's saying so; leave it out"
    return None


def _refuse_cache(config: VllmConfig, kv_cache: KVCacheConfig) -> Optional[str]:
    groups = kv_cache.kv_cache_groups
    if len(groups) != 1:
        return (
            f"the model ({config.model_config.model}) has {len(groups)} groups of KV caches, and one is served: sliding"
            " windows and recurrent states keep blocks that others do not; --disable-hybrid-kv-cache-manager makes one"
            " group of attention layers"
        )
    group = groups[0]
    spec = group.kv_cache_spec
    if type(spec) is not FullAttentionSpec:
        return f"the model ({config.model_config.model}) has {type(spec).__name__}, and FullAttentionSpec is served"
    if spec.non_causal or spec.attention_chunk_size is not None or spec.tokens_per_state != 1:
        return f"the model ({config.model_config.model}) attends in a way that a prefix alone does not determine"
    if group.is_eagle_group or group.host_resident or group.role is not KVCacheGroupRole.DEFAULT:
        return f"the model ({config.model_config.model}) has KV caches of a draft, or in the host's memory"
    if not group.enable_kv_transfer or any(tensor.host_resident for tensor in kv_cache.kv_cache_tensors):
        return f"the model ({config.model_config.model}) has KV caches that are not to be transferred"
    layout = config.cache_config.kv_cache_layout or kv_cache.kv_cache_layout
    if layout is not None and layout not in LAYOUTS:
        return f"VLLM_KV_CACHE_LAYOUT or the engine chose layout {layout}, expected one of {', '.join(LAYOUTS)}"
    return None

"""What this linker serves. Everything else is refused when the engine starts, by the setting to change."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sglang.srt.mem_cache.registry import TreeCacheBuildContext

    from orbitkv_sglang.settings import Settings

_DRAINING = ("mooncake", "nixl", "mori", "ascend")
"""Transports whose prefill side says when it writes no more."""


class ProfileError(ValueError):
    """An engine that OrbitKV does not serve, and what to change."""


def require_supported(context: TreeCacheBuildContext, settings: Settings) -> None:
    """Raises ``ProfileError`` for the first thing that is not served."""
    for refusal in (*_role(settings), *_settings(), *_parallelism(), *_model(context), *_adapters()):
        raise ProfileError(f"OrbitKV for SGLang: {refusal}")


def _role(settings: Settings) -> list[str]:
    from sglang.srt.environ import envs
    from sglang.srt.runtime_context import get_disagg

    disaggregation = get_disagg()
    mode = disaggregation.disaggregation_mode
    if mode == "null":
        return []
    if mode not in ("prefill", "decode"):
        return [f"--disaggregation-mode is {mode!r}, and only 'null', 'prefill' and 'decode' are served"]
    refused = []
    if disaggregation.enable_pd_role_switch:
        refused.append("--enable-pd-role-switch has a worker keep the cache of the other role; leave it out")
    if not envs.SGLANG_DISAGGREGATION_DEFERRED_DECODE_KV_RELEASE.get():
        refused.append(
            "SGLANG_DISAGGREGATION_DEFERRED_DECODE_KV_RELEASE is off, with which decode uses pages again that prefill"
            " still writes; leave it out"
        )
    return refused + (_prefill(settings) if mode == "prefill" else _decode(settings))


def _prefill(settings: Settings) -> list[str]:
    from sglang.srt.environ import envs

    if settings.loads == "on" and envs.SGLANG_DISAGG_PREFILL_EARLY_SEND_CACHED_PREFIX.get():
        return [
            "SGLANG_DISAGG_PREFILL_EARLY_SEND_CACHED_PREFIX is on, with which a prefix may be sent while it is still"
            " restored; set it to false"
        ]
    return []


def _decode(settings: Settings) -> list[str]:
    from sglang.srt.environ import envs
    from sglang.srt.runtime_context import get_disagg

    disaggregation = get_disagg()
    refused = []
    if settings.loads == "on":
        refused.append(
            "loads in --hicache-storage-backend-extra-config is 'on' with --disaggregation-mode decode, whose pages the"
            " transport alone writes; set it to 'off'"
        )
    if not disaggregation.disaggregation_decode_enable_radix_cache:
        refused.append(
            "--disaggregation-decode-enable-radix-cache is missing; without it decode has no tree that could be saved"
        )
    if disaggregation.disaggregation_transfer_backend not in _DRAINING:
        refused.append(
            f"--disaggregation-transfer-backend is {disaggregation.disaggregation_transfer_backend!r}, expected one"
            f" that says when it writes no more: {', '.join(_DRAINING)}"
        )
    if envs.SGLANG_DISAGG_STAGING_BUFFER.get():
        refused.append(
            "SGLANG_DISAGG_STAGING_BUFFER is on, with which pages are written from a buffer in between; leave it out"
        )
    return refused


def _settings() -> list[str]:
    from sglang.srt.runtime_context import get_disagg, get_exec, get_memory, get_serving, get_spec

    memory = get_memory()
    disaggregation = get_disagg()
    refused = []
    if not memory.enable_unified_cache_external_linker:
        refused.append(
            "--enable-unified-cache-external-linker is missing; without it the scheduler does not ask a linker"
        )
    if memory.enable_hierarchical_cache or memory.hicache_storage_backend is not None:
        refused.append("--enable-hierarchical-cache keeps a second cache below the engine's; leave it out")
    if memory.disable_radix_cache:
        refused.append("--disable-radix-cache leaves nothing to restore into; leave it out")
    if disaggregation.disaggregation_decode_retraction_backup == "host_pool":
        refused.append("--disaggregation-decode-retraction-backup host_pool needs a hierarchical cache; use cpu_tensor")
    if memory.enable_session_radix_cache or get_serving().enable_streaming_session:
        refused.append(
            "--enable-session-radix-cache or --enable-streaming-session keeps tokens that no hash covers; leave it out"
        )
    if get_spec().speculative_algorithm is not None:
        refused.append(
            f"--speculative-algorithm is {get_spec().speculative_algorithm!r}, and pages of drafts are not saved"
        )
    if memory.enable_unified_memory or memory.enable_lmcache or memory.enable_flexkv or memory.enable_hisparse:
        refused.append(
            "--enable-unified-memory, --enable-lmcache, --enable-flexkv or --enable-hisparse lays pages out in a way"
            " that is not served; leave it out"
        )
    if get_exec().features.enable_memory_saver:
        refused.append("--enable-memory-saver takes pages away while they are shared; leave it out")
    for variable in ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"):
        if "expandable_segments:true" in os.environ.get(variable, "").replace(" ", "").lower():
            refused.append(f"{variable} has expandable_segments:True, whose memory moves; leave it out")
    return refused


def _parallelism() -> list[str]:
    from sglang.srt.runtime_context import get_parallel

    parallel: Any = get_parallel()
    refused = [
        f"{option} is {value}, and only tensor parallelism is served; set it to 1"
        for option, value in (
            ("--pp-size", parallel.pp_size),
            ("--attn-cp-size", parallel.attn_cp_size),
            ("--dcp-size", parallel.dcp_size),
        )
        if value > 1
    ]
    if parallel.dp_size > 1 or parallel.enable_dp_attention:
        refused.append(
            f"--dp-size is {parallel.dp_size}; start one engine for each replica instead, and have them share a node's"
            " Manager"
        )
    if parallel.nnodes > 1:
        refused.append(f"--nnodes is {parallel.nnodes}, and the ranks of an engine must be on one machine")
    if parallel.enable_kv_cache_sharding:
        refused.append("--enable-kv-cache-sharding divides pages over ranks; leave it out")
    return refused


def _model(context: TreeCacheBuildContext) -> list[str]:
    from sglang.srt.runtime_context import get_disagg

    params = context.params
    refused = []
    if context.is_hybrid_swa and get_disagg().disaggregation_mode != "null":
        refused.append(
            "the model has sliding windows, whose pages were not tried with a --disaggregation-mode; leave that out"
        )
    if context.is_hybrid_ssm:
        refused.append("the model has recurrent state, which pages do not have")
    if context.is_dsa:
        refused.append("the model has sparse attention (DSA), whose index beside the pages is not saved")
    if params.mtp_draft_device_pools or params.mtp_draft_mamba_pools or params.is_eagle:
        refused.append("there are pools of a draft model, which are not saved")
    if params.component_registry_override or hasattr(params.req_to_token_pool, "req_to_c128_sidecar"):
        refused.append("the tree has components of its own, which are not saved")
    return refused


def _adapters() -> list[str]:
    from sglang.srt.runtime_context import get_lora

    lora = get_lora()
    if lora.enable_lora and not lora.lora_paths:
        return [
            "--enable-lora without --lora-paths loads adapters that nobody knows at the start: blocks are kept for what"
            " an adapter's files are then; name them with --lora-paths"
        ]
    return []

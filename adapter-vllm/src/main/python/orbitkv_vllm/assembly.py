"""Puts the halves together from what the engine says of itself."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from orbitkv_agent import AgentClient
from orbitkv_agent.launch import AgentLauncher
from orbitkv_vllm.identity import Facts, facts_of_config, facts_of_pages, identity, incarnation
from orbitkv_vllm.layout import Page, Pool, pool_of
from orbitkv_vllm.metadata import Described
from orbitkv_vllm.profile import ProfileError, RequestProfile, only_group
from orbitkv_vllm.rendezvous import Rendezvous
from orbitkv_vllm.settings import Saves, Settings
from orbitkv_vllm.vllm_wire import AdapterClient, Instance

if TYPE_CHECKING:
    import torch
    from vllm.config import VllmConfig
    from vllm.v1.kv_cache_interface import KVCacheConfig

    from orbitkv_vllm.scheduler import SchedulerHalf
    from orbitkv_vllm.worker import WorkerHalf


_DEVICES = ("cpu", "cuda")

_COPYING_S = 2.0
"""How long the agent has to begin a copy. No step of the engine waits for that."""


def scheduler_half(config: VllmConfig, settings: Settings) -> SchedulerHalf:
    """Returns a scheduler half that serves nothing yet."""
    from orbitkv_vllm.events import CacheEvents
    from orbitkv_vllm.scheduler import SchedulerHalf

    block_tokens = config.cache_config.block_size
    return SchedulerHalf(
        block_tokens=block_tokens,
        ranks=config.parallel_config.tensor_parallel_size,
        profile=RequestProfile(settings.adapters),
        loads=settings.loads,
        saves=settings.saves,
        events=CacheEvents(block_tokens) if _events_are_wanted(config) else None,
    )


def adapter_client(config: VllmConfig, settings: Settings, engine_version: str) -> AdapterClient:
    """Returns the scheduler half's way to the agent of rank 0. ``ValueError`` if the workers do not agree."""
    rendezvous = _rendezvous(config, settings)
    known = incarnation(_engine_id(config), config.instance_id, os.getpid())
    ranks = range(config.parallel_config.tensor_parallel_size)
    try:
        described = {rank: rendezvous.described(known, rank) for rank in ranks}
    except FileNotFoundError as e:
        raise ValueError(
            f"OrbitKV for vLLM: {e.filename} is not there: not all {len(ranks)} ranks have shared their pages, or with"
            " another kv_connector_extra_config.runtime_dir"
        ) from e
    first = described[0]
    for rank, one in described.items():
        if (one.shard_bytes, one.facts) != (first.shard_bytes, first.facts):
            differing = [name for (name, mine), (_, its) in zip(first.facts, one.facts) if mine != its]
            raise ValueError(
                f"OrbitKV for vLLM: the pages of rank {rank} are not like those of rank 0: {', '.join(differing)},"
                f" {one.shard_bytes} and {first.shard_bytes} bytes of a block"
            )
    return AdapterClient(
        rendezvous.scheduler_socket,
        identity=identity(config, settings, first.facts),
        engine_version=engine_version,
        instance=_instance(config, settings, first.shard_bytes, os.getpid()),
        deadline_s=settings.answer_millis / 1000,
    )


def worker_half(
    config: VllmConfig,
    kv_cache: KVCacheConfig,
    settings: Settings,
    engine_version: str,
    kv_caches: Mapping[str, torch.Tensor],
) -> WorkerHalf:
    """Shares the pages, starts the agent, and returns the half that has both."""
    from orbitkv_vllm.shared import share
    from orbitkv_vllm.worker import Introduction, WorkerHalf

    device = _device(kv_caches)
    pool = _pool(config, kv_cache, kv_caches)
    rank = config.parallel_config.rank
    facts = _facts(config, kv_cache, settings, engine_version, pool, kv_caches)
    known = identity(config, settings, facts)
    instance = _instance(config, settings, pool.shard_bytes, _engine_pid(config))
    rendezvous = _rendezvous(config, settings)
    rendezvous.enter()
    try:
        pages = share(pool, device)
    except BaseException:
        rendezvous.leave()
        raise
    agent = AgentLauncher(
        rendezvous.agent_socket(rank),
        _agent_arguments(settings, rendezvous, rank, pool.shard_bytes * instance.ranks, device),
        command=settings.agent_command,
    )

    def client(namespace: bytes) -> AgentClient:
        return AgentClient(
            rendezvous.agent_socket(rank),
            instance=instance.name,
            incarnation=instance.incarnation,
            namespace=namespace,
            groups=[group._replace(base=group.base + pages.offset) for group in pool.groups],
            memory=pages.memory,
            rank=rank,
            ranks=instance.ranks,
            whole=False,
            block_tokens=instance.block_tokens,
            deadline_s=_COPYING_S,
        )

    adapter = AdapterClient(rendezvous.scheduler_socket, identity=known, engine_version=engine_version)
    half = WorkerHalf(
        agent=agent,
        introduction=Introduction(agent, adapter, client),
        pool=pool,
        pages=pages,
        rendezvous=rendezvous,
    )
    rendezvous.describe(instance.incarnation, Described(rank, pool.shard_bytes, facts))
    return half


def _device(kv_caches: Mapping[str, torch.Tensor]) -> torch.device:
    """Returns where all pages are."""
    import torch

    for layer, view in kv_caches.items():
        if view.device.type not in _DEVICES or torch.version.hip is not None:
            raise ProfileError(
                f"OrbitKV for vLLM: layer {layer} has its pages on {view.device}, and pages of the CPU and of NVIDIA's"
                " GPUs are served; use vLLM's build for one of these"
            )
    devices = {view.device for view in kv_caches.values()}
    if len(devices) != 1:
        raise ProfileError(
            f"OrbitKV for vLLM: the pages of one rank are on {', '.join(sorted(map(str, devices)))}, expected one device"
        )
    return next(iter(devices))


def _pool(config: VllmConfig, kv_cache: KVCacheConfig, kv_caches: Mapping[str, torch.Tensor]) -> Pool:
    spec = only_group(kv_cache)
    return pool_of(
        config.cache_config.get_resolved_kv_cache_layout().name,
        kv_cache.num_blocks,
        Page(spec.num_heads, spec.num_states, spec.state_content_size_bytes),
        kv_cache.kv_cache_tensors,
        kv_caches,
    )


def _facts(
    config: VllmConfig,
    kv_cache: KVCacheConfig,
    settings: Settings,
    engine_version: str,
    pool: Pool,
    kv_caches: Mapping[str, torch.Tensor],
) -> Facts:
    group = kv_cache.kv_cache_groups[0]
    spec = only_group(kv_cache)
    layers = config.compilation_config.static_forward_context
    backends = sorted({layers[name].get_attn_backend().get_name() for name in group.layer_names if name in layers})
    ratio = kv_caches[group.layer_names[0]].shape[0] // kv_cache.num_blocks
    layout = config.cache_config.get_resolved_kv_cache_layout().name
    return facts_of_config(config, engine_version, settings) + facts_of_pages(
        layout, backends, spec.block_size // ratio, spec, group.layer_names, pool
    )


def _rendezvous(config: VllmConfig, settings: Settings) -> Rendezvous:
    return Rendezvous(settings.runtime_dir, _engine_id(config))


def _instance(config: VllmConfig, settings: Settings, shard_bytes: int, engine_pid: int) -> Instance:
    engine_id = _engine_id(config)
    return Instance(
        name=engine_id[:128],
        incarnation=incarnation(engine_id, config.instance_id, engine_pid),
        ranks=config.parallel_config.tensor_parallel_size,
        shard_bytes=shard_bytes,
        block_tokens=config.cache_config.block_size,
        defer_millis=settings.defer_millis,
        saves=settings.saves is not Saves.OFF,
        departures=_events_are_wanted(config),
    )


def _events_are_wanted(config: VllmConfig) -> bool:
    return config.kv_events_config is not None and bool(config.kv_events_config.enable_kv_cache_events)


def _engine_id(config: VllmConfig) -> str:
    transfer = config.kv_transfer_config
    if transfer is None or not transfer.engine_id:
        raise ProfileError("OrbitKV for vLLM: --kv-transfer-config has no engine_id; leave it out to get one")
    return str(transfer.engine_id)


def _engine_pid(config: VllmConfig) -> int:
    """Returns the process of the scheduler, as its worker sees it."""
    parent = multiprocessing.parent_process()
    if config.parallel_config.distributed_executor_backend == "mp" and parent is not None and parent.pid is not None:
        return parent.pid
    return os.getpid()


def _agent_arguments(
    settings: Settings, rendezvous: Rendezvous, rank: int, block_bytes: int, device: torch.device
) -> list[str]:
    arguments = []
    if device.type != "cpu":
        # The agent has this process's environment, and so numbers GPUs as it does.
        arguments += ["--device", device.type, "--device-ordinal", str(device.index or 0)]
    for name, value in settings.device_settings:
        arguments += ["--device-setting", f"{name}={value}"]
    if rank == 0:
        arguments += ["--engine", "vllm", "--engine-socket", rendezvous.scheduler_socket]
    if settings.manager is not None:
        arguments += ["--manager", settings.manager]
    elif rank > 0:
        arguments += ["--manager", rendezvous.manager_socket]
    else:
        arguments += ["--host-manager", rendezvous.manager_folder, "--dram", settings.dram]
        arguments += ["--block-bytes", f"{block_bytes}B"]
        if settings.ssd is not None:
            arguments += ["--ssd", settings.ssd]
    return arguments

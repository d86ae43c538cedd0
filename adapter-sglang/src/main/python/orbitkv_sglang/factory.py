"""Makes the released tree with a linker, as the engine's own choice of a cache would with one of its own."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Optional

from sglang.srt.mem_cache.unified_cache.components import ComponentType
from sglang.srt.mem_cache.unified_radix_cache import UnifiedRadixCache
from sglang.srt.model_executor.cuda_graph_config import Backend, Phase, check_cuda_graph_backend

from orbitkv_agent import AgentClient, AgentLauncher, EngineFolder
from orbitkv_sglang import hooks, surface
from orbitkv_sglang.adapter import NOTHING, AdapterClient, Identity, Instance, WindowInstance
from orbitkv_sglang.copies import Copies
from orbitkv_sglang.decode import DecodeTree
from orbitkv_sglang.identity import engine_start, facts, identity
from orbitkv_sglang.linker import OrbitKvLinker
from orbitkv_sglang.memory import SharedPages, shared_pages
from orbitkv_sglang.messages import Matched
from orbitkv_sglang.profile import ProfileError, require_supported
from orbitkv_sglang.settings import Settings
from orbitkv_sglang.transfers import Transfers
from orbitkv_sglang.window import Pools, pools_of, window_namespace
from orbitkv_sglang.wrapper import OrbitKvLinkerWrapper

if TYPE_CHECKING:
    from collections.abc import Callable

    from sglang.srt.mem_cache.registry import TreeCacheBuildContext

_LOG = logging.getLogger("orbitkv_sglang")

_INTRODUCTION_S = 10.0
_PAUSE_S = 0.05
_DRAIN_S = 5.0


def tree_cache(context: TreeCacheBuildContext) -> UnifiedRadixCache:
    """Returns the cache of one rank. Refuses what is not served before anything is started."""
    version = surface.require_known_engine()
    left = hooks.missing()
    if left:
        raise ProfileError(
            f"OrbitKV for SGLang: the hook of {left[0]} was not applied; see the log of the plugins above, and leave"
            " SGLANG_PLUGINS out or have it name orbitkv"
        )
    from sglang.srt.runtime_context import get_disagg, get_memory

    settings = Settings.parse(get_memory().hicache_storage_backend_extra_config)
    require_supported(context, settings)
    params = context.params
    kvcache = params.token_to_kv_pool_allocator.get_kvcache()
    pools = pools_of(kvcache, params.token_to_kv_pool_allocator, params.page_size, params.sliding_window_size)
    if context.is_hybrid_swa != (pools.window is not None):
        raise ProfileError(
            f"OrbitKV for SGLang: whether the model has sliding windows is said to be {context.is_hybrid_swa}, and its"
            f" pool is a {type(kvcache).__name__}"
        )
    params.tree_components = (ComponentType.FULL,) if pools.window is None else (ComponentType.FULL, ComponentType.SWA)
    device = str(kvcache.device)
    known = identity(settings, facts(context, pools, settings, version, device.partition(":")[0]))
    instance = _instance(context, pools, settings)
    forward_stream = getattr(getattr(context.tp_worker, "model_runner", None), "forward_stream", None)
    mode = get_disagg().disaggregation_mode
    is_decode = mode == "decode"
    cache = DecodeTree(params) if is_decode else UnifiedRadixCache(params)
    folder = EngineFolder(instance.name, settings.runtime)
    folder.enter()
    shared: Optional[SharedPages] = None
    try:
        shared = shared_pages(pools.all, device, forward_stream, _layered(settings))
        agent = Agent(settings, folder, shared, instance, known, version)
    except BaseException:
        if shared is not None:
            shared.close()
        folder.leave()
        raise
    linker = OrbitKvLinker(
        pools=pools, lookups=agent, copies=agent.copies, saves=settings.saves == "on", resources=agent
    )
    # Workers of prefill and decode queue requests that may not run for long.
    early = settings.early == "on" and mode == "null"
    cache.linker = OrbitKvLinkerWrapper(
        cache, linker, loads=settings.loads == "on", offers=not is_decode, early=early
    )
    kvcache.register_layer_transfer_counter(linker.layer_done_counter)
    context.tp_worker.register_hicache_layer_transfer_counter(linker.layer_done_counter)
    _LOG.info(
        "OrbitKV: %d pages of %d bytes in %d layers, rank %d of %d of %s",
        pools.pages.pages, pools.pages.shard_bytes, pools.pages.layers, instance.rank, instance.ranks, instance.name,
    )
    if pools.window is not None:
        _LOG.info(
            "OrbitKV: %d pages of %d bytes in %d layers with a window of %d pages",
            pools.window.pages.pages, pools.window.pages.shard_bytes, pools.window.pages.layers, pools.window.blocks,
        )
    return cache


def _layered(settings: Settings) -> bool:
    """Whether forwards wait layer by layer. One that is a graph from end to end asks for none."""
    if settings.layered == "on" and check_cuda_graph_backend(Phase.PREFILL, Backend.FULL):
        raise ProfileError(
            "OrbitKV for SGLang: layered is on, and whole forwards of prefill are graphs, which wait for no layer; set"
            " layered off, or the backend of prefill in --cuda-graph-config to breakable or disabled"
        )
    return settings.layered == "on"


def _instance(context: TreeCacheBuildContext, pools: Pools, settings: Settings) -> Instance:
    start = engine_start(settings.engine_id)
    pages, window = pools
    return Instance(
        start.name, start.incarnation, context.tp_rank, context.tp_size, pages.shard_bytes, pages.page_tokens,
        settings.pending_ms,
        None if window is None else WindowInstance(f"{start.name}/window", window.blocks, window.pages.shard_bytes),
    )


class Agent:
    """The agent process of one rank, and this rank's connections: one to it for each pool, and one to the adapter in
    rank 0's.
    """

    def __init__(
        self,
        settings: Settings,
        folder: EngineFolder,
        shared: SharedPages,
        instance: Instance,
        known: Identity,
        version: str,
    ) -> None:
        """Starts the agent, and has it know this rank in the background: it takes as long as reading the model does."""
        self._folder = folder
        self._shared = shared
        sockets = [folder.file(f"rank{instance.rank}.sock"), folder.file(f"rank{instance.rank}-window.sock")]
        block_bytes = instance.shard_bytes * instance.ranks
        arguments = [*shared.device, *_arguments(settings, folder, instance.rank, block_bytes)]
        if instance.window is not None:
            arguments += ["--socket", sockets[1]]
        self._process = AgentLauncher(sockets[0], arguments, command=settings.agent_command)

        def adapter() -> AdapterClient:
            return AdapterClient(
                folder.file("scheduler.sock"), identity=known, engine_version=version, instance=instance
            )

        def client(pool: int, name: str, namespace: bytes) -> AgentClient:
            return AgentClient(
                sockets[pool],
                instance=name,
                incarnation=instance.incarnation,
                namespace=namespace,
                groups=shared.groups[pool],
                memory=shared.memory,
                rank=instance.rank,
                ranks=instance.ranks,
                whole=False,
                block_tokens=instance.block_tokens,
            )

        def clients(namespace: bytes) -> list[AgentClient]:
            made = [client(0, instance.name, namespace)]
            if instance.window is not None:
                made.append(client(1, instance.window.name, window_namespace(namespace)))
            return made

        self._introduction = _Introduction(self._process, adapter(), clients)
        self.copies = Copies(*(self._transfers(pool) for pool in range(len(shared.groups))))

    def lookup(self, request: str, own_blocks: int, last: bytes, chain: Callable[[], bytes]) -> Matched:
        """Asks what the cache has, as soon as this rank is known."""
        adapter = self._introduction.adapter
        # What could not be loaded is not found.
        if adapter is None or not self.copies.ready:
            return NOTHING
        return adapter.lookup(request, own_blocks, last, chain)

    def give_up(self, request: str, lease: int) -> None:
        """Does not need what was found any more."""
        adapter = self._introduction.adapter
        if adapter is not None:
            adapter.give_up(request, lease)

    def counters(self) -> dict[str, int]:
        """Returns counts of the adapter's by name."""
        adapter = self._introduction.adapter
        return {} if adapter is None else adapter.counters()

    def close(self) -> None:
        """Ends the agent in order, and takes the pages back."""
        self._introduction.close()
        self.copies.close(_DRAIN_S)
        self._process.close()
        # Whatever an agent that has not ended may still write goes to the file, and no longer to the engine's pages.
        self._shared.close()
        self._folder.leave()

    def _transfers(self, pool: int) -> Transfers:
        return Transfers(lambda: self._introduction.client(pool), self._shared, self._shared.layers)


class _Introduction:
    """Has the agents know this rank, on a thread of its own."""

    def __init__(
        self, process: AgentLauncher, adapter: AdapterClient, connect: Callable[[bytes], list[AgentClient]]
    ) -> None:
        self._process = process
        self._making = adapter
        self._connect = connect
        self._closing = threading.Event()
        self.adapter: Optional[AdapterClient] = None
        """The way to the adapter, as soon as it is there: the scheduler's thread has it alone from then on."""
        self.clients: list[AgentClient] = []
        """The ways to the agent, one for each pool, as soon as all are there: one thread at a time has each then."""
        self._thread = threading.Thread(target=self._run, name="orbitkv-introduction", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Goes no further."""
        self._closing.set()
        self._thread.join()
        self._making.close()

    def client(self, pool: int) -> Optional[AgentClient]:
        """Returns the way to the agent for a pool, as soon as it is there."""
        return self.clients[pool] if self.clients else None

    def _run(self) -> None:
        clients: list[AgentClient] = []
        while not self._closing.is_set():
            if not self._process.wait(_PAUSE_S):
                continue
            namespace = self._making.namespace(_PAUSE_S)
            if namespace is not None:
                clients = clients or self._connect(namespace)
                connected = all([client.connect(deadline_s=_INTRODUCTION_S) for client in clients])
                if connected and self._making.prepare(_PAUSE_S):
                    self.clients, self.adapter = clients, self._making
                    return
            self._closing.wait(_PAUSE_S)
        for client in clients:
            client.close()


def _arguments(settings: Settings, folder: EngineFolder, rank: int, block_bytes: int) -> list[str]:
    arguments = []
    if rank == 0:
        arguments += ["--engine", "sglang", "--engine-socket", folder.file("scheduler.sock")]
    for name, value in sorted(settings.device_settings.items()):
        arguments += ["--device-setting", f"{name}={value}"]
    if settings.manager is not None:
        arguments += ["--manager", settings.manager]
    elif rank > 0:
        arguments += ["--manager", folder.file("manager/manager.sock")]
    else:
        arguments += ["--host-manager", folder.file("manager"), "--dram", settings.dram or "4GiB"]
        arguments += ["--block-bytes", f"{block_bytes}B"]
        if settings.ssd is not None:
            arguments += ["--ssd", settings.ssd]
    return arguments

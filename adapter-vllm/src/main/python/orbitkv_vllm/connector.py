"""The connector that vLLM loads: one object in the scheduler's process and one in each worker's.

It holds what vLLM's interface asks for, and passes it on to the half that it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Optional

from vllm.distributed.kv_transfer.kv_connector.v1.base import (
    KVConnectorBase_V1,
    KVConnectorHandshakeMetadata,
    KVConnectorMetadata,
    KVConnectorRole,
    KVConnectorTransferResults,
    KVConnectorWorkerMetadata,
    SupportsHMA,
)

from orbitkv_vllm import surface
from orbitkv_vllm.handover import Handovers
from orbitkv_vllm.metadata import Orders
from orbitkv_vllm.settings import Settings

if TYPE_CHECKING:
    import torch
    from vllm.config import VllmConfig
    from vllm.distributed.kv_events import KVCacheEvent
    from vllm.distributed.kv_transfer.kv_connector.v1.metrics import KVConnectorPromMetrics, KVConnectorStats
    from vllm.forward_context import ForwardContext
    from vllm.v1.attention.backend import AttentionMetadata
    from vllm.v1.core.block_pool import BlockPool
    from vllm.v1.core.kv_cache_manager import KVCacheBlocks
    from vllm.v1.core.sched.output import SchedulerOutput
    from vllm.v1.kv_cache_interface import KVCacheConfig
    from vllm.v1.outputs import KVConnectorOutput
    from vllm.v1.request import Request

    from orbitkv_vllm.scheduler import SchedulerHalf
    from orbitkv_vllm.worker import WorkerHalf


class OrbitKvConnector(KVConnectorBase_V1, SupportsHMA):
    """OrbitKV as a KV connector of vLLM 0.31.0.

    Refuses another engine and what it does not serve when it is constructed, before anything is connected.
    """

    def __init__(self, vllm_config: VllmConfig, role: KVConnectorRole, kv_cache_config: KVCacheConfig) -> None:
        engine_version = surface.require_known_engine()
        super().__init__(vllm_config, role, kv_cache_config)
        from orbitkv_vllm.profile import require_supported

        self._settings = Settings.parse(self._kv_transfer_config.kv_connector_extra_config)
        require_supported(vllm_config, kv_cache_config, self._settings)
        self._engine_version = engine_version
        self._handovers = Handovers(self._settings.delivery_s)
        self._scheduler: Optional[SchedulerHalf] = None
        self._worker: Optional[WorkerHalf] = None
        if role is KVConnectorRole.SCHEDULER:
            from orbitkv_vllm.assembly import scheduler_half

            self._scheduler = scheduler_half(vllm_config, self._settings)

    # What the class says of itself.

    @property
    def requires_kv_delivery(self) -> bool:
        """A block that is not kept is a miss one day, and no more than that."""
        return False

    @classmethod
    def build_kv_connector_stats(cls, data: dict[str, Any] | None = None) -> KVConnectorStats | None:
        """Returns counts that came from another process."""
        from orbitkv_vllm.stats import OrbitKvStats

        return OrbitKvStats(data)

    @classmethod
    def build_prom_metrics(
        cls,
        vllm_config: VllmConfig,
        metric_types: dict[Any, Any],
        labelnames: list[str],
        per_engine_labelvalues: dict[int, list[object]],
    ) -> KVConnectorPromMetrics | None:
        """Registers the Prometheus metrics."""
        from orbitkv_vllm.stats import OrbitKvPromMetrics

        return OrbitKvPromMetrics(vllm_config, metric_types, labelnames, per_engine_labelvalues)

    # The worker.

    def register_kv_caches(self, kv_caches: dict[str, torch.Tensor]) -> None:
        """Shares the pages with the agent of this rank, which is started."""
        from orbitkv_vllm.assembly import worker_half

        self._worker = worker_half(
            self._vllm_config, self._kv_cache_config, self._settings, self._engine_version, kv_caches
        )

    def bind_connector_metadata(self, connector_metadata: KVConnectorMetadata) -> None:
        """Begins the step's loads, all of which are asynchronous: ``start_load_kv`` may come behind the forward."""
        super().bind_connector_metadata(connector_metadata)
        if self._worker is not None:
            self._worker.start_loads(self._orders())

    def start_load_kv(self, forward_context: ForwardContext, **kwargs: Any) -> None:
        """The step's loads have begun."""

    def wait_for_layer_load(self, layer_name: str) -> None:
        """Nothing that is computed now waits for a load."""

    def save_kv_layer(
        self, layer_name: str, kv_layer: torch.Tensor, attn_metadata: AttentionMetadata, **kwargs: Any
    ) -> None:
        """Whole blocks are saved behind the forward."""

    def wait_for_save(self) -> None:
        """Begins the step's saves behind its forward. The scheduler half holds their pages until they are reported."""
        if self._worker is not None:
            self._worker.start_saves(self._orders())

    def get_transfer_results(self, finished_req_ids: set[str]) -> KVConnectorTransferResults:
        """Returns the requests whose loads ended since the last call."""
        return KVConnectorTransferResults() if self._worker is None else self._worker.poll()

    def get_block_ids_with_load_errors(self) -> set[int]:
        """Returns the pages that loads did not reach since the last call."""
        return set() if self._worker is None else self._worker.take_failed_pages()

    def build_connector_worker_meta(self) -> KVConnectorWorkerMetadata | None:
        """Returns which transfers ended on this rank."""
        return None if self._worker is None else self._worker.take_reports()

    # The scheduler.

    def set_xfer_handshake_metadata(self, metadata: dict[int, KVConnectorHandshakeMetadata]) -> None:
        """Looks for the agent from now on: every worker has shared its pages. What is handed over is not OrbitKV's."""
        from orbitkv_vllm.assembly import adapter_client

        if self._scheduler is not None:
            self._scheduler.connect(adapter_client(self._vllm_config, self._settings, self._engine_version))

    def bind_gpu_block_pool(self, gpu_block_pool: BlockPool) -> None:
        """Learns where references to pages are held."""
        if self._scheduler is not None:
            self._scheduler.bind(gpu_block_pool)
            self._handovers.bind(gpu_block_pool)

    def get_num_new_matched_tokens(self, request: Request, num_computed_tokens: int) -> tuple[int | None, bool]:
        """Asks what the cache has behind the computed tokens."""
        return self._half().lookup(request, num_computed_tokens)

    def update_state_after_alloc(self, request: Request, blocks: KVCacheBlocks, num_external_tokens: int) -> None:
        """Learns the pages of a request."""
        self._handovers.allocated(request, blocks.get_block_ids()[0])
        self._half().allocated(request, blocks, num_external_tokens)

    def build_connector_meta(self, scheduler_output: SchedulerOutput) -> KVConnectorMetadata:
        """Returns what the workers are to load and to save."""
        return self._half().orders(scheduler_output)

    def update_connector_output(self, connector_output: KVConnectorOutput) -> None:
        """Learns what the workers have loaded and saved."""
        self._half().reported(connector_output)

    def request_finished(self, request: Request, block_ids: list[int]) -> tuple[bool, dict[str, Any] | None]:
        """Forgets a request. Its pages are the engine's: those being saved are held by references."""
        self._half().finished(request, block_ids if self._handovers.finished(request, block_ids) else ())
        return False, self._handovers.parameters(request)

    def request_finished_all_groups(
        self, request: Request, block_ids: tuple[list[int], ...]
    ) -> tuple[bool, dict[str, Any] | None]:
        """Forgets a request."""
        return self.request_finished(request, block_ids[0])

    def has_pending_block_frees(self) -> bool:
        """Whether pages of saves come back soon without a preemption."""
        return self._scheduler is not None and self._scheduler.frees_soon()

    def has_pending_push_work(self) -> bool:
        """Whether steps are needed to learn of the ends of saves."""
        return self._scheduler is not None and self._scheduler.works()

    def take_events(self) -> Iterable[KVCacheEvent]:
        """Returns KV events."""
        return self._half().take_events()

    def reset_cache(self) -> bool | None:
        """Puts everything stored so far out of reach. False while something is under way."""
        return None if self._scheduler is None else self._scheduler.reset()

    # Both.

    def get_kv_connector_stats(self) -> KVConnectorStats | None:
        """Returns counts since the last call."""
        if self._scheduler is not None:
            return self._scheduler.take_stats()
        return None if self._worker is None else self._worker.take_stats()

    def shutdown(self) -> None:
        """Ends what this half has."""
        if self._scheduler is not None:
            self._scheduler.close()
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def _half(self) -> SchedulerHalf:
        if self._scheduler is None:
            raise RuntimeError(f"this connector has the role {self._role.name}, and was called as a scheduler's")
        return self._scheduler

    def _orders(self) -> Orders:
        orders = self._get_connector_metadata()
        if not isinstance(orders, Orders):
            raise TypeError(f"metadata is {type(orders).__name__}, expected {Orders.__name__}")
        return orders

"""Counts that vLLM logs and shows as Prometheus metrics: tokens that were not computed, and bytes that were copied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional

from vllm.distributed.kv_transfer.kv_connector.v1.metrics import KVConnectorPromMetrics, KVConnectorStats

COUNTS = {
    "loaded_tokens": "Tokens whose KV was loaded from OrbitKV instead of being computed.",
    "saved_tokens": "Tokens whose KV was saved to OrbitKV.",
    "loaded_bytes": "Bytes of KV copied into the pages of all ranks.",
    "saved_bytes": "Bytes of KV copied out of the pages of all ranks.",
    "load_microseconds": "Microseconds from the order of a load to its report, summed over loads and ranks.",
    "failed_loads": "Loads that did not bring every block. What is missing is computed.",
}
"""What is counted, and what it means. Whole numbers: vLLM's own reader of counters drops what is behind the point."""


class OrbitKvStats(KVConnectorStats):
    """Counts by name. Tokens are counted once an engine, bytes once a rank."""

    def __init__(self, data: Optional[Mapping[str, float]] = None) -> None:
        super().__init__(dict(data or {}))

    def count(self, name: str, amount: float = 1) -> None:
        """Adds to a count."""
        if amount:
            self.data[name] = self.data.get(name, 0) + amount

    def reset(self) -> None:
        """Starts from zero."""
        self.data = {}

    def aggregate(self, other: KVConnectorStats) -> OrbitKvStats:
        """Adds another's counts to these."""
        for name, amount in other.data.items():
            self.count(name, amount)
        return self

    def reduce(self) -> dict[str, int | float]:
        """Returns every count of an interval."""
        return {name: self.data.get(name, 0) for name in COUNTS}

    def is_empty(self) -> bool:
        """Whether nothing was counted."""
        return not self.data


class OrbitKvPromMetrics(KVConnectorPromMetrics):
    """The counts as ``vllm:orbitkv_*`` counters, one for each engine."""

    def __init__(
        self,
        vllm_config: Any,
        metric_types: Any,
        labelnames: list[str],
        per_engine_labelvalues: dict[int, list[object]],
    ) -> None:
        super().__init__(vllm_config, metric_types, labelnames, per_engine_labelvalues)
        self._counters: dict[str, dict[int, Any]] = {}
        for name, meaning in COUNTS.items():
            counter = self._counter_cls(name=f"vllm:orbitkv_{name}", documentation=meaning, labelnames=labelnames)
            self._counters[name] = {
                engine: counter.labels(*values) for engine, values in per_engine_labelvalues.items()
            }

    def observe(self, transfer_stats_data: dict[str, Any], engine_idx: int = 0) -> None:
        """Adds the counts of an interval."""
        for name, amount in transfer_stats_data.items():
            counters = self._counters.get(name)
            if counters is not None and engine_idx in counters:
                counters[engine_idx].inc(amount)

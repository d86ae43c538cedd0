"""What is counted, as vLLM adds it up, exports it and reads it."""

from __future__ import annotations

import unittest
from types import SimpleNamespace
from typing import Any

import prometheus_client
from vllm.v1.metrics.reader import Counter, get_metrics_snapshot

from orbitkv_vllm.connector import OrbitKvConnector
from orbitkv_vllm.stats import COUNTS, OrbitKvStats

_LABELS = ["model_name", "engine"]


class StatsTest(unittest.TestCase):
    def setUp(self) -> None:
        config: Any = SimpleNamespace(kv_transfer_config=None)
        kinds: Any = (prometheus_client.Gauge, prometheus_client.Counter, prometheus_client.Histogram)
        self.metrics = OrbitKvConnector.build_prom_metrics(
            config, {kind: kind for kind in kinds}, _LABELS, {engine: ["model", str(engine)] for engine in range(2)}
        )
        self.addCleanup(self.unregister)

    def unregister(self) -> None:
        registry = prometheus_client.REGISTRY
        for collector in list(registry._collector_to_names):
            if any("orbitkv" in name for name in registry._collector_to_names[collector]):
                registry.unregister(collector)

    def test_counts_of_two_ranks_are_read_as_they_were_counted(self) -> None:
        first, second = OrbitKvStats(), OrbitKvStats()
        first.count("load_microseconds", 700)
        first.count("loaded_bytes", 4096)
        second.count("load_microseconds", 41)
        second.count("failed_loads")
        summed = first.aggregate(second)
        assert self.metrics is not None
        self.metrics.observe(summed.data, 1)
        read = {
            (metric.name, metric.labels["engine"]): metric.value
            for metric in get_metrics_snapshot()
            if isinstance(metric, Counter) and "orbitkv" in metric.name
        }
        self.assertEqual({(f"vllm:orbitkv_{name}", str(engine)) for name in COUNTS for engine in range(2)}, set(read))
        self.assertEqual(741, read["vllm:orbitkv_load_microseconds", "1"])
        self.assertEqual(4096, read["vllm:orbitkv_loaded_bytes", "1"])
        self.assertEqual(1, read["vllm:orbitkv_failed_loads", "1"])
        self.assertEqual(0, sum(value for (_, engine), value in read.items() if engine == "0"))

    def test_an_interval_names_every_count(self) -> None:
        stats = OrbitKvStats({"saved_tokens": 32})
        self.assertEqual({name: 32 if name == "saved_tokens" else 0 for name in COUNTS}, stats.reduce())
        self.assertFalse(stats.is_empty())
        stats.reset()
        self.assertTrue(stats.is_empty())


if __name__ == "__main__":
    unittest.main()

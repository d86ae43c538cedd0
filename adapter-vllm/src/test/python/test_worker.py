"""The worker half with memory of the engine's own kind, in every layout, and agents as processes of their own.

``ORBITKV_COMMAND`` has the words, a line each, that start ``orbitkv``; without it, a program stands in that copies as
an agent does.
"""

from __future__ import annotations

import logging
import mmap
import os
import signal
import sys
import tempfile
import time
import unittest
from typing import Any, Callable

import torch
from vllm.distributed.kv_transfer.kv_connector.v1.base import KVConnectorRole, KVConnectorTransferResults
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
from vllm.utils.hashing import sha256
from vllm.v1.kv_cache_interface import (
    FullAttentionSpec,
    KVCacheConfig,
    KVCacheGroupSpec,
    KVCacheTensor,
    compute_layout_strides,
    create_kv_cache_views,
    group_kernel_blocks,
)
from vllm.v1.kv_cache_layout import KVCacheLayout

import fake_orbitkv
from engine import BLOCK, Engine, engine_config, rendezvous, start_of
from orbitkv_vllm.connector import OrbitKvConnector
from orbitkv_vllm.metadata import Orders, SaveOrder
from orbitkv_vllm.profile import ProfileError
from workers import Workers

_LAYERS = 3
_BLOCKS = 32
_PROMPT = [7 * token % 500 + 3 for token in range(5 * BLOCK + 5)]
_WHOLE = len(_PROMPT) // BLOCK
_LIMIT_S = 60.0


def command() -> list[str]:
    """Returns what starts an agent."""
    words = os.environ.get("ORBITKV_COMMAND")
    return words.split("\n") if words else [sys.executable, fake_orbitkv.__file__]


class Memory:
    """KV caches as the engine's workers allocate and view them."""

    def __init__(self, layout: KVCacheLayout, *, heads: int = 2, kernel_tokens: int = BLOCK, pad: int = 0) -> None:
        spec = FullAttentionSpec(
            block_size=BLOCK, num_kv_heads=heads, head_size=8, dtype=torch.float32,
            page_size_padded=heads * BLOCK * 2 * 8 * 4 + pad if pad else None,
        )
        packed = _LAYERS * spec.page_size_bytes
        stride = packed if layout.is_block_outermost else None
        layer_stride, block_stride, *_ = compute_layout_strides(
            spec, _BLOCKS, _LAYERS, layout, fixed_strides=(None, stride, None, None, None)
        )
        tensor = KVCacheTensor(
            size=packed * _BLOCKS, layers=[f"layer.{index}" for index in range(_LAYERS)], layer_stride=layer_stride,
            block_stride=block_stride,
        )
        # Several in one process, of which no two may share a page.
        self.raw = torch.zeros(tensor.size + 2 * mmap.PAGESIZE, dtype=torch.int8)[mmap.PAGESIZE : -mmap.PAGESIZE]
        views = create_kv_cache_views(self.raw, spec, _BLOCKS, layout, tensor, kernel_block_size=kernel_tokens)
        self.views = dict(zip(tensor.layers, views))
        self.config = KVCacheConfig(
            num_blocks=_BLOCKS, kv_cache_tensors=[tensor], kv_cache_groups=[KVCacheGroupSpec(tensor.layers, spec)],
            kv_cache_layout=layout.name,
        )

    def block(self, block: int) -> list[torch.Tensor]:
        """Returns a block of every layer."""
        return [group_kernel_blocks(view, _BLOCKS)[block] for view in self.views.values()]

    def fill(self, block: int, value: float) -> None:
        """Writes a block of every layer, each differently."""
        for index, page in enumerate(self.block(block)):
            page.copy_(torch.arange(page.numel(), dtype=page.dtype).reshape(page.shape) + value * 1000 + index)

    def holds(self, block: int, value: float) -> bool:
        """Whether a block is as it was filled."""
        return all(
            torch.equal(page, torch.arange(page.numel(), dtype=page.dtype).reshape(page.shape) + value * 1000 + index)
            for index, page in enumerate(self.block(block))
        )


class RealWorkers(Workers):
    """The connector's worker halves."""

    def __init__(self, test: WorkerTest, ranks: int = 1, **memory: Any) -> None:
        super().__init__(ranks)
        self.connectors: list[OrbitKvConnector] = []
        self.memories: list[Memory] = []
        self.results: list[KVConnectorTransferResults] = []
        for rank in range(ranks):
            config = test.config(ranks)
            config.parallel_config.rank = rank
            kept = Memory(KVCacheLayout.LBHNC, **memory)
            config.cache_config.kv_cache_layout = "LBHNC"
            connector = OrbitKvConnector(config, KVConnectorRole.WORKER, kept.config)
            test.addCleanup(connector.shutdown)
            connector.register_kv_caches(kept.views)
            self.connectors.append(connector)
            self.memories.append(kept)

    def step(self, number: int, orders: Orders) -> Any:
        connector = self.connectors[number]
        rank = self.ranks[number]
        rank.new_loads += orders.loads
        rank.new_saves += orders.saves
        return step(connector, orders)


def step(connector: OrbitKvConnector, orders: Orders) -> Any:
    """Does what the model runner does in a step."""
    from engine import connector_output

    connector.handle_preemptions(orders)
    connector.bind_connector_metadata(orders)
    connector.start_load_kv(None)  # type: ignore[arg-type]
    connector.wait_for_save()
    results = connector.get_transfer_results(set())
    output = connector_output(
        finished_sending=results.finished_sending or None, finished_recving=results.finished_recving or None,
        failed_recving=results.failed_recving, invalid_block_ids=connector.get_block_ids_with_load_errors(),
        kv_connector_stats=connector.get_kv_connector_stats(),
        kv_connector_worker_meta=connector.build_connector_worker_meta(),
    )
    connector.clear_connector_metadata()
    return output


class WorkerTest(unittest.TestCase):
    def setUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        os.environ["FAKE_BLOCK_TOKENS"] = str(BLOCK)
        # In memory, since a hosted Manager has its blocks there.
        folder = tempfile.TemporaryDirectory(dir="/dev/shm", prefix="okv-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        init_none_hash(sha256)

    def config(self, ranks: int = 1, **options: Any) -> Any:
        extra = {"agent_command": command(), "dram": "16MiB", **options.pop("extra", {})}
        return engine_config(self.folder, ranks=ranks, engine_id="engine", extra=extra, **options)

    def worker(self, memory: Memory, layout: KVCacheLayout) -> OrbitKvConnector:
        config = self.config()
        config.cache_config.kv_cache_layout = layout.name
        connector = OrbitKvConnector(config, KVConnectorRole.WORKER, memory.config)
        self.addCleanup(connector.shutdown)
        connector.register_kv_caches(memory.views)
        return connector

    def engine(self, workers: RealWorkers, **options: Any) -> Engine:
        config = self.config(len(workers.ranks), **options)
        engine = Engine(config, workers, blocks=_BLOCKS)
        self.addCleanup(engine.scheduler.shutdown)
        engine.connector.set_xfer_handshake_metadata_pp_aware({})
        half = engine.connector._scheduler
        assert half is not None and half._client is not None
        half._client._deadline_s = 60.0
        for connector in workers.connectors:
            self.introduced(connector)
        client = half._client
        self.until(client.prepare)
        return engine

    def introduced(self, connector: OrbitKvConnector) -> None:
        """Waits for the agent, which then has ample time for everything, so that a busy machine fails no test."""
        worker = connector._worker
        assert worker is not None
        self.until(lambda: worker._introduction.client is not None)
        courier = worker._agent()
        assert courier is not None
        courier.client._deadline_s = 60.0

    def until(self, condition: Callable[[], Any]) -> None:
        end = time.monotonic() + _LIMIT_S
        while not condition():
            self.assertLess(time.monotonic(), end, "in time")
            time.sleep(0.01)

    def drained(self, engine: Engine) -> None:
        """Takes steps until nothing is under way."""
        half = engine.connector._scheduler
        assert half is not None

        def over() -> bool:
            engine.step()
            return not (half._pins or half._loads or half._saves_ended or half._loads_ended)

        self.until(over)

    def finish(self, engine: Engine, name: str) -> list[int]:
        def over() -> bool:
            if engine.scheduler.has_requests():
                engine.step()
            return name in engine.finished

        self.until(over)
        return engine.finished[name]

    def compute(self, engine: Engine, memories: list[Memory], prompt: list[int], seed: int) -> None:
        """Has a prompt computed, by writing what each rank would have in each of its blocks, and saved."""
        request = engine.add(prompt, limit=1)
        scheduler: Any = engine.scheduler
        schedule = scheduler.schedule

        def computing(*arguments: Any) -> Any:
            output = schedule(*arguments)
            if request.request_id in output.num_scheduled_tokens:
                pages = engine.scheduler.kv_cache_manager.get_block_ids(request.request_id)[0]
                for rank, memory in enumerate(memories):
                    for index, page in enumerate(pages[: len(prompt) // BLOCK]):
                        memory.fill(page, seed + 100 * rank + index)
            return output

        scheduler.schedule = computing
        self.finish(engine, request.request_id)
        self.drained(engine)
        scheduler.schedule = schedule
        self.assertTrue(engine.scheduler.reset_prefix_cache())
        for memory in memories:
            memory.raw.zero_()

    def require_loaded(self, engine: Engine, workers: RealWorkers, prompt: list[int], seed: int) -> None:
        """Has a prompt loaded, and compares every byte of every rank."""
        for rank in workers.ranks:
            rank.new_loads = []
        request = engine.add(prompt, limit=2)
        self.finish(engine, request.request_id)
        for number, (rank, memory) in enumerate(zip(workers.ranks, workers.memories)):
            (load,) = rank.new_loads
            self.assertEqual(len(prompt) // BLOCK, len(load.pages))
            for index, page in enumerate(load.pages):
                self.assertTrue(memory.holds(page, seed + 100 * number + index), f"block {index} of rank {number}")
            untouched = set(range(_BLOCKS)) - set(load.pages)
            self.assertFalse(any(page.any() for other in untouched for page in memory.block(other)))
        self.drained(engine)
        engine.require_empty()

    def test_every_byte_comes_back_and_no_other_page_is_touched(self) -> None:
        for ranks, options in ((1, {}), (2, {}), (1, {"kernel_tokens": BLOCK // 2}), (1, {"heads": 1, "pad": 512})):
            with self.subTest(ranks=ranks, **options):
                workers = RealWorkers(self, ranks, **options)
                try:
                    engine = self.engine(workers)
                    self.compute(engine, workers.memories, _PROMPT, 7)
                    self.require_loaded(engine, workers, _PROMPT, 7)
                    engine.scheduler.shutdown()
                finally:
                    for connector in workers.connectors:
                        connector.shutdown()

    def test_every_layout_keeps_its_bytes(self) -> None:
        hasher = get_request_block_hasher(BLOCK, sha256)
        self.assertIsNotNone(hasher)
        for layout in KVCacheLayout:
            for heads in (1, 2):
                with self.subTest(layout=layout.name, heads=heads):
                    memory = Memory(layout, heads=heads)
                    connector = self.worker(memory, layout)
                    try:
                        self.round_trip(connector, memory)
                    finally:
                        connector.shutdown()

    def round_trip(self, connector: OrbitKvConnector, memory: Memory) -> None:
        """Saves three blocks out of some pages, and reads what the agent's file has of them."""
        worker = connector._worker
        assert worker is not None
        self.introduced(connector)
        pages = (5, 1, 9)
        before = memory.raw.clone()
        for value, page in enumerate(pages):
            memory.fill(page, value)
        with open(worker._pages.memory, "rb") as file:
            file.seek(worker._pages.offset)
            shared = torch.frombuffer(bytearray(file.read(memory.raw.numel())), dtype=torch.int8)
        self.assertTrue(torch.equal(memory.raw, shared))
        for page in pages:
            expected = set((memory.raw != before).nonzero().flatten().tolist()) if page == pages[-1] else set()
            seen = {
                at
                for one in pages
                for group in worker._pool.groups
                for layer in range(group.layers)
                for at in range(group.offset(layer, one), group.offset(layer, one) + group.page_bytes)
            }
            self.assertLessEqual(expected, seen)
        hashes = bytes(range(96))
        output = step(connector, Orders(saves=[SaveOrder(1, 3, 0, hashes, 0, pages)]))
        reports = output.kv_connector_worker_meta

        def reported() -> bool:
            nonlocal reports
            if reports is None:
                reports = step(connector, Orders()).kv_connector_worker_meta
            return reports is not None

        self.until(reported)
        self.assertEqual({1: (1, 3)}, reports.saves)

    def test_the_engine_s_memory_is_its_own_again_when_the_connector_ends(self) -> None:
        memory = Memory(KVCacheLayout.LBHNC)
        connector = self.worker(memory, KVCacheLayout.LBHNC)
        memory.fill(3, 5)
        worker = connector._worker
        assert worker is not None
        path = worker._pages.memory
        connector.shutdown()
        self.assertTrue(memory.holds(3, 5))
        self.assertFalse(os.path.exists(path))
        self.assertEqual([], os.listdir(os.path.join(self.folder, "run")))
        connector.shutdown()

    def test_an_agent_that_is_killed_is_started_again_and_pages_come_free(self) -> None:
        workers = RealWorkers(self)
        engine = self.engine(workers)
        self.compute(engine, workers.memories, _PROMPT, 3)
        worker = workers.connectors[0]._worker
        half = engine.connector._scheduler
        assert worker is not None and half is not None and half._client is not None
        launcher: Any = worker._process
        killed = launcher.agent_pid
        engine.add([token + 1 for token in _PROMPT], limit=1)
        engine.step()
        os.kill(killed, signal.SIGKILL)
        self.drained(engine)
        self.until(lambda: launcher.agent_pid not in (None, killed) and launcher.wait(0.1))
        # A connection is seen to be broken when something is said over it.
        half._client.counters()
        self.until(half._client.prepare)
        engine.run()
        self.drained(engine)
        engine.require_empty()
        self.assertTrue(engine.scheduler.reset_prefix_cache())
        courier = worker._courier
        assert courier is not None
        # Nothing is under way, so that its thread says nothing.
        courier.client.release(0)
        self.until(courier.client.connect)
        self.compute(engine, workers.memories, _PROMPT, 4)
        self.require_loaded(engine, workers, _PROMPT, 4)

    def test_what_cannot_be_loaded_is_reported_at_once(self) -> None:
        memory = Memory(KVCacheLayout.LBHNC)
        connector = self.worker(memory, KVCacheLayout.LBHNC)
        from orbitkv_vllm.metadata import LoadOrder

        output = step(connector, Orders(loads=[LoadOrder("a", 77, 0, (1, 2))], without_load=["b"]))
        self.assertEqual(({"a", "b"}, {"a", "b"}), (output.finished_recving, output.failed_recving))
        self.assertEqual({"a": (1, 0)}, output.kv_connector_worker_meta.loads)
        output = step(connector, Orders())
        self.assertEqual((None, set()), (output.finished_recving, output.failed_recving))

    def test_pages_of_devices_that_are_not_served_are_refused(self) -> None:
        memory = Memory(KVCacheLayout.LBHNC)
        config = self.config()
        config.cache_config.kv_cache_layout = "LBHNC"
        connector = OrbitKvConnector(config, KVConnectorRole.WORKER, memory.config)
        elsewhere = {name: view.to("meta") for name, view in memory.views.items()}
        with self.assertRaisesRegex(ProfileError, "layer.0 has its pages on meta"):
            connector.register_kv_caches(elsewhere)

    def test_the_worker_of_another_memory_is_another_namespace(self) -> None:
        first = Memory(KVCacheLayout.LBHNC)
        second = Memory(KVCacheLayout.BLHNC)
        facts = []
        for memory, layout in ((first, KVCacheLayout.LBHNC), (second, KVCacheLayout.BLHNC)):
            connector = self.worker(memory, layout)
            config = self.config()
            facts.append(dict(rendezvous(config).described(start_of(config), 0).facts))
            connector.shutdown()
        differing = {name for name in facts[0] if facts[0][name] != facts[1][name]}
        self.assertEqual({"pages.layout", "pages.pieces"}, differing)


if __name__ == "__main__":
    unittest.main()

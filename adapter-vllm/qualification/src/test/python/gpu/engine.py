"""What runs in the process of an engine on a GPU, beyond what one on a CPU does."""

from __future__ import annotations

import os
import time
import zlib
from dataclasses import dataclass, replace
from typing import Any

from qualification.engine import STEP_LIMIT, Outcome, Request, Served, Settings, Stage


@dataclass
class Replays:
    """Replays of CUDA graphs that the engine's process made: of those, which while transfers were under way."""

    all: int = 0
    beside_loads: int = 0
    beside_saves: int = 0


def fill_weights(wrapper: Any) -> None:
    """Makes a rank's weights: dummy ones are about zero, and answers would not depend on prompts.

    As those of ``qualification.model``.
    """
    import torch

    worker = wrapper.worker
    for name, weight in sorted(worker.model_runner.model.named_parameters()):
        seed = zlib.crc32(name.encode()) + int(worker.rank)
        generator = torch.Generator(device=weight.device).manual_seed(seed)
        if name.endswith("norm.weight"):
            weight.data.fill_(1.5 if name.endswith(("q_norm.weight", "k_norm.weight")) else 1.0)
            continue
        gain = 1.0
        if "embed_tokens" in name:
            gain = float(weight.shape[1]) ** 0.5
        elif "lm_head" in name:
            gain = 4.0
        elif "o_proj" in name or "down_proj" in name:
            gain = 2.0
        weight.data.normal_(0, gain / float(weight.shape[-1]) ** 0.5, generator=generator)


class GpuServed(Served):
    """An engine whose dummy weights are random numbers of its own making, the same in each start."""

    def __init__(self, settings: Settings) -> None:
        self._replays = Replays()
        self._extra = 0
        self._count_replays()
        super().__init__(settings)
        if settings.options.get("load_format") == "dummy":
            self._core.model_executor.collective_rpc(fill_weights)

    # What is counted.

    def _count_replays(self) -> None:
        import torch

        replay = torch.cuda.CUDAGraph.replay

        def counted(graph: Any) -> None:
            self._replays.all += 1
            half = self._half()
            if half is not None:
                loads, saves = half.under_way
                self._replays.beside_loads += loads > 0
                self._replays.beside_saves += saves > 0
            replay(graph)

        torch.cuda.CUDAGraph.replay = counted  # type: ignore[method-assign, unused-ignore]

    def replays(self) -> Replays:
        """Replays since the last call."""
        found, self._replays = self._replays, Replays()
        return found

    @staticmethod
    def _half() -> Any:
        """The connector's worker half; nothing without OrbitKV."""
        from vllm.distributed.kv_transfer import get_kv_transfer_group, has_kv_transfer_group

        return getattr(get_kv_transfer_group(), "_worker", None) if has_kv_transfer_group() else None

    # What is computed.

    def _runner(self) -> Any:
        return self._core.model_executor.driver_worker.worker.model_runner

    def facts(self) -> dict[str, str]:
        """What the engine is."""
        import torch
        import vllm

        config = self._engine.vllm_config
        on_gpu = torch.cuda.is_available()
        layers = config.compilation_config.static_forward_context
        backends = sorted({layer.get_attn_backend().get_name() for layer in layers.values()
                           if hasattr(layer, "get_attn_backend")})
        return {
            "vllm": str(vllm.__version__),
            "torch": str(torch.__version__),
            "device": torch.cuda.get_device_name() if on_gpu else "cpu",
            "attention": ",".join(backends),
            "layout": config.cache_config.get_resolved_kv_cache_layout().name,
            "graphs": str(config.compilation_config.cudagraph_mode),
            "compilation": str(config.compilation_config.mode),
            "runner": "V2" if config.use_v2_model_runner else "V1",
            "asynchronous": str(config.scheduler_config.async_scheduling),
        }

    # What lies in pages.

    def answer_and_pages(self, request: Request) -> tuple[Outcome, list[int]]:
        """Runs a request; with its answer comes a sum over the bytes of each whole block of its prompt."""
        self.submit(request)
        # What is loaded is in its pages, and what is computed was begun, before there is a token.
        self.until(request.name, Stage.RUNNING, tokens=1)
        sums = self._sums(self._blocks_of(request))
        return self.run()[request.name], sums

    def answer_with_others_pages(self, request: Request) -> Outcome:
        """Runs a request, and overwrites its pages behind the first token: the answer must be another one."""
        self.submit(request)
        self.until(request.name, Stage.RUNNING, tokens=1)
        import torch

        blocks = self._blocks_of(request)
        for cache in self._runner().kv_caches:
            generator = torch.Generator(device=cache.device).manual_seed(5)
            cache[blocks] = torch.randn(
                cache[blocks].shape, generator=generator, device=cache.device, dtype=torch.float32).to(cache.dtype)
        return self.run()[request.name]

    def _blocks_of(self, request: Request) -> list[int]:
        (blocks,) = self._core.scheduler.kv_cache_manager.get_block_ids(self._ids[request.name])
        return list(blocks[: len(request.prompt) // self._block_tokens()])

    def _block_tokens(self) -> int:
        return int(self._engine.vllm_config.cache_config.block_size)

    def _sums(self, blocks: list[int]) -> list[int]:
        import torch

        sums = torch.zeros(len(blocks), dtype=torch.int64)
        for layer, cache in enumerate(self._runner().kv_caches):
            words = cache[blocks].contiguous().view(torch.int64).reshape(len(blocks), -1)
            factors = torch.arange(1, 2 * words.shape[1], 2, dtype=torch.int64, device=words.device)
            sums += (words * (factors * (2 * layer + 1))).sum(dim=1).cpu() * (2 * layer + 3)
        return [int(value) for value in sums]

    # Times, in seconds.

    def decode_times(self, *requests: Request) -> list[float]:
        """Runs requests at once; what each step took in which all of them got a token behind their first."""
        self.submit(*requests)
        tokens = dict.fromkeys((request.name for request in requests), 0)
        times: list[float] = []
        for _ in range(STEP_LIMIT):
            if not self._engine.has_unfinished_requests():
                break
            ready = all(tokens.values())
            started = time.perf_counter()
            outputs = self._engine.step()
            taken = time.perf_counter() - started
            if ready and len(outputs) == len(requests):
                times.append(taken)
            for output in outputs:
                tokens[output.request_id] = len(output.outputs[0].token_ids)
        return times

    # Saves without end.

    def saturate(self, blocks: int, under_way: int) -> None:
        """Has every step keep so many saves of so many blocks under way, beside those of requests."""
        from orbitkv_vllm.metadata import SaveOrder

        half = self._half()
        begin = half.start_saves
        pages = tuple(range(1, blocks + 1))

        def saving(orders: Any) -> None:
            extra = []
            for _ in range(under_way - half.under_way[1]):
                self._extra += 1
                # Nobody has ordered it: the scheduler half knows no such number.
                extra.append(SaveOrder(-self._extra, 0, 0, os.urandom(32 * blocks), 0, pages))
            begin(replace(orders, saves=orders.saves + extra))

        half.start_saves = saving

    def calm(self) -> None:
        """Ends that."""
        del self._half().start_saves

    def drive(self, blocks: int, under_way: int, seconds: float) -> float:
        """Saves without end and without a step, for so long; the bytes a second."""
        from orbitkv_vllm.metadata import Orders

        self.saturate(blocks, under_way)
        half = self._half()
        half.take_stats()
        began = time.monotonic()
        try:
            while time.monotonic() - began < seconds:
                half.start_saves(Orders())
                half.poll()
                half.take_reports()
                time.sleep(0.002)
        finally:
            self.calm()
        taken = time.monotonic() - began
        stats = half.take_stats()
        while half.under_way[1]:
            half.poll()
            time.sleep(0.002)
        half.take_reports()
        half.take_stats()
        return float(stats.data["saved_bytes"]) / taken if stats is not None else 0.0

"""What is tried with two engines that differ in their cache alone: one without OrbitKV, one with a node's Manager."""

from __future__ import annotations

import json
import os
import random
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional

from gpu.bench import Answers, GpuEngine, NodeManager, require, until
from gpu.model import EIGHT_BILLION, SMALL, Model, write

PAGE = 16
_DIGEST = "ab" * 32


class Plan(NamedTuple):
    """Where a trial runs, and how much of everything it has."""

    small: bool
    rounds: int
    seed: int
    tokens: int
    """Tokens of each engine's KV cache."""
    dram: str
    ssd_size: str
    command: Sequence[str]
    disk: Path
    memory: Path
    logs: Path
    core: Optional[str] = None


class Trial:
    """Two engines on one device."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._model: Model = SMALL if plan.small else EIGHT_BILLION
        self._device = "cpu" if plan.small else "cuda"
        self._numbers = random.Random(plan.seed)
        self._page_bytes = self._model.page_bytes(PAGE)
        self._folder = plan.memory / "model"
        plan.logs.mkdir(parents=True, exist_ok=True)
        self.manager = NodeManager(
            plan.command, plan.memory / "node", plan.logs / "manager.log", dram=plan.dram,
            ssd=f"{plan.disk}/store:{plan.ssd_size}", block_bytes=self._page_bytes,
            segment="1MiB" if plan.small else "64MiB")
        self.alone = self._engine("alone", {})
        self.node = self._engine("node", {
            "radix_cache_backend": "orbitkv",
            "enable_unified_cache_external_linker": True,
            "hicache_storage_backend_extra_config": json.dumps({
                "manager": self.manager.socket, "runtime_dir": str(plan.memory / "run"), "engine_id": "node",
                "model_digest": _DIGEST, "pending_ms": 30_000, "agent_command": list(plan.command),
            }),
        })

    def start(self) -> None:
        """Writes the model, and starts all there is."""
        began = time.monotonic()
        write(self._model, self._folder, self._device)
        print(f"model written in {time.monotonic() - began:.0f} s", flush=True)
        self.manager.start()
        # What the first compiles, the second finds.
        self.alone.launch()
        print(f"engine alone started in {self.alone.started():.0f} s", flush=True)
        self.node.launch()
        print(f"engine with OrbitKV started in {self.node.started():.0f} s", flush=True)
        self._await_cache()

    def close(self) -> None:
        """Ends all of it."""
        self.node.stop()
        self.alone.stop()
        self.manager.stop()

    # What is answered.

    def correct(self) -> None:
        """Tokens of every way to a prefix, beside those of the engine without OrbitKV that has it in its own tree."""
        length, tokens = (256, 16) if self._plan.small else (2048, 64)
        prompt = self._prompt(length + 5)
        print("| scenario | tokens as of the engine alone | cached tokens | bytes restored |\n|---|---|---:|---:|")
        cold = self.alone.generate([prompt], tokens)
        own = self.alone.generate([prompt], tokens)
        self._line("engine alone, cold and then from its own tree", cold, own, 0)
        require(own.cached == [length], f"the engine alone had {own.cached} tokens of {length}")
        other = self.alone.generate([[*self._prompt(1), *prompt[1:]]], tokens)
        require(other.tokens != cold.tokens, "another first token changes no answer: answers do not tell")
        before = self.manager.moved()
        self._line("cold", cold, self.node.generate([prompt], tokens), 0)
        self._line("from the engine's own tree", own, self.node.generate([prompt], tokens), 0)
        self.node.flush()
        saved = self.manager.moved().saved - before.saved
        print(f"saved of these: {saved:,} bytes", flush=True)
        self._restored("engine's tree flushed, restored from memory", own, prompt, length, tokens)
        self.node.flush()
        self._restored("restored again", own, prompt, length, tokens)
        self.node.stop()
        self.node.launch()
        print(f"engine with OrbitKV started again in {self.node.started():.0f} s", flush=True)
        self._await_cache()
        self._restored("engine restarted", own, prompt, length, tokens)
        self._restart_manager()
        self._restored("Manager restarted, restored from the SSD", own, prompt, length, tokens)
        self._several(4 if self._plan.small else 8)

    def _several(self, count: int) -> None:
        """Prompts at once."""
        length, tokens = (128, 8) if self._plan.small else (1024, 32)
        prompts = [self._prompt(length + 3) for _ in range(count)]
        self.alone.generate(prompts, tokens)
        own = self.alone.generate(prompts, tokens)
        self.node.generate(prompts, tokens)
        self.node.flush()
        before = self.manager.moved()
        found = self.node.generate(prompts, tokens)
        same = sum(one == other for one, other in zip(own.tokens, found.tokens))
        restored = self.manager.moved().restored - before.restored
        print(f"| {count} at once, restored from memory | {same} of {count} answers | {sum(found.cached)} "
              f"| {restored:,} |", flush=True)
        require(found.cached == [length] * count, f"{found.cached} tokens were restored, expected {length} of each")

    def _restored(self, name: str, own: Answers, prompt: Sequence[int], length: int, tokens: int) -> None:
        before = self.manager.moved()
        found = self.node.generate([prompt], tokens)
        restored = self.manager.moved().restored - before.restored
        self._line(name, own, found, restored)
        expected = length // PAGE * self._page_bytes
        require(found.cached == [length] and restored == expected,
                f"{found.cached} tokens and {restored} bytes were restored, expected {length} and {expected}")
        require(found.tokens == own.tokens, f"tokens {found.tokens}, expected {own.tokens}")

    @staticmethod
    def _line(name: str, expected: Answers, found: Answers, restored: int) -> None:
        same = sum(one == other for one, other in zip(expected.tokens[0], found.tokens[0]))
        print(f"| {name} | {same} of {len(expected.tokens[0])} | {found.cached[0]} | {restored:,} |", flush=True)

    # Times.

    def first_token(self) -> None:
        """How long a client waits for one token behind a prefix, by where the prefix is."""
        lengths = (256, 512) if self._plan.small else (1024, 4096, 16384)
        times: dict[tuple[int, str], list[float]] = {}
        told: list[tuple[int, list[int]]] = []
        for length in lengths:
            for engine in (self.alone, self.node):
                # Kernels that are compiled when they are first needed, for both ways to a prefix.
                prompt = self._prompt(length + PAGE)
                for _ in range(2):
                    engine.generate([prompt[:length] + self._prompt(PAGE)], 1)
            for _ in range(self._plan.rounds):
                prompt = self._prompt(length)
                ways = (("computed", self.alone, 0), ("own tree", self.alone, length),
                        ("computed and saved", self.node, 0), ("memory", self.node, length))
                for way, engine, cached in ways:
                    if way == "memory":
                        self.node.flush()
                    seconds = self._first(engine, prompt, cached)
                    times.setdefault((length, way), []).append(seconds)
                told.append((length, prompt))
        self._restart_manager()
        for length, prompt in told:
            self.node.flush()
            try:
                times.setdefault((length, "SSD"), []).append(self._first(self.node, prompt, length))
            except AssertionError as error:
                print(f"SSD, {length} tokens: {error}", flush=True)
        columns = ("computed", "computed and saved", "own tree", "memory", "SSD")
        print("| prefix, tokens | " + " | ".join(f"{column} ms" for column in columns) + " | bytes |")
        print("|---:" * (len(columns) + 2) + "|")
        for length in lengths:
            cells = " | ".join(_milliseconds(times.get((length, column), [])) for column in columns)
            print(f"| {length:,} | {cells} | {length // PAGE * self._page_bytes:,} |", flush=True)

    def _first(self, engine: GpuEngine, prefix: list[int], cached: int) -> float:
        found = engine.generate([prefix + self._prompt(PAGE)], 1)
        require(found.cached == [cached], f"{found.cached} tokens were cached, expected {cached}")
        return found.seconds

    def throughput(self) -> None:
        """What the cache costs where nothing is ever found in it."""
        scale = 16 if self._plan.small else 1
        print("| nothing to reuse | without OrbitKV tokens/s | with OrbitKV tokens/s | kept |\n|---|---:|---:|---:|")
        for name, count, length, tokens in (
            ("64 requests of 512 + 128 tokens", 64, 512 // scale, 128 // scale),
            ("8 requests of 8,192 + 1 tokens", 8, 8192 // scale, 1),
        ):
            rates: dict[str, list[float]] = {"alone": [], "node": []}
            # The first pair is for warming up, and the order of a pair changes with each.
            for number in range(self._plan.rounds + 1):
                pair = [("alone", self.alone), ("node", self.node)]
                for which, engine in pair if number % 2 == 0 else reversed(pair):
                    found = engine.generate([self._prompt(length) for _ in range(count)], tokens)
                    require(not any(found.cached), f"{found.cached} tokens were cached of prompts that are new")
                    if number > 0:
                        rates[which].append(count * (length + tokens) / found.seconds)
                    engine.flush()
            kept = [with_it / without for without, with_it in zip(rates["alone"], rates["node"])]
            print(f"| {name} | {_span(rates['alone'])} | {_span(rates['node'])} | {statistics.median(kept):.2%} "
                  f"({min(kept):.2%} to {max(kept):.2%}) |", flush=True)

    # What they are made of.

    def _engine(self, name: str, options: dict[str, Any]) -> GpuEngine:
        arguments: dict[str, Any] = {
            "model_path": str(self._folder), "device": self._device, "skip_tokenizer_init": True, "page_size": PAGE,
            "max_total_tokens": self._plan.tokens, "log_level": "info", "dtype": self._model.dtype,
            "sampling_backend": "pytorch", "grammar_backend": "none", "skip_server_warmup": True, "random_seed": 1,
        }
        if self._plan.small:
            arguments |= {
                "attention_backend": "torch_native", "disable_cuda_graph": True, "max_running_requests": 64,
                "chunked_prefill_size": 512, "context_length": 2048,
            }
        else:
            arguments |= {
                "attention_backend": "triton", "max_running_requests": 64, "chunked_prefill_size": 8192,
                "context_length": 32768, "cuda_graph_bs_decode": [1, 2, 4, 8, 16, 32, 64],
                # Only decoding is replayed from graphs.
                "disable_prefill_cuda_graph": True,
                # Of what the other engine leaves; the KV cache has the tokens that are stated.
                "mem_fraction_static": 0.6,
            }
        environment = {}
        if self._plan.small:
            kernels = Path(__file__).parent.parent / "kernels"
            environment["PYTHONPATH"] = f"{os.environ.get('PYTHONPATH', '')}:{kernels}"
        return GpuEngine(arguments | options, environment, self._plan.logs / f"{name}.log")

    def _await_cache(self) -> None:
        """The agent takes a moment to be there; what is computed before that is not saved."""
        probe = self._prompt(4 * PAGE + 1)

        def found() -> bool:
            self.node.flush()
            return self.node.generate([probe], 1).cached[0] > 0

        until(found, "the agent", 120.0)
        self.node.flush()

    def _restart_manager(self) -> None:
        # What is only in memory is written meanwhile.
        time.sleep(1 if self._plan.small else 10)
        self.manager.stop()
        self.manager.start()
        self._await_cache()

    def _prompt(self, tokens: int) -> list[int]:
        return [self._numbers.randrange(3, self._model.vocabulary) for _ in range(tokens)]


def _milliseconds(values: Sequence[float]) -> str:
    if not values:
        return "none"
    return f"{statistics.median(values) * 1e3:,.1f} ({min(values) * 1e3:,.1f} to {max(values) * 1e3:,.1f})"


def _span(values: Sequence[float]) -> str:
    return f"{statistics.median(values):,.0f} ({min(values):,.0f} to {max(values):,.0f})"

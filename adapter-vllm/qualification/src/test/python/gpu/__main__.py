"""
Tries the released engine on a GPU with and without OrbitKV, and prints tables: python -m gpu --help.

Engines are started side by side and then used one at a time. All have the same weights, graphs and KV cache:
``alone`` without OrbitKV, ``node`` with a node's Manager and an SSD, ``own`` with the Manager of its agent and no SSD,
``offload`` with vLLM's own offloading to the CPU and as many bytes there as the node's Manager.
"""

from __future__ import annotations

import argparse
import json
import random
import shlex
import statistics
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from gpu.bench import GpuBench, GpuEngine
from qualification.driver import Installed, Manager
from qualification.engine import Outcome, Request, Settings, Stage
from qualification.model import Model

EIGHT_BILLION = Model(
    layers=36, hidden=4096, heads=32, kv_heads=8, head=128, vocabulary=151936, positions=40960, intermediate=12288)
SMALL = Model(layers=4, hidden=128, heads=4, kv_heads=2, head=64, vocabulary=1024)

_NEIGHBOUR = "no cache, saves without end of an idle engine beside it"

PARTS = ("correct", "beside", "first-token", "decode", "throughput", "restart")
RANKS_PARTS = ("answers", "first-token", "throughput")
"""Parts that look into no rank's process."""


class Trial:
    """Engines that differ in their cache alone."""

    def __init__(self, bench: GpuBench, arguments: argparse.Namespace) -> None:
        self._bench = bench
        self._small: bool = arguments.small
        self._rounds: int = arguments.rounds
        self._model = SMALL if self._small else EIGHT_BILLION
        self._element = 4 if self._small else 2
        self._block = 32 if self._small else 16
        self._numbers = random.Random(arguments.seed)
        self._batch_sizes: list[int] = arguments.batches
        self._lengths = (128, 512) if self._small else (1024, 4096, 16384, 32768)
        self.manager: Manager = bench.manager(
            "node", dram=arguments.dram, ssd=arguments.ssd_size, disk=arguments.ssd)
        settings = self._settings(arguments)
        using = bench.with_cache(settings, self.manager, defer_ms=30_000)
        all_settings = {
            "alone": settings,
            "node": using,
            "own": bench.with_cache(settings, None, dram=arguments.own_dram),
            "offload": replace(settings, options={**settings.options, "kv_offloading_size": arguments.offload_gib}),
        }
        for name in arguments.engines:
            if "=" in name:
                # Settings of the device, of which each makes another engine.
                device = dict(setting.split("=", 1) for setting in name.split(","))
                all_settings[name] = bench.with_cache(
                    settings, None, dram=arguments.own_dram, device_settings=device)
        began = time.monotonic()
        self.engines = bench.engines({name: all_settings[name] for name in arguments.engines})
        self._using = using
        print(f"engines started in {time.monotonic() - began:.0f} s", flush=True)
        for name, engine in self.engines.items():
            print(f"{name}: {engine.facts()}", flush=True)

    def _settings(self, arguments: argparse.Namespace) -> Settings:
        if self._small:
            return Settings(
                self._bench.model("model", self._model), blocks=256, longest=2048, async_scheduling=True,
                ranks=arguments.ranks)
        options: dict[str, object] = {
            "load_format": "dummy",
            # Beside other engines, nobody's free memory says anything.
            "kv_cache_memory_bytes": (arguments.blocks + 64) * self._block_bytes,
            "gpu_memory_utilization": 0.15,
            "enforce_eager": arguments.eager,
        }
        if arguments.ranks > 1:
            # Ranks that share one GPU's memory, or none with a way between their GPUs, have no use for it.
            options["disable_custom_all_reduce"] = True
        if not arguments.eager:
            options["compilation_config"] = json.loads(arguments.compilation)
        return Settings(
            self._bench.configuration("model", self._model), blocks=arguments.blocks, block_tokens=self._block,
            dtype="bfloat16", longest=33_792, batched_tokens=8192, requests=64, async_scheduling=True,
            ranks=arguments.ranks, options=options)

    @property
    def _block_bytes(self) -> int:
        return self._model.block_bytes(self._block, self._element)

    def run(self, parts: Sequence[str]) -> list[str]:
        """Runs parts, and tells which failed."""
        failed = []
        does: dict[str, Callable[[], None]] = {
            "correct": self.correct, "beside": self.beside, "first-token": self.first_token, "decode": self.decode,
            "throughput": self.throughput, "restart": self.restart, "answers": self.answers,
        }
        for part in parts:
            began = time.monotonic()
            print(f"== {part}", flush=True)
            try:
                does[part]()
            except Exception:
                traceback.print_exc()
                failed.append(part)
            print(f"== {part}: {time.monotonic() - began:.0f} s", flush=True)
        return failed

    # What is answered.

    def correct(self) -> None:
        """Tokens and pages are those of the engine alone."""
        alone, node = self.engines["alone"], self.engines["node"]
        print("| scenario | tokens as of the engine alone | blocks with the same bytes | loaded bytes |")
        print("|---|---|---|---:|")
        tokens = 128 if self._small else 2048
        request = self._request(tokens + 5, 64)
        cold, computed = alone.answer_and_pages(request)
        native, native_pages = alone.answer_and_pages(request)
        self._require(native.cached >= tokens, f"the engine alone cached {native.cached} tokens")
        self._line("engine alone, hit in its own cache (reference)", cold, native, computed, native_pages, 0)
        node.replays()
        mine, mine_pages = node.answer_and_pages(request)
        node.settle()
        self._line("cold", cold, mine, computed, mine_pages, 0)
        hit, hit_pages = node.answer_and_pages(request)
        self._line("hit in the engine's own cache", native, hit, computed, hit_pages, 0)
        self._press(node)
        self._hit("evicted under pressure, then loaded", node, request, native, computed)
        node.forget()
        self._hit("loaded again", node, request, native, computed)
        node.forget()
        other = node.answer_with_others_pages(request)
        self._require(other.tokens != native.tokens, "overwritten pages changed nothing: answers do not tell")
        print(f"| other values in the engine's pages (control) | differ, as they must | | |", flush=True)
        self._print_replays(node, "graphs replayed in these")
        self._batches(alone, node)

    def answers(self) -> None:
        """Tokens are those of the engine alone, and bytes were loaded for them, whatever its ranks."""
        alone, node = self.engines["alone"], self.engines["node"]
        print("| scenario | tokens as of the engine alone | loaded bytes |")
        print("|---|---:|---:|")
        for length in (128, 512) if self._small else (515, 2048, 8192):
            request = self._request(length + 5, 64)
            cold, native = (alone.generate(request)[request.name] for _ in range(2))
            whole = len(request.prompt) // self._block * self._block_bytes
            for name, expected, bytes_loaded in (
                ("cold", cold, 0), ("hit in the engine's own cache", native, 0), ("loaded", native, whole),
                ("evicted under pressure, then loaded", native, whole),
            ):
                if name == "loaded":
                    node.forget()
                elif bytes_loaded:
                    self._press(node)
                node.counts()
                found = node.generate(request)[request.name]
                loaded = int(node.counts().connector.get("loaded_bytes", 0))
                same = sum(one == other for one, other in zip(expected.tokens, found.tokens))
                print(f"| {length + 5} tokens, {name} | {same} of {len(expected.tokens)} | {loaded:,} |", flush=True)
                self._require(loaded == bytes_loaded, f"loaded {loaded} bytes, expected {bytes_loaded}")
                node.settle()

    def _batches(self, alone: GpuEngine, node: GpuEngine) -> None:
        """Several requests at once, all cold or all hit. What is loaded arrives in other steps than what is cached."""
        for count in (1, 4, 8):
            requests = [self._request((64 if self._small else 512) + 3, 48) for _ in range(count)]
            for kind in ("cold", "hit"):
                expected = alone.generate(*requests)
                node.counts()
                found = node.generate(*requests)
                loaded = int(node.counts().connector.get("loaded_bytes", 0))
                same = sum(found[one.name].tokens == expected[one.name].tokens for one in requests)
                print(f"| {count} at once, {kind} | {same} of {count} answers | | {loaded:,} |", flush=True)
                node.settle()
                node.forget()

    def beside(self) -> None:
        """Loads and saves while another request decodes, whose answer must stay what it is."""
        alone, node = self.engines["alone"], self.engines["node"]
        length = 512 if self._small else 8192
        others = [self._request(length + 3, 1) for _ in range(4)]
        fresh = [self._request(length + 3, 1) for _ in range(2)]
        node.generate(*others)
        node.settle()
        decoding = self._request(67, 300)
        expected = alone.generate(decoding)[decoding.name]
        node.forget()
        node.counts()
        node.replays()
        node.submit(decoding)
        for other in [*others, *fresh]:
            node.until(decoding.name, Stage.RUNNING, tokens=1)
            node.submit(other)
            node.until(other.name, Stage.ENDED)
        found = node.run()[decoding.name]
        counts = node.counts()
        same = sum(one == another for one, another in zip(expected.tokens, found.tokens))
        loaded = int(counts.connector.get("loaded_bytes", 0))
        print(f"beside {len(others)} requests that were loaded, {loaded:,} bytes, and {len(fresh)} that were computed and "
              f"saved: {same} of {len(expected.tokens)} tokens as of the engine alone, which ran it by itself",
              flush=True)
        node.settle()
        self._print_replays(node, "graphs replayed in these")

    def _press(self, engine: GpuEngine) -> None:
        """Computes other prompts until nothing else is in the engine's cache."""
        blocks = engine.settings.blocks
        length = min(engine.settings.longest // 2, 16_000)
        for _ in range(blocks * self._block // length + 2):
            engine.generate(self._request(length, 1))
        engine.settle()

    def _hit(
        self, name: str, engine: GpuEngine, request: Request, expected: Outcome, computed: list[int]
    ) -> None:
        engine.counts()
        found, pages = engine.answer_and_pages(request)
        counts = engine.counts()
        loaded = int(counts.connector.get("loaded_bytes", 0))
        self._line(name, expected, found, computed, pages, loaded)
        whole = len(request.prompt) // self._block * self._block_bytes
        self._require(loaded == whole, f"loaded {loaded} bytes, expected {whole}; {counts}")
        engine.settle()

    def _line(
        self, name: str, expected: Outcome, found: Outcome, pages: list[int], its_pages: list[int], loaded: int
    ) -> None:
        same = sum(one == other for one, other in zip(expected.tokens, found.tokens))
        equal = sum(one == other for one, other in zip(pages, its_pages))
        print(f"| {name} | {same} of {len(expected.tokens)} | {equal} of {len(pages)} | {loaded:,} |", flush=True)

    @staticmethod
    def _require(holds: bool, otherwise: str) -> None:
        if not holds:
            raise AssertionError(otherwise)

    @staticmethod
    def _print_replays(engine: GpuEngine, name: str) -> None:
        replays = engine.replays()
        print(f"{name}: {replays.all:,}, of which {replays.beside_loads:,} while loads were under way and "
              f"{replays.beside_saves:,} while saves were", flush=True)

    # Times.

    def first_token(self) -> None:
        """A prefix that was seen before."""
        alone, node = self.engines["alone"], self.engines["node"]
        offload = self.engines.get("offload")
        times: dict[tuple[int, str], list[float]] = {}
        told: dict[int, list[Request]] = {}
        for engine in self.engines.values():
            # Kernels that are compiled when they are first needed.
            for length in self._lengths:
                engine.first_token_time(self._request(length + 16, 2))
        for length in self._lengths:
            for _ in range(self._rounds):
                request = self._request(length + 16, 2)
                again = replace(request, prompt=request.prompt[:length] + self._request(16, 2).prompt)
                told.setdefault(length, []).append(again)

                def put(way: str, seconds: float) -> None:
                    times.setdefault((length, way), []).append(seconds)

                put("computed", alone.first_token_time(request))
                put("own", alone.first_token_time(again))
                put("computed with OrbitKV", node.first_token_time(request))
                node.settle()
                node.forget()
                put("memory", self._loaded_time(node, again, length))
                if offload is not None:
                    offload.first_token_time(request)
                    offload.settle()
                    self._forget(offload)
                    offload.counts()
                    seconds = offload.first_token_time(again)
                    external = offload.counts().external
                    self._require(external >= length, f"vLLM's offloading supplied {external} of {length} tokens")
                    put("offload", seconds)
            print(f"{length}: " + ", ".join(
                f"{way} {self._milliseconds(values)}" for (of, way), values in times.items() if of == length),
                flush=True)
        # Until what is only in memory is on the SSD too: a Manager that is stopped does not write for long.
        time.sleep(1 if self._small else 10)
        self.manager.stop()
        self.manager.start()
        node.await_cache()
        time.sleep(2 if self._small else 7)
        for length in self._lengths:
            for again in told[length]:
                node.forget()
                try:
                    times.setdefault((length, "SSD"), []).append(self._loaded_time(node, again, length))
                except AssertionError as error:
                    print(f"SSD, {length}: {error}", flush=True)
        print("| prefix | computed | computed and saved | own cache | OrbitKV memory | OrbitKV SSD | vLLM offloading "
              "| loaded |")
        print("|---|---:|---:|---:|---:|---:|---:|---:|")
        for length in self._lengths:
            cells = [self._milliseconds(times.get((length, way), []))
                     for way in ("computed", "computed with OrbitKV", "own", "memory", "SSD", "offload")]
            size = length // self._block * self._block_bytes / 2**20
            print(f"| {length:,} tokens | {' | '.join(cells)} | {size:,.0f} MiB |", flush=True)

    def _loaded_time(self, engine: GpuEngine, request: Request, length: int) -> float:
        engine.counts()
        seconds = engine.first_token_time(request)
        counts = engine.counts()
        loaded = int(counts.connector.get("loaded_bytes", 0))
        expected = length // self._block * self._block_bytes
        # The block behind the prefix may have been saved since.
        self._require(expected <= loaded <= expected + self._block_bytes,
                      f"loaded {loaded} bytes of {expected} in {seconds:.3f} s; {counts}")
        return seconds

    @staticmethod
    def _forget(engine: GpuEngine) -> None:
        for _ in range(50):
            try:
                engine.forget()
                return
            except AssertionError:
                engine.settle()
                time.sleep(0.1)
        raise AssertionError("the engine's cache is in use for 5 s")

    def decode(self) -> None:
        """What saves without end do to steps that decode."""
        alone, own = self.engines["alone"], self.engines["own"]
        ways = [
            ("no cache", alone, False), ("nothing to save but its own", own, False), ("saves without end", own, True),
        ]
        ways += [(f"saves without end, {name}", engine, True) for name, engine in self.engines.items() if "=" in name]
        print("| decoding | | steps | p50 ms | p90 ms | p99 ms | longest ms | saved GB/s | p99 in rounds ms |")
        print("|---|---|---:|---:|---:|---:|---:|---:|---|")
        length, tokens = (64, 48) if self._small else (512, 400)
        for count in self._batch_sizes:
            times: dict[str, list[list[float]]] = {}
            rates: dict[str, list[float]] = {}
            for number in range(self._rounds + 1):
                for name, engine, saturated in ways:
                    requests = [self._request(length, tokens if number else 16) for _ in range(count)]
                    engine.replays()
                    if saturated:
                        engine.saturate(32 if self._small else 448, 3)
                        engine.decode_times(*(self._request(length, 8) for _ in range(count)))
                    engine.counts()
                    began = time.perf_counter()
                    try:
                        steps = engine.decode_times(*requests)
                    finally:
                        taken = time.perf_counter() - began
                        if saturated:
                            engine.calm()
                    # The first round is for warming up.
                    if number:
                        times.setdefault(name, []).append(steps)
                        rates.setdefault(name, []).append(
                            engine.counts().connector.get("saved_bytes", 0) / taken / 1e9)
                    engine.settle()
                if number:
                    requests = [self._request(length, tokens) for _ in range(count)]
                    with ThreadPoolExecutor(1) as neighbour:
                        driven = neighbour.submit(own.drive, 32 if self._small else 448, 3, 1.0 + 0.006 * tokens)
                        time.sleep(0.5)
                        times.setdefault(_NEIGHBOUR, []).append(alone.decode_times(*requests))
                        rates.setdefault(_NEIGHBOUR, []).append(driven.result() / 1e9)
            for name, rounds in times.items():
                cuts = statistics.quantiles((step for steps in rounds for step in steps), n=100)
                each = ", ".join(f"{statistics.quantiles(steps, n=100)[98] * 1e3:.2f}" for steps in rounds)
                print(f"| {count} at once | {name} | {sum(map(len, rounds))} | " + " | ".join(
                    f"{value * 1e3:.3f}" for value in (cuts[49], cuts[89], cuts[98], max(map(max, rounds))))
                    + f" | {statistics.median(rates[name]):.1f} | {each} |", flush=True)
            self._print_replays(own, f"graphs replayed in the last of these, {count} at once")

    def throughput(self) -> None:
        """Nothing to reuse: what the cache costs."""
        alone, node = self.engines["alone"], self.engines["node"]
        print("| nothing to reuse | without OrbitKV tokens/s | with OrbitKV tokens/s | kept |")
        print("|---|---:|---:|---:|")
        scale = 16 if self._small else 1
        for name, count, prompt, tokens in (
            ("64 requests of 512 + 128 tokens", 64, 512 // scale, 128 // scale),
            ("8 prompts of 8,192 tokens", 8, 8192 // scale, 1),
        ):
            rates: dict[str, list[float]] = {"alone": [], "node": []}
            for number in range(2 * self._rounds + 1):
                pair = [("alone", alone), ("node", node)]
                for which, engine in pair if number % 2 == 0 else reversed(pair):
                    requests = [self._request(prompt, tokens) for _ in range(count)]
                    rate = count * (prompt + tokens) / engine.run_time(*requests)
                    if number > 0:
                        rates[which].append(rate)
                    engine.settle()
            kept = [using / without for without, using in zip(rates["alone"], rates["node"])]
            print(f"| {name} | {self._span(rates['alone'])} | {self._span(rates['node'])} | "
                  f"{statistics.median(kept):.2%} ({min(kept):.2%} to {max(kept):.2%}) |", flush=True)
            if node.settings.ranks > 1:
                # The calls of workers are in other processes.
                continue
            steps, taken, inside = node.connector_time(*(self._request(prompt, tokens) for _ in range(count)))
            print(f"inside the connector's calls: {inside / steps * 1e6:,.0f} us of a step's "
                  f"{taken / steps * 1e6:,.0f} us", flush=True)
            node.settle()

    def restart(self) -> None:
        """What was saved before is there for another start of the engine, and of the Manager."""
        alone, node = self.engines["alone"], self.engines["node"]
        request = self._request((128 if self._small else 2048) + 5, 64)
        cold, computed = alone.answer_and_pages(request)
        native, _ = alone.answer_and_pages(request)
        mine, mine_pages = node.answer_and_pages(request)
        node.settle()
        self._line("cold", cold, mine, computed, mine_pages, 0)
        time.sleep(0 if self._small else 6)
        self.manager.stop()
        self.manager.start()
        node.await_cache()
        time.sleep(1 if self._small else 5)
        node.forget()
        self._hit("Manager stopped and restarted (SSD)", node, request, native, computed)
        node.kill()
        (self.engines["node"],) = self._bench.engines({"node": self._using}).values()
        self._hit("engine killed and restarted", self.engines["node"], request, native, computed)

    @staticmethod
    def _milliseconds(values: Sequence[float]) -> str:
        if not values:
            return "none"
        return f"{statistics.median(values) * 1e3:,.1f} ({min(values) * 1e3:,.1f} to {max(values) * 1e3:,.1f})"

    @staticmethod
    def _span(values: Sequence[float]) -> str:
        return f"{statistics.median(values):,.0f} ({min(values):,.0f} to {max(values):,.0f})"

    def _request(self, prompt: int, tokens: int) -> Request:
        numbers = tuple(self._numbers.randrange(3, self._model.vocabulary) for _ in range(prompt))
        return Request(f"request {self._numbers.getrandbits(64):x}", numbers, tokens)


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(prog="gpu", description=__doc__)
    parser.add_argument("--path", action="append", required=True, help="a folder of OrbitKV's packages")
    parser.add_argument("--command", type=shlex.split, help="what starts orbitkv, if not the wheel's command")
    parser.add_argument("--ranks", type=int, default=1, help="of tensor parallelism, each with a GPU of its own")
    parser.add_argument("--parts", nargs="+", choices=sorted({*PARTS, *RANKS_PARTS}),
                        help="by default all but 'answers', or with several ranks those that look into none")
    parser.add_argument("--engines", nargs="+", default=["alone", "node", "own", "offload"],
                        help="also settings of a GPU, as save-portion=8MiB,save-portions=1: like 'own', with these")
    parser.add_argument("--memory", type=Path, default=Path("/dev/shm"), help="a folder in memory")
    parser.add_argument("--ssd", type=Path, help="a folder for the node's SSD tier")
    parser.add_argument("--ssd-size", default="40GiB")
    parser.add_argument("--dram", default="24GiB", help="memory of the node's Manager")
    parser.add_argument("--offload-gib", type=float, default=24.0, help="memory of vLLM's own offloading")
    parser.add_argument("--own-dram", default="8GiB", help="memory of the Manager without an SSD")
    parser.add_argument("--blocks", type=int, default=4600, help="blocks of each engine's KV cache")
    parser.add_argument("--eager", action="store_true", help="without CUDA graphs")
    parser.add_argument("--compilation", default='{"mode": 0, "cudagraph_mode": "FULL_DECODE_ONLY", '
                        '"cudagraph_capture_sizes": [1, 2, 4, 8, 16, 32, 64]}', help="the engine's compilation_config")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8, 32], help="how many requests decode at once")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--logs", type=Path, help="where logs are kept")
    parser.add_argument("--small", action="store_true", help="a small model, as on a CPU")
    arguments = parser.parse_args()
    arguments.parts = arguments.parts or (PARTS if arguments.ranks == 1 else RANKS_PARTS)
    if arguments.ranks > 1 and not set(arguments.parts) <= set(RANKS_PARTS):
        parser.error(f"with several ranks there are {', '.join(RANKS_PARTS)}, asked for {', '.join(arguments.parts)}")
    with (
        tempfile.TemporaryDirectory(prefix="orbitkv-gpu-", ignore_cleanup_errors=True) as folder,
        tempfile.TemporaryDirectory(prefix="okv-", dir=arguments.memory, ignore_cleanup_errors=True) as memory,
    ):
        installed = Installed(tuple(arguments.path), arguments.command and tuple(arguments.command))
        bench = GpuBench(Path(folder), Path(memory), installed, {"VLLM_USE_FLASHINFER_SAMPLER": "0"})
        try:
            failed = Trial(bench, arguments).run(arguments.parts)
        finally:
            bench.close()
            if arguments.logs is not None:
                bench.keep_logs(arguments.logs)
    print(f"{len(arguments.parts)} parts, failed: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""
Measures the released engine with and without OrbitKV, both with the engine's own cache: python -m figures --help.

Rounds with and without alternate, and which comes first alternates too, so that what else the machine does meets both.
A figure is the median of its rounds; behind it are the lowest and the highest round.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import shlex
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from qualification.driver import Bench, Engine, Installed
from qualification.engine import Request, Settings
from qualification.model import Model

# 15 million weights: a step is long enough to be an engine's, and a prompt costs something.
MODEL = Model(layers=6, hidden=512, heads=8, kv_heads=4, head=64, vocabulary=4096, positions=8192, seed=1)
BLOCK = 32
LONGEST = 4608


@dataclass(frozen=True)
class Rounds:
    """What was measured with and without OrbitKV, round by round."""

    without: Sequence[float]
    using: Sequence[float]

    def line(self, name: str, unit: str, scale: float = 1.0) -> str:
        """A line of a table."""
        return f"| {name} | {self._span(self.without, scale)} {unit} | {self._span(self.using, scale)} {unit} |"

    @staticmethod
    def _span(values: Sequence[float], scale: float) -> str:
        low, middle, high = (value * scale for value in (min(values), statistics.median(values), max(values)))
        return f"{middle:,.2f} ({low:,.2f} to {high:,.2f})"


class Figures:
    """Two engines that differ in OrbitKV alone."""

    def __init__(self, bench: Bench, rounds: int, folder: Path) -> None:
        model = bench.model("measured", MODEL)
        settings = Settings(model, blocks=1024, longest=LONGEST, batched_tokens=2048, requests=32)
        ssd = folder / "ssd"
        ssd.mkdir()
        self._without = bench.engine(settings)
        self._using = bench.engine(bench.with_cache(settings, None, dram="2GiB", ssd=f"{ssd}:4GiB"))
        self._rounds = rounds
        self._numbers = random.Random(7)

    def overhead(self) -> None:
        """Nothing to reuse: what OrbitKV costs."""
        print("| nothing to reuse | without OrbitKV | with OrbitKV |", "|---|---:|---:|", sep="\n")
        mixed = self._both(lambda engine, requests: sum(
            request.tokens + len(request.prompt) for request in requests) / engine.run_time(*requests),
            partial(self._requests, 16, 512, 128))
        print(mixed.line("throughput, 16 requests of 512 + 128 tokens at once", "tokens/s"))
        prompts = self._both(lambda engine, requests: sum(
            len(request.prompt) for request in requests) / engine.run_time(*requests),
            partial(self._requests, 4, 2048, 1))
        print(prompts.line("throughput, 4 prompts of 2,048 tokens at once", "tokens/s"))
        steps = self._both(lambda engine, requests: statistics.median(engine.step_times(requests[0])),
            partial(self._requests, 1, 512, 256))
        print(steps.line("step of 1 request, median of 255", "ms", 1e3))
        added: list[str] = []
        for length in (128, 512, 2048):
            first = self._both(lambda engine, requests: engine.first_token_time(requests[0]),
                partial(self._requests, 1, length, 16))
            print(first.line(f"time to first token, prompt of {length:,} tokens", "ms", 1e3))
            more = statistics.median(first.using) - statistics.median(first.without)
            added.append(f"{more * 1e3:+.2f} ms for {length:,} tokens")
        print()
        for name, measured in (("mixed", mixed), ("prompts", prompts)):
            ratios = [using / without for using, without in zip(measured.using, measured.without)]
            print(f"throughput kept, {name}: {statistics.median(ratios):.2%} in the median of pairs of rounds, "
                  f"{min(ratios):.2%} to {max(ratios):.2%}")
        print(f"added time to first token on a miss: {', '.join(added)}")
        for name, requests in (
            ("16 requests of 512 + 128 tokens at once", self._requests(16, 512, 128)),
            ("1 request of 512 + 256 tokens", self._requests(1, 512, 256)),
        ):
            count, taken, inside = self._using.connector_time(*requests)
            print(f"inside the connector's calls, {name}: {inside / count * 1e6:,.0f} µs of a step's "
                  f"{taken / count * 1e6:,.0f} µs, {inside / taken:.2%}")
            self._using.settle()

    def savings(self) -> None:
        """A prefix that was seen before: what OrbitKV saves."""
        print("| prefix | computed | in the engine's cache | from OrbitKV's memory | loaded |")
        print("|---|---:|---:|---:|---:|")
        for length in (256, 512, 1024, 2048, 4096):
            computed: list[float] = []
            own: list[float] = []
            loaded: list[float] = []
            size = 0
            for _ in range(self._rounds):
                request = self._request(length + 16, 16)
                again = replace(request, prompt=request.prompt[:length] + self._request(16, 1).prompt)
                computed.append(self._using.first_token_time(request))
                own.append(self._using.first_token_time(again))
                self._using.forget()
                self._using.counts()
                loaded.append(self._using.first_token_time(again))
                counts = self._using.counts()
                size = int(counts.connector.get("loaded_bytes", 0))
                expected = length // BLOCK * MODEL.block_bytes(BLOCK)
                if size != expected:
                    raise AssertionError(f"loaded {size} bytes of a prefix of {length} tokens, expected {expected}")
            print(f"| {length:,} tokens | {self._milliseconds(computed)} | {self._milliseconds(own)} | "
                  f"{self._milliseconds(loaded)} | {size / 2**20:,.0f} MiB |")

    def _both(self, measure: Callable[[Engine, list[Request]], float], requests: Callable[[], list[Request]]) -> Rounds:
        without: list[float] = []
        using: list[float] = []
        for number in range(self._rounds + 1):
            pair = [(self._without, without), (self._using, using)]
            for engine, values in pair if number % 2 == 0 else reversed(pair):
                value = measure(engine, requests())
                # The first round is for warming up.
                if number > 0:
                    values.append(value)
                engine.settle()
        return Rounds(without, using)

    def _requests(self, count: int, prompt: int, tokens: int) -> list[Request]:
        return [self._request(prompt, tokens) for _ in range(count)]

    def _request(self, prompt: int, tokens: int) -> Request:
        numbers = tuple(self._numbers.randrange(3, MODEL.vocabulary) for _ in range(prompt))
        return Request(f"request {self._numbers.getrandbits(64):x}", numbers, tokens)

    @staticmethod
    def _milliseconds(values: Sequence[float]) -> str:
        return f"{statistics.median(values) * 1e3:,.1f} ms ({min(values) * 1e3:,.1f} to {max(values) * 1e3:,.1f})"


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(prog="figures", description=__doc__)
    parser.add_argument(
        "--path", action="append", required=True, help="a folder of OrbitKV's packages, as pip --target makes it")
    parser.add_argument(
        "--command", type=shlex.split, help="what starts orbitkv; the wheel's own command unless said otherwise")
    parser.add_argument("--rounds", type=int, default=5, help="rounds that are counted")
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="orbitkv-figures-", ignore_cleanup_errors=True) as folder,
        tempfile.TemporaryDirectory(prefix="okv-", dir="/dev/shm", ignore_cleanup_errors=True) as memory,
    ):
        installed = Installed(tuple(arguments.path), arguments.command and tuple(arguments.command))
        bench = Bench(Path(folder), Path(memory), installed)
        try:
            print(f"{platform.machine()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.2f} at the start")
            figures = Figures(bench, arguments.rounds, Path(folder))
            figures.overhead()
            print()
            figures.savings()
            print(f"load {os.getloadavg()[0]:.2f} at the end")
        finally:
            bench.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())

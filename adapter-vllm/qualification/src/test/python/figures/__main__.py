"""
Measures the released engine with and without OrbitKV, both with the engine's own cache: python -m figures --help.

Rounds with and without alternate, and which comes first alternates too, so that what else the machine does meets both.
A figure is the median of its rounds; behind it are the lowest and the highest round.

What is kept of a throughput is measured with both engines running the same requests in turn, a tenth of a second each: a
machine that others use too changes its speed by a tenth within seconds. Where their memory lies makes two equal engines
differ too, so they are started several times, the one or the other first. The median of the rounds stands with the interval
in which the true one is with a confidence of 95 %. "Processors have worked" counts all that the engine, the agent and the
Manager do until what was computed is saved.

Engines compute on all processors unless --processors names those that their threads are bound to, as vLLM binds them. By
itself it leaves one for each worker to connectors.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import platform
import random
import shlex
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from qualification.driver import Bench, Engine, Installed
from qualification.engine import Request, Settings
from qualification.model import Model

SLICE_S = 0.1
PAUSE_S = 0.02
BLOCK = 32
LONGEST = 4608
WARMING = 3
"""Rounds of each start that are not counted: an agent's virtual machine compiles in its first minutes what it does often."""


class Size(NamedTuple):
    """
    A model, and how much is asked of it at once.

    chunk: tokens that a step computes at most. The engines take turns between steps, so a step must not take many times a
    turn, or the machine is another one in the next.
    """

    model: Model
    dtype: str
    requests: int
    prompt: int
    tokens: int
    blocks: int
    chunk: int

    @property
    def block_bytes(self) -> int:
        """Bytes of a block of KV."""
        return self.model.block_bytes(BLOCK, 4 if self.dtype == "float32" else 2)


SIZES = {
    # 15 million weights: a step is long enough to be an engine's, and a prompt costs something.
    "small": Size(
        Model(layers=6, hidden=512, heads=8, kv_heads=4, head=64, vocabulary=4096, positions=8192, seed=1), "float32",
        16, 512, 128, 1024, 2048),
    # The layers of Qwen3-0.6B, the smallest of its kind that is served, with fewer words.
    "0.6B": Size(
        Model(layers=28, hidden=1024, heads=16, kv_heads=8, head=128, vocabulary=32768, positions=8192, seed=1,
              intermediate=3072), "bfloat16", 16, 256, 64, 320, 128),
}


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Where the median is that values are drawn around, with a confidence of 95 %, whatever their distribution: between
    two of them, behind which it is as seldom as so many tosses of a coin all but agree."""
    ordered, count = sorted(values), len(values)
    outside, tail = 0, 0.0
    while outside < count // 2 and tail + math.comb(count, outside) / 2**count <= 0.025:
        tail += math.comb(count, outside) / 2**count
        outside += 1
    if outside == 0:
        return -math.inf, math.inf
    return ordered[outside - 1], ordered[count - outside]


@dataclass(frozen=True)
class Rounds:
    """What was measured with and without OrbitKV, round by round."""

    without: list[float]
    using: list[float]

    def add(self, without: float, using: float) -> None:
        """Adds a round."""
        self.without.append(without)
        self.using.append(using)

    def line(self, name: str, unit: str, scale: float = 1.0) -> str:
        """A line of a table."""
        return f"| {name} | {self._span(self.without, scale)} {unit} | {self._span(self.using, scale)} {unit} |"

    @staticmethod
    def _span(values: Sequence[float], scale: float) -> str:
        low, middle, high = (value * scale for value in (min(values), statistics.median(values), max(values)))
        return f"{middle:,.2f} ({low:,.2f} to {high:,.2f})"


class Kept:
    """What is kept of an engine's throughput, in the rounds of all starts."""

    def __init__(self) -> None:
        self.steps = Rounds([], [])
        self.works = Rounds([], [])

    def print(self, size: Size) -> None:
        """Prints a table, and what it comes to."""
        load = f"{size.requests} requests of {size.prompt} + {size.tokens} tokens at once"
        print(f"| {load}, nothing to reuse | without OrbitKV | with OrbitKV |", "|---|---:|---:|", sep="\n")
        print(self.steps.line("all steps", "s"))
        print(self.works.line("processors have worked", "s"))
        print()
        self._print_kept("kept, by the time of the steps", self.steps)
        self._print_kept("kept, by the time for which processors have worked", self.works)

    @staticmethod
    def _print_kept(title: str, rounds: Rounds) -> None:
        ratios = [without / using for without, using in zip(rounds.without, rounds.using)]
        low, high = interval(ratios)
        print(f"{title}: {statistics.median(ratios):.2%}, median of {len(ratios)} rounds, "
              f"95 % interval {low:.2%} to {high:.2%}, rounds from {min(ratios):.2%} to {max(ratios):.2%}")


class Figures:
    """Two engines that differ in OrbitKV alone."""

    def __init__(
        self, bench: Bench, size: Size, rounds: int, folder: Path, *, control: bool, using_first: bool = False
    ) -> None:
        model = bench.model("measured", size.model)
        settings = Settings(
            model, blocks=size.blocks, longest=LONGEST, batched_tokens=size.chunk, requests=32, dtype=size.dtype)
        ssd = folder / "ssd"
        ssd.mkdir()
        with_cache = settings if control else bench.with_cache(settings, None, dram="2GiB", ssd=f"{ssd}:4GiB")
        if using_first:
            self._using = bench.engine(with_cache)
        self._without = bench.engine(settings)
        if not using_first:
            self._using = bench.engine(with_cache)
        self._size = size
        self._rounds = rounds
        self._numbers = random.Random(7)

    def kept(self, kept: Kept) -> None:
        """Nothing to reuse: what is kept of the engine's throughput."""
        size = self._size
        engines = self._without, self._using
        for number in range(WARMING + self._rounds):
            requests = self._requests(size.requests, size.prompt, size.tokens)
            before = [engine.processor_time() for engine in engines]
            taken = self._in_turn(engines if number % 2 == 0 else engines[::-1], requests)
            for engine in engines:
                engine.settle()
            worked = [engine.processor_time() - earlier for engine, earlier in zip(engines, before)]
            if number >= WARMING:
                kept.steps.add(taken[self._without], taken[self._using])
                kept.works.add(*worked)

    @staticmethod
    def _in_turn(engines: Sequence[Engine], requests: list[Request]) -> dict[Engine, float]:
        """Has engines run the same requests, each for a moment; what each took in all."""
        taken = dict.fromkeys(engines, 0.0)
        running = list(engines)
        for engine in engines:
            engine.submit(*requests)
        while running:
            for engine in tuple(running):
                seconds, left = engine.run_for(SLICE_S)
                taken[engine] += seconds
                if not left:
                    running.remove(engine)
                # What an agent copies now must not slow the other engine down.
                time.sleep(PAUSE_S)
        return taken

    def overhead(self) -> None:
        """Nothing to reuse: what OrbitKV costs where."""
        print("| nothing to reuse | without OrbitKV | with OrbitKV |", "|---|---:|---:|", sep="\n")
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
                expected = length // BLOCK * self._size.block_bytes
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
        numbers = tuple(self._numbers.randrange(3, self._size.model.vocabulary) for _ in range(prompt))
        return Request(f"request {self._numbers.getrandbits(64):x}", numbers, tokens)

    @staticmethod
    def _milliseconds(values: Sequence[float]) -> str:
        return f"{statistics.median(values) * 1e3:,.1f} ms ({min(values) * 1e3:,.1f} to {max(values) * 1e3:,.1f})"


KEPT = "kept"
OF_ONE_START = {"overhead": Figures.overhead, "savings": Figures.savings}


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(prog="figures", description=__doc__)
    parser.add_argument(
        "--path", action="append", required=True, help="a folder of OrbitKV's packages, as pip --target makes it")
    parser.add_argument(
        "--command", type=shlex.split, help="what starts orbitkv; the wheel's own command unless said otherwise")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each start that are counted")
    parser.add_argument("--starts", type=int, default=2, help="how often both engines are started, to tell what is kept")
    parser.add_argument("--size", choices=SIZES, default="small", help="the model")
    parser.add_argument(
        "--control", action="store_true", help="both engines without OrbitKV: what two equal ones differ by")
    parser.add_argument(
        "--processors", type=int, nargs="+", help="what the engines' threads are bound to; nothing unless said otherwise")
    parts = [KEPT, *OF_ONE_START]
    parser.add_argument(
        "--parts", choices=parts, nargs="+", default=parts, help="what is measured; all of it unless said otherwise")
    arguments = parser.parse_args()
    size = SIZES[arguments.size]
    installed = Installed(tuple(arguments.path), arguments.command and tuple(arguments.command))
    if arguments.processors:
        bind(arguments.processors)
    print(f"{platform.machine()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.2f} at the start", flush=True)
    kept = Kept()
    starts = arguments.starts if KEPT in arguments.parts else 1
    for start in range(starts):
        with started(installed, size, arguments.rounds, control=arguments.control, using_first=start % 2 == 1) as figures:
            if KEPT in arguments.parts:
                figures.kept(kept)
            if start == starts - 1:
                if KEPT in arguments.parts:
                    kept.print(size)
                for part in arguments.parts:
                    if part in OF_ONE_START:
                        print()
                        OF_ONE_START[part](figures)
    print(f"load {os.getloadavg()[0]:.2f} at the end")
    return 0


def bind(processors: Sequence[int]) -> None:
    """Has engines that are started afterwards compute on these, as vLLM has its workers do: their libraries read it when they
    are loaded (vllm/utils/ompmultiprocessing.py)."""
    os.environ["OMP_NUM_THREADS"] = str(len(processors))
    os.environ["OMP_PLACES"] = f"{{{','.join(map(str, processors))}}}"
    os.environ["OMP_PROC_BIND"] = "true"


@contextlib.contextmanager
def started(installed: Installed, size: Size, rounds: int, *, control: bool, using_first: bool) -> Iterator[Figures]:
    """Two engines that were just started, and are gone afterwards with all that they kept."""
    with (
        tempfile.TemporaryDirectory(prefix="orbitkv-figures-", ignore_cleanup_errors=True) as folder,
        tempfile.TemporaryDirectory(prefix="okv-", dir="/dev/shm", ignore_cleanup_errors=True) as memory,
    ):
        bench = Bench(Path(folder), Path(memory), installed)
        try:
            yield Figures(bench, size, rounds, Path(folder), control=control, using_first=using_first)
        finally:
            bench.close()


if __name__ == "__main__":
    sys.exit(main())

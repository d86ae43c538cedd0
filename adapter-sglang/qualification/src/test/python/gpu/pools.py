"""The released tree, allocator and pools with their buffers on a GPU, without a model: streams, graphs, every byte.

``engine`` is the tests' own driver of a scheduler's steps; a token's keys and values follow from the tokens before it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Optional

import loaded
import torch
from engine import PAGE, Engine, Request, Worker, mha_pool, publish_engine, tokens_of

from gpu.bench import NodeManager, require, until

if TYPE_CHECKING:
    from gpu.trial import Plan

_SLEEP_CYCLES = 600_000_000
"""What keeps a stream busy for a third of a second or so."""


class _Driver(Engine):  # type: ignore[misc, unused-ignore]
    """Computes on a stream of its own when it is given one: behind work that takes a while, and not waited for."""

    late: Optional[Any] = None
    _late_slots: Optional[torch.Tensor] = None
    _late_rows: Sequence[torch.Tensor] = ()

    def compute(self, tokens: Sequence[int], begin: int, slots: torch.Tensor) -> None:
        if self.late is None:
            super().compute(tokens, begin, slots)
            return
        # Kept until they are written: what another stream has been given up may be somebody else's before that.
        self._late_slots = slots = slots.clone()
        self._late_rows = rows = [each[begin : begin + len(slots)].to(slots.device) for each in self.expected(tokens)]
        torch.cuda.synchronize()
        with torch.cuda.stream(self.late):
            torch.cuda._sleep(_SLEEP_CYCLES)
            for buffer, each in zip(self.buffers(), rows):
                buffer.view(torch.uint8).reshape(buffer.shape[0], -1)[slots] = each


class PoolTrial:
    """A tree whose pools are on one device, and a Manager."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._gpu = not plan.small
        self._device = "cuda" if self._gpu else "cpu"
        self._pages = 512 if self._gpu else 64
        self._heads, self._dim, self._layer_count = (8, 128, 36) if self._gpu else (2, 32, 3)
        self._seed = 0

    def run(self) -> None:
        """All of it, on one engine."""
        loaded.load()
        page_bytes = PAGE * self._layer_count * 2 * self._heads * self._dim * 2
        self._plan.logs.mkdir(parents=True, exist_ok=True)
        manager = NodeManager(
            self._plan.command, self._plan.memory / "pools", self._plan.logs / "pools-manager.log",
            dram=f"{4 * self._pages * page_bytes}B", block_bytes=page_bytes)
        manager.start()
        try:
            stream: Any = torch.cuda.Stream() if self._gpu else None
            tried = self._driver(manager, "pools", stream)
            try:
                print(f"{type(tried.pool).__name__} of {self._pages} pages of {page_bytes:,} bytes on {self._device}, "
                      f"{type(tried.cache).__name__}", flush=True)
                self._restores(tried, manager)
                if stream is not None:
                    self._late_work(tried, stream)
                    self._beside_work(tried)
                    self._graph(tried, stream)
                    self._overlap(tried, stream, "all of it before the forward")
            finally:
                tried.close()
            if stream is not None:
                tried = self._driver(manager, "layered", stream, layered="on")
                try:
                    self._restores(tried, manager)
                    self._layers(tried, stream)
                    self._overlap(tried, stream, "layer by layer")
                finally:
                    tried.close()
        finally:
            manager.stop()

    def _driver(self, manager: NodeManager, name: str, stream: Any, **settings: str) -> _Driver:
        server = publish_engine({
            "manager": manager.socket, "runtime_dir": str(self._plan.memory / "run"), "engine_id": name,
            "pending_ms": 5000, "agent_command": list(self._plan.command), "scope": name, **settings,
        }, device=self._device)
        worker = Worker()
        if stream is not None:
            worker.model_runner.forward_stream = stream
        pool = mha_pool(
            self._pages, heads=self._heads, dim=self._dim, layers=self._layer_count, device=self._device)
        tried = _Driver(server, pool=pool, worker=worker, core=self._plan.core)
        tried.await_cache()
        # The agent keeps nothing in memory that is not pinned yet.
        until(lambda: self._is_kept(tried), "a block that is kept")
        return tried

    def _is_kept(self, tried: _Driver) -> bool:
        pages = self._pages // 4
        tokens = self._computed(tried, pages)
        self._forget(tried)
        return bool(self._run(tried, Request(f"kept{self._seed}", tokens)) == pages * PAGE)

    def _prompt(self, pages: int) -> list[int]:
        self._seed += 1
        tokens: list[int] = tokens_of(self._seed, pages * PAGE + 1)
        return tokens

    def _computed(self, tried: _Driver, pages: int) -> list[int]:
        """Serves a prompt that is new, and has its pages saved."""
        tried.drain()
        tokens = self._prompt(pages)
        require(self._run(tried, Request(f"r{self._seed}", tokens)) == 0, "a prompt that is new was restored")
        tried.drain()
        return tokens

    @staticmethod
    def _find(tried: _Driver, request: Request) -> None:
        """Looks until the cache has answered."""

        def answered() -> bool:
            tried.look(request)
            return not tried.cache.linker.is_pending(request.rid)

        until(answered, "an answer")

    def _run(self, tried: _Driver, request: Request) -> int:
        self._find(tried, request)
        return int(tried.run(request))

    def _forget(self, tried: _Driver) -> None:
        # What was restored is offered again: it is held, and less than half of the pool may be.
        tried.drain()
        tried.evict_all()
        if self._gpu:
            torch.cuda.synchronize()
        for buffer in tried.buffers():
            buffer.view(torch.uint8).fill_(0xA5)
        if self._gpu:
            torch.cuda.synchronize()

    def _restores(self, tried: _Driver, manager: NodeManager) -> None:
        """What was saved comes back, to the last byte, and nothing else of the whole pool is touched."""
        pages = self._pages // 4
        tokens = self._computed(tried, pages)
        self._forget(tried)
        before = tried.snapshot()
        restored = manager.moved().restored
        request = Request("again", tokens)
        found = self._run(tried, request)
        require(found == pages * PAGE, f"{found} tokens were restored, expected {pages * PAGE}")
        wrong = tried.wrong(tokens, request.prefix)
        untouched = torch.ones(before[0].shape[0], dtype=torch.bool)
        untouched[request.prefix.cpu()] = False
        strange = sum(
            int((now[untouched] != then[untouched]).sum()) for now, then in zip(tried.snapshot(), before))
        moved = manager.moved().restored - restored
        print(f"restored: {found:,} tokens, {moved:,} bytes; rows that are wrong: {wrong}; bytes changed elsewhere in "
              f"the pool: {strange}", flush=True)
        require(not wrong and not strange and found > 0, "bytes are not what they should be")

    def _late_work(self, tried: _Driver, stream: Any) -> None:
        """A save is asked for while the stream that computes its pages is still busy with something before that."""
        for ordered in (True, False):
            fence = tried.linker._copies._pages._fence
            if not ordered:
                # The control: without the order, what is saved are the bytes from before.
                fence.record = lambda: None
            self._forget(tried)
            tried.late = stream
            try:
                tokens = self._computed(tried, 32)
            finally:
                tried.late = None
                if not ordered:
                    del fence.record
            self._forget(tried)
            request = Request(f"late-{ordered}", tokens)
            found = self._run(tried, request)
            wrong = tried.wrong(tokens, request.prefix)
            print(f"saved while the forward's stream was busy, {'in order' if ordered else 'order left out (control)'}:"
                  f" {found} tokens restored, {wrong} rows wrong", flush=True)
            require(found == 32 * PAGE, "not all was restored")
            require((wrong == 0) is ordered, "the order behind the engine's stream is not what it should be")

    def _beside_work(self, tried: _Driver) -> None:
        """Loads run while another stream computes."""
        prompts = [self._computed(tried, 32) for _ in range(4)]
        self._forget(tried)
        left = torch.randn(4096, 4096, device=self._device, dtype=torch.bfloat16)
        expected = left @ left
        product = torch.zeros_like(left)
        torch.cuda.synchronize()
        products = torch.cuda.CUDAGraph()
        with torch.cuda.graph(products):
            for _ in range(500):
                torch.mm(left, left, out=product)
        busy, done = torch.cuda.Stream(), torch.cuda.Event()
        with torch.cuda.stream(busy):
            for _ in range(20):
                products.replay()
            done.record()
        requests = [Request(f"beside-{number}", prompt) for number, prompt in enumerate(prompts)]
        running = 0
        for request in requests:
            require(self._run(tried, request) == 32 * PAGE, "not all was restored")
            running += not done.query()
        busy.synchronize()
        wrong = sum(tried.wrong(request.tokens, request.prefix) for request in requests)
        print(f"restored beside a stream that computes: {len(prompts)} prompts of {32 * PAGE} tokens, {wrong} rows "
              f"wrong; the stream was still busy behind {running} of them, and computed what it should: "
              f"{torch.equal(product, expected)}", flush=True)
        require(not wrong and running > 0 and torch.equal(product, expected), "loads and work disturbed each other")

    def _graph(self, tried: _Driver, stream: Any) -> None:
        """A captured graph reads pages that were loaded between two of its replays."""
        pages = 32
        tokens = self._computed(tried, pages)
        expected = tried.expected(tokens[: pages * PAGE])
        self._forget(tried)
        slots = torch.zeros(pages * PAGE, dtype=torch.int64, device=self._device)
        outputs = [torch.zeros(pages * PAGE, row.shape[1], dtype=torch.uint8, device=self._device) for row in expected]

        def read() -> None:
            for buffer, output in zip(tried.buffers(), outputs):
                output.copy_(buffer.view(torch.uint8).reshape(buffer.shape[0], -1)[slots])

        with torch.cuda.stream(stream):
            read()
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            read()

        def replay() -> int:
            with torch.cuda.stream(stream):
                graph.replay()
            stream.synchronize()
            return sum(int((output.cpu() != rows).any(dim=1).sum()) for output, rows in zip(outputs, expected))

        before = replay()
        request = Request("graph", tokens)
        self._find(tried, request)
        lock = tried.cache.lock(request.match.last_device_node)
        loaded_tokens = tried.load_back(request)
        slots.copy_(request.prefix[: pages * PAGE])
        torch.cuda.synchronize()
        index = tried.start()
        # What a worker does before a forward, which then asks for no layer: it is replayed.
        tried.worker.counter.set_consumer(index)
        after = replay()
        failed = tried.cache.finish_external_linker_loads([request])
        require(not list(failed), "a load failed")
        tried.insert(request, 0)
        tried.cache.unlock(lock)
        print(f"graph captured before and replayed after a load of {loaded_tokens} tokens: {after} rows wrong; before "
              f"it: {before} of {len(expected) * pages * PAGE}", flush=True)
        require(loaded_tokens == pages * PAGE and after == 0 and before > 0, "the graph read other bytes")

    def _layers(self, tried: _Driver, stream: Any) -> None:
        """A forward that is asked for before its load has begun reads each layer when it is there."""
        waits = tried.linker._copies.layers
        for waited in (True, False):
            if not waited:
                # The control: a forward that does not wait.
                waits.follow = lambda layer, mark: None
            try:
                tokens = self._computed(tried, 32)
                expected = tried.expected(tokens[: 32 * PAGE])
                self._forget(tried)
                # The load waits for this, and what the forward does is right behind it.
                with torch.cuda.stream(stream):
                    torch.cuda._sleep(_SLEEP_CYCLES)
                outputs, _ = self._forward(tried, stream, Request(f"layers-{waited}", tokens), 32, None)
            finally:
                if not waited:
                    del waits.follow
            wrong = sum(int((output.cpu() != rows).any(dim=1).sum()) for output, rows in zip(outputs, expected))
            print(f"read layer by layer behind a load that had not begun, {'waited for' if waited else 'not (control)'}:"
                  f" {wrong} rows wrong of {len(expected) * 32 * PAGE}", flush=True)
            require((wrong == 0) is waited, "a forward has not waited as it should")

    def _overlap(self, tried: _Driver, stream: Any, how: str) -> None:
        """How long a load takes with a forward behind it that computes for as long."""
        work = torch.randn(4096, 4096, device=self._device, dtype=torch.bfloat16)
        pages = self._pages // 2
        tokens = self._computed(tried, pages)
        times = []
        for number in range(11):
            self._forget(tried)
            _, took = self._forward(tried, stream, Request(f"overlap-{number}", tokens), pages, work)
            times.append(took)
        whole, asked, alone = (sorted(each[2:]) for each in zip(*times))
        middle = len(whole) // 2
        print(f"load of {pages * PAGE:,} tokens and a forward that reads them, {how}: {whole[middle]:.1f} ms "
              f"({whole[0]:.1f} to {whole[-1]:.1f}), of which {asked[middle]:.1f} ms ({asked[0]:.1f} to {asked[-1]:.1f}) "
              f"before the forward was asked for; the same forward without a load {alone[middle]:.1f} ms", flush=True)

    def _forward(
        self, tried: _Driver, stream: Any, request: Request, pages: int, work: Optional[torch.Tensor]
    ) -> tuple[list[torch.Tensor], tuple[float, float, float]]:
        """Loads a prompt and reads its layers as a forward does, with work behind each.

        Returns them, and milliseconds: of all, of what came before the forward was asked for, and of a forward alone.
        """
        self._find(tried, request)
        lock = tried.cache.lock(request.match.last_device_node)
        rows = pages * PAGE
        outputs = [
            torch.zeros(rows, buffer[0].nbytes // 8, dtype=torch.int64, device=self._device)
            for buffer in tried.buffers()
        ]
        product = None if work is None else torch.zeros_like(work)

        def forward() -> None:
            stream.wait_stream(torch.cuda.current_stream())
            slots = request.prefix[:rows]
            with torch.cuda.stream(stream):
                for layer in range(self._layer_count):
                    for buffer, output in zip(
                        tried.pool.get_kv_buffer(layer), (outputs[layer], outputs[self._layer_count + layer])
                    ):
                        torch.index_select(buffer.view(torch.int64).reshape(buffer.shape[0], -1), 0, slots, out=output)
                    if work is not None:
                        torch.mm(work, work, out=product)

        began = time.perf_counter()
        require(tried.load_back(request) == rows, "not all was restored")
        index = tried.start()
        tried.worker.counter.set_consumer(index)
        asked = time.perf_counter()
        forward()
        stream.synchronize()
        ended = time.perf_counter()
        require(not list(tried.cache.finish_external_linker_loads([request])), "a load failed")
        read = [output.view(torch.uint8).clone() for output in outputs]
        torch.cuda.synchronize()
        again = time.perf_counter()
        forward()
        stream.synchronize()
        alone = time.perf_counter() - again
        tried.insert(request, 0)
        tried.cache.unlock(lock)
        return read, ((ended - began) * 1000, (asked - began) * 1000, alone * 1000)

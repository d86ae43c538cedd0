"""What a scenario is, and what it may say of itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Optional

from qualification.driver import Engine
from qualification.engine import Counts, Outcome, Request, Settings
from qualification.model import Model
from qualification.reference import Reference, differing
from qualification.server import Server

# The connector's statistics that are looked at.
LOADED_BYTES = "loaded_bytes"
FAILED_LOADS = "failed_loads"


@dataclass
class Row:
    """
    What the table says of a scenario.

    blocks, size: loaded in all. None if timing decides how many.
    """

    name: str
    result: str = ""
    blocks: Optional[int] = 0
    size: Optional[int] = 0
    compared: int = 0
    seconds: float = 0.0
    failure: Optional[str] = None
    counted: list[Counts] = field(default_factory=list)


@dataclass
class Scenario:
    """One scenario under way: everything that it compares and counts."""

    row: Row
    model: Model
    reference: Reference
    started: float = field(default_factory=time.monotonic)

    def same(
        self, settings: Settings, outcomes: dict[str, Outcome], *requests: Request, uncounted: bool = False
    ) -> None:
        """
        Compares answers token by token with those of an engine without OrbitKV.

        uncounted: their number is not counted, because it depends on timing.
        """
        for request in requests:
            expected = self.reference.tokens(settings, request)
            outcome = outcomes[request.name]
            differ = differing(expected, outcome)
            if differ != 0:
                raise AssertionError(
                    f"{differ} of {len(expected)} tokens of {request.name} differ from the engine without OrbitKV: "
                    f"{outcome.tokens} instead of {expected} ({outcome.reason}, {outcome.cached} cached)")
            if not uncounted:
                self.row.compared += len(expected)

    def answers(self, engine: Engine, *requests: Request) -> None:
        """Runs requests and compares their answers."""
        self.same(engine.settings, engine.generate(*requests), *requests)

    def counts(self, engine: Engine) -> Counts:
        """What an engine counted since the last look."""
        counts = engine.counts()
        self.row.counted.append(counts)
        return counts

    def loads(self, engine: Engine, blocks: int) -> None:
        """Expects that exactly so many blocks were supplied since the last look, and every byte of them loaded."""
        counts = self.counts(engine)
        size = blocks * self.model.block_bytes(engine.settings.block_tokens)
        loaded = counts.connector.get(LOADED_BYTES, 0)
        if counts.external != blocks * engine.settings.block_tokens or loaded != size:
            raise AssertionError(
                f"expected {blocks} blocks of {engine.settings.block_tokens} tokens and {size} bytes; the scheduler "
                f"counted {counts.external} tokens, the connector {loaded:.0f} bytes: {counts}")
        self._add(blocks, size)

    def served(self, server: Server, blocks: int, before: tuple[float, float] = (0, 0)) -> None:
        """Expects that a server's metrics say that exactly so many blocks were supplied and loaded."""
        tokens, loaded = server.supplied() - before[0], server.loaded() - before[1]
        size = blocks * self.model.block_bytes(server.settings.block_tokens)
        if tokens != blocks * server.settings.block_tokens or loaded != size:
            raise AssertionError(
                f"expected {blocks} blocks and {size} bytes; the metrics say {tokens:.0f} tokens, {loaded:.0f} bytes")
        self._add(blocks, size)

    def loads_some(self, engine: Engine) -> Counts:
        """Expects that blocks were supplied and loaded; how many of them timing decides. All that was counted."""
        counts = self.counts(engine)
        loaded = int(counts.connector.get(LOADED_BYTES, 0))
        block = self.model.block_bytes(engine.settings.block_tokens)
        if counts.external == 0 or loaded == 0 or loaded % block != 0:
            raise AssertionError(f"expected blocks of {block} bytes to be loaded: {counts}")
        self.row.blocks = self.row.size = None
        return counts

    def struck(self, engine: Engine, loaded: int, failed: int) -> None:
        """Expects that a fault has come, that so many blocks were loaded all the same and so many loads failed."""
        if engine.pending_faults() != 0:
            raise AssertionError("the fault did not come: no call of the connector met a request at its stage")
        counts = self.counts(engine)
        size = loaded * self.model.block_bytes(engine.settings.block_tokens)
        if counts.connector.get(LOADED_BYTES, 0) != size or counts.connector.get(FAILED_LOADS, 0) != failed:
            raise AssertionError(f"expected {size} bytes and {failed} failed loads: {counts}")
        self._add(loaded, size)

    def _add(self, blocks: int, size: int) -> None:
        if self.row.blocks is not None and self.row.size is not None:
            self.row.blocks += blocks
            self.row.size += size

    def clean(self, *engines: Engine) -> None:
        """Expects that no block is in use when nothing is under way."""
        for engine in engines:
            kept = engine.settle()
            if kept != 0:
                raise AssertionError(f"{kept} blocks of the engine's cache did not come back")

    def loads_at_last(self, engine: Engine, request: Request, blocks: int, limit: float = 120.0) -> None:
        """Expects that a request is served from the cache as soon as there is one again; its answers are compared."""
        deadline = time.monotonic() + limit
        while True:
            engine.settle()
            engine.forget()
            engine.counts()
            outcomes = engine.generate(request)
            if outcomes[request.name].cached >= blocks * engine.settings.block_tokens:
                self.same(engine.settings, outcomes, request)
                self.loads(engine, blocks)
                return
            if time.monotonic() > deadline:
                raise AssertionError(f"no hit in {limit:.0f} s: {outcomes[request.name]}, {engine.counts()}")


Body = Callable[[Scenario], str]


class Run:
    """Runs scenarios one behind another and keeps what came of them."""

    def __init__(self, model: Model, reference: Reference, say: Callable[[str], None], verbose: bool) -> None:
        self._model = model
        self._reference = reference
        self._say = say
        self._verbose = verbose
        self.rows: list[Row] = []

    def group(self, name: str, scenarios: Callable[[], None]) -> None:
        """Runs a group of scenarios; what they share may not come about at all."""
        try:
            scenarios()
        except AssertionError as failure:
            self.rows.append(Row(name, "FAILED", failure=str(failure)))
            self._say(f"{name}: FAILED\n{failure}")

    def scenario(self, name: str, body: Body) -> None:
        """Runs a scenario. The ones behind it run whatever comes of it."""
        row = Row(name)
        self.rows.append(row)
        scenario = Scenario(row, self._model, self._reference)
        try:
            row.result = body(scenario)
        except AssertionError as failure:
            row.failure = str(failure)
            row.result = "FAILED"
        row.seconds = time.monotonic() - scenario.started
        if self._verbose:
            for counts in row.counted:
                self._say(f"          {counts}")
        self._say(f"{row.seconds:6.1f} s  {row.name}: {row.result}" + (f"\n{row.failure}" if row.failure else ""))

"""What an engine without OrbitKV answers."""

from __future__ import annotations

from dataclasses import replace

from qualification.driver import Bench, Engine
from qualification.engine import Outcome, Request, Settings


class Reference:
    """An engine that computes everything: no OrbitKV, and no cache of its own."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._engines: dict[Settings, Engine] = {}
        self._answers: dict[tuple[Settings, tuple[int, ...], int], tuple[int, ...]] = {}

    def tokens(self, settings: Settings, request: Request) -> tuple[int, ...]:
        """The answer of an engine of the same model, type and sizes, which computes this request alone."""
        alone = replace(
            settings, connector=None, identity="", module=None, own_cache=False, async_scheduling=False, log="",
            load_path=(), events=False)
        key = (alone, request.prompt, request.tokens)
        if key not in self._answers:
            if alone not in self._engines:
                self._engines[alone] = self._bench.engine(alone)
            outcome = self._engines[alone].generate(request)[request.name]
            assert outcome.cached == 0 and len(outcome.tokens) == request.tokens
            self._answers[key] = outcome.tokens
        return self._answers[key]

    def modules(self, prefix: str) -> list[str]:
        """What the engines without OrbitKV have imported."""
        return sorted({module for engine in self._engines.values() for module in engine.modules(prefix)})


def differing(expected: tuple[int, ...], outcome: Outcome) -> int:
    """How many tokens differ; those that are missing do."""
    same = sum(left == right for left, right in zip(expected, outcome.tokens))
    return max(len(expected), len(outcome.tokens)) - same

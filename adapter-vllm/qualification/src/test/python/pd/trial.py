"""Prefill, decode and an engine alone, whose answers have to be the same."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence

from pd.cluster import Cluster
from pd.question import Question

PREFILL, DECODE, ROUTER = "prefill 'p0'", "decode 'd0'", "router"
BLOCK = 32
TOKENS = 12
SAVED, LOADED = "vllm:orbitkv_saved_tokens_total", "vllm:orbitkv_loaded_tokens_total"


def whole(tokens: int) -> int:
    """Of so many tokens those in whole blocks, without the last one, which is sampled and not computed."""
    return (tokens - 1) // BLOCK * BLOCK


class Trial:
    """What is asked of a composition and compared. Each thing that is looked at is a line."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.asked: list[list[int]] = []
        self._chance = random.Random(7)
        self._alone: dict[tuple[tuple[int, ...], int], list[int]] = {}

    @staticmethod
    def shown(true: bool, what: str, how: str = "") -> None:
        """Has to be true."""
        print(f"{'shown' if true else 'NOT SHOWN'}: {what}{how and ': '}{how}", flush=True)
        if not true:
            raise AssertionError(f"{what}: {how}")

    def prompt(self, length: int) -> list[int]:
        """A prompt that nobody has asked for."""
        prompt = [self._chance.randrange(3, 1024) for _ in range(length)]
        self.asked.append(prompt)
        return prompt

    def expected(self, prompt: Sequence[int], tokens: int = TOKENS) -> list[int]:
        """What the engine alone answers."""
        key = tuple(prompt), tokens
        if key not in self._alone:
            self._alone[key] = self.cluster.complete("alone", prompt, tokens)
        return self._alone[key]

    def exactly(self, title: str, prompt: Sequence[int]) -> bool:
        """Asks; whether the answer is the engine alone's."""
        return self.cluster.complete(title, prompt, TOKENS) == self.expected(prompt)

    def exact(self, title: str, prompts: Sequence[Sequence[int]], what: str) -> None:
        """Asks one after another, and requires what the engine alone answers."""
        exact = sum(self.exactly(title, prompt) for prompt in prompts)
        self.shown(exact == len(prompts), what, f"{exact} of {len(prompts)} answers are those of the engine alone")

    def serves(self) -> None:
        """Waits until the router trusts its workers: it takes a while with one that was gone."""
        def answers() -> bool:
            with contextlib.suppress(OSError):
                self.cluster.complete(ROUTER, [5, 4, 3], 1)
                return True
            return False

        self.cluster.until(answers, "the router has workers")

    def saves(self, title: str, through: str) -> None:
        """Asks until a worker has saved something. Agents take a while to start, and an engine does not wait for one
        that is slow: not everything is saved."""
        before = self.cluster.metric(title, SAVED)

        def saved() -> bool:
            self.exactly(through, self.prompt(2 * BLOCK + 1))
            return self.cluster.metric(title, SAVED) > before

        self.cluster.until(saved, f"{title} saves")

    def poked(self, title: str, condition: Callable[[], bool], what: str) -> None:
        """Waits for what an engine tells with its steps: one that is idle takes none."""
        def holds() -> bool:
            self.cluster.complete(title, [3], 1)
            return condition()

        self.cluster.until(holds, what)

    def settled(self, title: str) -> float:
        """Waits until no page of an engine is in use, for whatever. Returns how many tokens it has saved."""
        self.poked(title, lambda: self.usage(title) == 0, f"the pages of {title} come free")
        return self.cluster.metric(title, SAVED)

    def outlives(self, title: str, condition: Callable[[], bool], what: str) -> bool:
        """Waits for what an engine tells, or until it has ended by itself. Returns whether it goes on."""
        def decided() -> bool:
            with contextlib.suppress(OSError):
                self.cluster.complete(title, [3], 1)
                return condition()
            return self.cluster.has_ended(title)

        self.cluster.until(decided, what, but=title)
        if self.cluster.has_ended(title):
            self.cluster.kill(title)
            return False
        return True

    def usage(self, title: str) -> float:
        """The share of an engine's pages that are taken."""
        return self.cluster.metric(title, "vllm:kv_cache_usage_perc")

    def receiving(self) -> bool:
        """Whether a request on D waits for its pages."""
        return self.cluster.metric(DECODE, "vllm:num_requests_waiting_by_reason", 'reason="deferred"') > 0

    @contextlib.contextmanager
    def transfer(self, prompt: Sequence[int]) -> Iterator[Question]:
        """A request on D whose pages do not come: P has computed them and stands still."""
        parameters = self.cluster.hand_over(PREFILL, prompt)
        with self.cluster.stopped(PREFILL):
            question = self.cluster.question(DECODE, prompt, TOKENS, parameters)
            self.cluster.until(lambda: self.receiving() or question.has_ended, "D waits for pages")
            assert not question.has_ended, f"the transfer has ended: {question.answer()}"
            yield question

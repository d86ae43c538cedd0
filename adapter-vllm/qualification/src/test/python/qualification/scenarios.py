"""The scenarios. Each group shares engines, since what one scenario left behind is what the next one finds."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from qualification import store
from qualification.driver import CONNECTOR_MODULE, Bench, Engine, Manager, stopped
from qualification.engine import Half, Overwrite, Request, Settings, Signal, Stage
from qualification.model import Model
from qualification.processes import deliver
from qualification.scenario import FAILED_LOADS, Run, Scenario

BLOCK = 32
VOCABULARY = 1024

DELIVERED_ANSWER_MS = 50
ANSWER_MS = 1000
"""An engine that serves people does without an answer that takes a twentieth of that. On a busy machine some do, and then
nobody could say how many blocks a scenario has to load."""


def prompt(seed: int, tokens: int) -> tuple[int, ...]:
    """A prompt that has nothing in common with one of another seed."""
    numbers = random.Random(seed)
    return tuple(numbers.randrange(3, VOCABULARY) for _ in range(tokens))


# 20 blocks and a part of one; 10 blocks of it and others; the 20 blocks alone; the part is 12 tokens.
LONG = prompt(1, 20 * BLOCK + 12)
FORKED = LONG[: 10 * BLOCK] + prompt(2, 6 * BLOCK + 7)
WHOLE = LONG[: 20 * BLOCK]


def long(name: str) -> Request:
    """The prompt that most scenarios come back to."""
    return Request(name, LONG)


def preempted(bench: Bench, scenario: Scenario, settings: Settings, seed: int) -> str:
    """Has requests fight for a cache that is too small for them. They grow to 15 blocks each, and there are 39."""
    tiny = bench.engine(replace(settings, blocks=40, batched_tokens=128))
    try:
        requests = [Request(f"preempted {number}", prompt(seed + number, 200), 250) for number in range(8)]
        tiny.submit(*requests)
        scenario.same(tiny.settings, tiny.run(), *requests)
        if scenario.loads_some(tiny).preemptions == 0:
            raise AssertionError("nothing was preempted")
        scenario.clean(tiny)
    finally:
        tiny.stop()
    return "preempted requests load what they had computed"


class Group:
    """What the groups share."""

    def __init__(self, bench: Bench, run: Run, model: str) -> None:
        self.bench = bench
        self.run = run
        self.settings = Settings(model)

    def with_cache(self, manager: Manager | None, **extra: object) -> Settings:
        """Settings of an engine with OrbitKV."""
        return self.bench.with_cache(self.settings, manager, **{"answer_ms": ANSWER_MS, **extra})

    def __call__(self) -> None:
        """Runs the scenarios."""
        raise NotImplementedError


class Hits(Group):
    """Hits of all kinds, and the deaths that the cache outlives."""

    def __call__(self) -> None:
        self.manager = self.bench.manager("hits")
        self.engine = self.bench.engine(self.with_cache(self.manager))
        self.run.scenario("cold", self.cold)
        self.run.scenario("full hit", self.full)
        self.run.scenario("full hit, prompt of whole blocks", self.whole)
        self.run.scenario("partial hit", self.partial)
        self.run.scenario("next turn of a conversation", self.turn)
        self.run.scenario("evicted from the engine's cache", self.pressure)
        self.run.scenario("several requests of one prefix at once", self.fan)
        self.run.scenario("other values in the engine's blocks (control)", self.control)
        self.run.scenario("engine killed and restarted", self.engine_killed)
        self.run.scenario("engine stopped and restarted", self.engine_stopped)
        self.run.scenario("Manager stopped and restarted (SSD)", self.manager_stopped)
        self.run.scenario("Manager killed and restarted (SSD)", self.manager_killed)
        self.run.scenario("two engines, one Manager", self.two)
        self.run.scenario("caches reset", self.reset)
        self.engine.stop()

    def cold(self, scenario: Scenario) -> str:
        scenario.answers(self.engine, long("cold"))
        scenario.loads(self.engine, 0)
        scenario.clean(self.engine)
        return "computed and saved"

    def full(self, scenario: Scenario) -> str:
        self.engine.forget()
        scenario.answers(self.engine, long("full"))
        scenario.loads(self.engine, 20)
        scenario.clean(self.engine)
        return "20 of 20 whole blocks loaded"

    def whole(self, scenario: Scenario) -> str:
        self.engine.forget()
        scenario.answers(self.engine, Request("whole", WHOLE))
        scenario.loads(self.engine, 20)
        scenario.clean(self.engine)
        return "all loaded, the last token computed again"

    def partial(self, scenario: Scenario) -> str:
        self.engine.forget()
        scenario.answers(self.engine, Request("forked", FORKED))
        scenario.loads(self.engine, 10)
        scenario.clean(self.engine)
        return "10 of 16 whole blocks loaded"

    def turn(self, scenario: Scenario) -> str:
        first = Request("first turn", prompt(3, 5 * BLOCK), 4 * BLOCK + 8)
        answer = self.engine.generate(first)
        scenario.same(self.engine.settings, answer, first)
        scenario.clean(self.engine)
        self.engine.forget()
        self.engine.counts()
        second = Request("second turn", first.prompt + answer[first.name].tokens + prompt(4, 20))
        scenario.answers(self.engine, second)
        # The last token of an answer is never fed back, so its block is not full before the second turn.
        scenario.loads(self.engine, 9)
        scenario.clean(self.engine)
        return "blocks of prompt and answer loaded"

    def pressure(self, scenario: Scenario) -> str:
        scenario.answers(self.engine, long("before"))
        # 127 blocks; each of these takes 21.
        for number in range(7):
            scenario.answers(self.engine, Request(f"other {number}", prompt(10 + number, 20 * BLOCK + 5)))
        scenario.clean(self.engine)
        self.engine.counts()
        scenario.answers(self.engine, long("after"))
        scenario.loads(self.engine, 20)
        scenario.clean(self.engine)
        return "evicted by seven other prompts, then loaded"

    def fan(self, scenario: Scenario) -> str:
        self.engine.forget()
        requests = [Request(f"fan {number}", WHOLE[: 12 * BLOCK] + prompt(20 + number, 9)) for number in range(4)]
        scenario.answers(self.engine, *requests)
        scenario.loads_some(self.engine)
        scenario.clean(self.engine)
        return "4 requests, 12 blocks each"

    def control(self, scenario: Scenario) -> str:
        self.engine.forget()
        self.engine.submit(long("overwritten"))
        self.engine.until("overwritten", Stage.LOADING)
        # What was loaded is there, and is about to be read for the first time.
        self.engine.before(Half.WORKER, "bind_connector_metadata", Stage.RUNNING, Overwrite("overwritten"))
        outcome = self.engine.run()["overwritten"]
        if self.engine.pending_faults() != 0:
            raise AssertionError("nothing was overwritten")
        expected = scenario.reference.tokens(self.engine.settings, long("overwritten"))
        if outcome.tokens == expected:
            raise AssertionError("tokens do not depend on what is loaded: no comparison here means anything")
        scenario.loads(self.engine, 20)
        scenario.clean(self.engine)
        self.engine.forget()
        return "tokens differ, as they must"

    def engine_killed(self, scenario: Scenario) -> str:
        self.engine.kill()
        self.engine = self.bench.engine(self.engine.settings)
        scenario.answers(self.engine, long("after kill"))
        scenario.loads(self.engine, 20)
        scenario.clean(self.engine)
        return "hit in the new engine"

    def engine_stopped(self, scenario: Scenario) -> str:
        self.engine.stop()
        self.engine = self.bench.engine(self.engine.settings)
        scenario.answers(self.engine, long("after stop"))
        scenario.loads(self.engine, 20)
        scenario.clean(self.engine)
        return "hit in the new engine"

    def manager_stopped(self, scenario: Scenario) -> str:
        self.manager.stop()
        self.manager.start()
        scenario.loads_at_last(self.engine, long("after the Manager's stop"), 20)
        scenario.clean(self.engine)
        return "hit from the SSD"

    def manager_killed(self, scenario: Scenario) -> str:
        self.manager.kill()
        # Without a Manager there is no hit, and nothing else is missing.
        self.engine.forget()
        self.engine.counts()
        scenario.answers(self.engine, long("without a Manager"))
        scenario.loads(self.engine, 0)
        self.manager.start()
        scenario.loads_at_last(self.engine, long("after the Manager's death"), 20)
        scenario.clean(self.engine)
        return "computed while there was none, then a hit from the SSD"

    def two(self, scenario: Scenario) -> str:
        other = self.bench.engine(self.engine.settings)
        try:
            for number, (saves, loads) in enumerate([(self.engine, other), (other, self.engine)]):
                shared = Request(f"shared {number}", prompt(30 + number, 15 * BLOCK + 3))
                scenario.answers(saves, shared)
                scenario.clean(saves)
                loads.counts()
                scenario.answers(loads, shared)
                scenario.loads(loads, 15)
            scenario.clean(self.engine, other)
        finally:
            other.stop()
        return "each loads what the other saved"

    def reset(self, scenario: Scenario) -> str:
        self.engine.submit(long("busy"))
        self.engine.until("busy", Stage.RUNNING, 2)
        refused = not self.engine.reset()
        self.engine.run()
        scenario.clean(self.engine)
        if not refused:
            raise AssertionError("a reset was accepted while a request held blocks")
        if not self.engine.reset():
            raise AssertionError("a reset was refused though nothing is under way")
        self.engine.counts()
        scenario.answers(self.engine, long("after reset"))
        scenario.loads(self.engine, 0)
        scenario.clean(self.engine)
        self.engine.forget()
        scenario.answers(self.engine, long("reused"))
        scenario.loads(self.engine, 20)
        scenario.clean(self.engine)
        return "refused while busy; then a miss, then a hit of what was saved since"


class Aborts(Group):
    """Requests that end early, at each stage."""

    def __call__(self) -> None:
        self.manager = self.bench.manager("aborts")
        self.engine = self.bench.engine(self.with_cache(self.manager))
        self.run.scenario("aborted while saving", self.saving)
        self.run.scenario("aborted while deferred (SSD)", self.deferred)
        self.run.scenario("aborted while blocks are loaded", self.loading)
        self.run.scenario("aborted while running", self.running)
        self.run.scenario("preempted in a tiny cache", self.preempted)
        self.engine.stop()

    def saving(self, scenario: Scenario) -> str:
        self.engine.submit(long("saving"))
        self.engine.until("saving", Stage.RUNNING, 1)
        self.engine.abort("saving")
        # Nobody has taken a step since, so no save that the prompt's last step began has been seen to end.
        if self.engine.in_use() == 0:
            raise AssertionError("no save was under way after the prompt's last step")
        scenario.clean(self.engine)
        self._again(scenario, "after saving")
        return "its blocks stay until they are saved, and hit then"

    def deferred(self, scenario: Scenario) -> str:
        self.manager.stop()
        self.manager.start()
        scenario.loads_at_last(self.engine, Request("probe", WHOLE[:BLOCK] + prompt(40, 3)), 1)
        self.engine.forget()
        self.engine.submit(long("deferred"))
        self.engine.until("deferred", Stage.DEFERRED)
        self.engine.abort("deferred")
        scenario.clean(self.engine)
        self._again(scenario, "after deferral")
        return "nothing is held; the next request hits"

    def loading(self, scenario: Scenario) -> str:
        self.engine.forget()
        self.engine.submit(long("loading"))
        self.engine.until("loading", Stage.LOADING)
        self.engine.abort("loading")
        scenario.clean(self.engine)
        self._again(scenario, "after loading")
        return "its blocks stay until they are loaded; the next request hits"

    def running(self, scenario: Scenario) -> str:
        self.engine.forget()
        self.engine.submit(long("running"))
        self.engine.until("running", Stage.RUNNING, 5)
        self.engine.abort("running")
        scenario.clean(self.engine)
        self._again(scenario, "after running")
        return "nothing is held; the next request hits"

    def preempted(self, scenario: Scenario) -> str:
        return preempted(self.bench, scenario, self.engine.settings, 50)

    def _again(self, scenario: Scenario, name: str) -> None:
        self.engine.forget()
        self.engine.counts()
        scenario.answers(self.engine, long(name))
        scenario.loads(self.engine, 20)
        scenario.clean(self.engine)


class Faults(Group):
    """Processes that die and bytes that rot in the middle of it."""

    def __call__(self) -> None:
        self.manager = self.bench.manager("faults")
        self.engine = self.bench.engine(self.with_cache(self.manager))
        self.run.scenario("Manager killed between lookup and load", self.manager_before)
        self.run.scenario("Manager killed while blocks are loaded", self.manager_during)
        self.run.scenario("Manager killed while it reads the SSD", self.manager_reading)
        self.run.scenario("Manager stands still", self.manager_stopped)
        self.run.scenario("SSD corrupted underneath", self.corrupted)
        self.run.scenario("agent stands still while blocks are loaded", self.agent_stopped)
        self.run.scenario("agent killed while blocks are loaded", self.agent_loading)
        self.run.scenario("agent killed while blocks are saved", self.agent_saving)
        self.engine.stop()
        self.run.scenario("failed load, policy fail", self.policy_fail)

    def manager_before(self, scenario: Scenario) -> str:
        scenario.answers(self.engine, long("saved"))
        scenario.clean(self.engine)
        self._persist(scenario)
        self.engine.forget()
        self.engine.before(Half.WORKER, "start_load_kv", Stage.LOADING, Signal(self.manager.pid))
        self.engine.counts()
        scenario.answers(self.engine, long("manager killed before"))
        scenario.struck(self.engine, loaded=0, failed=1)
        return self._recovered(scenario, self.engine)

    def manager_during(self, scenario: Scenario) -> str:
        self.engine.forget()
        self.engine.after(Half.AGENT, "load", Stage.LOADING, Signal(self.manager.pid))
        self.engine.counts()
        scenario.answers(self.engine, long("manager killed during"))
        # Its memory is still there for whom it was granted to.
        scenario.struck(self.engine, loaded=20, failed=0)
        return self._recovered(scenario, self.engine)

    def manager_reading(self, scenario: Scenario) -> str:
        self.engine.forget()
        self.manager.stop()
        self.manager.start()
        scenario.loads_at_last(self.engine, Request("probe", WHOLE[:BLOCK] + prompt(40, 3)), 1)
        self.engine.forget()
        request = long("manager killed reading")
        self.engine.submit(request)
        self.engine.until(request.name, Stage.DEFERRED)
        self.manager.kill()
        scenario.same(self.engine.settings, self.engine.run(), request)
        scenario.loads(self.engine, 0)
        return self._recovered(scenario, self.engine)

    def manager_stopped(self, scenario: Scenario) -> str:
        self.engine.forget()
        with stopped(self.manager.pid):
            scenario.answers(self.engine, long("manager stands still"))
        scenario.loads_at_last(self.engine, long("manager goes on"), 20)
        scenario.clean(self.engine)
        return "computed meanwhile; hits afterwards"

    def corrupted(self, scenario: Scenario) -> str:
        self.manager.stop()
        damaged = store.damage(self.manager.data())
        if damaged == 0:
            raise AssertionError("no record was found to be damaged")
        self.manager.start()
        self.engine.await_cache()
        self.engine.counts()
        scenario.answers(self.engine, long("corrupted"))
        scenario.loads(self.engine, 0)
        scenario.clean(self.engine)
        self.engine.forget()
        scenario.answers(self.engine, long("repaired"))
        scenario.loads(self.engine, 20)
        scenario.clean(self.engine)
        return "a miss, computed and saved again; then a hit"

    def agent_loading(self, scenario: Scenario) -> str:
        scenario.loads_at_last(self.engine, long("before the agent's death"), 20)
        self.engine.forget()
        self.engine.after(Half.AGENT, "load", Stage.LOADING, Signal(self.engine.agent()))
        self.engine.counts()
        scenario.answers(self.engine, long("agent killed loading"))
        scenario.struck(self.engine, loaded=0, failed=1)
        scenario.clean(self.engine)
        return self._recovered_agent(scenario)

    def agent_saving(self, scenario: Scenario) -> str:
        self.engine.forget()
        request = Request("agent killed saving", prompt(60, 20 * BLOCK + 5))
        self.engine.after(Half.AGENT, "save", Stage.RUNNING, Signal(self.engine.agent()))
        self.engine.counts()
        scenario.answers(self.engine, request)
        scenario.struck(self.engine, loaded=0, failed=0)
        scenario.clean(self.engine)
        return self._recovered_agent(scenario)

    def agent_stopped(self, scenario: Scenario) -> str:
        self.engine.forget()
        agent = self.engine.agent()
        waits, goes_on = long("waits for the agent"), Request("goes on", prompt(61, 5 * BLOCK))
        self.engine.after(Half.AGENT, "load", Stage.LOADING, Signal(agent, signal.SIGSTOP))
        self.engine.counts()
        self.engine.submit(waits)
        self.engine.until(waits.name, Stage.LOADING)
        try:
            self.engine.submit(goes_on)
            self.engine.until(goes_on.name, Stage.ENDED)
            # Longer than a worker waits for an answer.
            time.sleep(3.0)
        finally:
            os.kill(agent, signal.SIGCONT)
        scenario.same(self.engine.settings, self.engine.run(), waits, goes_on)
        # The agent took too long to be asked again, so nobody knows what it has loaded.
        scenario.struck(self.engine, loaded=0, failed=1)
        scenario.clean(self.engine)
        return "others are computed meanwhile; the load counts as failed, and the pages are free when the agent goes on"

    def policy_fail(self, scenario: Scenario) -> str:
        engine = self.bench.engine(replace(self.engine.settings, failures="fail"))
        try:
            scenario.loads_at_last(engine, long("before"), 20)
            engine.forget()
            engine.counts()
            engine.after(Half.AGENT, "load", Stage.LOADING, Signal(engine.agent()))
            outcome = engine.generate(long("fails"))["fails"]
            if outcome.reason != "error":
                raise AssertionError(f"expected the request to end with an error: {outcome}")
            scenario.struck(engine, loaded=0, failed=1)
            scenario.clean(engine)
            scenario.answers(engine, long("goes on"))
        finally:
            engine.kill()
        return "the request ends with an error, the engine goes on"

    def _persist(self, scenario: Scenario) -> None:
        """A Manager that ends in order has written everything; it starts again with nothing in memory."""
        self.manager.stop()
        self.manager.start()
        scenario.loads_at_last(self.engine, long("from the SSD"), 20)

    def _recovered(self, scenario: Scenario, engine: Engine) -> str:
        scenario.clean(engine)
        self.manager.start()
        scenario.loads_at_last(engine, long("with a new Manager"), 20)
        scenario.clean(engine)
        return "same tokens; hits again with the next Manager"

    def _recovered_agent(self, scenario: Scenario) -> str:
        scenario.loads_at_last(self.engine, long("with a new agent"), 20)
        scenario.clean(self.engine)
        return "same tokens; hits again with the next agent"


class Identity(Group):
    """What makes blocks other blocks."""

    def __init__(self, bench: Bench, run: Run, model: str, same: str, changed: str) -> None:
        super().__init__(bench, run, model)
        self._same = same
        self._changed = changed

    def __call__(self) -> None:
        manager = self.bench.manager("identity")
        self.settings = self.with_cache(manager)
        first = self.bench.engine(self.settings)
        first.generate(long("saved"))
        first.settle()
        first.stop()
        copied = replace(self.settings, model=self._same)
        self.run.scenario("same files in another folder", partial(self._other, settings=copied, blocks=20))
        others = {
            "a changed weight": replace(self.settings, model=self._changed),
            "another dtype": replace(self.settings, dtype="bfloat16"),
            "another block size": replace(self.settings, block_tokens=64),
            "another degree of tensor parallelism": replace(self.settings, ranks=2),
            "another scope": replace(self.settings, connector={**(self.settings.connector or {}), "scope": "other"}),
        }
        for name, settings in others.items():
            self.run.scenario(name, partial(self._other, settings=settings, blocks=0))

    def _other(self, scenario: Scenario, settings: Settings, blocks: int) -> str:
        engine = self.bench.engine(settings)
        try:
            scenario.answers(engine, long("other"))
            scenario.loads(engine, blocks)
            scenario.clean(engine)
        finally:
            engine.stop()
        return "a hit" if blocks else "a miss"


class AsyncScheduling(Group):
    """Steps that are scheduled before the one before is answered."""

    def __call__(self) -> None:
        manager = self.bench.manager("async")
        self.engine = self.bench.engine(replace(self.with_cache(manager), async_scheduling=True))
        self.run.scenario("async scheduling: cold, then full hit", self.hit)
        self.run.scenario("async scheduling: aborted while blocks are loaded", self.aborted)
        self.run.scenario("async scheduling: preempted in a tiny cache", self.preempted)
        self.engine.stop()

    def hit(self, scenario: Scenario) -> str:
        scenario.answers(self.engine, long("async cold"))
        scenario.loads(self.engine, 0)
        scenario.clean(self.engine)
        self.engine.forget()
        scenario.answers(self.engine, long("async hit"))
        scenario.loads(self.engine, 20)
        scenario.clean(self.engine)
        return "20 of 20 whole blocks loaded"

    def aborted(self, scenario: Scenario) -> str:
        self.engine.forget()
        self.engine.submit(long("async loading"))
        self.engine.until("async loading", Stage.LOADING)
        self.engine.abort("async loading")
        scenario.clean(self.engine)
        self.engine.forget()
        self.engine.counts()
        scenario.answers(self.engine, long("async after"))
        scenario.loads(self.engine, 20)
        scenario.clean(self.engine)
        return "the next request hits"

    def preempted(self, scenario: Scenario) -> str:
        return preempted(self.bench, scenario, self.engine.settings, 70)


class Hosted(Group):
    """The default: a Manager that the agent hosts."""

    def __call__(self) -> None:
        self.run.scenario("hosted Manager: cold, full hit", self.hit)
        self.run.scenario("hosted Manager: engine killed and restarted (SSD)", self.killed)

    def hit(self, scenario: Scenario) -> str:
        ssd = self.bench.folder / "hosted"
        ssd.mkdir()
        self.engine = self.bench.engine(self.with_cache(None, dram="64MiB", ssd=f"{ssd}:512MiB"))
        scenario.answers(self.engine, long("hosted cold"))
        scenario.loads(self.engine, 0)
        scenario.clean(self.engine)
        self.engine.forget()
        scenario.answers(self.engine, long("hosted hit"))
        scenario.loads(self.engine, 20)
        scenario.clean(self.engine)
        return "20 of 20 whole blocks loaded"

    def killed(self, scenario: Scenario) -> str:
        self.engine.kill()
        self.engine = self.bench.engine(self.engine.settings)
        scenario.loads_at_last(self.engine, long("hosted again"), 20)
        scenario.clean(self.engine)
        self.engine.stop()
        return "hit from the SSD in the new engine"


class Router:
    """Believes what an engine's events say: which blocks can be loaded."""

    def __init__(self) -> None:
        self._there: set[bytes | int] = set()
        self._hashes: dict[tuple[int, ...], bytes | int] = {}
        self.removed = 0

    def hear(self, engine: Engine) -> None:
        """Has the engine take steps until it has heard of everything, and listens."""
        for _ in range(8):
            engine.settle()
            time.sleep(0.05)
        # What the engine empties in its own cache it says of all that it has.
        for told in engine.told():
            if told.kind == "BlockStored":
                self._there.update(told.hashes)
                for index, block in enumerate(told.hashes):
                    self._hashes[told.tokens[index * BLOCK : (index + 1) * BLOCK]] = block
            elif told.kind == "BlockRemoved":
                self.removed += len(self._there.intersection(told.hashes))
                self._there.difference_update(told.hashes)

    def blocks(self, tokens: tuple[int, ...]) -> int:
        """How many leading blocks of a prompt it takes for loadable."""
        blocks = 0
        while self._hashes.get(tokens[blocks * BLOCK : (blocks + 1) * BLOCK]) in self._there:
            blocks += 1
        return blocks


class Events(Group):
    """What routers are told of blocks that come and go."""

    def __call__(self) -> None:
        self.run.scenario("KV events of a cache that is too small", self.events)

    def events(self, scenario: Scenario) -> str:
        # 64 blocks of memory, no SSD, and five prompts of 20.
        engine = self.bench.engine(replace(self.with_cache(None, dram="8MiB"), events=True))
        try:
            router = Router()
            prompts = [Request(f"told {number}", prompt(100 + number, 20 * BLOCK + 5)) for number in range(5)]
            for request in prompts:
                scenario.answers(engine, request)
                router.hear(engine)
            if router.removed == 0:
                raise AssertionError("no block was told as removed")
            found = 0
            for request in reversed(prompts):
                engine.forget()
                router.hear(engine)
                engine.counts()
                expected = router.blocks(request.prompt)
                scenario.answers(engine, request)
                loaded = engine.counts().external // BLOCK
                if loaded < expected:
                    raise AssertionError(f"{request.name}: {expected} blocks were told as there, {loaded} were loaded")
                found += expected
                router.hear(engine)
            if found == 0:
                raise AssertionError("no block was told as there")
            scenario.row.blocks = scenario.row.size = None
            scenario.clean(engine)
        finally:
            engine.stop()
        return "blocks that left are told as removed; every block that is told as there is loaded"


class Parallel(Group):
    """Two ranks in processes of their own, each with an agent, one of which hosts the Manager."""

    def __call__(self) -> None:
        ssd = self.bench.folder / "parallel"
        ssd.mkdir()
        settings = replace(self.with_cache(None, dram="64MiB", ssd=f"{ssd}:512MiB"), ranks=2)
        self.engine = self.bench.engine(settings)
        self.run.scenario("two ranks: cold", self.cold)
        self.run.scenario("two ranks: full hit", self.full)
        self.run.scenario("two ranks: partial hit", self.partial)
        self.run.scenario("two ranks: caches reset", self.reset)
        self.run.scenario("two ranks: the agent of one killed while blocks are loaded", self.agent_killed)
        self.run.scenario("two ranks: the agent of one stands still", self.agent_stopped)
        self.run.scenario("two ranks: engine stopped and restarted (SSD)", self.restarted)
        self.engine.stop()

    def cold(self, scenario: Scenario) -> str:
        scenario.answers(self.engine, long("cold"))
        scenario.loads(self.engine, 0)
        scenario.clean(self.engine)
        return "computed and saved"

    def full(self, scenario: Scenario) -> str:
        self._again(scenario, "full")
        return "20 of 20 whole blocks loaded, half of each by either rank"

    def partial(self, scenario: Scenario) -> str:
        self.engine.forget()
        scenario.answers(self.engine, Request("forked", FORKED))
        scenario.loads(self.engine, 10)
        scenario.clean(self.engine)
        return "10 of 16 whole blocks loaded"

    def reset(self, scenario: Scenario) -> str:
        if not self.engine.reset():
            raise AssertionError("a reset was refused though nothing is under way")
        self.engine.counts()
        scenario.answers(self.engine, long("after reset"))
        scenario.loads(self.engine, 0)
        scenario.clean(self.engine)
        self._again(scenario, "reused")
        return "a miss, then a hit of what was saved since"

    def agent_killed(self, scenario: Scenario) -> str:
        scenario.loads_at_last(self.engine, long("before the agent's death"), 20)
        self.engine.forget()
        agent = self.engine.agent(1)
        # So that the load of this rank is under way when it comes to its end.
        deliver(agent, signal.SIGSTOP)
        try:
            self.engine.submit(long("agent killed"))
            self.engine.until("agent killed", Stage.LOADING)
        finally:
            deliver(agent, signal.SIGKILL)
        scenario.same(self.engine.settings, self.engine.run(), long("agent killed"))
        failed = scenario.counts(self.engine).connector.get(FAILED_LOADS, 0)
        if failed != 1:
            raise AssertionError(f"{failed} loads failed, expected one")
        scenario.clean(self.engine)
        scenario.loads_at_last(self.engine, long("with a new agent"), 20)
        scenario.clean(self.engine)
        return "the load fails on both; same tokens; hits again with the next agent"

    def agent_stopped(self, scenario: Scenario) -> str:
        scenario.loads_at_last(self.engine, long("before the agent stands still"), 20)
        self.engine.forget()
        waits, goes_on = long("waits for the agent"), Request("goes on", prompt(90, 5 * BLOCK))
        with stopped(self.engine.agent(1)):
            self.engine.submit(waits)
            self.engine.until(waits.name, Stage.LOADING)
            self.engine.submit(goes_on)
            self.engine.until(goes_on.name, Stage.ENDED)
        scenario.same(self.engine.settings, self.engine.run(), waits, goes_on)
        scenario.clean(self.engine)
        scenario.loads_at_last(self.engine, long("agent goes on"), 20)
        scenario.clean(self.engine)
        return "others are computed meanwhile; hits afterwards"

    def restarted(self, scenario: Scenario) -> str:
        self.engine.stop()
        self.engine = self.bench.engine(self.engine.settings)
        scenario.loads_at_last(self.engine, long("after stop"), 20)
        scenario.clean(self.engine)
        return "hit from the SSD in the new engine"

    def _again(self, scenario: Scenario, name: str) -> None:
        scenario.loads_at_last(self.engine, long(name), 20)
        scenario.clean(self.engine)


class Selection(Group):
    """How the connector comes into an engine, and that it does not when nobody asked for it."""

    def __call__(self) -> None:
        self.run.scenario("installed, not selected", self.not_selected)
        self.run.scenario("selected by the module's path", self.by_path)

    def not_selected(self, scenario: Scenario) -> str:
        engine = self.bench.engine(self.settings)
        try:
            scenario.answers(engine, long("not selected"))
            modules = engine.modules("orbitkv")
            expected = ["orbitkv_vllm", "orbitkv_vllm.plugin"] if self.bench.plugin else []
            if modules != expected:
                raise AssertionError(f"expected {expected} to be imported: {modules}")
            if engine.launched():
                raise AssertionError("processes were started")
        finally:
            engine.stop()
        return "imports the entry point alone"

    def by_path(self, scenario: Scenario) -> str:
        manager = self.bench.manager("path")
        engine = self.bench.engine(replace(self.with_cache(manager), module=CONNECTOR_MODULE))
        try:
            scenario.answers(engine, long("by path"))
            scenario.clean(engine)
            engine.forget()
            engine.counts()
            scenario.answers(engine, long("by path, again"))
            scenario.loads(engine, 20)
            scenario.clean(engine)
        finally:
            engine.stop()
        return "20 of 20 whole blocks loaded"


class Deployed(Group):
    """The engine as it is deployed, over HTTP and in three processes, with the default: a hosted Manager."""

    def __call__(self) -> None:
        self.ssd = self.bench.folder / "deployed"
        self.ssd.mkdir()
        self.settings = self.with_cache(None, dram="64MiB", ssd=f"{self.ssd}:256MiB", answer_ms=DELIVERED_ANSWER_MS)
        self.requests = [Request(f"served {number}", prompt(80 + number, 20 * BLOCK + 12)) for number in range(8)]
        self.server = self.bench.server(self.settings)
        self.run.scenario("server stopped by SIGTERM and restarted, hosted Manager (SSD)", self.stopped)
        self.run.scenario("server killed with all that it started, and restarted (SSD)", self.killed)
        self.server.stop()

    def stopped(self, scenario: Scenario) -> str:
        for request in self.requests:
            scenario.same(self.settings, {request.name: self.server.generate(request)}, request)
        scenario.served(self.server, 0)
        self.server.stop()
        self._restart(scenario)
        return "the store is sealed; hit from the SSD in the new server; its metrics say so"

    def killed(self, scenario: Scenario) -> str:
        self.server.kill()
        self._restart(scenario)
        return "the store is sealed; hit from the SSD in the new server"

    def _restart(self, scenario: Scenario) -> None:
        unsealed = self.bench.unsealed(self.ssd)
        if unsealed:
            raise AssertionError(f"the agent did not end in order: the store has segments {unsealed}")
        self.server = self.bench.server(self.settings)
        # An agent takes a while to be as fast as its deadlines are short, and a miss is for good: there is no way to
        # empty this engine's own cache.
        for request in self.requests:
            before = self.server.supplied(), self.server.loaded()
            scenario.same(self.settings, {request.name: self.server.generate(request)}, request, uncounted=True)
            if self.server.supplied() > before[0]:
                break
            time.sleep(1)
        scenario.served(self.server, 20, before)


def run(bench: Bench, into: Run, only: Sequence[str]) -> None:
    """Runs the groups of which a name was given, or all."""
    model = bench.model("model", Model())
    same = bench.model("same", Model())
    changed = bench.model("changed", Model(seed=2))
    groups: list[Group] = [
        Hits(bench, into, model),
        Aborts(bench, into, model),
        Faults(bench, into, model),
        Identity(bench, into, model, same, changed),
        AsyncScheduling(bench, into, model),
        Hosted(bench, into, model),
        Events(bench, into, model),
        Parallel(bench, into, model),
        Selection(bench, into, model),
        Deployed(bench, into, model),
    ]
    for group in groups:
        name = type(group).__name__
        if not only or name in only:
            into.group(name, group)

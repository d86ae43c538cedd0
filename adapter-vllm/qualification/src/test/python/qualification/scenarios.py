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
from qualification.scenario import Run, Scenario

BLOCK = 32
VOCABULARY = 1024


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
        return self.bench.with_cache(self.settings, manager, **extra)

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
        if not self.engine.saving():
            raise AssertionError("no save was under way after the prompt's step")
        self.engine.abort("saving")
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
        self.engine.after(Half.WORKER, "start_load_kv", Stage.LOADING, Signal(self.manager.pid, begun=True))
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
        self.engine.after(Half.WORKER, "start_load_kv", Stage.LOADING, Signal(self.engine.agent()))
        self.engine.counts()
        scenario.answers(self.engine, long("agent killed loading"))
        scenario.struck(self.engine, loaded=0, failed=1)
        scenario.clean(self.engine)
        return self._recovered_agent(scenario)

    def agent_saving(self, scenario: Scenario) -> str:
        self.engine.forget()
        request = Request("agent killed saving", prompt(60, 20 * BLOCK + 5))
        self.engine.after(Half.WORKER, "wait_for_save", Stage.RUNNING, Signal(self.engine.agent()))
        self.engine.counts()
        scenario.answers(self.engine, request)
        scenario.struck(self.engine, loaded=0, failed=0)
        scenario.clean(self.engine)
        return self._recovered_agent(scenario)

    def agent_stopped(self, scenario: Scenario) -> str:
        self.engine.forget()
        agent = self.engine.agent()
        waits, goes_on = long("waits for the agent"), Request("goes on", prompt(61, 5 * BLOCK))
        self.engine.before(Half.WORKER, "start_load_kv", Stage.LOADING, Signal(agent, signal.SIGSTOP))
        self.engine.counts()
        self.engine.submit(waits)
        self.engine.until(waits.name, Stage.LOADING)
        try:
            self.engine.submit(goes_on)
            self.engine.until(goes_on.name, Stage.ENDED)
            # Longer than it has to begin a copy.
            time.sleep(2.5)
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
            engine.after(Half.WORKER, "start_load_kv", Stage.LOADING, Signal(engine.agent()))
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
        self.run.scenario("server killed and restarted, hosted Manager (SSD)", self.killed)

    def killed(self, scenario: Scenario) -> str:
        ssd = self.bench.folder / "deployed"
        ssd.mkdir()
        settings = self.with_cache(None, dram="64MiB", ssd=f"{ssd}:256MiB")
        requests = [Request(f"served {number}", prompt(80 + number, 20 * BLOCK + 12)) for number in range(8)]
        first = self.bench.server(settings)
        for request in requests:
            scenario.same(settings, {request.name: first.generate(request)}, request)
        scenario.served(first, 0)
        first.kill()
        # An agent takes a while to be as fast as its deadlines are short, and a miss is for good: there is no way to
        # empty this engine's own cache.
        second = self.bench.server(settings)
        for request in requests:
            before = second.supplied(), second.loaded()
            scenario.same(settings, {request.name: second.generate(request)}, request, uncounted=True)
            if second.supplied() > before[0]:
                break
            time.sleep(1)
        scenario.served(second, 20, before)
        second.stop()
        return "hit from the SSD in the new server; its metrics say so"


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
        Selection(bench, into, model),
        Deployed(bench, into, model),
    ]
    for group in groups:
        name = type(group).__name__
        if not only or name in only:
            into.group(name, group)

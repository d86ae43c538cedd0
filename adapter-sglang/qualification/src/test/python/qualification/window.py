"""Models of which some layers look back on a window only: pages of their own, of which a hit needs those at its end."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Callable
from typing import Any

import torch
import windowed
from engine import PAGE, Request, tokens_of

from qualification.bench import Bench, Outcome, clean, until
from qualification.scenarios import Scenario, fill, find, serve

ALL: list[tuple[str, tuple[str, ...], Scenario]] = []
"""As ``scenarios.ALL``."""

_BOTH = ("rust", "python")
_RUST = ("rust",)
_WINDOW = windowed.WINDOW_PAGES


def _scenario(name: str, cores: tuple[str, ...] = _RUST) -> Callable[[Scenario], Scenario]:
    def add(scenario: Scenario) -> Scenario:
        ALL.append((f"window: {name}", cores, scenario))
        return scenario

    return add


def _engine(bench: Bench, manager: Any, core: str, **more: Any) -> Any:
    pool = windowed.pool(more.pop("pages", 64), more.pop("window_pages", 48))
    return bench.engine(manager, core=core, pool=pool, kind=windowed.WindowedEngine, **more)


def _decoded(of: Any, seed: int, tokens: int) -> Request:
    """Serves a prompt of which the engine keeps the last window only, and has it saved."""
    request = Request(f"decoded {seed}", tokens_of(seed, tokens))
    find(of, request)
    own = len(request.prefix)
    lock = of.cache.lock(request.match.last_device_node)
    if request.match.host_hit_length:
        of.load_back(request)
    assert of.forward(of.start(), [request]) == []
    of.slide(request, own)
    of.insert(request, own)
    of.cache.unlock(lock)
    of.drain()
    return request


@_scenario("evicted from the engine's tree", _BOTH)
def evicted(bench: Bench, core: str) -> Outcome:
    of = _engine(bench, bench.manager(), core)
    fill(of, 1, 330)
    before = of.snapshot()
    request = Request("again", tokens_of(1, 330))
    serve(of, request, 320)
    restored = of.window_slots(request.prefix)
    assert int((restored > 0).sum()) == _WINDOW * PAGE, "not exactly one window was restored"
    for old, new, touched in zip(before, of.snapshot(), of.touched(request.prefix)):
        assert torch.equal(old[~touched], new[~touched]), "a byte outside of the restored pages was written"
    clean(of)
    return Outcome("every byte of both pools restored: one window, and no other byte touched", 20 + _WINDOW)


@_scenario("a prompt shorter than it", _BOTH)
def short(bench: Bench, core: str) -> Outcome:
    of = _engine(bench, bench.manager(), core)
    fill(of, 1, 36)
    serve(of, Request("again", tokens_of(1, 36)), 32)
    clean(of)
    return Outcome("every byte of both pools restored", 2 + 2)


@_scenario("pages of the tree, then fewer of the cache than it has, then new ones", _BOTH)
def three_parts(bench: Bench, core: str) -> Outcome:
    of = _engine(bench, bench.manager(), core)
    fill(of, 1, 330)
    serve(of, Request("head", tokens_of(1, 300)), 288)
    serve(of, Request("whole", tokens_of(1, 400)), 320 - 288)
    clean(of)
    of.evict_all()
    serve(of, Request("longer", tokens_of(1, 500)), 400)
    clean(of)
    return Outcome("each part where it should come from, in both pools", 18 + _WINDOW + 2 + 2 + 25 + _WINDOW)


@_scenario("prompts that part in the middle of a node", _BOTH)
def split(bench: Bench, core: str) -> Outcome:
    of = _engine(bench, bench.manager(), core, pages=128, window_pages=96)
    left = tokens_of(1, 320)
    right = left[:160] + tokens_of(2, 160)
    serve(of, Request("left", left), 0)
    # The node splits while it is saved.
    serve(of, Request("right", right), 0)
    of.drain()
    of.evict_all()
    serve(of, Request("right again", [*right, 1]), 320)
    of.evict_all()
    serve(of, Request("left again", [*left, 1]), 320)
    of.drain()
    of.evict_all()
    # It ends where no prompt did.
    serve(of, Request("another", [*left[:230], *tokens_of(3, 90)]), 224)
    clean(of)
    return Outcome("restored, also up to a point in the middle of what was saved", 20 + 20 + 14 + 3 * _WINDOW)


@_scenario("not stored where a prompt ends", _BOTH)
def not_stored(bench: Bench, core: str) -> Outcome:
    of = _engine(bench, bench.manager(), core)
    _decoded(of, 1, 330)
    of.evict_all()
    before = of.counters()
    serve(of, Request("shorter", [*tokens_of(1, 200), *tokens_of(2, 50)]), 0)
    after = of.counters()
    assert after.get("missed_no_window", 0) == before.get("missed_no_window", 0) + 1, after
    of.drain()
    of.evict_all()
    serve(of, Request("same", tokens_of(1, 330)), 320)
    clean(of)
    return Outcome("no hit, though all pages of the other layers are stored; a hit where it is", 20 + _WINDOW)


@_scenario("stored at an earlier point only", _BOTH)
def cut(bench: Bench, core: str) -> Outcome:
    of = _engine(bench, bench.manager(), core)
    fill(of, 1, 160)
    _decoded(of, 1, 330)
    of.evict_all()
    serve(of, Request("between", [*tokens_of(1, 260), *tokens_of(2, 50)]), 160)
    clean(of)
    return Outcome("the hit is cut to the last point whose window is stored", 10 + _WINDOW)


@_scenario("evicted from the engine's tree alone", _BOTH)
def window_evicted(bench: Bench, core: str) -> Outcome:
    of = _engine(bench, bench.manager(), core)
    left = tokens_of(1, 160)
    request = Request("a", [*left, *tokens_of(2, 160)])
    serve(of, request, 0)
    serve(of, Request("b", [*left, *tokens_of(3, 160)]), 0)
    of.drain()
    of.evict_windows()
    assert of.cache.swa_evictable_size() == 0
    kept = of.cache.full_evictable_size()
    serve(of, Request("a again", request.tokens), 320)
    clean(of)
    return Outcome(f"restored, while the tree had {kept // PAGE} of the other layers' pages", 20 + _WINDOW)


@_scenario("engine started again, and its Manager (SSD)")
def restarts(bench: Bench, core: str) -> Outcome:
    manager = bench.manager(ssd=True)
    first = _engine(bench, manager, core, engine_id="windowed")
    fill(first, 1, 330)
    first.close()
    second = _engine(bench, manager, core, engine_id="windowed")
    serve(second, Request("second", tokens_of(1, 330)), 320)
    clean(second)
    second.close()
    manager.restart()
    third = _engine(bench, manager, core, engine_id="windowed")
    serve(third, Request("third", tokens_of(1, 330)), 320)
    clean(third)
    return Outcome("restored from memory, then from the SSD", 2 * (20 + _WINDOW))


@_scenario("asked about in every pass")
def repeated(bench: Bench, core: str) -> Outcome:
    of = _engine(bench, bench.manager(), core)
    fill(of, 1, 330)
    request = Request("again", tokens_of(1, 330))
    for _ in range(50):
        assert find(of, request) == 320
    assert of.counters()["leases"] == 1
    of.cache.linker.release_request("again")
    clean(of)
    return Outcome("one search for 50 lookups; what it holds ends with the request", 0)


@_scenario("aborted between its load and its batch", _BOTH)
def aborted(bench: Bench, core: str) -> Outcome:
    of = _engine(bench, bench.manager(), core)
    fill(of, 1, 330)
    request = Request("gone", tokens_of(1, 330))
    find(of, request)
    own = len(request.prefix)
    assert of.load_back(request) == 320
    of.cache.linker.release_request("gone")
    slots = request.prefix[own:]
    masks = of.touched(slots)
    # Nothing writes them any more: what is put there now stays.
    for buffer, mask in zip(of.buffers(), masks):
        buffer.view(torch.uint8).reshape(buffer.shape[0], -1)[mask] = 0x3C
    of.allocator.free(slots)
    assert of.start() == -1
    clean(of)
    for rows, mask in zip(of.snapshot(), masks):
        assert bool((rows[mask] == 0x3C).all()), "a page was written behind its load's end"
    serve(of, Request("next", tokens_of(1, 330)), 320)
    clean(of)
    return Outcome("the loads have ended in both pools before their pages are free", 20 + _WINDOW)


@_scenario("no room for its pages")
def no_room(bench: Bench, core: str) -> Outcome:
    of = _engine(bench, bench.manager(), core)
    fill(of, 1, 330)
    taken = of.allocator.swa_attn_allocator.alloc(46 * PAGE)
    request = Request("again", tokens_of(1, 330))
    assert find(of, request) == 320
    assert of.load_back(request) == 0
    of.allocator.swa_attn_allocator.free(taken)
    clean(of)
    serve(of, Request("next", tokens_of(1, 330)), 320)
    clean(of)
    return Outcome("computed, and nothing is held; the next request hits", 20 + _WINDOW)


@_scenario("flushed while it saves")
def flushed(bench: Bench, core: str) -> Outcome:
    of = _engine(bench, bench.manager(), core)
    serve(of, Request("a", tokens_of(1, 330)), 0)
    of.cache.reset()
    of.allocator.clear()
    assert not of.cache.linker.pending_offloads
    serve(of, Request("b", tokens_of(1, 330)), 320)
    clean(of)
    return Outcome("copies end first; then a hit of what was saved", 20 + _WINDOW)


@_scenario("1,000 requests in small pools, on a small Manager", _BOTH)
def pressure(bench: Bench, core: str) -> Outcome:
    of = _engine(bench, bench.manager(dram="4MiB"), core, pages=48, window_pages=36)
    chance = random.Random(11)
    restored = 0
    for number in range(1000):
        seed = chance.randrange(12)
        request = Request(f"p{number}", [*tokens_of(seed, chance.randrange(20, 400)), *tokens_of(number, 20)])
        if chance.random() < 0.1:
            of.look(request)
            of.cache.linker.release_request(request.rid)
            continue
        if chance.random() < 0.1:
            of.evict_windows()
        got = _served(of, request, slides=chance.random() < 0.3)
        restored += got
        bad = of.wrong(request.tokens, request.prefix)
        assert bad == 0, f"{bad} rows of request {number} are wrong"
        of.tend()
    clean(of)
    counters = of.counters()
    assert restored > 1000, f"{restored} tokens were restored"
    assert counters["cut_blocks"] + counters.get("missed_no_window", 0) > 0, counters
    return Outcome("every byte of every request as it was computed, in both pools, though windows were missing", None)


def _served(of: Any, request: Request, slides: bool) -> int:
    of.look(request)
    own = len(request.prefix)
    lock = of.cache.lock(request.match.last_device_node)
    loaded: int = of.load_back(request) if request.match.host_hit_length else 0
    assert of.forward(of.start(), [request]) == []
    if slides:
        of.slide(request, own)
    of.insert(request, own)
    of.cache.unlock(lock)
    return loaded


@_scenario("Manager killed between lookup and load", _BOTH)
def killed_before_load(bench: Bench, core: str) -> Outcome:
    manager = bench.manager(ssd=True)
    of = _engine(bench, manager, core)
    fill(of, 1, 330)
    request = Request("again", tokens_of(1, 330))
    assert find(of, request) == 320
    manager.kill()
    assert of.load_back(request) == 0, "a load by leases that are gone"
    assert of.start() == -1
    of.run(Request("meanwhile", tokens_of(2, 100)))
    clean(of)
    manager.start()
    until(lambda: _saved_again(of), "a save with the next Manager")
    serve(of, request, 320)
    clean(of)
    return Outcome("computed; saved and restored again with the next Manager", 20 + _WINDOW)


@_scenario("Manager killed between load and forward")
def killed_before_forward(bench: Bench, core: str) -> Outcome:
    manager = bench.manager(ssd=True)
    of = _engine(bench, manager, core)
    fill(of, 1, 330)
    request = Request("again", tokens_of(1, 330))
    find(of, request)
    lock = of.cache.lock(request.match.last_device_node)
    assert of.load_back(request) == 320
    manager.kill()
    assert of.forward(of.start(), [request]) == []
    assert of.wrong(request.tokens, request.prefix) == 0
    of.insert(request, 0)
    of.cache.unlock(lock)
    clean(of)
    return Outcome("the loads end as if it lived, in both pools", 20 + _WINDOW)


@_scenario("Manager killed while pages are saved")
def killed_saving(bench: Bench, core: str) -> Outcome:
    manager = bench.manager(ssd=True)
    of = _engine(bench, manager, core)
    manager.pause()
    _computed(of, 1)
    manager.kill()
    manager.go_on()
    clean(of)
    manager.start()
    until(lambda: of.counters() != {}, "the adapter")
    until(lambda: _saved_again(of), "a save with the next Manager")
    clean(of)
    return Outcome("the save ends, its nodes are free; the next one is kept", None)


def _computed(of: Any, seed: int) -> None:
    request = Request(f"direct {seed}", tokens_of(seed, 330))
    request.prefix = of.alloc(320)
    of.compute(request.tokens, 0, request.prefix)
    of.insert(request, 0)


def _saved_again(of: Any) -> bool:
    of.evict_all()
    _computed(of, 1)
    of.drain()
    of.evict_all()
    request = Request("saved?", tokens_of(1, 330))
    found: bool = find(of, request) == 320
    of.cache.linker.release_request("saved?")
    return found


@_scenario("agent killed while pages are loaded", _BOTH)
def agent_killed(bench: Bench, core: str) -> Outcome:
    of = _engine(bench, bench.manager(), core)
    fill(of, 1, 330)
    request = Request("again", tokens_of(1, 330))
    find(of, request)
    lock = of.cache.lock(request.match.last_device_node)
    pid = of.agent_pid()
    os.kill(pid, signal.SIGSTOP)
    # The first load is asked of an agent that stands still; those of the window cannot be asked any more.
    threading.Timer(1.0, os.kill, (pid, signal.SIGKILL)).start()
    assert of.load_back(request) == 0, "a load of one pool alone"
    of.cache.unlock(lock)
    of.drain()
    assert of.cache.protected_size() == 0
    assert all(free + kept == size for free, kept, size in of.accounts()), of.accounts()
    until(lambda: of.look(Request("next", tokens_of(1, 330))) == 320, "a hit with the next agent")
    serve(of, Request("next", tokens_of(1, 330)), 320)
    clean(of)
    return Outcome("computed, when its pages are safe; hits with the next agent", 20 + _WINDOW)


@_scenario("engines with another window, or with none, on one Manager")
def apart(bench: Bench, core: str) -> Outcome:
    manager = bench.manager()
    of = _engine(bench, manager, core)
    fill(of, 1, 330)
    clean(of)
    # One after another: small pools of several engines share pages of this process's memory.
    of.close()
    plain = bench.engine(manager, core=core)
    assert find(plain, Request("plain", tokens_of(1, 330))) == 0, "a hit without the same layers"
    plain.close()

    wide = type("Wider", (windowed.WindowedEngine,), {"window_tokens": windowed.WINDOW + 1})
    wider = bench.engine(manager, core=core, pool=windowed.pool(), kind=wide)
    assert find(wider, Request("wider", tokens_of(1, 330))) == 0, "a hit in spite of another window"
    wider.close()
    same = _engine(bench, manager, core)
    serve(same, Request("same", tokens_of(1, 330)), 320)
    clean(same)
    return Outcome("hits for the same window only", 20 + _WINDOW)

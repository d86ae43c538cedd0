"""What is tried. Each scenario returns what it showed, and raises if it did not."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import engine
import torch
from decoding import PREFILL_RANKS, Decoding
from engine import DIM, HEADS, PAGE, Request, tokens_of

from qualification.bench import Bench, ManagerProcess, Outcome, clean, until

Scenario = Callable[[Bench, str], Outcome]

ALL: list[tuple[str, tuple[str, ...], Scenario]] = []
"""Name, the tree's cores that it is tried with, and what it does."""

_BOTH = ("rust", "python")
_RUST = ("rust",)

_PRESSURE = 300
"""Requests in a tree that holds three of them."""


def _scenario(name: str, cores: tuple[str, ...] = _RUST) -> Callable[[Scenario], Scenario]:
    def add(scenario: Scenario) -> Scenario:
        ALL.append((name, cores, scenario))
        return scenario

    return add


def serve(of: Any, request: Request, restored: int) -> None:
    """Serves a request, of which so many tokens must be restored, and compares every byte."""
    looked = find(of, request)
    assert looked == restored, f"{looked} tokens were found, expected {restored}"
    got = of.run(request)
    assert got == restored, f"{got} tokens were restored, expected {restored}"
    whole = len(request.tokens) // PAGE * PAGE
    assert len(request.prefix) == whole
    bad = of.wrong(request.tokens, request.prefix)
    assert bad == 0, f"{bad} of {whole} rows are wrong"


def find(of: Any, request: Request) -> int:
    """Looks until the cache has answered. Returns how many tokens can be restored."""
    until(lambda: _asked(of, request), "an answer")
    return int(request.match.host_hit_length)


def _asked(of: Any, request: Request) -> bool:
    of.look(request)
    return not of.cache.linker.is_pending(request.rid)


def fill(of: Any, seed: int, tokens: int) -> Request:
    """Computes a prompt, waits until it is saved, and drops it from the engine's own pages."""
    request = Request(f"fill {seed}", tokens_of(seed, tokens))
    serve(of, request, 0)
    of.drain()
    of.evict_all()
    return request


@_scenario("evicted from the engine's tree", _BOTH)
def evicted(bench: Bench, core: str) -> Outcome:
    of = bench.engine(bench.manager(), core=core)
    fill(of, 1, 330)
    before = of.snapshot()
    request = Request("again", tokens_of(1, 330))
    serve(of, request, 320)
    touched = torch.zeros(before[0].shape[0], dtype=torch.bool)
    touched[request.prefix] = True
    for old, new in zip(before, of.snapshot()):
        assert torch.equal(old[~touched], new[~touched]), "a byte outside of the restored pages was written"
    clean(of)
    return Outcome("every byte restored, and no other byte of the pool touched", 20)


@_scenario("latent pool (MLA)")
def latent(bench: Bench, core: str) -> Outcome:
    of = bench.engine(bench.manager(), core=core, pool=engine.mla_pool(64))
    fill(of, 1, 330)
    serve(of, Request("again", tokens_of(1, 330)), 320)
    clean(of)
    return Outcome("every byte restored", 20)


@_scenario("pages of the tree, then pages of the cache, then new ones", _BOTH)
def three_parts(bench: Bench, core: str) -> Outcome:
    of = bench.engine(bench.manager(), core=core)
    fill(of, 1, 330)
    serve(of, Request("head", tokens_of(1, 100)), 96)
    request = Request("whole", tokens_of(1, 400))
    serve(of, request, 320 - 96)
    clean(of)
    of.evict_all()
    serve(of, Request("longer", tokens_of(1, 500)), 400)
    clean(of)
    return Outcome("each part where it should come from, and what is new saved behind it", 6 + 14 + 25)


@_scenario("prompts that part in the middle of a node", _BOTH)
def split(bench: Bench, core: str) -> Outcome:
    of = bench.engine(bench.manager(), core=core, pages=128)
    left = tokens_of(1, 320)
    right = left[:160] + tokens_of(2, 160)
    serve(of, Request("left", left), 0)
    # The node splits while it is saved.
    serve(of, Request("right", right), 0)
    of.drain()
    of.evict_all()
    serve(of, Request("right again", [*right, 1]), 320)
    serve(of, Request("left again", [*left, 1]), 160)
    clean(of)
    return Outcome("both restored, the common half once", 30)


@_scenario("other adapter, other salt")
def namespaces(bench: Bench, core: str) -> Outcome:
    of = bench.engine(bench.manager(), core=core)
    fill(of, 1, 330)
    serve(of, Request("adapter", tokens_of(1, 330), extra_key="adapter"), 0)
    of.drain()
    of.evict_all()
    serve(of, Request("adapter again", tokens_of(1, 330), extra_key="adapter"), 320)
    of.evict_all()
    serve(of, Request("none", tokens_of(1, 330)), 320)
    clean(of)
    return Outcome("no hit between them, and hits of their own", 40)


def _write_adapter(folder: Path, seed: int) -> None:
    """Writes a PEFT adapter whose weights are random numbers."""
    from safetensors.torch import save_file

    folder.mkdir(exist_ok=True)
    config = {"peft_type": "LORA", "r": 8, "lora_alpha": 16, "target_modules": ["q_proj"]}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    chance = torch.Generator().manual_seed(seed)
    layer = "base_model.model.model.layers.0.self_attn.q_proj"
    save_file(
        {
            f"{layer}.lora_A.weight": torch.randn(8, HEADS * DIM, generator=chance),
            f"{layer}.lora_B.weight": torch.randn(HEADS * DIM, 8, generator=chance),
        },
        folder / "adapter_model.safetensors",
    )


@_scenario("startup adapter (LoRA), whose folder gets other weights")
def adapters(bench: Bench, core: str) -> Outcome:
    from sglang.srt.runtime_context import get_lora

    manager = bench.manager()
    folder = bench.disk / "adapter"

    def started(seed: int) -> tuple[Any, str]:
        _write_adapter(folder, seed)
        of = bench.engine(manager, core=core, arguments={"enable_lora": True, "lora_paths": [f"sql={folder}"]})
        # The engine's own name of it, which is part of its requests' keys.
        return of, str(get_lora().lora_paths[0].lora_id)

    first, name = started(1)
    serve(first, Request("first", tokens_of(1, 330), extra_key=name), 0)
    first.drain()
    first.close()
    other, same_name = started(2)
    assert same_name == name
    serve(other, Request("other", tokens_of(1, 330), extra_key=name), 0)
    other.drain()
    other.close()
    again, _ = started(1)
    serve(again, Request("again", tokens_of(1, 330), extra_key=name), 320)
    serve(again, Request("without", tokens_of(1, 330)), 0)
    clean(again)
    return Outcome("a hit for what the files are, none for other files under the same name, none without it", 20)


def _left_behind(bench: Bench, core: str, engine_id: str) -> ManagerProcess:
    """Returns a Manager with an SSD that has what an engine saved which has ended."""
    manager = bench.manager(ssd=True)
    of = bench.engine(manager, core=core, engine_id=engine_id)
    fill(of, 1, 330)
    of.close()
    return manager


@_scenario("engine started again, and its Manager (SSD)")
def restarts(bench: Bench, core: str) -> Outcome:
    manager = _left_behind(bench, core, "restarted")
    second = bench.engine(manager, core=core, engine_id="restarted")
    serve(second, Request("second", tokens_of(1, 330)), 320)
    clean(second)
    second.close()
    manager.restart()
    third = bench.engine(manager, core=core, engine_id="restarted")
    request = Request("third", tokens_of(1, 330))
    assert third.look(request) == 0 and third.cache.linker.is_pending("third"), "what is read is not said to be pending"
    assert third.linker.asked() is None
    serve(third, request, 320)
    clean(third)
    return Outcome("restored from memory, then from the SSD after a wait", 40)


@_scenario("read from the SSD that takes too long")
def impatient(bench: Bench, core: str) -> Outcome:
    manager = bench.manager(ssd=True)
    of = bench.engine(manager, core=core, engine_id="impatient", pending_ms=0)
    fill(of, 1, 330)
    manager.restart()
    until(lambda: of.linker._copies.ready, "the agent")
    request = Request("again", tokens_of(1, 330))
    until(lambda: of.look(request) == 0 and not of.cache.linker.is_pending("again"), "an answer")
    of.cache.linker.release_request("again")
    clean(of)
    return Outcome("computed at once, as it was set", 0)


@_scenario("asked about in every pass", _BOTH)
def repeated(bench: Bench, core: str) -> Outcome:
    of = bench.engine(bench.manager(), core=core)
    fill(of, 1, 330)
    request = Request("again", tokens_of(1, 330))
    before = of.counters()["queries"]
    for _ in range(50):
        assert find(of, request) == 320
    counters = of.counters()
    assert (counters["queries"] - before, counters["leases"]) == (1, 1), counters
    serve(of, request, 320)
    clean(of)
    return Outcome("one query and one lease for 50 lookups", 20)


@_scenario("asked about when it is queued (SSD)")
def asked_early(bench: Bench, core: str) -> Outcome:
    from sglang.srt.disaggregation.utils import DisaggregationMode
    from sglang.srt.managers.scheduler import Scheduler

    manager = _left_behind(bench, core, "early")
    manager.restart()
    of = bench.engine(manager, core=core, engine_id="early", early="on")
    scheduler = mock.Mock(disaggregation_mode=DisaggregationMode.NULL, tree_cache=of.cache, waiting_queue=[])
    scheduler._abort_on_queued_limit.side_effect = (True, False)
    request = mock.Mock(rid="early")
    asked = Request("early", tokens_of(1, 330))
    request.init_next_round_input.side_effect = lambda _: of.look(asked)
    for _ in range(2):
        Scheduler._add_request_to_queue(scheduler, request)
    request.init_next_round_input.assert_called_once_with(of.cache)
    assert of.counters()["queries"] == 1, "nothing was asked"
    assert find(of, asked) == 320
    assert of.counters()["queries"] == 1, "it was asked for again"
    serve(of, asked, 320)
    clean(of)
    return Outcome("what is read while it waits is restored; one that was refused is not asked about", 20)


@_scenario("aborted while it waits")
def aborted_waiting(bench: Bench, core: str) -> Outcome:
    from sglang.srt.mem_cache.base_prefix_cache import CacheRequestHandle, CacheRequestOutcome

    of = bench.engine(bench.manager(), core=core)
    fill(of, 1, 330)
    assert find(of, Request("gone", tokens_of(1, 330))) == 320
    assert of.counters()["leases"] == 1
    of.cache.finish(CacheRequestHandle("gone", 0), CacheRequestOutcome.ABORT)
    clean(of)
    serve(of, Request("next", tokens_of(1, 330)), 320)
    clean(of)
    return Outcome("its lease ends; the next request hits", 20)


@_scenario("aborted between its load and its batch", _BOTH)
def aborted_queued(bench: Bench, core: str) -> Outcome:
    of = bench.engine(bench.manager(), core=core)
    fill(of, 1, 330)
    request = Request("gone", tokens_of(1, 330))
    find(of, request)
    own = len(request.prefix)
    assert of.load_back(request) == 320
    of.cache.linker.release_request("gone")
    slots = request.prefix[own:]
    # Nothing writes them any more: what is put there now stays.
    for buffer in of.buffers():
        buffer.view(torch.uint8).reshape(buffer.shape[0], -1)[slots] = 0x3C
    of.allocator.free(slots)
    assert of.start() == -1
    assert of.forward(-1, []) == []
    clean(of)
    assert all(bool((rows == 0x3C).all()) for rows in of.read(slots)), "a page was written behind its load's end"
    serve(of, Request("next", tokens_of(1, 330)), 320)
    clean(of)
    return Outcome("the load has ended before its pages are free; the next request hits", 20)


@_scenario("aborted while its batch runs")
def aborted_running(bench: Bench, core: str) -> Outcome:
    of = bench.engine(bench.manager(), core=core)
    fill(of, 1, 330)
    request = Request("gone", tokens_of(1, 330))
    find(of, request)
    lock = of.cache.lock(request.match.last_device_node)
    of.load_back(request)
    index = of.start()
    of.cache.linker.release_request("gone")
    assert of.forward(index, [request]) == []
    assert of.wrong(request.tokens, request.prefix) == 0
    of.allocator.free(request.prefix)
    of.cache.unlock(lock)
    clean(of)
    return Outcome("the load ends before its pages are free", 20)


@_scenario("several requests in one batch", _BOTH)
def batch(bench: Bench, core: str) -> Outcome:
    of = bench.engine(bench.manager(), core=core, pages=128)
    for seed in (1, 2, 3):
        fill(of, seed, 200)
    requests = [Request(f"r{seed}", tokens_of(seed, 250)) for seed in (1, 2, 3)]
    locks = []
    for request in requests:
        assert find(of, request) == 192
        locks.append(of.cache.lock(request.match.last_device_node))
        assert of.load_back(request) == 192
    index = of.start()
    assert index >= 0
    assert of.forward(index, requests) == []
    for request, lock in zip(requests, locks):
        assert of.wrong(request.tokens, request.prefix) == 0
        of.insert(request, 0)
        of.cache.unlock(lock)
    clean(of)
    return Outcome("three loads, one batch", 36)


@_scenario("no room for what was found")
def no_room(bench: Bench, core: str) -> Outcome:
    of = bench.engine(bench.manager(), core=core, pages=48)
    fill(of, 1, 330)
    taken = of.allocator.alloc(30 * PAGE)
    request = Request("again", tokens_of(1, 330))
    assert find(of, request) == 320
    assert of.load_back(request) == 0
    assert of.start() == -1
    of.allocator.free(taken)
    clean(of)
    serve(of, Request("next", tokens_of(1, 330)), 320)
    clean(of)
    return Outcome("computed, and its lease ends; the next request hits", 20)


@_scenario("retracted and asked about again")
def retracted(bench: Bench, core: str) -> Outcome:
    of = bench.engine(bench.manager(), core=core)
    tokens = tokens_of(1, 400)
    serve(of, Request("r", tokens[:200]), 0)
    of.drain()
    # It generates, is retracted with what it has computed, and loses its pages.
    serve(of, Request("r", tokens[:330]), 0)
    of.drain()
    of.evict_all()
    assert find(of, Request("r", tokens[:200])) == 192
    request = Request("r", tokens)
    serve(of, request, 320)
    clean(of)
    return Outcome("the longer chain replaces the lease of the shorter one", 20)


@_scenario(f"{_PRESSURE} requests in a small tree", _BOTH)
def pressure(bench: Bench, core: str) -> Outcome:
    of = bench.engine(bench.manager(dram="4MiB"), core=core, pages=48)
    chance = random.Random(7)
    restored = 0
    for number in range(_PRESSURE):
        seed = chance.randrange(12)
        request = Request(f"p{number}", [*tokens_of(seed, chance.randrange(20, 400)), *tokens_of(number, 20)])
        if chance.random() < 0.1:
            of.look(request)
            of.cache.linker.release_request(request.rid)
            continue
        got = of.run(request)
        assert got >= 0
        restored += got
        bad = of.wrong(request.tokens, request.prefix)
        assert bad == 0, f"{bad} rows of request {number} are wrong"
        of.tend()
    clean(of)
    assert restored > _PRESSURE, f"{restored} tokens were restored"
    return Outcome("every byte of every request as it was computed", None)


@_scenario("more saves than may be under way")
def many_saves(bench: Bench, core: str) -> Outcome:
    manager = bench.manager()
    of = bench.engine(manager, core=core, pages=64)
    os.kill(of.agent_pid(), signal.SIGSTOP)
    try:
        accepted = 0
        for seed in range(1, 9):
            request = Request(f"s{seed}", tokens_of(seed, 7 * PAGE))
            request.prefix = of.alloc(7 * PAGE)
            of.compute(request.tokens, 0, request.prefix)
            of.insert(request, 0)
            accepted = len(of.cache.linker.pending_offloads)
        assert accepted == 4, f"{accepted} saves hold pages of a stopped agent, expected 4 of 8"
        assert of.cache.protected_size() == 28 * PAGE
    finally:
        os.kill(of.agent_pid(), signal.SIGCONT)
    clean(of)
    return Outcome("half of the pages are held at most; the others are not saved", 0)


@_scenario("flushed while it saves", _BOTH)
def flushed(bench: Bench, core: str) -> Outcome:
    of = bench.engine(bench.manager(), core=core)
    serve(of, Request("a", tokens_of(1, 330)), 0)
    of.cache.reset()
    of.allocator.clear()
    assert not of.cache.linker.pending_offloads
    serve(of, Request("b", tokens_of(1, 330)), 320)
    clean(of)
    return Outcome("copies end first; then a hit of what was saved", 20)


@_scenario("weights updated in a running engine")
def updated(bench: Bench, core: str) -> Outcome:
    of = bench.engine(bench.manager(), core=core)
    fill(of, 1, 330)
    of.cache.linker.retire("a test")
    serve(of, Request("again", tokens_of(1, 330)), 0)
    of.drain()
    of.evict_all()
    serve(of, Request("and again", tokens_of(1, 330)), 0)
    clean(of)
    return Outcome("nothing is found or saved any more", 0)


@_scenario("Manager killed between lookup and load", _BOTH)
def killed_before_load(bench: Bench, core: str) -> Outcome:
    manager = bench.manager(ssd=True)
    of = bench.engine(manager, core=core)
    fill(of, 1, 330)
    request = Request("again", tokens_of(1, 330))
    assert find(of, request) == 320
    manager.kill()
    assert of.load_back(request) == 0, "a load by a lease that is gone"
    assert of.start() == -1
    of.run(Request("meanwhile", tokens_of(2, 100)))
    clean(of)
    manager.start()
    until(lambda: _saved_again(of), "a save with the next Manager")
    serve(of, request, 320)
    clean(of)
    return Outcome("computed; saved and restored again with the next Manager", 20)


@_scenario("Manager killed between load and forward")
def killed_before_forward(bench: Bench, core: str) -> Outcome:
    manager = bench.manager(ssd=True)
    of = bench.engine(manager, core=core)
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
    return Outcome("the load ends as if it lived", 20)


@_scenario("Manager killed while pages are saved")
def killed_saving(bench: Bench, core: str) -> Outcome:
    manager = bench.manager(ssd=True)
    of = bench.engine(manager, core=core)
    manager.pause()
    _serve_without_lookup(of, 1, 330)
    manager.kill()
    manager.go_on()
    clean(of)
    manager.start()
    until(lambda: of.counters() != {}, "the adapter")
    until(lambda: _saved_again(of), "a save with the next Manager")
    clean(of)
    return Outcome("the save ends, its nodes are free; the next one is kept", None)


def _serve_without_lookup(of: Any, seed: int, tokens: int) -> None:
    request = Request(f"direct {seed}", tokens_of(seed, tokens))
    whole = tokens // PAGE * PAGE
    request.prefix = of.alloc(whole)
    of.compute(request.tokens, 0, request.prefix)
    of.insert(request, 0)


def _saved_again(of: Any) -> bool:
    of.evict_all()
    _serve_without_lookup(of, 1, 330)
    of.drain()
    of.evict_all()
    request = Request("saved?", tokens_of(1, 330))
    found: bool = find(of, request) == 320
    of.cache.linker.release_request("saved?")
    return found


@_scenario("agent killed while pages are loaded", _BOTH)
def agent_killed(bench: Bench, core: str) -> Outcome:
    manager = bench.manager()
    of = bench.engine(manager, core=core)
    fill(of, 1, 330)
    request = Request("again", tokens_of(1, 330))
    find(of, request)
    lock = of.cache.lock(request.match.last_device_node)
    os.kill(of.agent_pid(), signal.SIGSTOP)
    loading = of.load_back(request)
    os.kill(of.agent_pid(), signal.SIGKILL)
    if loading:
        failed = of.forward(of.start(), [request])
        assert failed == [request] and request.skip_radix_cache_insert, "the request of a lost load goes on"
        of.allocator.free(request.prefix)
    of.cache.unlock(lock)
    clean_after_agent(of)
    until(lambda: of.look(Request("next", tokens_of(1, 330))) == 320, "a hit with the next agent")
    serve(of, Request("next", tokens_of(1, 330)), 320)
    clean(of)
    return Outcome("its request alone is aborted, when its pages are safe; hits with the next agent", 20)


def clean_after_agent(of: Any) -> None:
    """As ``clean``, without an adapter to ask."""
    of.drain()
    assert of.cache.protected_size() == 0
    free, kept = of.allocator.available_size(), of.cache.evictable_size()
    assert free + kept == of.pool.size, f"{free} and {kept} of {of.pool.size}"


@_scenario("Manager stands still")
def manager_stopped(bench: Bench, core: str) -> Outcome:
    manager = bench.manager()
    of = bench.engine(manager, core=core)
    fill(of, 1, 330)
    manager.pause()
    began = time.monotonic()
    looked = of.look(Request("again", tokens_of(1, 330)))
    took = time.monotonic() - began
    assert looked == 0 and took < 0.5, f"{looked} tokens after {took:.3f} s"
    manager.go_on()
    until(lambda: of.look(Request("again", tokens_of(1, 330))) == 320, "a hit when it goes on")
    serve(of, Request("again", tokens_of(1, 330)), 320)
    clean(of)
    return Outcome("a lookup waits no longer for it than its bound; hits afterwards", 20)


@_scenario("two engines on one Manager, with the same facts and with others")
def two_engines(bench: Bench, core: str) -> Outcome:
    manager = bench.manager()
    first = bench.engine(manager, core=core)
    fill(first, 1, 330)
    same = bench.engine(manager, core=core)
    serve(same, Request("same", tokens_of(1, 330)), 320)
    others: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        ("scope", {"scope": "other"}, {}),
        ("model", {"model_digest": "cd" * 32}, {}),
        ("context", {}, {"context_length": 4096}),
    ]
    for what, settings, arguments in others:
        other = bench.engine(manager, core=core, arguments=arguments, **settings)
        assert find(other, Request(what, tokens_of(1, 330))) == 0, f"a hit in spite of another {what}"
        other.close()
    clean(first, same)
    return Outcome("hits for the same facts; none if scope, model or context differ", 20)


@_scenario("a decode worker saves, a prefill worker restores", _BOTH)
def roles(bench: Bench, core: str) -> Outcome:
    manager = bench.manager()
    decode = {"disaggregation_mode": "decode", "disaggregation_decode_enable_radix_cache": True}
    of = bench.engine(manager, core=core, pages=128, arguments=decode, loads="off")
    worker = Decoding(of)
    os.environ["SGLANG_DISAGG_PREFILL_EARLY_SEND_CACHED_PREFIX"] = "false"
    prefill = bench.engine(manager, core=core, pages=128, arguments={"disaggregation_mode": "prefill"})
    worker.fail(worker.admit("failed", tokens_of(2, 330)), acknowledged=PREFILL_RANKS)
    aborted = worker.deliver(worker.admit("aborted", tokens_of(3, 330)))
    worker.begin(aborted)
    worker.abort(aborted)
    finished = worker.deliver(worker.admit("finished", tokens_of(1, 330)))
    worker.begin(finished)
    worker.generate(finished, tokens_of(4, 70))
    answered = [*finished.origin_input_ids, *finished.output_ids]
    assert not of.cache.linker.pending_offloads, "something is saved before its request has ended"
    worker.finish(finished)
    clean(of)
    whole = (len(answered) - 1) // PAGE * PAGE
    serve(prefill, Request("next turn", [*answered, *tokens_of(5, 40)]), whole)
    for seed in (2, 3):
        serve(prefill, Request(f"again {seed}", tokens_of(seed, 330)), 0)
    worker.fail(worker.admit("lost", tokens_of(6, 330)), acknowledged=PREFILL_RANKS - 1)
    late = worker.deliver(worker.admit("late", tokens_of(7, 330)))
    worker.begin(late)
    worker.finish(late)
    clean(of)
    serve(prefill, Request("again", tokens_of(7, 330)), 0)
    clean(prefill)
    return Outcome("what has finished; nothing of an abort or a failed transfer, nor after one that was lost", 25)


@_scenario("an engine of another kind with the same hashes on the same Manager")
def other_kind(bench: Bench, core: str) -> Outcome:
    from orbitkv_agent import AgentClient, AgentLauncher, PageGroup, SharedPool

    manager = bench.manager()
    of = bench.engine(manager, core=core)
    asked = fill(of, 1, 330)
    request = Request("again", asked.tokens)
    find(of, request)
    hashes = bytes.fromhex("".join(of.cache.linker.hit_markers["again"].tail_hashes))
    of.cache.linker.release_request("again")
    folder = bench.memory / "other"
    folder.mkdir(mode=0o700)
    groups = [PageGroup(0, 1, 8, 12288, 8 * 12288, 12288)]
    launcher = AgentLauncher(folder / "a.sock", ["--manager", manager.socket], command=bench.command)
    with SharedPool(groups) as pool:
        assert launcher.wait(60.0)
        client = AgentClient(
            folder / "a.sock", instance="another", incarnation=1, namespace=bytes(range(32)), groups=groups,
            memory=pool.path, block_tokens=PAGE,
        )
        assert client.connect(deadline_s=10.0)
        answer = client.query(1, 0, hashes)
        assert (answer.standing.name, answer.lease) == ("MISS", None), answer
        client.close()
    launcher.close()
    clean(of)
    return Outcome("no hit: its namespace is another", 0)


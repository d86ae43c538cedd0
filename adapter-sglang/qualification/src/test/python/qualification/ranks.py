"""Engines of two ranks, each a process of its own, whose decisions meet in collectives."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, Optional

import engine
import torch
import windowed
from engine import Request, tokens_of

from qualification.bench import LIMIT_S, Bench, ManagerProcess, Outcome, clean, until

RANKS = 2

# Ranks are forked by a process that has read the engine and runs no thread: scenarios before have left some here, and a
# process that is forked meanwhile inherits their locks.
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["qualification.preloaded"])

ALL: list[tuple[str, tuple[str, ...], Callable[[Bench, str], Outcome]]] = []
"""Name, the tree's cores that it is tried with, and what it does."""

Both = Callable[[Any, int], None]
"""What each rank does, in step with the other."""


def _run(
    bench: Bench, manager: ManagerProcess, core: str, does: Both, *, windows: bool = False, **settings: Any
) -> None:
    """Has both ranks of an engine do something. Raises what one of them raised."""
    settings = {
        "manager": manager.socket,
        "runtime_dir": str(bench.memory / "run"),
        "engine_id": f"ranks{os.getpid()}",
        "pending_ms": 5000,
        **({} if bench.command is None else {"agent_command": list(bench.command)}),
        **settings,
    }
    meeting = bench.memory / f"meeting{time.monotonic_ns()}"
    ranks = []
    for rank in range(RANKS):
        here, there = _CONTEXT.Pipe(duplex=False)
        process = _CONTEXT.Process(
            target=_rank, args=(there, core, rank, str(meeting), does, settings, windows), daemon=True
        )
        process.start()
        there.close()
        ranks.append((process, here))
    failures: list[str] = []
    for rank, (process, here) in enumerate(ranks):
        said: Optional[str] = "it has not ended"
        try:
            if here.poll(4 * LIMIT_S):
                said = here.recv()
        except EOFError:
            said = "it died"
        if said is not None:
            failures.append(f"rank {rank}: {said}")
    for process, _ in ranks:
        process.join(0 if failures else LIMIT_S)
        process.kill()
    assert not failures, "\n".join(failures)


def _rank(
    result: Connection, core: str, rank: int, meeting: str, does: Both, settings: dict[str, Any], windows: bool
) -> None:
    failure: Optional[str] = None
    try:
        torch.distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=RANKS)
        server = engine.publish_engine(settings, rank=rank, ranks=RANKS)
        kind, pool = (windowed.WindowedEngine, windowed.pool()) if windows else (engine.Engine, engine.mha_pool(64))
        of = kind(server, pool=pool, rank=rank, ranks=RANKS, group=torch.distributed.group.WORLD, core=core)
        of.await_cache()
        torch.distributed.barrier()
        does(of, rank)
        torch.distributed.barrier()
        of.close()
    except BaseException:
        failure = traceback.format_exc()
    result.send(failure)
    # What the engine's libraries do at a process's end is theirs.
    os._exit(0)


def _agreed(value: int) -> int:
    """Returns what all ranks have; fails if they differ."""
    values = [torch.zeros(1, dtype=torch.int64) for _ in range(RANKS)]
    torch.distributed.all_gather(values, torch.tensor([value]))
    found = [int(each.item()) for each in values]
    assert len(set(found)) == 1, f"ranks differ: {found}"
    return value


def _find(of: Any, request: Request) -> int:
    end = time.monotonic() + LIMIT_S
    while True:
        of.look(request)
        if not _agreed(int(of.cache.linker.is_pending(request.rid))):
            return _agreed(int(request.match.host_hit_length))
        assert time.monotonic() < end, "no answer"


def _serve(of: Any, request: Request, restored: int) -> None:
    found = _find(of, request)
    assert found == restored, f"{found} tokens were found, expected {restored}"
    got = _agreed(of.run(request))
    assert got == restored, f"{got} tokens were restored, expected {restored}"
    bad = of.wrong(request.tokens, request.prefix)
    assert bad == 0, f"{bad} rows are wrong"


def _drain(of: Any) -> None:
    """Steps in step: how many saves have ended is agreed on in each."""
    end = time.monotonic() + LIMIT_S
    while _agreed(len(of.cache.linker.pending_offloads)):
        of.tend()
        assert time.monotonic() < end, "saves have not ended"
        time.sleep(0.005)


def _fill(of: Any, seed: int, tokens: int) -> None:
    _serve(of, Request(f"fill {seed}", tokens_of(seed, tokens)), 0)
    _drain(of)
    of.evict_all()


def _slow(of: Any, rank: int) -> None:
    """Makes rank 1 late in all that it asks."""
    if rank == 1:
        lookup = of.linker._lookups.lookup

        def late(*arguments: Any) -> Any:
            time.sleep(0.03)
            return lookup(*arguments)

        of.linker._lookups.lookup = late


def _scenario(name: str, result: str, pages: Optional[int], **options: Any) -> Callable[[Both], Both]:
    cores = options.pop("cores", ("rust",))

    def add(does: Both) -> Both:
        def scenario(bench: Bench, core: str) -> Outcome:
            _run(bench, bench.manager(), core, does, **options)
            return Outcome(result, pages)

        ALL.append((name, cores, scenario))
        return does

    return add


@_scenario("two ranks, one of them slow", "each restores its own shard, byte by byte, by one lease", 40,
           cores=("rust", "python"))
def one_slow(of: Any, rank: int) -> None:
    _slow(of, rank)
    _fill(of, 1, 330)
    _serve(of, Request("again", tokens_of(1, 330)), 320)
    _drain(of)
    counters = of.counters()
    assert counters["hits"] == 1, counters
    # They count what all ranks have asked: none may ask for more before the other has looked.
    torch.distributed.barrier()
    of.evict_all()
    _serve(of, Request("and again", tokens_of(1, 400)), 320)
    _drain(of)
    torch.distributed.barrier()
    clean(of)


@_scenario("two ranks, one of them without the adapter", "computed by both; hits when it is back", 20)
def one_deaf(of: Any, rank: int) -> None:
    _fill(of, 1, 330)
    lookups = of.linker._lookups
    hears = lookups.lookup
    if rank == 1:
        from orbitkv_sglang.adapter import NOTHING

        lookups.lookup = lambda *_: NOTHING
    _serve(of, Request("deaf", tokens_of(1, 330)), 0)
    _drain(of)
    of.evict_all()
    lookups.lookup = hears
    _serve(of, Request("again", tokens_of(1, 330)), 320)
    _drain(of)
    torch.distributed.barrier()
    clean(of)


@_scenario("two ranks, one of which cannot load", "computed by both, when no page of the other is written any more", 20)
def one_cannot_load(of: Any, rank: int) -> None:
    _fill(of, 1, 330)
    transfers = of.linker._copies._pages
    loads = transfers.load
    if rank == 1:
        transfers.load = lambda *_: None
    request = Request("again", tokens_of(1, 330))
    assert _find(of, request) == 320
    own = of.allocator.available_size()
    assert _agreed(of.load_back(request)) == 0
    assert of.allocator.available_size() == own
    assert of.start() == -1
    before = of.snapshot()
    time.sleep(0.1)
    assert all(torch.equal(old, new) for old, new in zip(before, of.snapshot())), "a page was written"
    transfers.load = loads
    _serve(of, Request("next", tokens_of(1, 330)), 320)
    _drain(of)
    torch.distributed.barrier()
    clean(of)


@_scenario("two ranks, one whose save fails", "the nodes of neither count as saved, and are saved by the next", 20)
def one_does_not_save(of: Any, rank: int) -> None:
    transfers = of.linker._copies._pages
    saves = transfers.save
    if rank == 1:
        transfers.save = lambda save: setattr(save, "stored", False)
    request = Request("a", tokens_of(1, 330))
    _serve(of, request, 0)
    _drain(of)
    transfers.save = saves
    # The tree offers them again, since they do not count as saved.
    _serve(of, Request("b", tokens_of(1, 330)), 0)
    assert _agreed(len(of.cache.linker.pending_offloads)) > 0, "nodes that one rank did not save count as saved"
    _drain(of)
    of.evict_all()
    _serve(of, Request("c", tokens_of(1, 330)), 320)
    _drain(of)
    torch.distributed.barrier()
    clean(of)


@_scenario("two ranks, one whose agent is killed", "computed by both until it is back; then restored", 20)
def one_agent_killed(of: Any, rank: int) -> None:
    _fill(of, 1, 330)
    if rank == 1:
        os.kill(of.agent_pid(), signal.SIGKILL)
        until(lambda: not _is_there(of), "the agent's end")
    torch.distributed.barrier()
    request = Request("meanwhile", tokens_of(1, 330))
    found = _find(of, request)
    got = _agreed(of.run(request))
    assert got in (0, -1), f"{got} tokens of {found} were restored without an agent"
    _drain(of)
    of.evict_all()
    end = time.monotonic() + LIMIT_S
    number = 0
    while True:
        # The instance begins anew when all of its members are there; what it had saved is found again.
        number += 1
        if _find(of, Request(f"back {number}", tokens_of(1, 330))) == 320:
            break
        assert time.monotonic() < end, "no hit when the agent is back"
        time.sleep(0.05)
    _serve(of, Request(f"back {number}", tokens_of(1, 330)), 320)
    _drain(of)
    torch.distributed.barrier()
    clean(of)


def _is_there(of: Any) -> bool:
    with of.linker._copies._pages._agent:
        client = of.linker._copies._pages._client
        if client is not None:
            client.query(1, 0, bytes(32))
    return bool(of.linker._copies._pages.ready)




@_scenario("window: two ranks, one of them slow", "each restores its own shards of both pools, byte by byte",
           2 * (20 + windowed.WINDOW_PAGES), cores=("rust", "python"), windows=True)
def windowed_slow(of: Any, rank: int) -> None:
    one_slow(of, rank)


@_scenario("window: two ranks, one of which cannot load it", "computed by both, when no page is written any more",
           20 + windowed.WINDOW_PAGES, windows=True)
def one_cannot_load_window(of: Any, rank: int) -> None:
    _fill(of, 1, 330)
    transfers = of.linker._copies._window
    loads = transfers.load_each
    if rank == 1:
        # It takes one of its pages.
        transfers.load_each = lambda parts: loads(parts[:1])
    request = Request("again", tokens_of(1, 330))
    assert _find(of, request) == 320
    before = of.accounts()
    assert _agreed(of.load_back(request)) == 0
    assert of.accounts() == before
    assert of.start() == -1
    rows = of.snapshot()
    time.sleep(0.1)
    assert all(torch.equal(old, new) for old, new in zip(rows, of.snapshot())), "a page was written"
    transfers.load_each = loads
    _serve(of, Request("next", tokens_of(1, 330)), 320)
    _drain(of)
    torch.distributed.barrier()
    clean(of)

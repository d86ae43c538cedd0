"""What runs in an engine's process: the released engine, stepped by commands, so that faults come at chosen steps."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from multiprocessing.connection import Connection
from typing import Any

from qualification.processes import deliver

CONNECTOR = "OrbitKvConnector"
STEP_LIMIT = 20_000


class Stage(Enum):
    """Where a request is."""

    DEFERRED = "asked for, and to be asked for again"
    LOADING = "waiting for its blocks"
    RUNNING = "running"
    ENDED = "ended"


class Half(Enum):
    """Which of the two connectors of an engine, or the worker's client of its agent, which a thread of its own uses."""

    SCHEDULER = "scheduler"
    WORKER = "worker"
    AGENT = "agent"


@dataclass(frozen=True)
class Settings:
    """
    How an engine is started.

    connector: what goes into kv_connector_extra_config; without it the engine runs without OrbitKV.
    identity: what the engine is called among those of this machine; each start has another one.
    own_cache: whether the engine has a prefix cache of its own.
    ranks: of tensor parallelism; more than one have processes of their own.
    module: where the connector is found; without it, by its name, which the plugin makes known.
    options: further arguments of the engine.
    """

    model: str
    log: str = ""
    connector: Mapping[str, object] | None = None
    identity: str = ""
    ranks: int = 1
    own_cache: bool = True
    module: str | None = None
    blocks: int = 128
    block_tokens: int = 32
    dtype: str = "float32"
    async_scheduling: bool = False
    failures: str = "recompute"
    longest: int = 1024
    batched_tokens: int = 512
    requests: int = 16
    load_path: tuple[str, ...] = ()
    events: bool = False
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Told:
    """
    A KV event about the cache outside of the engine.

    kind: the name of its class.
    tokens: of the blocks that were stored, one behind another.
    """

    kind: str
    hashes: tuple[bytes | int, ...] = ()
    tokens: tuple[int, ...] = ()


@dataclass(frozen=True)
class Request:
    """What is asked for: greedy decoding of exactly so many tokens."""

    name: str
    prompt: tuple[int, ...]
    tokens: int = 24


@dataclass(frozen=True)
class Outcome:
    """
    What came of a request.

    cached: tokens of the prompt that were not computed, those of the engine's own cache included.
    """

    tokens: tuple[int, ...]
    reason: str
    cached: int


@dataclass
class Counts:
    """
    What the engine counted since it was last asked.

    external: prompt tokens that OrbitKV supplied, as the scheduler admitted them.
    connector: the connector's own statistics, added up by name.
    """

    external: int = 0
    preemptions: int = 0
    connector: dict[str, float] = field(default_factory=dict)

    def add(self, statistics: Mapping[Any, Any], prefix: str = "") -> None:
        for name, value in statistics.items():
            path = f"{prefix}{name}"
            if isinstance(value, Mapping):
                self.add(value, f"{path}.")
            elif isinstance(value, (int, float)):
                self.connector[path] = self.connector.get(path, 0) + value
            elif isinstance(value, list) and all(isinstance(one, (int, float)) for one in value):
                self.connector[path] = self.connector.get(path, 0) + sum(value)


class Served:
    """One engine. Its methods are the commands."""

    def __init__(self, settings: Settings) -> None:
        from vllm.config import KVEventsConfig, KVTransferConfig
        from vllm.engine.arg_utils import EngineArgs
        from vllm.v1.engine.llm_engine import LLMEngine
        from vllm.v1.executor.abstract import Executor

        transfer = None
        if settings.connector is not None:
            transfer = KVTransferConfig(
                kv_connector=CONNECTOR,
                kv_connector_module_path=settings.module,
                engine_id=settings.identity,
                kv_role="kv_both",
                kv_load_failure_policy=settings.failures,
                kv_connector_extra_config=dict(settings.connector),
            )
        events = KVEventsConfig(enable_kv_cache_events=True, publisher="null") if settings.events else None
        arguments = EngineArgs(**{
            "model": settings.model,
            "skip_tokenizer_init": True,
            "dtype": settings.dtype,
            "enforce_eager": True,
            "max_model_len": settings.longest,
            "max_num_batched_tokens": settings.batched_tokens,
            "max_num_seqs": settings.requests,
            "num_gpu_blocks_override": settings.blocks,
            "block_size": settings.block_tokens,
            "enable_prefix_caching": settings.own_cache,
            "kv_transfer_config": transfer,
            "kv_events_config": events,
            "seed": 0,
            "tensor_parallel_size": settings.ranks,
            "distributed_executor_backend": "mp" if settings.ranks > 1 else None,
            **settings.options,
        })
        config = arguments.create_engine_config()
        # The CPU platform turns it off as not needed there; the engine runs with it all the same.
        config.scheduler_config.async_scheduling = settings.async_scheduling
        self._counts = Counts()
        self._engine: Any = LLMEngine(
            config, Executor.get_class(config), log_stats=True, stat_loggers=[self._statistics_into(self._counts)])
        self._core: Any = self._engine.engine_core.engine_core
        self._blocks = settings.blocks
        self._ids: dict[str, str] = {}
        self._outcomes: dict[str, Outcome] = {}
        self._unanswered: set[str] = set()
        self._pending_faults = 0
        self._told: list[Told] = []
        if settings.events:
            self._core.scheduler.kv_event_publisher.publish = self._heard
        if transfer is not None:
            self._watch_answers()

    def _heard(self, batch: Any) -> None:
        for event in batch.events:
            if getattr(event, "medium", "CPU") == "CPU":
                self._told.append(Told(
                    type(event).__name__, tuple(getattr(event, "block_hashes", ())),
                    tuple(getattr(event, "token_ids", ()))))

    def _watch_answers(self) -> None:
        """Notes which requests were told to come again."""
        connector = self._core.scheduler.connector
        ask = connector.get_num_new_matched_tokens

        def watched(request: Any, computed: int) -> tuple[int | None, bool]:
            answer: tuple[int | None, bool] = ask(request, computed)
            (self._unanswered.add if answer[0] is None else self._unanswered.discard)(request.request_id)
            return answer

        connector.get_num_new_matched_tokens = watched

    @staticmethod
    def _statistics_into(counts: Counts) -> Callable[[Any, int], Any]:
        from vllm.v1.metrics.loggers import StatLoggerBase

        class Collector(StatLoggerBase):  # type: ignore[misc, unused-ignore]
            def __init__(self, _config: Any, _engine: int = 0) -> None:
                pass

            def record(self, scheduler_stats: Any, iteration_stats: Any, **_rest: Any) -> None:
                if scheduler_stats is not None:
                    if scheduler_stats.connector_prefix_cache_stats is not None:
                        found = scheduler_stats.connector_prefix_cache_stats
                        counts.external += found.hits + found.preempted_hits
                    if scheduler_stats.kv_connector_stats:
                        counts.add(scheduler_stats.kv_connector_stats)
                if iteration_stats is not None:
                    counts.preemptions += iteration_stats.num_preempted_reqs

            def log_engine_initialized(self) -> None:
                pass

        return Collector

    # Requests.

    def submit(self, *requests: Request) -> None:
        """Gives requests to the engine, which does nothing yet."""
        from vllm import SamplingParams
        from vllm.inputs import TokensPrompt

        for request in requests:
            self._outcomes.pop(request.name, None)
            self._ids[request.name] = self._engine.add_request(
                request.name,
                TokensPrompt(prompt_token_ids=list(request.prompt)),
                SamplingParams(temperature=0, max_tokens=request.tokens, ignore_eos=True, detokenize=False),
            )

    def step(self) -> None:
        """One step of the engine."""
        outputs = self._engine.step()
        for output in outputs:
            if output.finished:
                answer = output.outputs[0]
                self._outcomes[output.request_id] = Outcome(
                    tuple(answer.token_ids), str(answer.finish_reason), output.num_cached_tokens or 0)
        if not outputs:
            # The engine's own loop gives way for as long when a step had nothing to compute.
            time.sleep(0.001)

    def run(self) -> dict[str, Outcome]:
        """Steps until every request has ended."""
        for _ in range(STEP_LIMIT):
            if not self._engine.has_unfinished_requests():
                return dict(self._outcomes)
            self.step()
        raise AssertionError(f"requests did not end in {STEP_LIMIT} steps: {self._states()}")

    def generate(self, *requests: Request) -> dict[str, Outcome]:
        """Runs requests to their ends."""
        self.submit(*requests)
        outcomes = self.run()
        return {request.name: outcomes[request.name] for request in requests}

    def until(self, name: str, stage: Stage, tokens: int = 0) -> None:
        """Steps until a request is where it shall be, and no further: with so many tokens, if it runs."""
        for _ in range(STEP_LIMIT):
            found = self.stage(name)
            if found is stage and (stage is not Stage.RUNNING or self._request(name).num_output_tokens >= tokens):
                return
            if found is Stage.ENDED:
                break
            self.step()
        raise AssertionError(f"request {name} never was {stage.name}: {self._states()}")

    def stage(self, name: str) -> Stage | None:
        """Where a request is; none if it was not looked at yet."""
        from vllm.v1.request import RequestStatus

        request = self._request(name)
        if request is None or request.is_finished():
            return Stage.ENDED
        if request.status == RequestStatus.WAITING_FOR_REMOTE_KVS:
            return Stage.LOADING
        if request.status == RequestStatus.RUNNING:
            return Stage.RUNNING
        return Stage.DEFERRED if request.request_id in self._unanswered else None

    def abort(self, name: str) -> None:
        """What a client does that goes away."""
        self._engine.abort_request([self._ids[name]], internal=True)

    # Times, in seconds.

    def first_token_time(self, request: Request) -> float:
        """From the submission of a request to its first token; it is aborted then."""
        started = time.perf_counter()
        self.submit(request)
        identity = self._ids[request.name]
        while True:
            outputs = self._engine.step()
            if not outputs:
                # As the engine's own loop does, or threads that copy wait for this one.
                time.sleep(0.001)
            for output in outputs:
                if output.request_id == request.name and output.outputs[0].token_ids:
                    taken = time.perf_counter() - started
                    self._engine.abort_request([identity], internal=True)
                    self.settle()
                    return taken

    def step_times(self, request: Request) -> list[float]:
        """Runs a request; what each of its steps behind the first token took."""
        self.submit(request)
        times: list[float] = []
        while self._engine.has_unfinished_requests():
            started = time.perf_counter()
            outputs = self._engine.step()
            if outputs and len(outputs[0].outputs[0].token_ids) > 1:
                times.append(time.perf_counter() - started)
        self.settle()
        return times

    def run_time(self, *requests: Request) -> float:
        """Runs requests to their ends, all at once."""
        started = time.perf_counter()
        self.submit(*requests)
        while self._engine.has_unfinished_requests():
            self._engine.step()
        return time.perf_counter() - started

    def run_for(self, limit: float) -> tuple[float, bool]:
        """Takes steps for a while; what they took, and whether requests are left."""
        started = time.perf_counter()
        taken = 0.0
        while self._engine.has_unfinished_requests() and taken < limit:
            self._engine.step()
            taken = time.perf_counter() - started
        return taken, self._engine.has_unfinished_requests()

    def connector_time(self, *requests: Request) -> tuple[int, float, float]:
        """Runs requests to their ends; the steps, what they took, and what of it the connector's calls took."""
        inside = 0.0
        depth = 0

        def timed(call: Callable[..., Any]) -> Callable[..., Any]:
            def measured(*args: Any, **kwargs: Any) -> Any:
                nonlocal inside, depth
                # A call may make another one.
                depth += 1
                started = time.perf_counter()
                try:
                    return call(*args, **kwargs)
                finally:
                    depth -= 1
                    if depth == 0:
                        inside += time.perf_counter() - started

            return measured

        wrapped = [(self._connector(half), name) for half in (Half.SCHEDULER, Half.WORKER) for name in self._calls()]
        for connector, name in wrapped:
            setattr(connector, name, timed(getattr(connector, name)))
        try:
            started = time.perf_counter()
            self.submit(*requests)
            steps = 0
            while self._engine.has_unfinished_requests():
                self._engine.step()
                steps += 1
            taken = time.perf_counter() - started
        finally:
            for connector, name in wrapped:
                delattr(connector, name)
            self._watch_answers()
        return steps, taken, inside

    @staticmethod
    def _calls() -> list[str]:
        from vllm.distributed.kv_transfer.kv_connector.v1.base import KVConnectorBase_V1

        return [name for name, member in vars(KVConnectorBase_V1).items()
                if not name.startswith("_") and callable(member)] + ["request_finished_all_groups"]

    # The state of the engine.

    def settle(self, limit: float = 120.0) -> int:
        """Steps until nothing is under way, and tells how many blocks are not free then: 0, or there is a leak."""
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            self.step()
            pinned = self._core.scheduler.connector is not None and (
                self._core.scheduler.connector.has_pending_push_work())
            if not self._core.scheduler.has_requests() and not self._core.batch_queue and not pinned:
                break
        return self.in_use()

    def in_use(self) -> int:
        """How many blocks are not free at this moment: requests', and those that are held for saves."""
        pool = self._core.scheduler.kv_cache_manager.block_pool
        # Block 0 is nobody's.
        return int(self._blocks - 1 - pool.get_num_free_blocks())

    def counts(self) -> Counts:
        """What was counted since the last call."""
        counted = Counts(self._counts.external, self._counts.preemptions, dict(self._counts.connector))
        self._counts.external = self._counts.preemptions = 0
        self._counts.connector.clear()
        return counted

    def told(self) -> list[Told]:
        """What routers were told since the last call, of the cache outside of the engine."""
        told, self._told = self._told, []
        return told

    def forget(self) -> bool:
        """Empties the engine's own cache, and nothing else."""
        return bool(self._engine.reset_prefix_cache())

    def reset(self) -> bool:
        """What an operator does when the model's weights were changed in place: empties all caches."""
        return bool(self._engine.reset_prefix_cache(reset_connector=True))

    def modules(self, prefix: str) -> list[str]:
        """Modules of this process."""
        return sorted(name for name in sys.modules if name.startswith(prefix))

    # Faults.

    def before(self, half: Half, method: str, stage: Stage, fault: Callable[[Served], None]) -> None:
        """Has something happen once, right before a connector's method is called while a request is at a stage."""
        self._around(half, method, stage, fault, before=True)

    def after(self, half: Half, method: str, stage: Stage, fault: Callable[[Served], None]) -> None:
        """Has something happen once, right after a connector's method was called while a request is at a stage."""
        self._around(half, method, stage, fault, before=False)

    def _around(self, half: Half, method: str, stage: Stage, fault: Callable[[Served], None], before: bool) -> None:
        connector = self._connector(half)
        original = getattr(connector, method)
        self._pending_faults += 1

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if all(self.stage(name) is not stage for name in self._ids):
                return original(*args, **kwargs)
            delattr(connector, method)
            self._pending_faults -= 1
            if before:
                fault(self)
            result = original(*args, **kwargs)
            if not before:
                fault(self)
            return result

        setattr(connector, method, wrapped)

    def pending_faults(self) -> int:
        """How many faults have not come yet."""
        return self._pending_faults

    def overwrite(self, name: str) -> None:
        """Overwrites the blocks of a request with other values."""
        import torch

        (blocks,) = self._core.scheduler.kv_cache_manager.get_block_ids(self._ids[name])
        runner = self._core.model_executor.driver_worker.worker.model_runner
        for cache in runner.kv_caches:
            cache[blocks] = torch.randn(cache[blocks].shape, generator=torch.Generator().manual_seed(5))

    def stop(self) -> None:
        """Ends the engine in order."""
        self._engine.engine_core.shutdown()

    def _connector(self, half: Half) -> Any:
        from vllm.distributed.kv_transfer import get_kv_transfer_group

        if half is Half.SCHEDULER:
            return self._core.scheduler.connector
        worker: Any = get_kv_transfer_group()
        return worker if half is Half.WORKER else worker._worker._courier.client

    def _request(self, name: str) -> Any:
        return self._core.scheduler.requests.get(self._ids[name])

    def _states(self) -> dict[str, str]:
        return {name: str(self._request(name) and self._request(name).status) for name in self._ids}


@dataclass(frozen=True)
class Signal:
    """A fault: a signal to a process, which has come when this returns."""

    process: int
    signal: signal.Signals = signal.SIGKILL

    def __call__(self, _engine: Served) -> None:
        deliver(self.process, self.signal)


@dataclass(frozen=True)
class Overwrite:
    """A fault: other values in a request's blocks."""

    name: str

    def __call__(self, engine: Served) -> None:
        engine.overwrite(self.name)


def serve(
    connection: Connection, settings: Settings, environment: Mapping[str, str], kind: type[Served] = Served
) -> None:
    """Starts an engine of a kind and does what the connection says, until it says stop."""
    log = os.open(settings.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    os.environ.update(environment)
    sys.path[:0] = settings.load_path
    # As an operator's signal to the engine alone would be.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    served: Served | None = None
    while True:
        try:
            if served is None:
                served = kind(settings)
                connection.send((True, os.getpid()))
                continue
            method, arguments = connection.recv()
            connection.send((True, getattr(served, method)(*arguments)))
            if method == "stop":
                return
        except EOFError:
            return
        except BaseException:  # pylint: disable=broad-except
            connection.send((False, traceback.format_exc()))
            if served is None:
                return

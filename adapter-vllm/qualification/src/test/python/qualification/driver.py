"""Engines and Managers in processes of their own, as a scenario sees them."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any, Optional

from qualification.engine import Counts, Half, Outcome, Request, Served, Settings, Stage, Told, serve
from qualification.model import Model, write
from qualification.processes import agents, await_end, children, deliver, processor_time
from qualification.probe import probes
from qualification.server import Server

CONNECTOR_MODULE = "orbitkv_vllm.connector"
START_LIMIT = 300.0
# Ranks that wait for each other turn round, and leave little of a small machine to the start of their agents.
ATTACH_LIMIT = 300.0
COMMAND_LIMIT = 300.0
MANAGER_LIMIT = 120.0

# One process of the V1 runner, so that the step in which a fault comes can be chosen.
ENVIRONMENT = {
    "VLLM_USE_V2_MODEL_RUNNER": "0",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_LOGGING_LEVEL": "INFO",
    "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    # Ranks are bound to NUMA nodes otherwise, one each, and there may be one node.
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
}


@dataclass(frozen=True)
class Installed:
    """
    OrbitKV as it is tried.

    path: folders of its Python packages, which the engines alone see.
    command: what starts it; without it, the command of the wheel in those folders.
    """

    path: tuple[str, ...]
    command: tuple[str, ...] | None = None


class Failed(AssertionError):
    """A command failed in an engine's process."""


class Engine:
    """An engine in a process of its own."""

    start_limit = START_LIMIT
    command_limit = COMMAND_LIMIT

    def __init__(
        self,
        context: ForkServerContext,
        settings: Settings,
        environment: Mapping[str, str] = ENVIRONMENT,
        kind: type[Served] = Served,
    ) -> None:
        self.settings = settings
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, settings, environment, kind))
        self._process.start()
        theirs.close()
        try:
            self.pid: int = self._answer(self.start_limit)
        except BaseException:
            self.kill()
            raise

    def generate(self, *requests: Request) -> dict[str, Outcome]:
        """Runs requests to their ends, all at once."""
        outcomes: dict[str, Outcome] = self._call(Served.generate, *requests)
        return outcomes

    def submit(self, *requests: Request) -> None:
        """Gives the engine requests, and makes no step."""
        self._call(Served.submit, *requests)

    def until(self, name: str, stage: Stage, tokens: int = 0) -> None:
        """Steps until a request is where it shall be."""
        self._call(Served.until, name, stage, tokens)

    def run(self) -> dict[str, Outcome]:
        """Steps until all requests have ended; the outcomes of all that ever ran."""
        outcomes: dict[str, Outcome] = self._call(Served.run)
        return outcomes

    def abort(self, name: str) -> None:
        """Aborts a request."""
        self._call(Served.abort, name)

    def first_token_time(self, request: Request) -> float:
        """Seconds from the submission of a request to its first token."""
        return float(self._call(Served.first_token_time, request))

    def step_times(self, request: Request) -> list[float]:
        """Seconds of each step behind the first token."""
        times: list[float] = self._call(Served.step_times, request)
        return times

    def connector_time(self, *requests: Request) -> tuple[int, float, float]:
        """Steps of a run, its seconds, and those in the connector's calls."""
        steps, taken, inside = self._call(Served.connector_time, *requests)
        return int(steps), float(taken), float(inside)

    def run_time(self, *requests: Request) -> float:
        """Seconds from the submission of requests to the last one's end."""
        return float(self._call(Served.run_time, *requests))

    def run_for(self, limit: float) -> tuple[float, bool]:
        """Takes steps for some seconds; how many they took, and whether requests are left."""
        taken, left = self._call(Served.run_for, limit)
        return float(taken), bool(left)

    def settle(self) -> int:
        """Steps until nothing is under way; blocks that did not come back."""
        return int(self._call(Served.settle))

    def in_use(self) -> int:
        """How many blocks are not free at this moment."""
        return int(self._call(Served.in_use))

    def counts(self) -> Counts:
        """What was counted since the last call."""
        counts: Counts = self._call(Served.counts)
        return counts

    def told(self) -> list[Told]:
        """What routers were told since the last call."""
        told: list[Told] = self._call(Served.told)
        return told

    def forget(self) -> None:
        """Empties the engine's own cache, when nothing is under way any more."""
        self.settle()
        if not self._call(Served.forget):
            raise AssertionError(
                f"the engine's own cache could not be emptied: {self.in_use()} blocks are in use; it printed:\n{self.log()}")

    def reset(self) -> bool:
        """Empties the engine's cache and OrbitKV's; whether both agreed."""
        return bool(self._call(Served.reset))

    def modules(self, prefix: str) -> list[str]:
        """Modules that the engine's process has imported."""
        modules: list[str] = self._call(Served.modules, prefix)
        return modules

    def before(self, half: Half, method: str, stage: Stage, fault: Callable[[Served], None]) -> None:
        """Has a fault come right before a call of the connector while a request is at a stage."""
        self._call(Served.before, half, method, stage, fault)

    def after(self, half: Half, method: str, stage: Stage, fault: Callable[[Served], None]) -> None:
        """Has a fault come right after a call of the connector while a request is at a stage."""
        self._call(Served.after, half, method, stage, fault)

    def pending_faults(self) -> int:
        """How many faults have not come yet."""
        return int(self._call(Served.pending_faults))

    def launched(self) -> list[int]:
        """The processes that the engine has launched: its workers, where they are others, and the agents of all ranks."""
        return children(self.pid) + agents(self.settings.identity)

    def processor_time(self) -> float:
        """Seconds for which a processor has worked for the engine so far, in whatever process."""
        return sum(map(processor_time, [self.pid, *self.launched()]))

    def await_cache(self, limit: float = ATTACH_LIMIT) -> None:
        """Waits until what the engine computes is saved and loaded: its agent starts while it serves already."""
        deadline = time.monotonic() + limit
        for probe in probes(self.settings.block_tokens):
            self.generate(probe)
            self.settle()
            # An agent that starts on a busy machine may have saves for longer than an idle engine takes steps for them.
            if self._call(Served.forget):
                self.counts()
                self.generate(probe)
                if self.counts().external > 0:
                    break
            if time.monotonic() > deadline:
                raise Failed(f"nothing was saved and loaded again in {limit:.0f} s; the engine printed:\n{self.log()}")
            time.sleep(0.1)
        self.settle()
        self.forget()

    def agent(self, rank: int = 0) -> int:
        """The agent of a rank."""
        launched = agents(self.settings.identity)
        if len(launched) != self.settings.ranks:
            raise AssertionError(f"the engine has the agents {launched}, expected {self.settings.ranks}")
        return launched[rank]

    def stop(self) -> None:
        """Ends the engine in order, and waits until what it launched has ended too."""
        launched = self.launched()
        self._call(Served.stop)
        self._process.join(COMMAND_LIMIT)
        await_end(launched)

    def kill(self) -> None:
        """Kills the engine, and waits until what it launched has ended too."""
        launched = agents(self.settings.identity) + (children(self._process.pid) if self._process.pid is not None else [])
        self._process.kill()
        self._process.join(COMMAND_LIMIT)
        self._connection.close()
        await_end(launched)

    @property
    def alive(self) -> bool:
        """Whether the process is there."""
        return self._process.is_alive()

    def log(self) -> str:
        """The end of what the process printed."""
        return Path(self.settings.log).read_text(errors="replace")[-6000:]

    def _call(self, method: Callable[..., Any], *arguments: Any) -> Any:
        self._connection.send((method.__name__, arguments))
        return self._answer(self.command_limit)

    def _answer(self, limit: float) -> Any:
        try:
            if not self._connection.poll(limit):
                raise Failed(f"no answer of the engine in {limit:.0f} s; it printed:\n{self.log()}")
            good, answer = self._connection.recv()
        except (EOFError, ConnectionError) as error:
            raise Failed(f"the engine's process has gone; it printed:\n{self.log()}") from error
        if not good:
            raise Failed(f"{answer}\nThe engine printed:\n{self.log()}")
        return answer


class Manager:
    """A node Manager, which keeps its folders when it is started again."""

    def __init__(
        self, installed: Installed, folder: Path, memory: Path, dram: str, ssd: str, disk: Optional[Path] = None
    ) -> None:
        self._folder = folder
        self._disk = disk or folder / "ssd"
        self._memory = memory
        self._environment = {**os.environ, "PYTHONPATH": os.pathsep.join(installed.path)}
        self._command = [
            *(installed.command or (sys.executable, "-m", "orbitkv")), "manager", "--dram", dram,
            "--ssd", f"{self._disk}:{ssd}", "--runtime", str(memory), "--http", "off",
        ]
        folder.mkdir(parents=True, exist_ok=True)
        self._disk.mkdir(parents=True, exist_ok=True)
        self._process: Optional[subprocess.Popen[str]] = None
        self.start()

    @property
    def socket(self) -> str:
        """Where engines find it."""
        return str(self._memory / "manager.sock")

    @property
    def pid(self) -> int:
        """The process."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Starts the process and waits until it serves."""
        if self._process is not None:
            # A fault has killed it.
            self._process.communicate(timeout=MANAGER_LIMIT)
        with open(self._folder / "manager.log", "a", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                self._command, stdout=subprocess.PIPE, stderr=log, stdin=subprocess.DEVNULL, text=True,
                env=self._environment)
        assert self._process.stdout is not None
        ready = self._process.stdout.readline()
        if not ready.startswith("ready: "):
            self.kill()
            raise AssertionError(f"the Manager did not start:\n{(self._folder / 'manager.log').read_text()}")

    def stop(self) -> None:
        """Ends it in order: it writes what is not on the SSD yet."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kills it."""
        self._end(signal.SIGKILL)

    def data(self) -> Path:
        """The file that it keeps blocks in on the SSD."""
        (largest,) = sorted(self._disk.iterdir(), key=lambda file: file.stat().st_size)[-1:]
        return largest

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.communicate(timeout=MANAGER_LIMIT)
            self._process = None


class Bench:
    """Starts engines and Managers for scenarios, and ends those that are left."""

    def __init__(
        self, folder: Path, memory: Path, installed: Installed, preload: str = "qualification.preload"
    ) -> None:
        """Works in two folders, of which one is in memory. ``preload`` is what engines' processes have imported."""
        self.folder = folder
        self._memory = memory
        self._installed = installed
        self._started = 0
        self._engines: list[Engine] = []
        self._servers: list[Server] = []
        self._managers: list[Manager] = []
        # Engines are copies of a process that has imported the engine and started no thread.
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([preload])

    def model(self, name: str, model: Model) -> str:
        """Writes a model and tells its folder."""
        folder = self.folder / name
        writer = self._context.Process(target=write, args=(model, folder))
        writer.start()
        writer.join()
        if writer.exitcode != 0:
            raise AssertionError(f"could not write the model {name}")
        return str(folder)

    def engine(self, settings: Settings) -> Engine:
        """Starts an engine."""
        engine = Engine(self._context, self.placed(settings))
        self._engines.append(engine)
        if settings.connector is not None:
            engine.await_cache()
        return engine

    def placed(self, settings: Settings) -> Settings:
        """Settings of an engine with a log of its own, and what is tried in its reach."""
        self._started += 1
        return replace(
            settings, log=str(self.folder / f"engine-{self._started}.log"), load_path=self._installed.path,
            identity=f"engine-{os.getpid()}-{self._started}")

    def server(self, settings: Settings) -> Server:
        """Starts a server with processes of its own."""
        self._started += 1
        log = str(self.folder / f"server-{self._started}.log")
        server = Server(
            replace(settings, log=log, identity=f"server-{os.getpid()}-{self._started}"), self._installed.path)
        self._servers.append(server)
        return server

    def manager(self, name: str, dram: str = "64MiB", ssd: str = "256MiB", disk: Optional[Path] = None) -> Manager:
        """Starts a Manager, whose SSD tier is in a folder of its own or in ``disk``."""
        manager = Manager(self._installed, self.folder / name, self._memory / name, dram, ssd, disk)
        self._managers.append(manager)
        return manager

    def with_cache(self, settings: Settings, manager: Optional[Manager], **extra: object) -> Settings:
        """Settings of an engine with OrbitKV and a node's Manager, or one that the agent hosts."""
        connector: dict[str, object] = {"runtime_dir": str(self._memory / "run"), **extra}
        if manager is not None:
            connector["manager"] = manager.socket
        if self._installed.command is None:
            return replace(settings, connector=connector)
        # A source tree has no plugin.
        connector["agent_command"] = list(self._installed.command)
        return replace(settings, connector=connector, module=CONNECTOR_MODULE)

    def unsealed(self, ssd: Path) -> list[str]:
        """The states of those segments of a store that a start would have to scan."""
        command = self._installed.command or (sys.executable, "-m", "orbitkv")
        told = subprocess.run(
            [*command, "inspect", "--json", str(ssd)], check=True, stdout=subprocess.PIPE, timeout=COMMAND_LIMIT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(self._installed.path)})
        states = [segment["state"] for segment in json.loads(told.stdout)["segments"]]
        if "sealed" not in states:
            raise AssertionError(f"the store at {ssd} has no sealed segment: {states}")
        return [state for state in states if state not in ("sealed", "empty")]

    @property
    def plugin(self) -> bool:
        """Whether what is tried is installed, and makes its connector known by itself."""
        return self._installed.command is None

    def close(self) -> None:
        """Ends everything."""
        for engine in self._engines:
            if engine.alive:
                engine.kill()
        for server in self._servers:
            if server.alive:
                server.kill()
        for manager in self._managers:
            manager.kill()


@contextlib.contextmanager
def stopped(process: int) -> Iterator[None]:
    """Has a process stand still for a while."""
    deliver(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)

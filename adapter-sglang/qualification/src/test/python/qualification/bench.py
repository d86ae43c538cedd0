"""Managers and engines of a run, and what a scenario leaves."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional

import engine

LIMIT_S = 120.0
"""Of what takes a moment on an idle machine."""


class Row(NamedTuple):
    """A line of the page."""

    name: str
    result: str
    pages: Optional[int]
    """Restored; nothing where timing decides how many."""
    seconds: float
    failure: Optional[str] = None


class Outcome(NamedTuple):
    """What a scenario shows."""

    result: str
    pages: Optional[int]


class ManagerProcess:
    """A node's Manager."""

    def __init__(self, command: Sequence[str], folder: Path, *, dram: str, ssd: Optional[str]) -> None:
        self._words = [*command, "manager", "--runtime", str(folder), "--dram", dram, "--memory", "shared",
                       "--http", "off", "--block-bytes", "12288B"]
        if ssd is not None:
            self._words += ["--ssd", ssd, "--storage-setting", "segment-bytes=1MiB"]
        self.socket = str(folder / "manager.sock")
        self._process: Optional[subprocess.Popen[str]] = None
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(
            self._words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line.startswith("ready: "), line

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def pause(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def restart(self) -> None:
        """Ends it in order and starts it again: what is on its SSD is left."""
        self.stop()
        self.start()

    def stop(self) -> None:
        assert self._process is not None
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGCONT)
            self._process.terminate()
            self._process.wait(LIMIT_S)


class Bench:
    """What scenarios are made of. Everything that one starts ends with it."""

    def __init__(
        self, memory: Path, disk: Path, command: Optional[Sequence[str]], vllm: Optional[str], installed: Optional[str]
    ) -> None:
        """Works in two folders, of which one is in memory. ``vllm`` is a Python that has it, ``installed`` OrbitKV's
        packages for that."""
        self.memory = memory
        self.disk = disk
        self.command = command
        self.vllm = vllm
        self.installed = installed
        self._closing: list[Callable[[], None]] = []
        self._number = 0

    def manager(self, *, dram: str = "16MiB", ssd: bool = False) -> ManagerProcess:
        self._number += 1
        words = self.command
        if words is None:
            from orbitkv.command import command as installed

            words = installed()
        store = f"{self.disk}/ssd{self._number}:64MiB" if ssd else None
        folder = self.memory / f"m{self._number}"
        folder.mkdir(mode=0o700)
        manager = ManagerProcess(words, folder, dram=dram, ssd=store)
        self._closing.append(manager.stop)
        return manager

    def also_close(self, close: Callable[[], None]) -> None:
        """Has something else end with the scenario."""
        self._closing.append(close)

    def engine(
        self,
        manager: ManagerProcess,
        *,
        core: str = "rust",
        pages: int = 64,
        pool: Optional[Any] = None,
        engine_id: Optional[str] = None,
        kind: type[engine.Engine] = engine.Engine,
        arguments: Optional[dict[str, Any]] = None,
        **settings: Any,
    ) -> engine.Engine:
        self._number += 1
        server = engine.publish_engine(
            {
                "manager": manager.socket,
                "runtime_dir": str(self.memory / "run"),
                "engine_id": engine_id or f"e{self._number}",
                "pending_ms": 5000,
                **({} if self.command is None else {"agent_command": list(self.command)}),
                **settings,
            },
            **(arguments or {}),
        )
        made = kind(server, pool=pool if pool is not None else engine.mha_pool(pages), core=core)
        self._closing.append(made.close)
        made.await_cache()
        return made

    def close(self) -> None:
        """Ends what the scenario started, the last first."""
        while self._closing:
            self._closing.pop()()


def until(condition: Callable[[], bool], what: str, limit_s: float = LIMIT_S) -> None:
    """Waits for something that comes by itself."""
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, f"{what} did not come in {limit_s:g} s"
        time.sleep(0.01)


def clean(*engines: engine.Engine) -> None:
    """Nothing may be left of a scenario: no lock, no lease, no slot that is neither free nor the tree's."""
    for each in engines:
        each.drain()
        protected = each.cache.protected_size()
        assert protected == 0, f"{protected} tokens of the tree are locked"
        for free, kept, size in each.accounts():
            assert free + kept == size, f"{free} slots are free and {kept} the tree's, of {size}"
        until(lambda: each.counters().get("leases", 0) == 0, "the end of every lease", 10.0)



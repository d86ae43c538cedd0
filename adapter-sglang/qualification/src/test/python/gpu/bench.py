"""Engines in processes of their own, and the Manager of the node that one of them uses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional

from gpu.serving import MARK

LIMIT_S = 60.0
_SAID = 3000


class Answers(NamedTuple):
    """What an engine said to prompts that it was given at once."""

    tokens: list[list[int]]
    cached: list[int]
    seconds: float


class Moved(NamedTuple):
    """Bytes of pages that went into the cache and out of it."""

    saved: int
    restored: int


class NodeManager:
    """A node's Manager, which outlives engines."""

    def __init__(
        self, command: Sequence[str], folder: Path, log: Path, *, dram: str, block_bytes: int,
        ssd: Optional[str] = None, segment: str = "",
    ) -> None:
        folder.mkdir(mode=0o700, parents=True)
        self._words = [*command, "manager", "--runtime", str(folder), "--dram", dram, "--memory", "shared",
                       "--http", "127.0.0.1:0", "--block-bytes", f"{block_bytes}B"]
        if ssd is not None:
            self._words += ["--ssd", ssd, "--storage-setting", f"segment-bytes={segment}"]
        self.socket = str(folder / "manager.sock")
        self._log = log
        self._process: Optional[subprocess.Popen[str]] = None
        self._url = ""

    def start(self) -> None:
        """Returns when it serves."""
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                self._words, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line.startswith("ready: "), f"{line}; see {self._log}"
        self._url = next(word for word in line.split() if word.startswith("http://")).rstrip("/,")

    def stop(self) -> None:
        """Ends it as an operator does. Idempotent."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait(LIMIT_S)

    def moved(self) -> Moved:
        """What its start has moved so far."""
        counts: dict[str, float] = {}
        with urllib.request.urlopen(f"{self._url}/metrics", timeout=LIMIT_S) as metrics:
            for line in metrics.read().decode().splitlines():
                name, _, value = line.rpartition(" ")
                if name.startswith(("orbitkv_saved_bytes_total", "orbitkv_restored_bytes_total")):
                    key = name.partition("{")[0]
                    counts[key] = counts.get(key, 0.0) + float(value)
        return Moved(int(counts["orbitkv_saved_bytes_total"]), int(counts["orbitkv_restored_bytes_total"]))


class GpuEngine:
    """The released engine, its scheduler and its agent, behind a pipe."""

    def __init__(self, arguments: Mapping[str, Any], environment: Mapping[str, str], log: Path) -> None:
        self._words = [sys.executable, "-m", "gpu.serving", json.dumps(arguments)]
        self._environment = {**os.environ, **environment}
        self._log = log
        self._process: Optional[subprocess.Popen[str]] = None

    def launch(self) -> None:
        """Begins a start; ``started`` waits for it."""
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                self._words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                env=self._environment, start_new_session=True)

    def started(self) -> float:
        """Returns how long a start took, in seconds."""
        return float(self._answer()["seconds"])

    def generate(self, prompts: Sequence[Sequence[int]], tokens: int) -> Answers:
        """Has prompts answered at once."""
        said = self._ask({"do": "generate", "prompts": [list(prompt) for prompt in prompts], "tokens": tokens})
        return Answers(said["tokens"], said["cached"], said["seconds"])

    def flush(self) -> None:
        """Empties the engine's own cache, behind its saves."""
        until(lambda: bool(self._ask({"do": "flush"})["success"]), "an engine without work")

    def stop(self) -> None:
        """Ends the engine and what it has started. Idempotent."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _ask(self, command: dict[str, Any]) -> dict[str, Any]:
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process is not None and self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(MARK):
                answer: dict[str, Any] = json.loads(line.removeprefix(MARK))
                return answer
        raise AssertionError(f"the engine has ended: {self._log.read_text(errors='replace')[-_SAID:]}")


def until(condition: Callable[[], bool], what: str, limit_s: float = LIMIT_S) -> None:
    """Waits for something that comes by itself."""
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, f"{what} did not come in {limit_s:g} s"
        time.sleep(0.05)


def require(holds: bool, otherwise: str) -> None:
    """``AssertionError`` unless something holds."""
    if not holds:
        raise AssertionError(otherwise)

"""Engines of both kinds on one Manager at once."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional

from engine import PAGE, Request, tokens_of

from qualification.bench import LIMIT_S, Bench, ManagerProcess, Outcome, clean, until

ALL: list[tuple[str, tuple[str, ...], Callable[[Bench, str], Outcome]]] = []

_BLOCK_BYTES = 12_288
_DRAM = 4 * 1024 * 1024
_ROUNDS = 6
_PROMPTS = 4
_TOKENS = 20 * PAGE
_FLOOD = 6


class _Vllm:
    """The released vLLM in a process with an environment of its own."""

    def __init__(self, bench: Bench, manager: ManagerProcess) -> None:
        folder, memory = bench.disk / "vllm", bench.memory / "vllm"
        folder.mkdir()
        memory.mkdir(mode=0o700)
        here = Path(__file__).parent.parent
        driver = here.parents[4] / "adapter-vllm/qualification/src/test/python"
        assert bench.vllm is not None and bench.installed is not None, "this needs --vllm and --installed"
        environment = {name: value for name, value in os.environ.items() if name != "TORCH_EXTENSIONS_DIR"}
        self._process = subprocess.Popen(
            [bench.vllm, str(here / "neighbour/vllm_engine.py"), str(folder), str(memory), manager.socket,
             bench.installed],
            env={**environment, "PYTHONPATH": str(driver)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=(folder / "log").open("w"), text=True,
        )
        self._log = folder / "log"
        self._lines: queue.Queue[Optional[str]] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self._line("ready", 6 * LIMIT_S)

    def ask(self, prompts: list[list[int]]) -> None:
        """Has prompts served, one after the other."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(prompts) + "\n")
        self._process.stdin.flush()

    @property
    def is_busy(self) -> bool:
        """Whether what was asked for last is still being served."""
        return self._lines.empty()

    def answer(self) -> dict[str, Any]:
        """Waits until that was served, and returns what came of it."""
        answer: dict[str, Any] = json.loads(self._line("answer: ", 6 * LIMIT_S).removeprefix("answer: "))
        return answer

    def serve(self, prompts: list[list[int]]) -> dict[str, Any]:
        """Serves prompts."""
        self.ask(prompts)
        return self.answer()

    def close(self) -> None:
        """Ends it in order."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(LIMIT_S)
        finally:
            self._process.kill()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _line(self, beginning: str, limit_s: float) -> str:
        while True:
            line = self._lines.get(timeout=limit_s)
            if line is None:
                raise AssertionError("vLLM has ended:\n" + self._log.read_text()[-20000:])
            if line.startswith(beginning):
                return line


class _Sglang:
    """The released tree of an engine, which has nothing of its own left before each request."""

    def __init__(self, bench: Bench, manager: ManagerProcess, core: str) -> None:
        self.of: Any = bench.engine(manager, core=core)
        self._number = 0

    def serve(self, prompts: list[list[int]]) -> int:
        """Serves prompts one after the other. Returns how many of their tokens were restored, every byte compared."""
        restored = 0
        for prompt in prompts:
            self._number += 1
            request = Request(f"s{self._number}", prompt)
            until(lambda: self._is_answered(request), "an answer")
            restored += self.of.run(request)
            bad = self.of.wrong(request.tokens, request.prefix)
            assert bad == 0, f"{bad} rows are wrong"
            self.of.drain(LIMIT_S)
            self.of.evict_all()
        return restored

    def _is_answered(self, request: Request) -> bool:
        self.of.look(request)
        return not self.of.cache.linker.is_pending(request.rid)


def _prompts(seed: int, count: int) -> list[list[int]]:
    return [[token % 1000 + 3 for token in tokens_of(seed + number, _TOKENS + 5)] for number in range(count)]


def _both_kinds(bench: Bench, core: str) -> Outcome:
    manager = bench.manager(dram=f"{_DRAM}B")
    vllm = _Vllm(bench, manager)
    bench.also_close(vllm.close)
    sglang = _Sglang(bench, manager, core)
    # The same tokens: what one has saved, the other does not find.
    kept = _prompts(1, _PROMPTS)
    whole = _PROMPTS * _TOKENS
    computed = vllm.serve(kept)
    assert computed["external"] == 0, computed
    found = sglang.serve(kept)
    assert found == 0, f"{found} tokens of vLLM's were restored"
    again = vllm.serve(kept)
    assert (again["external"], again["answers"]) == (whole, computed["answers"]), again
    assert sglang.serve(kept) == whole
    # Each has a quarter of what fits, and comes back to it. The other one saves a third of what fits meanwhile, each
    # time something else.
    asked, restored = 0, 0
    for number in range(_ROUNDS):
        vllm.ask(_prompts(100 + _FLOOD * number, _FLOOD))
        while asked == 0 or vllm.is_busy:
            restored += sglang.serve(kept)
            asked += whole
        flood = vllm.answer()
        assert flood["external"] == 0, flood
    share = restored / asked
    restored = 0
    for number in range(_ROUNDS):
        vllm.ask(kept)
        found = sglang.serve(_prompts(200 + _FLOOD * number, _FLOOD))
        assert found == 0, f"{found} tokens of prompts that are new were restored"
        held = vllm.answer()
        assert held["answers"] == computed["answers"], "an answer is not the one that was computed"
        restored += held["external"]
    shares = share, restored / (whole * _ROUNDS)
    print("of what each came back to, SGLang has restored %.2f and vLLM %.2f; each has saved %d bytes beside it" % (
        *shares, _ROUNDS * _FLOOD * _TOKENS // PAGE * _BLOCK_BYTES), flush=True)
    assert min(shares) >= 0.5, shares
    counters = sglang.of.counters()
    assert counters.get("missed_BUSY", 0) == 0, counters
    clean(sglang.of)
    return Outcome("nothing of each other; at least half of what each comes back to, while the other one floods", None)


ALL.append(("the released vLLM on the same Manager at the same time", ("rust",), _both_kinds))

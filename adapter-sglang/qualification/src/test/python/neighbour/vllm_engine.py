"""The released vLLM on a Manager that others use too, in its own environment and with its own qualification's driver:
python vllm_engine.py FOLDER MEMORY SOCKET INSTALLED.

Each line of its input is what to serve, as JSON; each of its answers is a line, too.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from qualification.driver import Bench, Engine, Installed
from qualification.engine import Request, Settings
from qualification.model import Model

# The CPU's attention takes no fewer.
BLOCK_TOKENS = 32
# Three layers of keys and values of 32 numbers: as many bytes a token as the other engine has.
MODEL = Model(layers=3, hidden=64, heads=2, kv_heads=1, head=32)

READY = "ready"
ANSWER = "answer: "


class _Manager:
    """A Manager that somebody else has started."""

    def __init__(self, socket: str) -> None:
        self.socket = socket


def main(folder: str, memory: str, socket: str, installed: str) -> None:
    """Serves until its input ends."""
    bench = Bench(Path(folder), Path(memory), Installed((installed,)))
    try:
        settings = Settings(bench.model("model", MODEL), block_tokens=BLOCK_TOKENS, own_cache=True)
        with_cache = bench.with_cache(settings, _Manager(socket), defer_ms=5000, answer_ms=1000)  # type: ignore[arg-type]
        engine = bench.engine(with_cache)
        print(READY, flush=True)
        for number, line in enumerate(sys.stdin):
            print(ANSWER + json.dumps(_serve(engine, number, json.loads(line))), flush=True)
    finally:
        bench.close()


def _serve(engine: Engine, number: int, prompts: list[list[int]]) -> dict[str, Any]:
    """Serves prompts one after the other, each with an engine that has nothing of its own left."""
    answers: list[list[int]] = []
    engine.counts()
    for index, prompt in enumerate(prompts):
        name = f"{number}-{index}"
        answers.append(list(engine.generate(Request(name, tuple(prompt), 4))[name].tokens))
        engine.settle()
        engine.forget()
    counted = engine.counts()
    return {"answers": answers, "external": counted.external}


if __name__ == "__main__":
    main(*sys.argv[1:])

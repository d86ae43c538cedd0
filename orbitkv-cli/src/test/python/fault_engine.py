"""An engine of one rank that does what its input says, a line each, and answers each with a line.

It uses its agent as a real one does, and is stopped and killed in the middle of it. A prompt is named by its seed.
Arguments: the name of its instance, the folder for its pool.
"""

from __future__ import annotations

import logging
import sys
import time
from typing import Optional

from orbitkv_agent import Answer, Finished, Transfer
from orbitkv_wire import Standing
from stand_in import LAYERS, LIMIT_S, Worker, chain

_BLOCKS = 8
_KEPT = list(range(_BLOCKS))
"""Pages of the prompt that is stored at first."""
_SOURCES = list(range(8, 16))
"""Pages that a save reads while something happens to it."""
_TARGETS = list(range(16, 24))
"""Pages that a load fills while something happens to it."""
_CHECKED = list(range(24, 32))
"""Pages that a load fills in peace."""
_DEADLINE_S = 5.0
_SHORT_S = 0.3
_OWN = b"\x5a"
"""What the engine fills pages with that are its own again: nobody else may write there."""


class Engine:
    def __init__(self, instance: str, pools: str) -> None:
        self.worker = Worker("nowhere", instance=instance, incarnation=time.time_ns(), deadline_s=_DEADLINE_S, pools=pools)
        self.operation = 0
        self.lease: Optional[int] = None
        self.transfer: Optional[Transfer] = None
        self.watched = False

    def obey(self, words: list[str]) -> str:
        """Carries out a command."""
        client = self.worker.client
        match words:
            case ["open", path]:
                self.worker.go_to(path)
                return "opened" if self._ask(b"").reason != "NO_AGENT" else "none"
            case ["store", seed]:
                return f"stored {self.worker.store(int(seed), _KEPT)}"
            case ["ask", seed]:
                answer = self._ask(chain(int(seed), _BLOCKS))
                self.lease = answer.lease
                return f"leased {answer.blocks}"
            case ["load"] if self.lease is not None:
                self.transfer = client.load(self.lease, _TARGETS)
                return "nothing" if self.transfer is None else "begun"
            case ["arrived"] if self.transfer is not None:
                standing = client.layer_ready(self.transfer, LAYERS - 1, wait_s=1.0)
                return standing.value
            case ["save", seed]:
                self.worker.compute(int(seed), _SOURCES)
                self.transfer = client.save(chain(int(seed), _BLOCKS), 0, _SOURCES)
                return "nothing" if self.transfer is None else "begun"
            case ["close"]:
                return "closed" if client.close() else "not closed"
            case ["held"]:
                client.progress(deadline_s=_SHORT_S)
                return f"held {len(client.held_pages)}"
            case ["settle"]:
                return self._settle()
            case ["check", seed]:
                return f"right {self._check(int(seed))}"
            case _:
                raise ValueError(f"{words} is no command, or comes too early")

    def _ask(self, hashes: bytes) -> Answer:
        self.operation += 1
        answer = self.worker.client.query(self.operation, 0, hashes)
        end = time.monotonic() + LIMIT_S
        while answer.standing is Standing.PENDING and time.monotonic() < end:
            time.sleep(0.002)
            answer = self.worker.client.poll(self.operation, 0)
        return answer

    def _settle(self) -> str:
        """Waits until every page is the engine's, and takes those that the agent may have had into use."""
        finished: list[Finished] = []
        end = time.monotonic() + LIMIT_S
        while self.worker.client.held_pages and time.monotonic() < end:
            finished += self.worker.client.progress(wait_s=0.1)
        if self.worker.client.held_pages:
            return f"held {len(self.worker.client.held_pages)}"
        loaded = sum(each.blocks for each in finished if each.transfer.is_load)
        saved = sum(each.blocks for each in finished if not each.transfer.is_load)
        if self.lease is not None:
            self.worker.client.release(self.lease)
        self.lease = self.transfer = None
        for page in _SOURCES + _TARGETS:
            for piece in self.worker.pool.pieces(page):
                piece[:] = _OWN * len(piece)
        self.watched = True
        return f"settled {loaded} {saved}"

    def _check(self, seed: int) -> int:
        """Loads what is stored of a prompt. Returns how many blocks, all of them right."""
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            answer = self._ask(chain(seed, _BLOCKS))
            if answer.lease is not None:
                transfer = self.worker.client.load(answer.lease, _CHECKED[: answer.blocks])
                self.worker.client.release(answer.lease)
                if transfer is not None and self.worker.finish(transfer).blocks == answer.blocks:
                    assert self.worker.holds(seed, _CHECKED[: answer.blocks]), "a restored byte is wrong"
                    break
            elif answer.reason == "NOT_STORED":
                break
            time.sleep(0.02)
        if self.watched:
            for page in _SOURCES + _TARGETS:
                for piece in self.worker.pool.pieces(page):
                    assert bytes(piece) == _OWN * len(piece), f"page {page} was written by somebody"
        return answer.blocks


def main() -> None:
    logging.disable(logging.CRITICAL)
    engine = Engine(sys.argv[1], sys.argv[2])
    print("ready", flush=True)
    for line in sys.stdin:
        try:
            print(engine.obey(line.split()), flush=True)
        except Exception as e:
            print(f"failed {type(e).__name__}: {e}", flush=True)
    engine.worker.close()


if __name__ == "__main__":
    main()

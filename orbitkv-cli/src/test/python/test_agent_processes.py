"""Engine workers in Python against real agents and a real Manager: every byte that comes back is compared.

``ORBITKV_COMMAND`` is the command line that starts ``orbitkv``, one word a line.
"""

from __future__ import annotations

import logging
import os
import random
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest
from typing import Optional

from orbitkv_agent import AgentClient, Finished, PageGroup, SharedPool, Transfer
from orbitkv_wire import Answer as ManagerAnswer
from orbitkv_wire import ManagerClient, Standing

_PAGES = 64
_NAMESPACE = bytes(range(32))
_LIMIT_S = 60.0

# Four layers of 48 KiB, layer-major, and behind them two of 4 KiB, page-major.
_LARGE = PageGroup(0, 4, _PAGES, 49152, 49152 * _PAGES, 49152)
_SMALL = PageGroup(_LARGE.end, 2, _PAGES, 4096, 4096, 8192)
_GROUPS = [_LARGE, _SMALL]
_SHARD_BYTES = 4 * 49152 + 2 * 4096


def _chain(seed: int, blocks: int) -> bytes:
    return b"".join(struct.pack(">4q", seed, block, 1, 2) for block in range(blocks))


class Worker:
    """One rank: its pool, its client, and what it computes."""

    def __init__(self, socket_path: str, rank: int = 0, ranks: int = 1) -> None:
        self.rank = rank
        self.pool = SharedPool(_GROUPS)
        self.client = AgentClient(
            socket_path, instance="stand-in", incarnation=7, namespace=_NAMESPACE, groups=_GROUPS,
            memory=self.pool.path, rank=rank, ranks=ranks, block_tokens=16, deadline_s=10.0, retry_s=0.05,
            max_retry_s=0.2)

    def content(self, seed: int, block: int) -> bytes:
        return random.Random((seed * 1000 + block) * 100 + self.rank).randbytes(_SHARD_BYTES)

    def compute(self, seed: int, pages: list[int]) -> None:
        for block, page in enumerate(pages):
            content, at = self.content(seed, block), 0
            for piece in self.pool.pieces(page):
                piece[:] = content[at : at + len(piece)]
                at += len(piece)

    def holds(self, seed: int, pages: list[int], first_block: int = 0) -> bool:
        return all(
            b"".join(self.pool.pieces(page)) == self.content(seed, first_block + i) for i, page in enumerate(pages))

    def finish(self, transfer: Optional[Transfer]) -> Finished:
        assert transfer is not None, self.client.trouble
        end = time.monotonic() + _LIMIT_S
        while time.monotonic() < end:
            for finished in self.client.progress(wait_s=0.5):
                if finished.transfer == transfer:
                    return finished
        raise AssertionError(f"{transfer} was not reported")

    def store(self, seed: int, pages: list[int]) -> int:
        """Computes and saves, as soon as a cache takes it. Returns how many blocks were committed."""
        self.compute(seed, pages)
        end = time.monotonic() + _LIMIT_S
        while time.monotonic() < end:
            transfer = self.client.save(_chain(seed, len(pages)), 0, pages)
            if transfer is not None:
                return self.finish(transfer).blocks
            time.sleep(0.02)
        raise AssertionError(f"nobody took the save: {self.client.trouble}")

    def close(self) -> None:
        self.client.close()
        self.pool.close()


class AgentProcessesTest(unittest.TestCase):
    def setUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        self.folder = tempfile.mkdtemp(prefix="orbitkv-test-", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, self.folder)
        self.socket = os.path.join(self.folder, "agent.sock")

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Starts a command and waits until it is ready."""
        command = os.environ["ORBITKV_COMMAND"].split("\n")
        process = subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, text=True)
        self.addCleanup(_stop, process)
        assert process.stdout is not None
        line = process.stdout.readline()
        self.assertTrue(line.startswith("ready: "), line)
        return process

    def worker(self, socket_path: str, rank: int = 0, ranks: int = 1) -> Worker:
        worker = Worker(socket_path, rank, ranks)
        self.addCleanup(worker.close)
        return worker

    def test_what_was_saved_comes_back_also_for_the_next_start_of_an_engine(self) -> None:
        agent = self.start("agent", "--socket", self.socket, "--dram", "64MiB")
        first = self.worker(self.socket)
        pages = random.Random(1).sample(range(_PAGES), 20)
        self.assertEqual(20, first.store(1, pages))
        first.close()
        second = self.worker(self.socket)
        answer = second.client.query(0, 0, _chain(1, 30))
        self.assertEqual((Standing.HIT, 20), (answer.standing, answer.blocks))
        assert answer.lease is not None
        targets = random.Random(2).sample(range(_PAGES), 15)
        finished = second.finish(second.client.load(answer.lease, targets, first_block=5))
        self.assertEqual((15, ()), (finished.blocks, finished.failed_pages))
        self.assertTrue(second.holds(1, targets, 5))
        self.assertTrue(second.client.close())
        agent.send_signal(signal.SIGTERM)
        self.assertEqual(0, agent.wait(_LIMIT_S))
        self.assertFalse(os.path.exists(self.socket))

    def test_an_agent_that_is_killed_costs_misses_and_its_pages_come_back(self) -> None:
        agent = self.start("agent", "--socket", self.socket, "--dram", "64MiB")
        worker = self.worker(self.socket)
        pages = list(range(32))
        worker.compute(1, pages)
        transfer = worker.client.save(_chain(1, 32), 0, pages)
        agent.kill()
        agent.wait()
        finished = worker.finish(transfer)
        self.assertEqual(0, finished.blocks)
        self.assertEqual(frozenset(), worker.client.held_pages)
        self.assertEqual("NO_AGENT", worker.client.query(0, 0, _chain(1, 32)).reason)
        self.start("agent", "--socket", self.socket, "--dram", "64MiB")
        self.assertEqual(32, worker.store(1, pages))

    def test_an_engine_that_is_killed_does_not_disturb_the_next(self) -> None:
        self.start("agent", "--socket", self.socket, "--dram", "64MiB")
        for seed in range(3):
            child = os.fork()
            if child == 0:
                worker = Worker(self.socket)
                pages = list(range(40))
                worker.compute(seed, pages)
                worker.client.save(_chain(seed, 40), 0, pages)
                os.unlink(worker.pool.path)
                os.kill(os.getpid(), signal.SIGKILL)
            os.waitpid(child, 0)
            worker = self.worker(self.socket)
            answer = worker.client.query(0, 0, _chain(seed, 40))
            # It was killed after its copies had begun, so they were brought to their end and kept.
            self.assertEqual((Standing.HIT, 40), (answer.standing, answer.blocks))
            assert answer.lease is not None
            self.assertEqual(40, worker.finish(worker.client.load(answer.lease, list(range(40)))).blocks)
            self.assertTrue(worker.holds(seed, list(range(40))))
            worker.client.close()

    def test_ranks_at_a_manager_load_by_their_scheduler_s_lease_and_outlive_the_manager(self) -> None:
        runtime = os.path.join(self.folder, "manager")
        os.mkdir(runtime, 0o700)
        serve = ("manager", "--dram", "64MiB", "--runtime", runtime)
        manager = self.start(*serve)
        manager_socket = os.path.join(runtime, "manager.sock")
        workers = []
        for rank in range(2):
            path = os.path.join(self.folder, f"rank{rank}.sock")
            self.start("agent", "--socket", path, "--manager", manager_socket)
            workers.append(self.worker(path, rank, 2))
        scheduler = ManagerClient(
            manager_socket, instance="stand-in", incarnation=7, namespace=_NAMESPACE, ranks=2,
            shard_bytes=_SHARD_BYTES, block_tokens=16, deadline_s=10.0, retry_s=0.05, max_retry_s=0.2)
        self.addCleanup(scheduler.close)
        for round_ in range(2):
            # Ranks register by their first request, and the instance serves when both have.
            for worker in workers:
                worker.client.query(0, 0, b"")
            for worker in workers:
                self.assertEqual(10, worker.store(round_, list(range(10))))
            lease = self._lease(scheduler, round_, 10)
            for worker in workers:
                targets = list(range(20, 30))
                self.assertEqual(10, worker.finish(worker.client.load(lease, targets)).blocks)
                self.assertTrue(worker.holds(round_, targets))
            if round_ == 0:
                manager.kill()
                manager.wait()
                for worker in workers:
                    self.assertIsNone(worker.client.load(lease, [1]))
                    self.assertIsNone(worker.client.save(_chain(9, 1), 0, [1]))
                self.assertEqual(Standing.MISS, scheduler.query(100, 0, _chain(0, 10)).standing)
                manager = self.start(*serve)

    def _lease(self, scheduler: ManagerClient, seed: int, blocks: int) -> int:
        end = time.monotonic() + _LIMIT_S
        operation = 1000 * seed
        answer: Optional[ManagerAnswer] = None
        while time.monotonic() < end:
            operation += 1
            answer = scheduler.query(operation, 0, _chain(seed, blocks))
            if answer.lease is not None:
                self.assertEqual(blocks, answer.blocks)
                return answer.lease.number
            time.sleep(0.02)
        raise AssertionError(f"no hit: {answer}, {scheduler.trouble}")


def _stop(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


if __name__ == "__main__":
    unittest.main()

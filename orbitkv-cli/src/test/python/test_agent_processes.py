"""Engine workers in Python against real agents and a real Manager: every byte that comes back is compared.

``ORBITKV_COMMAND`` is the command line that starts ``orbitkv``, one word a line.
"""

from __future__ import annotations

import logging
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from typing import Optional

from orbitkv_wire import Answer as ManagerAnswer
from orbitkv_wire import ManagerClient, Standing
from stand_in import LIMIT_S, NAMESPACE, PAGES, SHARD_BYTES, Worker, chain


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
        pages = random.Random(1).sample(range(PAGES), 20)
        self.assertEqual(20, first.store(1, pages))
        first.close()
        second = self.worker(self.socket)
        answer = second.client.query(0, 0, chain(1, 30))
        self.assertEqual((Standing.HIT, 20), (answer.standing, answer.blocks))
        assert answer.lease is not None
        targets = random.Random(2).sample(range(PAGES), 15)
        finished = second.finish(second.client.load(answer.lease, targets, first_block=5))
        self.assertEqual((15, ()), (finished.blocks, finished.failed_pages))
        self.assertTrue(second.holds(1, targets, 5))
        self.assertTrue(second.client.close())
        agent.send_signal(signal.SIGTERM)
        self.assertEqual(0, agent.wait(LIMIT_S))
        self.assertFalse(os.path.exists(self.socket))

    def test_an_agent_that_is_killed_costs_misses_and_its_pages_come_back(self) -> None:
        agent = self.start("agent", "--socket", self.socket, "--dram", "64MiB")
        worker = self.worker(self.socket)
        pages = list(range(32))
        worker.compute(1, pages)
        transfer = worker.client.save(chain(1, 32), 0, pages)
        agent.kill()
        agent.wait()
        finished = worker.finish(transfer)
        self.assertEqual(0, finished.blocks)
        self.assertEqual(frozenset(), worker.client.held_pages)
        self.assertEqual("NO_AGENT", worker.client.query(0, 0, chain(1, 32)).reason)
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
                worker.client.save(chain(seed, 40), 0, pages)
                os.unlink(worker.pool.path)
                os.kill(os.getpid(), signal.SIGKILL)
            os.waitpid(child, 0)
            worker = self.worker(self.socket)
            answer = worker.client.query(0, 0, chain(seed, 40))
            # It was killed after its copies had begun, so they were brought to their end and kept.
            self.assertEqual((Standing.HIT, 40), (answer.standing, answer.blocks))
            assert answer.lease is not None
            self.assertEqual(40, worker.finish(worker.client.load(answer.lease, list(range(40)))).blocks)
            self.assertTrue(worker.holds(seed, list(range(40))))
            worker.client.close()

    def test_ranks_at_a_manager_load_by_their_scheduler_s_lease_and_outlive_the_manager(self) -> None:
        runtime = os.path.join(self.folder, "manager")
        os.mkdir(runtime, 0o700)
        serve = ("manager", "--http", "off", "--dram", "64MiB", "--runtime", runtime)
        manager = self.start(*serve)
        manager_socket = os.path.join(runtime, "manager.sock")
        workers = []
        for rank in range(2):
            path = os.path.join(self.folder, f"rank{rank}.sock")
            self.start("agent", "--socket", path, "--manager", manager_socket)
            workers.append(self.worker(path, rank, 2))
        scheduler = ManagerClient(
            manager_socket, instance="stand-in", incarnation=7, namespace=NAMESPACE, ranks=2,
            shard_bytes=SHARD_BYTES, block_tokens=16, deadline_s=10.0, retry_s=0.05, max_retry_s=0.2)
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
                    self.assertIsNone(worker.client.save(chain(9, 1), 0, [1]))
                self.assertEqual(Standing.MISS, scheduler.query(100, 0, chain(0, 10)).standing)
                manager = self.start(*serve)

    def _lease(self, scheduler: ManagerClient, seed: int, blocks: int) -> int:
        end = time.monotonic() + LIMIT_S
        operation = 1000 * seed
        answer: Optional[ManagerAnswer] = None
        while time.monotonic() < end:
            operation += 1
            answer = scheduler.query(operation, 0, chain(seed, blocks))
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

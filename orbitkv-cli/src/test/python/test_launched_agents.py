"""Agents that their engine's workers launch, one of which hosts the Manager, as real processes."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import tempfile
import time
import unittest
from typing import Callable

from orbitkv_agent import AgentLauncher, EngineFolder
from orbitkv_agent.process import SeenProcess
from orbitkv_wire import ManagerClient

from stand_in import Worker, chain

_LIMIT_S = 60.0
_NAMESPACE = bytes(range(32))
_SHARD_BYTES = 4 * 49152 + 2 * 4096


def _until(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + _LIMIT_S
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def _runs(pid: int) -> bool:
    seen = SeenProcess.of(pid)
    return seen is not None and not seen.is_gone()


def _launch(folder: EngineFolder, rank: int, *options: str) -> AgentLauncher:
    command = os.environ["ORBITKV_COMMAND"].split("\n")
    return AgentLauncher(folder.file(f"rank{rank}.sock"), options, command=command, retry_s=0.1)


def _hosting(folder: EngineFolder) -> tuple[str, ...]:
    return ("--dram", "64MiB", "--host-manager", folder.file("manager"))


class LaunchedAgentsTest(unittest.TestCase):
    def setUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        self.runtime = tempfile.mkdtemp(prefix="orbitkv-test-", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, self.runtime)

    def open(self, engine: str) -> EngineFolder:
        folder = EngineFolder(engine, self.runtime)
        folder.enter()
        self.addCleanup(folder.leave)
        return folder

    def launch(self, folder: EngineFolder, rank: int, *options: str) -> AgentLauncher:
        launcher = _launch(folder, rank, *options)
        self.addCleanup(launcher.close)
        return launcher

    def engine_is_killed(self) -> int:
        """Returns the process of its agent."""
        reads, writes = os.pipe()
        engine = os.fork()
        if engine == 0:
            folder = EngineFolder("first", self.runtime)
            folder.enter()
            launcher = _launch(folder, 0, *_hosting(folder))
            launcher.wait(_LIMIT_S)
            worker = Worker(folder.file("rank0.sock"))
            saved = worker.store(1, list(range(10)))
            os.unlink(worker.pool.path)
            os.write(writes, f"{launcher.agent_pid} {saved}".encode())
            os.kill(os.getpid(), signal.SIGKILL)
        os.close(writes)
        with open(reads, "rb") as told:
            agent, saved = map(int, told.read().split())
        os.waitpid(engine, 0)
        self.assertEqual(10, saved)
        return agent

    def test_the_end_of_its_input_ends_it_in_order_and_leaves_nothing(self) -> None:
        folder = self.open("engine")
        launcher = self.launch(folder, 0, *_hosting(folder))
        self.assertTrue(launcher.wait(_LIMIT_S), launcher)
        worker = Worker(folder.file("rank0.sock"))
        self.assertEqual(10, worker.store(1, list(range(10))))
        worker.close()
        self.assertTrue(launcher.close(_LIMIT_S))
        self.assertEqual(["arena.lock"], os.listdir(folder.file("manager")))
        folder.leave()
        self.assertEqual([], os.listdir(self.runtime))

    def test_an_engine_that_is_killed_leaves_no_process_and_the_next_one_removes_the_rest(self) -> None:
        agent = self.engine_is_killed()
        self.assertTrue(_until(lambda: not _runs(agent)))
        self.assertFalse(os.path.exists(os.path.join(self.runtime, "first", "rank0.sock")))
        self.open("second")
        self.assertEqual(["second"], os.listdir(self.runtime))

    def test_memory_of_an_agent_that_is_killed_too_is_free_after_the_next_start(self) -> None:
        reads, writes = os.pipe()
        engine = os.fork()
        if engine == 0:
            folder = EngineFolder("first", self.runtime)
            folder.enter()
            launcher = _launch(folder, 0, *_hosting(folder))
            launcher.wait(_LIMIT_S)
            agent = launcher.agent_pid
            assert agent is not None
            os.kill(agent, signal.SIGSTOP)
            os.write(writes, str(agent).encode())
            os.kill(os.getpid(), signal.SIGKILL)
        os.close(writes)
        with open(reads, "rb") as told:
            agent = int(told.read())
        os.waitpid(engine, 0)
        arena = os.path.join(self.runtime, "first", "manager", "blocks.arena")
        self.open("second")
        self.assertTrue(os.path.exists(arena), "it still runs, and may be copying")
        os.kill(agent, signal.SIGKILL)
        self.assertTrue(_until(lambda: not _runs(agent)))
        self.open("third")
        self.assertEqual(["second", "third"], sorted(os.listdir(self.runtime)))

    def test_two_ranks_share_the_manager_that_one_of_them_hosts_also_after_it_was_killed(self) -> None:
        folder = self.open("engine")
        socket = folder.file("manager/manager.sock")
        launchers = [self.launch(folder, 0, *_hosting(folder)), self.launch(folder, 1, "--manager", socket)]
        workers = [Worker(folder.file(f"rank{rank}.sock"), rank, 2) for rank in range(2)]
        for worker in workers:
            self.addCleanup(worker.close)
        scheduler = ManagerClient(
            socket, instance="stand-in", incarnation=7, namespace=_NAMESPACE, ranks=2, shard_bytes=_SHARD_BYTES,
            block_tokens=16, deadline_s=10.0, retry_s=0.05, max_retry_s=0.2)
        self.addCleanup(scheduler.close)
        for round_ in range(2):
            for launcher in launchers:
                self.assertTrue(launcher.wait(_LIMIT_S))
            # Ranks register by their first request, and the instance serves when both have.
            for worker in workers:
                worker.client.query(0, 0, b"")
            for worker in workers:
                self.assertEqual(10, worker.store(round_, list(range(10))))
            lease = self.lease(scheduler, round_, 10)
            for worker in workers:
                self.assertEqual(10, worker.finish(worker.client.load(lease, list(range(20, 30)))).blocks)
                self.assertTrue(worker.holds(round_, list(range(20, 30))))
            if round_ == 0:
                killed = launchers[0].agent_pid
                assert killed is not None
                os.kill(killed, signal.SIGKILL)
                self.assertTrue(_until(lambda: launchers[0].listening and launchers[0].agent_pid != killed))

    def lease(self, scheduler: ManagerClient, seed: int, blocks: int) -> int:
        operation = 1000 * seed
        end = time.monotonic() + _LIMIT_S
        while time.monotonic() < end:
            operation += 1
            answer = scheduler.query(operation, 0, chain(seed, blocks))
            if answer.lease is not None:
                self.assertEqual(blocks, answer.blocks)
                return answer.lease.number
            time.sleep(0.02)
        raise AssertionError(f"no hit: {answer}, {scheduler.trouble}")


if __name__ == "__main__":
    unittest.main()

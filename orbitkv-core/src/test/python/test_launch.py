"""An agent's launcher, with agents that are a few lines of Python."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
import unittest
from typing import Callable
from unittest import mock

from orbitkv_agent import AgentLauncher
from orbitkv_agent.process import SeenProcess

_LIMIT_S = 60.0

# Tells its arguments, serves until its input ends, and takes a moment to end.
_AGENT = """
import os, sys
print("starting", " ".join(sys.argv[1:]), os.getsid(0) == os.getpid(), file=sys.stderr, flush=True)
print("ready: here", flush=True)
sys.stdin.read()
print("drained", file=sys.stderr)
"""


_TELLS_PROCESSORS = "import os, sys; print(sorted(os.sched_getaffinity(0)), file=sys.stderr)" + _AGENT


def _until(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + _LIMIT_S
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


def _runs(pid: int) -> bool:
    """Whether a process has not ended. Nobody may have asked how it ended: its parent is the first process."""
    seen = SeenProcess.of(pid)
    return seen is not None and not seen.is_gone()


def _started_by(pid: int) -> set[int]:
    """The processes that a process has started, those that they have, and so on: as engines look for them."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as stat:
                    parents[int(name)] = int(stat.read().rpartition(")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                pass
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def _launch_bound(processor: int, socket: str) -> None:
    """What a worker does that computes on one processor, and whose threads are all bound to it."""
    os.sched_setaffinity(0, {processor})
    launcher = AgentLauncher(socket, [], command=[sys.executable, "-c", _TELLS_PROCESSORS])
    if not launcher.wait(_LIMIT_S) or not launcher.close(_LIMIT_S):
        sys.exit("the agent did not serve, or did not end")


def _descriptors() -> dict[int, str]:
    found = {}
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            found[int(descriptor)] = os.readlink(f"/proc/self/fd/{descriptor}")
        except FileNotFoundError:
            pass
    return found


class AgentLauncherTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.socket = os.path.join(folder.name, "rank0.sock")
        self.log = os.path.join(folder.name, "rank0.log")

    def launch(self, agent: str = _AGENT, *, retry_s: float = 0.01) -> AgentLauncher:
        launcher = AgentLauncher(
            self.socket, ["--dram", "1GiB"], command=[sys.executable, "-c", agent], retry_s=retry_s, max_retry_s=1.0)
        self.addCleanup(launcher.close)
        return launcher

    def said(self) -> str:
        with open(self.log, encoding="utf-8") as log:
            return log.read()

    def require_restart(self, launcher: AgentLauncher, killed: int) -> None:
        with self.assertLogs("orbitkv_agent", "WARNING") as logged:
            os.kill(killed, signal.SIGKILL)
            self.assertTrue(_until(lambda: launcher.listening and launcher.agent_pid not in (None, killed)))
        self.assertIn("agent rank0.sock ended: starting", logged.output[0])

    def test_it_starts_the_agent_and_ends_it_in_order(self) -> None:
        with self.assertLogs("orbitkv_agent", "INFO") as logged:
            launcher = self.launch()
            self.assertTrue(launcher.wait(_LIMIT_S))
            pid = launcher.agent_pid
            assert pid is not None
            self.assertTrue(launcher.close(_LIMIT_S))
        self.assertFalse(_runs(pid))
        self.assertFalse(launcher.listening)
        self.assertEqual(
            f"starting agent --socket {self.socket} --until-eof --dram 1GiB True\ndrained\n", self.said())
        self.assertEqual([f"INFO:orbitkv_agent:agent of process {pid}: ready: here"], logged.output)

    def test_an_agent_that_dies_is_started_again(self) -> None:
        launcher = self.launch()
        self.assertTrue(launcher.wait(_LIMIT_S))
        first = launcher.agent_pid
        assert first is not None
        self.require_restart(launcher, first)

    def test_one_that_cannot_start_costs_its_caller_nothing_and_says_why(self) -> None:
        dies = "import sys; print('no memory here', file=sys.stderr); sys.exit(1)"
        with self.assertLogs("orbitkv_agent", "WARNING") as logged:
            began = time.monotonic()
            launcher = self.launch(dies)
            # Less than what waits for an agent waits if nothing else is said.
            self.assertLess(time.monotonic() - began, 4.0)
            self.assertTrue(_until(lambda: len(logged.output) >= 3))
            self.assertFalse(launcher.wait(0.0))
        for pause, line in zip(("0.01", "0.02", "0.04"), logged.output):
            self.assertIn(f"ended: no memory here; starting it again in {pause} s", line)

    def test_a_command_that_is_not_there_is_tried_again(self) -> None:
        with self.assertLogs("orbitkv_agent", "WARNING") as logged:
            launcher = AgentLauncher(self.socket, [], command=["/nonexistent/orbitkv"], retry_s=0.01)
            self.addCleanup(launcher.close)
            self.assertTrue(_until(lambda: len(logged.output) >= 2))
        self.assertIn("ended: /nonexistent/orbitkv cannot be started: [Errno 2] No such file", logged.output[0])

    def test_it_ends_with_the_process_that_is_killed_though_a_forked_child_lives(self) -> None:
        agents, tells = os.pipe()
        worker = os.fork()
        if worker == 0:
            launcher = AgentLauncher(self.socket, [], command=[sys.executable, "-c", _AGENT])
            launcher.wait(_LIMIT_S)
            child = os.fork()
            if child == 0:
                # Outlives the worker, and has no part in its agent.
                launcher.close()
                signal.pause()
            os.write(tells, f"{launcher.agent_pid} {child}\n".encode())
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(worker, 0)
        agent, child = map(int, os.read(agents, 100).split())
        self.addCleanup(os.close, agents)
        self.addCleanup(os.close, tells)
        self.addCleanup(os.kill, child, signal.SIGKILL)
        self.assertTrue(_until(lambda: not _runs(agent)))
        self.assertTrue(_runs(child))
        self.assertIn("drained", self.said())

    def test_it_ends_in_order_though_all_that_its_engine_has_started_is_killed(self) -> None:
        agents, tells = os.pipe()
        engine = os.fork()
        if engine == 0:
            launcher = AgentLauncher(self.socket, [], command=[sys.executable, "-c", _AGENT])
            launcher.wait(_LIMIT_S)
            if os.fork() != 0:
                os.write(tells, f"{launcher.agent_pid}\n".encode())
            signal.pause()
        self.addCleanup(os.close, agents)
        self.addCleanup(os.close, tells)
        agent = int(os.read(agents, 100))
        started = _started_by(engine)
        self.assertEqual(1, len(started), "the forked child alone, and no zombie")
        for process in started | {engine}:
            os.kill(process, signal.SIGKILL)
        os.waitpid(engine, 0)
        self.assertTrue(_until(lambda: not _runs(agent)))
        self.assertIn("drained", self.said())

    def test_its_end_is_seen_though_another_process_holds_its_output(self) -> None:
        launcher = self.launch()
        self.assertTrue(launcher.wait(_LIMIT_S))
        first = launcher.agent_pid
        assert first is not None
        # As a process does that was forked while the agent was started.
        held = os.open(f"/proc/{first}/fd/1", os.O_WRONLY)
        self.addCleanup(os.close, held)
        self.require_restart(launcher, first)

    def test_its_end_is_seen_where_the_kernel_has_no_descriptors_of_processes(self) -> None:
        with mock.patch("os.pidfd_open", side_effect=PermissionError):
            launcher = self.launch()
            self.assertTrue(launcher.wait(_LIMIT_S))
            first = launcher.agent_pid
            assert first is not None
            self.require_restart(launcher, first)

    def test_no_descriptor_and_no_process_is_left(self) -> None:
        descriptors, started = _descriptors(), _started_by(os.getpid())
        dies = "import sys; print('no memory here', file=sys.stderr); sys.exit(1)"
        with self.assertLogs("orbitkv_agent", "WARNING") as logged:
            launcher = self.launch(dies, retry_s=0.001)
            self.assertTrue(_until(lambda: len(logged.output) >= 3))
            self.assertTrue(launcher.close(_LIMIT_S))
        self.assertEqual(descriptors, _descriptors())
        self.assertEqual(started, _started_by(os.getpid()))

    def test_what_is_slow_to_end_is_left_to_itself(self) -> None:
        held = self.log + ".held"
        with open(held, "wb"):
            pass
        launcher = self.launch(_AGENT + f"import time\nwhile os.path.exists({held!r}): time.sleep(0.01)")
        self.assertTrue(launcher.wait(_LIMIT_S))
        with self.assertLogs("orbitkv_agent", "WARNING"):
            self.assertFalse(launcher.close(0.0))
        os.unlink(held)
        self.assertTrue(launcher.close(_LIMIT_S))

    def test_the_agent_may_use_every_processor_that_a_thread_of_the_engine_may(self) -> None:
        processors = os.sched_getaffinity(0)
        ended = threading.Event()
        other = threading.Thread(target=ended.wait)
        other.start()
        self.addCleanup(other.join)
        self.addCleanup(ended.set)
        # As an engine does to its threads: this one's alone.
        os.sched_setaffinity(0, {min(processors)})
        self.addCleanup(os.sched_setaffinity, 0, processors)
        self.assertTrue(self.launch(_TELLS_PROCESSORS).wait(_LIMIT_S))
        self.assertIn(str(sorted(processors)), self.said())

    def test_the_agent_of_a_worker_may_use_what_is_left_by_it_to_others(self) -> None:
        processors = os.sched_getaffinity(0)
        worker = multiprocessing.get_context("spawn").Process(
            target=_launch_bound, args=(min(processors), self.socket))
        worker.start()
        self.addCleanup(worker.kill)
        worker.join(_LIMIT_S)
        self.assertEqual(0, worker.exitcode)
        self.assertIn(str(sorted(processors)), self.said())

    def test_what_is_set_for_another_java_or_for_the_engine_is_left_out(self) -> None:
        os.environ["JAVA_TOOL_OPTIONS"] = "-Xmx1m"
        self.addCleanup(os.environ.pop, "JAVA_TOOL_OPTIONS")
        launcher = self.launch("import os, sys; print(os.environ.get('JAVA_TOOL_OPTIONS'), file=sys.stderr)" + _AGENT)
        self.assertTrue(launcher.wait(_LIMIT_S))
        self.assertTrue(self.said().startswith("None\n"))

    def test_a_long_log_is_put_aside(self) -> None:
        with open(self.log, "wb") as log:
            log.write(b"x" * (2 << 20))
        self.assertTrue(self.launch().wait(_LIMIT_S))
        self.assertLess(os.path.getsize(self.log), 1000)
        self.assertEqual(2 << 20, os.path.getsize(self.log + ".1"))


if __name__ == "__main__":
    unittest.main()

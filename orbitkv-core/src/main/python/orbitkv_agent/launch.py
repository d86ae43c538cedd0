"""Starts the agent of an engine worker, keeps it running while the worker lives, and ends it with the worker."""

from __future__ import annotations

import importlib
import logging
import multiprocessing
import os
import select
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from typing import BinaryIO, Callable, Optional, Union

_LOG = logging.getLogger("orbitkv_agent")

_READY = b"ready: "

_LOG_BYTES = 1 << 20
"""A log that is longer is put aside when an agent starts."""

_STARTER = """
import os, sys
if os.fork() == 0:
    os.setsid()
    print(os.getpid(), flush=True)
    try:
        os.execvp(sys.argv[1], sys.argv[1:])
    except OSError as e:
        sys.exit(f"{sys.argv[1]} cannot be started: {e}")
"""
"""Starts a command that is nobody's child here, tells its number, and ends."""

_OF_OTHERS = ("CLASSPATH", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "LD_PRELOAD", "_JAVA_OPTIONS")
"""Set for the engine, or for another Java."""


class AgentLauncher:
    """One agent, outside the tree of this process.

    An engine that is shut down kills what it and its children started, and an agent has copies to drain then, and blocks
    to write to the SSD. So a process that ends at once starts it, and the kernel gives it to the machine's first
    process, or to whoever takes in orphans here. It has a session of its own too, and an interrupt from the keyboard does
    not reach it.

    Its standard input is a pipe whose other end nobody but this process holds: when this process ends, however it does,
    the agent ends in order. An agent that ends before is started again. How it ended its own parent alone is told, so
    the last line of its log stands for that.

    A thread does all of it: no call waits unless it says so. A forked child has no part in the agent.
    """

    def __init__(
        self,
        socket_path: str | os.PathLike[str],
        arguments: Sequence[str],
        *,
        command: Optional[Sequence[str]] = None,
        log_path: Optional[Union[str, os.PathLike[str]]] = None,
        retry_s: float = 1.0,
        max_retry_s: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begins to start it.

        ``arguments`` are options of ``orbitkv agent`` beside ``--socket`` and ``--until-eof``. ``command`` are the words
        that start ``orbitkv``; left out, it is the one of the wheel. ``log_path`` receives what the agent says; left
        out, it lies beside the socket. After its death it is started again in ``retry_s``, and in twice the time after
        every further one, up to ``max_retry_s``; one that ran for that long counts as the first again.
        """
        path = os.path.abspath(os.fspath(socket_path))
        self._words = ("agent", "--socket", path, "--until-eof", *arguments)
        self._command = None if command is None else tuple(command)
        self._log_path = os.fspath(log_path) if log_path is not None else os.path.splitext(path)[0] + ".log"
        self._name = os.path.basename(path)
        self._retry_s = retry_s
        self._max_retry_s = max_retry_s
        self._clock = clock
        self._pid = os.getpid()
        self._agent_pid: Optional[int] = None
        self._listening = threading.Event()
        self._closing = threading.Event()
        # One pipe for all agents of this launcher, so that a fork at any moment finds the end that it must not keep.
        self._input: Optional[int]
        self._held: Optional[int]
        self._input, self._held = os.pipe()
        forked = weakref.WeakMethod(self._forked)
        os.register_at_fork(after_in_child=lambda: _call(forked()))
        self._thread = threading.Thread(target=self._supervise, name="orbitkv-agent-launcher", daemon=True)
        self._thread.start()

    @property
    def agent_pid(self) -> Optional[int]:
        """The agent's process, if there is one at present."""
        return self._agent_pid

    @property
    def listening(self) -> bool:
        """Whether the agent listens, as far as is known."""
        return self._listening.is_set()

    def wait(self, limit_s: float = 5.0) -> bool:
        """Waits until the agent listens, but not longer. Returns whether it does."""
        return self._listening.wait(limit_s)

    def close(self, limit_s: float = 10.0) -> bool:
        """Has the agent end in order, waits a while for that, and returns whether it has ended.

        One that has not is still draining or writing to the SSD, and ends by itself. Idempotent.
        """
        if os.getpid() != self._pid:
            return True
        self._closing.set()
        if self._held is not None:
            held, self._held = self._held, None
            os.close(held)
        self._thread.join(limit_s)
        if self._thread.is_alive():
            _LOG.warning("agent %s has not ended in %g s; it will by itself", self._name, limit_s)
            return False
        return True

    def _forked(self) -> None:
        for descriptor in (self._held, self._input):
            if descriptor is not None:
                os.close(descriptor)
        self._held = self._input = None

    def _supervise(self) -> None:
        # The engine may have bound the thread that made this one. The agent gets what all of the engine's may use.
        os.sched_setaffinity(0, _processors())
        failures = 0
        while not self._closing.is_set():
            began = self._clock()
            try:
                ended = self._run()
            except Exception as e:
                ended = f"cannot be started: {e}"
            if self._closing.is_set():
                break
            failures = 1 if self._clock() - began > self._max_retry_s else failures + 1
            pause_s = min(self._max_retry_s, self._retry_s * 2.0 ** (failures - 1))
            _LOG.warning("agent %s %s; starting it again in %g s", self._name, ended, pause_s)
            self._closing.wait(pause_s)
        assert self._input is not None
        ours, self._input = self._input, None
        os.close(ours)

    def _run(self) -> str:
        """Runs an agent to its end, and returns how that was."""
        command = self._command
        if command is not None:
            words = [*command, *self._words]
        else:
            # Not part of this package: who brings a command of their own needs no wheel.
            words = importlib.import_module("orbitkv.command").command(*self._words)
        environment = {name: value for name, value in os.environ.items() if name not in _OF_OTHERS}
        with _open_log(self._log_path) as log:
            before = log.seek(0, os.SEEK_END)
            # Isolated, so that it imports nothing of the engine's.
            starter = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _STARTER, *words],
                stdin=self._input, stdout=subprocess.PIPE, stderr=log, bufsize=0, env=environment,
                start_new_session=True,
            )
        assert starter.stdout is not None
        with starter.stdout as output:
            told = output.readline()
            starter.wait()
            if told:
                self._follow(int(told), output.fileno())
        said = _last_line(self._log_path, before)
        return f"ended: {said}" if said else "ended"

    def _follow(self, pid: int, output: int) -> None:
        """Takes what an agent says, until it has ended."""
        poll = select.poll()
        poll.register(output, select.POLLIN)
        process = _open_process(pid)
        if process is not None:
            poll.register(process, select.POLLIN)
        self._agent_pid = pid
        said = b""
        try:
            # Where only the process is left to be heard of, that is its end.
            while any(descriptor == output for descriptor, _ in poll.poll()):
                more = os.read(output, 4096)
                *lines, said = (said + more).split(b"\n")
                for line in lines:
                    if line.startswith(_READY):
                        _LOG.info("agent of process %d: %s", pid, line.decode(errors="replace").strip())
                        self._listening.set()
                if not more:
                    if process is None:
                        break
                    poll.unregister(output)
        finally:
            self._listening.clear()
            self._agent_pid = None
            if process is not None:
                os.close(process)


def _call(method: Optional[Callable[[], None]]) -> None:
    if method is not None:
        method()


def _open_process(pid: int) -> Optional[int]:
    """Returns a descriptor that becomes readable when a process has ended; nothing where there are none.

    A process that was forked from this one may hold the end of the output that only the agent should, and then its end
    does not show there. The number cannot be another's yet: the kernel gives them out in turn.
    """
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def _processors() -> set[int]:
    processors = os.sched_getaffinity(0)
    # A worker of vLLM's on CPUs has all of its threads bound to those that it computes on. The process that started it has
    # not, and may use those that vLLM leaves to connectors (vllm/utils/ompmultiprocessing.py, reserve_cpu_num).
    parent = multiprocessing.parent_process()
    for pid in (os.getpid(),) if parent is None else (os.getpid(), parent.pid):
        try:
            threads = os.listdir(f"/proc/{pid}/task")
        except OSError:
            continue
        for thread in threads:
            try:
                processors |= os.sched_getaffinity(int(thread))
            except OSError:
                pass
    return processors


def _open_log(path: str) -> BinaryIO:
    try:
        if os.path.getsize(path) > _LOG_BYTES:
            os.replace(path, path + ".1")
    except FileNotFoundError:
        pass
    return open(path, "ab", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW, 0o600))


def _last_line(path: str, after: int) -> str:
    try:
        with open(path, "rb") as log:
            log.seek(max(after, os.path.getsize(path) - 2000))
            lines = log.read().decode(errors="replace").split("\n")
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")

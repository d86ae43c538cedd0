"""Processes, as the kernel shows them."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

END_LIMIT = 120.0


def children(process: int) -> list[int]:
    """The processes that a process has started and that have not ended."""
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
                if int(parent) == process and state not in "ZX":
                    found.append(int(folder.name))
    return found


def deliver(process: int, what: signal.Signals) -> None:
    """Stops or kills a process, and returns when that has come about."""
    os.kill(process, what)
    while _state(process) not in ("T" if what is signal.SIGSTOP else "ZX"):
        time.sleep(0.0005)


def _state(process: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    return "X"


def agents(engine: str) -> list[int]:
    """The agents of an engine, in the order of their ranks. They are nobody's descendants."""
    found: dict[str, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                words = (folder / "cmdline").read_text().split("\0")
                if "agent" in words and "--socket" in words:
                    socket = Path(words[words.index("--socket") + 1])
                    if socket.parent.name == engine:
                        found[socket.name] = int(folder.name)
    return [found[socket] for socket in sorted(found)]


def descendants(process: int) -> list[int]:
    """A process, those that it has started, and so on."""
    found = [process]
    for one in found:
        found.extend(children(one))
    return found


def queues(processes: Iterable[int]) -> set[Path]:
    """The files in memory through which an engine's processes talk. One that is killed leaves them, 400 MB of them."""
    found: set[Path] = set()
    for process in processes:
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{process}/maps").read_text().splitlines()
            found.update(Path(line.split()[5]) for line in lines if " /dev/shm/psm_" in line)
    return found


def name(process: int) -> str:
    """The name of a process; nothing if it has gone."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/comm").read_text().strip()
    return ""


def processor_time(process: int) -> float:
    """Seconds that all threads of a process have run so far."""
    user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def await_end(processes: Iterable[int]) -> None:
    """Waits for processes whose engine has ended."""
    deadline = time.monotonic() + END_LIMIT
    for process in processes:
        # One whose parent has not asked how it ended has ended all the same.
        while _state(process) not in "ZX":
            if time.monotonic() > deadline:
                raise AssertionError(f"process {process} ({name(process)}) outlived its engine by {END_LIMIT:.0f} s")
            time.sleep(0.01)

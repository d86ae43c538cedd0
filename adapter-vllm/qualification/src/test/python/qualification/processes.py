"""Processes, as the kernel shows them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable
from pathlib import Path

END_LIMIT = 30.0


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


def descendants(process: int) -> list[int]:
    """A process, those that it has started, and so on."""
    found = [process]
    for one in found:
        found.extend(children(one))
    return found


def name(process: int) -> str:
    """The name of a process; nothing if it has gone."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/comm").read_text().strip()
    return ""


def await_end(processes: Iterable[int]) -> None:
    """Waits for processes whose engine has ended."""
    deadline = time.monotonic() + END_LIMIT
    for process in processes:
        while Path(f"/proc/{process}").exists():
            if time.monotonic() > deadline:
                raise AssertionError(f"process {process} ({name(process)}) outlived its engine by {END_LIMIT:.0f} s")
            time.sleep(0.01)

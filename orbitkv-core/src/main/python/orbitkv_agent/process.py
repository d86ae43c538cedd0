"""Whether a process that was seen once is gone."""

from __future__ import annotations

import os
from typing import NamedTuple, Optional


class SeenProcess(NamedTuple):
    """A process by its number and its start, so that a reused number is not taken for it."""

    pid: int
    start_time: int

    @classmethod
    def of(cls, pid: int) -> Optional[SeenProcess]:
        """Looks at a process; nothing if it cannot be seen here."""
        stat = _stat(pid) if pid > 0 else None
        return cls(pid, stat[1]) if stat else None

    def is_gone(self) -> bool:
        """Returns whether nothing of it can touch memory any more: its mappings ended with it."""
        try:
            stat = _stat(self.pid)
        except OSError:
            return False
        if stat is None or stat[1] != self.start_time:
            return True
        # A leader that has ended stays as a zombie while other threads live.
        return stat[0] in "ZX" and _threads(self.pid) <= 1


def _stat(pid: int) -> Optional[tuple[str, int]]:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            # The name, in parentheses, may hold anything.
            fields = file.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return fields[0], int(fields[19])


def _threads(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/task"))
    except (FileNotFoundError, ProcessLookupError):
        return 0

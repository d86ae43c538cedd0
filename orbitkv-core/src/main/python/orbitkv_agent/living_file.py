"""Files in memory that a process has as long as it lives, and that the next one removes if it was killed."""

from __future__ import annotations

import fcntl
import os
import tempfile

FOLDER = "/dev/shm"

PREFIX = "orbitkv-kv-"


class LivingFile:
    """A new file without bytes, of this user alone, which this process holds a lock on."""

    def __init__(self, folder: str, kind: str = "") -> None:
        """Removes what dead processes have left there first. ``kind`` goes into the name, for whoever looks."""
        sweep(folder)
        self._pid = os.getpid()
        self.descriptor, self.path = tempfile.mkstemp(prefix=PREFIX + kind, dir=folder)
        try:
            # Held as long as this process lives: a file without it is a dead process's.
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException:
            self.remove()
            raise

    @property
    def is_held(self) -> bool:
        """Whether it is this process's still, and was not inherited by a fork."""
        return self.descriptor >= 0 and os.getpid() == self._pid

    def remove(self) -> None:
        """Gives it up, unless this is a forked child. What is mapped stays. Idempotent."""
        if not self.is_held:
            return
        os.close(self.descriptor)
        self.descriptor = -1
        try:
            os.unlink(self.path)
        except FileNotFoundError:
            pass


def sweep(folder: str = FOLDER) -> None:
    """Removes files of this user whose processes are gone."""
    for name in os.listdir(folder):
        if name.startswith(PREFIX):
            _remove_if_left(os.path.join(folder, name))


def _remove_if_left(path: str) -> None:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        # Another user's, or gone meanwhile.
        return
    try:
        # One that was made this moment is not locked yet, and empty.
        if os.fstat(descriptor).st_size > 0:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)
    except OSError:
        pass
    finally:
        os.close(descriptor)

"""The private folder in memory through which the processes of one engine and its agents find each other."""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import re
import shutil
import stat
from types import TracebackType
from typing import Optional

_LOG = logging.getLogger("orbitkv_agent")

_ALIVE = "engine.lock"
_LOCK = ".lock"

# What a folder and the path of a socket in it can be named. Other names are digested.
_PLAIN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,47}")


class EngineFolder:
    """A folder of one engine among those of a user. Every process of the engine that launches an agent enters it.

    Each holds a lock in it, which the kernel drops when the process ends. So where all locks are free, the engine has
    ended and its agents have: whoever enters a folder beside it removes it, with the memory that a killed agent left.
    """

    def __init__(self, engine: str, runtime_dir: Optional[str | os.PathLike[str]] = None) -> None:
        """Names the folder. Makes nothing."""
        self._above = os.path.abspath(os.fspath(runtime_dir)) if runtime_dir is not None else default_runtime_dir()
        name = engine if _PLAIN.fullmatch(engine) else hashlib.sha256(engine.encode()).hexdigest()[:32]
        self._path = os.path.join(self._above, name)
        self._pid = os.getpid()
        self._lock: Optional[int] = None

    @property
    def path(self) -> str:
        return self._path

    def file(self, name: str) -> str:
        """Returns the path of a file in it, such as ``rank0.sock``."""
        return os.path.join(self._path, name)

    def enter(self) -> None:
        """Makes the folder if it is not there, and removes those of ended engines.

        Raises ``ValueError`` for a folder that others can reach, and ``OSError`` if none can be made.
        """
        os.makedirs(self._above, mode=0o700, exist_ok=True)
        _require_private(self._above)
        # First, since an ended engine may have had this name.
        _remove_ended(self._above)
        self._lock = _hold(self._path)

    def leave(self) -> None:
        """Removes it if no other process of the engine is in it and its agents have ended. Idempotent."""
        if self._lock is None or os.getpid() != self._pid:
            return
        os.close(self._lock)
        self._lock = None
        _remove_if_ended(self._path)

    def __enter__(self) -> EngineFolder:
        self.enter()
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        value: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.leave()


def default_runtime_dir() -> str:
    """Returns the folder of this user's engines. Blocks lie in it: the usual folder for sockets would be too small."""
    return f"/dev/shm/orbitkv-{os.getuid()}"


def _require_private(folder: str) -> None:
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise ValueError(
            f"runtime folder {folder} is {stat.filemode(found.st_mode)} of user {found.st_uid}, expected a folder "
            f"drwx------ of user {os.getuid()}; chmod 700 it or choose another with runtime_dir"
        )


def _hold(folder: str) -> int:
    """Makes a folder and a lock in it that says that its engine lives."""
    while True:
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            _require_private(folder)
        path = os.path.join(folder, _ALIVE)
        try:
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:
            # Another engine has just removed the folder of an earlier one of this name.
            continue
        # Of this opening, not of the process, which may play several roles.
        fcntl.flock(lock, fcntl.LOCK_SH)
        try:
            if os.path.samestat(os.fstat(lock), os.stat(path)):
                return lock
        except FileNotFoundError:
            pass
        os.close(lock)


def _remove_ended(above: str) -> None:
    with os.scandir(above) as entries:
        folders = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    for folder in folders:
        _remove_if_ended(folder)


def _remove_if_ended(folder: str) -> None:
    """Removes a folder that an engine made, if nobody holds a lock in it or below it."""
    held: list[int] = []
    try:
        fcntl.flock(_open(os.path.join(folder, _ALIVE), held), fcntl.LOCK_EX | fcntl.LOCK_NB)
        for path, _, names in os.walk(folder):
            for name in names:
                if name.endswith(_LOCK) and name != _ALIVE:
                    # As agents and Managers lock.
                    fcntl.lockf(_open(os.path.join(path, name), held), fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder)
    except (BlockingIOError, FileNotFoundError):
        # Somebody lives in it, no engine made it, or another is removing it.
        pass
    except OSError as e:
        _LOG.warning("folder %s of an ended engine cannot be removed: %s", folder, e)
    finally:
        for lock in held:
            os.close(lock)


def _open(path: str, opened: list[int]) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    opened.append(descriptor)
    return descriptor

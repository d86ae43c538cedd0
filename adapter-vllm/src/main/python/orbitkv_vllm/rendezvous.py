"""Where the processes of one start of an engine find each other."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import stat

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,47}")
_LONGEST_SOCKET = 107
_LOCK = "engine.lock"


class Rendezvous:
    """A folder of this user alone, with the sockets of one engine."""

    def __init__(self, runtime_dir: str, engine_id: str) -> None:
        """Names that of an engine. ``ValueError`` if its paths are too long for sockets."""
        plain = _PLAIN.fullmatch(engine_id) is not None
        name = engine_id if plain else hashlib.sha256(engine_id.encode()).hexdigest()[:32]
        self.folder = os.path.join(runtime_dir, name)
        self._lock = -1
        longest = self.manager_socket
        if len(os.fsencode(longest)) > _LONGEST_SOCKET:
            raise ValueError(
                f"kv_connector_extra_config.runtime_dir is too long: {longest} has {len(os.fsencode(longest))} bytes, and"
                f" the path of a socket has at most {_LONGEST_SOCKET}"
            )

    def enter(self) -> None:
        """Makes the folder, for as long as this process lives, and removes those that nobody is in any more.

        ``OSError`` or ``ValueError`` if it is not this user's alone.
        """
        parent = os.path.dirname(self.folder)
        os.makedirs(parent, mode=0o700, exist_ok=True)
        for name in os.listdir(parent):
            if os.path.join(parent, name) != self.folder:
                _remove_if_left(os.path.join(parent, name))
        try:
            os.mkdir(self.folder, mode=0o700)
        except FileExistsError:
            found = os.lstat(self.folder)
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
                raise ValueError(
                    f"{self.folder} is not a folder of user {os.getuid()} alone; remove it, or set"
                    " kv_connector_extra_config.runtime_dir"
                ) from None
        lock = os.open(os.path.join(self.folder, _LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        # Of each rank.
        fcntl.flock(lock, fcntl.LOCK_SH)
        self._lock = lock

    def leave(self) -> None:
        """Removes the folder if this process is the last that is in it. Idempotent."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1
            _remove_if_left(self.folder)

    def agent_socket(self, rank: int) -> str:
        """Returns where the agent of a rank listens."""
        return os.path.join(self.folder, f"rank{rank}.sock")

    @property
    def scheduler_socket(self) -> str:
        """Where the agent of rank 0 listens for the scheduler."""
        return os.path.join(self.folder, "scheduler.sock")

    @property
    def manager_folder(self) -> str:
        """What a hosted Manager has for itself."""
        return os.path.join(self.folder, "manager")

    @property
    def manager_socket(self) -> str:
        """Where a hosted Manager listens."""
        return os.path.join(self.manager_folder, "manager.sock")


def _remove_if_left(folder: str) -> None:
    """Removes a folder that no engine and no agent is in: what is in it would stay in memory until the machine ends."""
    locks = []
    try:
        engine = os.open(os.path.join(folder, _LOCK), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        locks.append(engine)
        fcntl.flock(engine, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for name in os.listdir(folder):
            if name.endswith(".sock.lock"):
                agent = os.open(os.path.join(folder, name), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
                locks.append(agent)
                # The kind that Java has.
                fcntl.lockf(agent, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder)
    except OSError:
        # Somebody is in it, or it is no such folder.
        pass
    finally:
        for lock in locks:
            os.close(lock)

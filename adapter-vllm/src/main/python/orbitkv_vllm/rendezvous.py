"""Where the processes of one start of an engine find each other."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from typing import NamedTuple

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,47}")
_LONGEST_SOCKET = 107


class Rendezvous(NamedTuple):
    """A folder of this user alone, with the sockets of one engine."""

    folder: str

    @classmethod
    def of(cls, runtime_dir: str, engine_id: str) -> Rendezvous:
        """Returns that of an engine. ``ValueError`` if its paths are too long for sockets."""
        plain = _PLAIN.fullmatch(engine_id) is not None
        name = engine_id if plain else hashlib.sha256(engine_id.encode()).hexdigest()[:32]
        rendezvous = cls(os.path.join(runtime_dir, name))
        longest = os.path.join(rendezvous.manager_folder, "manager.sock")
        if len(os.fsencode(longest)) > _LONGEST_SOCKET:
            raise ValueError(
                f"kv_connector_extra_config.runtime_dir is too long: {longest} has {len(os.fsencode(longest))} bytes, and"
                f" the path of a socket has at most {_LONGEST_SOCKET}"
            )
        return rendezvous

    def make(self) -> None:
        """Makes the folder. ``OSError`` or ``ValueError`` if it is not this user's alone."""
        os.makedirs(os.path.dirname(self.folder), mode=0o700, exist_ok=True)
        try:
            os.mkdir(self.folder, mode=0o700)
        except FileExistsError:
            found = os.lstat(self.folder)
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
                raise ValueError(
                    f"{self.folder} is not a folder of user {os.getuid()} alone; remove it, or set"
                    " kv_connector_extra_config.runtime_dir"
                ) from None

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

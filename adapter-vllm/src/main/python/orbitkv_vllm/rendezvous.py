"""Where the processes of one start of an engine find each other."""

from __future__ import annotations

import os

from orbitkv_agent.folder import EngineFolder

_LONGEST_SOCKET = 107


class Rendezvous:
    """A folder of this user alone, with the sockets of one engine."""

    def __init__(self, runtime_dir: str, engine_id: str) -> None:
        """Names that of an engine. ``ValueError`` if its paths are too long for sockets."""
        self._folder = EngineFolder(engine_id, runtime_dir)
        longest = self.manager_socket
        if len(os.fsencode(longest)) > _LONGEST_SOCKET:
            raise ValueError(
                f"kv_connector_extra_config.runtime_dir is too long: {longest} has {len(os.fsencode(longest))} bytes,"
                f" and the path of a socket has at most {_LONGEST_SOCKET}"
            )

    @property
    def folder(self) -> str:
        """Its path."""
        return self._folder.path

    def enter(self) -> None:
        """Makes the folder, for as long as this process lives, and removes those of engines that have ended.

        ``OSError`` or ``ValueError`` if it is not this user's alone.
        """
        self._folder.enter()

    def leave(self) -> None:
        """Removes the folder if this process is the last that is in it. Idempotent."""
        self._folder.leave()

    def agent_socket(self, rank: int) -> str:
        """Returns where the agent of a rank listens."""
        return self._folder.file(f"rank{rank}.sock")

    @property
    def scheduler_socket(self) -> str:
        """Where the agent of rank 0 listens for the scheduler."""
        return self._folder.file("scheduler.sock")

    @property
    def manager_folder(self) -> str:
        """What a hosted Manager has for itself."""
        return self._folder.file("manager")

    @property
    def manager_socket(self) -> str:
        """Where a hosted Manager listens."""
        return os.path.join(self.manager_folder, "manager.sock")

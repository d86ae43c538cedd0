"""Where the processes of one start of an engine find each other."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from orbitkv_agent.folder import EngineFolder

if TYPE_CHECKING:
    from orbitkv_vllm.metadata import Described

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

    def describe(self, incarnation: int, described: Described) -> None:
        """Leaves what a worker knows of its memory for the scheduler of the same start.

        Not by vLLM's handshake: that has room for one connector of several.
        """
        path = self._description(incarnation, described.rank)
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            json.dump({"shard_bytes": described.shard_bytes, "facts": described.facts}, file)
        os.replace(f"{path}.new", path)

    def described(self, incarnation: int, rank: int) -> Described:
        """Returns what a worker left. ``FileNotFoundError`` if it has left nothing."""
        from orbitkv_vllm.metadata import Described

        with open(self._description(incarnation, rank), encoding="utf-8") as file:
            read = json.load(file)
        return Described(rank, read["shard_bytes"], tuple((name, value) for name, value in read["facts"]))

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

    def _description(self, incarnation: int, rank: int) -> str:
        return self._folder.file(f"rank{rank}.{incarnation & 0xFFFFFFFFFFFFFFFF:016x}.json")

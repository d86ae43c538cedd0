"""The linker's view of the agent of rank 0: asks it, and does without it when it is gone."""

from __future__ import annotations

import logging
from typing import Callable, NamedTuple, Optional

import msgspec

from orbitkv_agent.engine_client import EngineClient, Identity
from orbitkv_sglang import messages
from orbitkv_sglang.messages import Standing
from orbitkv_sglang.window import window_namespace
from orbitkv_wire.messages import probe

_LOG = logging.getLogger("orbitkv_sglang")

_MAX_TOLD = 8192

SOFTWARE = "orbitkv_sglang 0.1.0"

NOTHING = messages.Matched(Standing.NONE, 0, 0, [])

__all__ = ["NOTHING", "AdapterClient", "Identity", "Instance", "WindowInstance"]


class WindowInstance(NamedTuple):
    """The instance that keeps the pages of layers with a sliding window, beside the other layers'."""

    name: str
    blocks: int
    shard_bytes: int


class Instance(NamedTuple):
    """This start of this engine, as the cache has to know it, and which rank of it this is."""

    name: str
    incarnation: int
    rank: int
    ranks: int
    shard_bytes: int
    block_tokens: int
    pending_millis: int
    window: Optional[WindowInstance] = None

    def attach(self, namespace: bytes) -> messages.Attach:
        """Returns what attaches it to a namespace."""
        window = self.window
        return messages.Attach(
            self.name, self.incarnation, namespace, self.rank, self.ranks, self.shard_bytes, self.block_tokens,
            self.pending_millis,
            *((0, "", b"", 0) if window is None
              else (window.blocks, window.name, window_namespace(namespace), window.shard_bytes)),
        )


class AdapterClient(EngineClient):
    """Drives the adapter in the agent of rank 0, as a linker does. One thread at a time."""

    def __init__(
        self,
        socket_path: str,
        *,
        identity: Identity,
        engine_version: str,
        instance: Instance,
        deadline_s: float = 0.05,
        retry_s: float = 0.1,
        max_retry_s: float = 2.0,
    ) -> None:
        """Remembers who this is."""
        answers: msgspec.msgpack.Decoder[messages.Reply] = msgspec.msgpack.Decoder(messages.Reply)
        super().__init__(
            socket_path,
            hello=messages.Hello(messages.VERSION, SOFTWARE, engine_version, probe()),
            identity=identity,
            answers=answers,
            attach=instance.attach,
            log=_LOG,
            deadline_s=deadline_s,
            retry_s=retry_s,
            max_retry_s=max_retry_s,
        )
        self._told: dict[str, bytes] = {}
        """The last hash of each request's chain that this connection was told."""

    def lookup(self, request: str, own_blocks: int, last: bytes, chain: Callable[[], bytes]) -> messages.Matched:
        """Asks what the cache has behind the engine's own blocks.

        ``chain`` returns all hashes, the last being ``last``; it is called if the agent does not know them.
        """
        if not self.prepare():
            return NOTHING

        def ask(deadline: float) -> messages.Matched:
            hashes = b"" if self._told.get(request) == last else chain()
            matched = self._ask(messages.Matched, messages.Lookup(request, own_blocks, last, hashes), deadline)
            if matched.standing is Standing.UNKNOWN:
                again = messages.Lookup(request, own_blocks, last, chain())
                matched = self._ask(messages.Matched, again, deadline)
            if len(self._told) >= _MAX_TOLD:
                self._told.clear()
            self._told[request] = last
            return matched

        return self._guarded(ask) or NOTHING

    def give_up(self, request: str, lease: int) -> None:
        """States that this rank does not need what was found for a request any more."""
        self._told.pop(request, None)
        self._asked(messages.Done, messages.GiveUp(request, lease))

    def counters(self) -> dict[str, int]:
        """Returns counts of the agent's by name; none without an agent."""
        counted = self._asked(messages.Counted, messages.Counters())
        return {} if counted is None else counted.values

    def _began(self) -> None:
        self._told.clear()

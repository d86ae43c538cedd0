"""The scheduler half's view of the agent of rank 0: asks it, and does without it when it is gone."""

from __future__ import annotations

import logging
from typing import NamedTuple, Optional

import msgspec

from orbitkv_agent.engine_client import EngineClient, Identity
from orbitkv_vllm import messages
from orbitkv_wire.messages import probe

_LOG = logging.getLogger("orbitkv_vllm")

SOFTWARE = "orbitkv_vllm 0.1.0"

__all__ = ["AdapterClient", "Identity", "Instance"]


class Instance(NamedTuple):
    """This start of this engine, as the cache has to know it."""

    name: str
    incarnation: int
    ranks: int
    shard_bytes: int
    block_tokens: int
    defer_millis: int
    saves: bool
    departures: bool

    def attach(self, namespace: bytes) -> messages.Attach:
        """Returns what attaches it to a namespace."""
        return messages.Attach(
            self.name, self.incarnation, namespace, self.ranks, self.shard_bytes, self.block_tokens, self.defer_millis,
            self.saves, self.departures,
        )


class AdapterClient(EngineClient):
    """Drives the adapter in the agent of rank 0, as the scheduler half does. One thread at a time."""

    def __init__(
        self,
        socket_path: str,
        *,
        identity: Identity,
        engine_version: str,
        instance: Optional[Instance] = None,
        deadline_s: float = 0.05,
        retry_s: float = 0.1,
        max_retry_s: float = 2.0,
    ) -> None:
        """Remembers who this is. Without an instance it learns the namespace and does no more."""
        answers: msgspec.msgpack.Decoder[messages.Reply] = msgspec.msgpack.Decoder(messages.Reply)
        super().__init__(
            socket_path,
            hello=messages.Hello(messages.VERSION, SOFTWARE, engine_version, probe()),
            identity=identity,
            answers=answers,
            attach=None if instance is None else instance.attach,
            log=_LOG,
            deadline_s=deadline_s,
            retry_s=retry_s,
            max_retry_s=max_retry_s,
        )
        self._forgets = False

    def lookup(
        self, request: str, computed_tokens: int, total_tokens: int, known: int, hashes: bytes
    ) -> Optional[messages.Matched]:
        """Asks what the cache has behind what is computed; nothing without an agent."""
        return self._asked(messages.Matched, messages.Lookup(request, computed_tokens, total_tokens, known, hashes))

    def step(self, step: messages.Step) -> Optional[messages.Plan]:
        """Tells what a step does and receives what is to be copied; nothing without an agent."""
        return self._asked(messages.Plan, step)

    def reset(self) -> bool:
        """Puts everything stored so far out of this start's reach; False, and nothing done, if the agent cannot now.

        Without an agent it is done too: the next one is told before it is asked anything.
        """
        done = self._asked(messages.ResetDone, messages.Reset())
        if done is not None and not done.accepted:
            return False
        self._forgets = True
        return True

    def counters(self) -> dict[str, int]:
        """Returns counts of the agent's by name; none without an agent."""
        counted = self._asked(messages.Counted, messages.Counters())
        return {} if counted is None else counted.values

    def _began(self) -> None:
        if self._forgets:
            # This agent may be another one than was told.
            done = self._asked(messages.ResetDone, messages.Reset())
            if done is not None and not done.accepted:
                self._lost("a reset of before was not accepted")

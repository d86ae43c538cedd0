"""The messages of protocol sglang-1: tuples on the wire, so the order of fields is the protocol.

Between the linker of a rank and the agent of rank 0. Numbers and hashes are as in the agent's protocol.
``docs/sglang.md`` has it byte by byte.
"""

from __future__ import annotations

import enum
from typing import Union

from orbitkv_agent.engine_messages import Attached, Hello, Identified, Identify, Identifying, Refused, Welcome
from orbitkv_wire.messages import HASH_BYTES, MAX_FRAME_BYTES, Chain, Hash, Int32, Int64, Message, Text, whole

VERSION = 1


class Attach(Message, frozen=True, tag=3):
    instance: Text
    incarnation: Int64
    namespace: Hash
    rank: Int32
    ranks: Int32
    shard_bytes: Int32
    block_tokens: Int32
    pending_millis: Int32
    window_blocks: Int32
    window_instance: Text
    window_namespace: bytes
    window_shard_bytes: Int32


class Lookup(Message, frozen=True, tag=4):
    """``chain`` is whole and ends with ``last``, or empty if it was given before."""

    request: Text
    own_blocks: Int32
    last: Hash
    chain: Chain

    def __post_init__(self) -> None:
        whole("chain", self.chain, HASH_BYTES)


class GiveUp(Message, frozen=True, tag=5):
    request: Text
    lease: Int64


class Counters(Message, frozen=True, tag=6):
    pass


Request = Union[Hello, Identify, Attach, Lookup, GiveUp, Counters]


class Standing(enum.Enum):
    """What is known of the blocks behind those that the engine has."""

    NONE = "NONE"
    PENDING = "PENDING"
    HIT = "HIT"
    UNKNOWN = "UNKNOWN"


class Matched(Message, frozen=True, tag=6):
    standing: Standing
    blocks: Int32
    lease: Int64
    window: list[Int64]


class Done(Message, frozen=True, tag=7):
    pass


class Counted(Message, frozen=True, tag=8):
    values: dict[Text, Int64]


__all__ = [
    "HASH_BYTES",
    "MAX_FRAME_BYTES",
    "VERSION",
    "Attached",
    "Hello",
    "Identified",
    "Identify",
    "Identifying",
    "Refused",
    "Welcome",
]

Reply = Union[Welcome, Refused, Identifying, Identified, Attached, Matched, Done, Counted]

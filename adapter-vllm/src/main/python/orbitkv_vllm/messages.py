"""The messages of protocol vllm-1: tuples on the wire, so the order of fields is the protocol.

Between the scheduler half of the connector and the agent of rank 0. Numbers, hashes and pages are as in the agent's
protocol. ``docs/vllm.md`` has it byte by byte.
"""

from __future__ import annotations

import enum
from typing import Union

import msgspec

from orbitkv_agent.engine_messages import Attached, Hello, Identified, Identify, Identifying, Refused, Welcome
from orbitkv_wire.messages import HASH_BYTES, MAX_FRAME_BYTES, Chain, Hash, Int32, Int64, Message, Text, whole

VERSION = 1


class Part(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """An array of the fields within a message, exactly these."""


class Allocated(Part, frozen=True):
    """Pages for all of a request's blocks so far. ``external_tokens`` are to be loaded; zero has nothing loaded."""

    request: Text
    external_tokens: Int32
    pages: bytes

    def __post_init__(self) -> None:
        whole("pages", self.pages, 4)


class Advanced(Part, frozen=True):
    """A request with more whole blocks behind this step than before it.

    ``hashes`` are those behind the first ``known``, and ``pages`` those of the blocks from ``first_page`` on.
    """

    request: Text
    computed_tokens: Int32
    known: Int32
    hashes: Chain
    first_page: Int32
    pages: bytes

    def __post_init__(self) -> None:
        whole("hashes", self.hashes, HASH_BYTES)
        whole("pages", self.pages, 4)


class SaveEnded(Part, frozen=True):
    """A save that every rank has reported; ``blocks`` were committed by each."""

    save: Int64
    blocks: Int32


class LoadEnded(Part, frozen=True):
    """A load that every rank has reported; ``loaded`` says that every block is in its page."""

    request: Text
    loaded: bool


class Load(Part, frozen=True):
    """Blocks of a lease to copy into pages, by every rank."""

    request: Text
    lease: Int64
    first_block: Int32
    pages: bytes

    def __post_init__(self) -> None:
        whole("pages", self.pages, 4)


class Save(Part, frozen=True):
    """Blocks to copy out of pages, by every rank. ``hashes`` are those of the series behind the first ``known``."""

    save: Int64
    request: Text
    series: Int64
    known: Int32
    hashes: Chain
    first_block: Int32
    pages: bytes

    def __post_init__(self) -> None:
        whole("hashes", self.hashes, HASH_BYTES)
        whole("pages", self.pages, 4)


class Attach(Message, frozen=True, tag=3):
    instance: Text
    incarnation: Int64
    namespace: Hash
    ranks: Int32
    shard_bytes: Int32
    block_tokens: Int32
    defer_millis: Int32
    saves: bool
    departures: bool


class Lookup(Message, frozen=True, tag=4):
    """Asks what lies behind ``computed_tokens``; ``hashes`` are the request's behind the first ``known``."""

    request: Text
    computed_tokens: Int32
    total_tokens: Int32
    known: Int32
    hashes: Chain

    def __post_init__(self) -> None:
        whole("hashes", self.hashes, HASH_BYTES)


class Step(Message, frozen=True, tag=5):
    """What a step decides, and what workers have reported. Saves may hold ``room`` pages more than they do."""

    allocated: list[Allocated]
    advanced: list[Advanced]
    preempted: list[Text]
    finished: list[Text]
    saves_ended: list[SaveEnded]
    loads_ended: list[LoadEnded]
    room: Int32


class Reset(Message, frozen=True, tag=6):
    pass


class Counters(Message, frozen=True, tag=7):
    pass


Request = Union[Hello, Identify, Attach, Lookup, Step, Reset, Counters]


class Standing(enum.Enum):
    """What is known of the tokens behind those that the engine has."""

    NONE = "NONE"
    DEFER = "DEFER"
    HIT = "HIT"


class Matched(Message, frozen=True, tag=6):
    standing: Standing
    tokens: Int32


class Plan(Message, frozen=True, tag=7):
    """Orders to all workers, and news. ``ended_series`` get no more saves.

    Of ``stored`` saves every block can be found now. With ``cleared``, all blocks of before have to be taken for gone;
    ``departed`` are hashes of blocks that are.
    """

    loads: list[Load]
    saves: list[Save]
    ended_series: bytes
    stored: bytes
    cleared: bool
    departed: Chain

    def __post_init__(self) -> None:
        whole("ended_series", self.ended_series, 8)
        whole("stored", self.stored, 8)
        whole("departed", self.departed, HASH_BYTES)


class ResetDone(Message, frozen=True, tag=8):
    accepted: bool


class Counted(Message, frozen=True, tag=9):
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

Reply = Union[Welcome, Refused, Identifying, Identified, Attached, Matched, Plan, ResetDone, Counted]

"""The messages of the agent's protocol 1: tuples on the wire, so the order of fields is the protocol."""

from __future__ import annotations

import enum
from typing import Annotated, Union

from msgspec import Meta

from orbitkv_wire.messages import (
    HASH_BYTES,
    Chain,
    Hash,
    Int32,
    Int64,
    Message,
    Refusal,
    Standing,
    Text,
    whole,
)
from orbitkv_wire.messages import MAX_FRAME_BYTES as _WIRE_FRAME_BYTES

VERSION = 2
MAX_FRAME_BYTES = _WIRE_FRAME_BYTES + _WIRE_FRAME_BYTES // 8
MAX_WAIT_MILLIS = 1000
MAX_MEMORY_BYTES = 128 * 1024

Memory = Annotated[str, Meta(max_length=MAX_MEMORY_BYTES)]


class Hello(Message, frozen=True, tag=1):
    protocol: Int32
    software: Text
    probe: Hash


class Open(Message, frozen=True, tag=2):
    """``layout`` has six numbers of 64 bits a group: base, layers, pages, page bytes, layer stride, page stride."""

    instance: Text
    incarnation: Int64
    namespace: Hash
    rank: Int32
    ranks: Int32
    whole: bool
    block_tokens: Int32
    layout: bytes
    memory: Memory

    def __post_init__(self) -> None:
        whole("layout", self.layout, 48)


class Query(Message, frozen=True, tag=3):
    operation: Int64
    revision: Int32
    chain: Chain

    def __post_init__(self) -> None:
        whole("chain", self.chain, HASH_BYTES)


class Poll(Message, frozen=True, tag=4):
    operation: Int64
    revision: Int32


class CancelQuery(Message, frozen=True, tag=5):
    operation: Int64
    revision: Int32


class Release(Message, frozen=True, tag=6):
    lease: Int64


class Load(Message, frozen=True, tag=7):
    """``mark`` is what streams of the engine wait for, 0 if none does."""

    lease: Int64
    first_block: Int32
    pages: bytes
    mark: Int32

    def __post_init__(self) -> None:
        whole("pages", self.pages, 4)


class Save(Message, frozen=True, tag=8):
    """``chain`` has the hashes behind the ``known`` ones of its series."""

    series: Int64
    known: Int32
    chain: Chain
    first_block: Int32
    pages: bytes

    def __post_init__(self) -> None:
        whole("chain", self.chain, HASH_BYTES)
        whole("pages", self.pages, 4)


class LayerReady(Message, frozen=True, tag=9):
    transfer: Int64
    layer: Int32
    millis: Int32


class Progress(Message, frozen=True, tag=10):
    millis: Int32


class Cancel(Message, frozen=True, tag=11):
    transfer: Int64


class Close(Message, frozen=True, tag=12):
    pass


class Forget(Message, frozen=True, tag=13):
    series: Int64


Request = Union[
    Hello, Open, Query, Poll, CancelQuery, Release, Load, Save, LayerReady, Progress, Cancel, Close, Forget
]


class LayerStanding(enum.Enum):
    """Where a layer of a load is."""

    COPYING = "COPYING"
    READY = "READY"
    FAILED = "FAILED"


class Welcome(Message, frozen=True, tag=1):
    protocol: Int32
    software: Text
    pid: Int64


class Refused(Message, frozen=True, tag=2):
    refusal: Refusal
    message: Text


class Opened(Message, frozen=True, tag=3):
    attached: bool


class Answered(Message, frozen=True, tag=4):
    standing: Standing
    lease: Int64
    dram_blocks: Int32
    ssd_blocks: Int32
    reason: Text


class Started(Message, frozen=True, tag=5):
    transfer: Int64
    blocks: Int32


class Layer(Message, frozen=True, tag=6):
    standing: LayerStanding


class Finished(Message, frozen=True, tag=7):
    """Columns: a number of 64 bits, a flag in a byte and a count of 32 bits for each transfer."""

    transfers: bytes
    loads: bytes
    blocks: bytes

    def __post_init__(self) -> None:
        if not len(self.transfers) == 8 * len(self.loads) == 2 * len(self.blocks):
            raise ValueError("columns differ in length")
        if any(flag > 1 for flag in self.loads):
            raise ValueError("loads has a byte that is neither 0 nor 1")


class Done(Message, frozen=True, tag=8):
    pass


Reply = Union[Welcome, Refused, Opened, Answered, Started, Layer, Finished, Done]

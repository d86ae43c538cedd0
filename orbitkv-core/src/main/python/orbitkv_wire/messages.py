"""The messages of protocol 1: tuples on the wire, so the order of fields is the protocol.

Integers have 64 bits with a sign unless they say ``Int32``. Hashes, numbers and flags of many blocks are one ``bytes``.
"""

from __future__ import annotations

import enum
import hashlib
import struct
from typing import Annotated, Union

import msgspec
from msgspec import Meta

VERSION = 1
MAX_BLOCKS = 1 << 20
HASH_BYTES = 32
MAX_FRAME_BYTES = MAX_BLOCKS * HASH_BYTES + 4096
MAX_TEXT_BYTES = 1024

SCHEDULER = -1
"""The member that asks and holds no shards."""

ALL_RANKS = -2
"""The member that is every rank and the scheduler too."""

UNWANTED = -1
"""In ``Granted``: this block need not be saved."""

Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Text = Annotated[str, Meta(max_length=MAX_TEXT_BYTES)]
Hash = Annotated[bytes, Meta(min_length=HASH_BYTES, max_length=HASH_BYTES)]
Chain = Annotated[bytes, Meta(max_length=MAX_BLOCKS * HASH_BYTES)]


def probe() -> bytes:
    """Returns the last hash of the chain of the tokens 0 to 63 in blocks of 16."""
    last = bytes(HASH_BYTES)
    for first in range(0, 64, 16):
        tokens = struct.pack(">16i", *range(first, first + 16))
        last = hashlib.sha256(b"orbitkv/token-chain/1" + last + tokens).digest()
    return last


def whole(field: str, value: bytes, unit: int) -> None:
    """Refuses bytes that are not a multiple of a unit."""
    if len(value) % unit:
        raise ValueError(f"{field} has {len(value)} bytes, expected a multiple of {unit}")


class Message(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """An array of a tag and the fields, exactly these."""


class Hello(Message, frozen=True, tag=1):
    protocol: Int32
    software: Text
    pid: Int64
    pid_namespace: Int64
    probe: Hash


class Register(Message, frozen=True, tag=2):
    instance: Text
    incarnation: Int64
    namespace: Hash
    ranks: Int32
    shard_bytes: Int32
    block_tokens: Int32
    member: Int32


class Query(Message, frozen=True, tag=3):
    generation: Int64
    operation: Int64
    revision: Int32
    chain: Chain

    def __post_init__(self) -> None:
        whole("chain", self.chain, HASH_BYTES)


class Poll(Message, frozen=True, tag=4):
    generation: Int64
    operation: Int64
    revision: Int32


class Cancel(Message, frozen=True, tag=5):
    generation: Int64
    operation: Int64
    revision: Int32


class Release(Message, frozen=True, tag=6):
    generation: Int64
    lease: Int64


class Restore(Message, frozen=True, tag=7):
    generation: Int64
    lease: Int64
    rank: Int32


class Enqueued(Message, frozen=True, tag=8):
    grant: Int64


class Drained(Message, frozen=True, tag=9):
    grant: Int64


class Reserve(Message, frozen=True, tag=10):
    generation: Int64
    rank: Int32
    chain: Chain
    first: Int32
    end: Int32

    def __post_init__(self) -> None:
        whole("chain", self.chain, HASH_BYTES)


class Commit(Message, frozen=True, tag=11):
    """``copied`` has a byte a block, 1 or 0; ``crcs`` has 4, the CRC-32C big-endian."""

    grant: Int64
    copied: bytes
    crcs: bytes

    def __post_init__(self) -> None:
        if self.copied.strip(b"\x00\x01"):
            raise ValueError("copied has other bytes than 0 and 1")
        whole("crcs", self.crcs, 4)


class Abort(Message, frozen=True, tag=12):
    grant: Int64


class Settle(Message, frozen=True, tag=13):
    member: Int64


class Stats(Message, frozen=True, tag=14):
    pass


class Flush(Message, frozen=True, tag=15):
    millis: Int32


class Leave(Message, frozen=True, tag=16):
    generation: Int64


class Follow(Message, frozen=True, tag=17):
    """Asks which blocks have left since the cursor of the last reply; the first question has cursor 0."""

    generation: Int64
    cursor: Int64


class Refusal(enum.Enum):
    """Why a request was not carried out."""

    REFUSED = "REFUSED"
    UNAVAILABLE = "UNAVAILABLE"
    CLOSED = "CLOSED"
    SUPERSEDED = "SUPERSEDED"


class Standing(enum.Enum):
    """How a query stands."""

    PENDING = "PENDING"
    HIT = "HIT"
    MISS = "MISS"
    BUSY = "BUSY"
    EXPIRED = "EXPIRED"
    CANCELLED = "CANCELLED"


class MissReason(enum.Enum):
    """Why the blocks behind the end of a hit were not served."""

    NONE = "NONE"
    NOT_STORED = "NOT_STORED"
    FAILED_READ = "FAILED_READ"
    NO_MEMORY = "NO_MEMORY"
    OVER_BUDGET = "OVER_BUDGET"


class Welcome(Message, frozen=True, tag=1):
    protocol: Int32
    software: Text
    incarnation: Int64
    arena: Text
    arena_bytes: Int64


class Refused(Message, frozen=True, tag=2):
    refusal: Refusal
    message: Text


class Registered(Message, frozen=True, tag=3):
    generation: Int64
    member: Int64
    witness: Text
    missing: Int32


class Answered(Message, frozen=True, tag=4):
    standing: Standing
    lease: Int64
    bytes: Int64
    dram_blocks: Int32
    ssd_blocks: Int32
    reason: Text
    bound: Text


class Granted(Message, frozen=True, tag=5):
    """``shards_at`` has 8 bytes a block, big-endian: where in the arena its shard lies, or ``UNWANTED``."""

    grant: Int64
    shards_at: bytes

    def __post_init__(self) -> None:
        whole("shards_at", self.shards_at, 8)

    def offsets(self) -> tuple[int, ...]:
        """Returns ``shards_at`` as integers."""
        return struct.unpack(f">{len(self.shards_at) // 8}q", self.shards_at)


class Committed(Message, frozen=True, tag=6):
    blocks: Int32


class Flushed(Message, frozen=True, tag=7):
    all: bool


class CacheStats(Message, frozen=True):
    """Counters since the cache was opened and sizes at one moment."""

    queries: Int64
    blocks_queried: Int64
    blocks_hit_dram: Int64
    blocks_hit_ssd: Int64
    blocks_missed: Int64
    missed: dict[MissReason, Int64]
    blocks_saved: Int64
    tokens_queried: Int64
    tokens_hit_dram: Int64
    tokens_hit_ssd: Int64
    bytes_saved: Int64
    bytes_restored: Int64
    blocks_dram: Int64
    blocks_ssd: Int64
    dram_bytes: Int64
    dram_capacity_bytes: Int64
    ssd_bytes: Int64
    ssd_capacity_bytes: Int64
    leased_bytes: Int64
    quarantined_bytes: Int64
    faults: dict[Text, Int64]
    ssd_health: Text


class Statistics(Message, frozen=True, tag=8):
    stats: CacheStats


class Done(Message, frozen=True, tag=9):
    pass


class Departed(Message, frozen=True, tag=10):
    """Blocks that have left, by their hashes; with ``all`` set, every block has to be taken for gone."""

    cursor: Int64
    all: bool
    blocks: Chain

    def __post_init__(self) -> None:
        whole("blocks", self.blocks, HASH_BYTES)


Request = Union[
    Hello, Register, Query, Poll, Cancel, Release, Restore, Enqueued, Drained, Reserve, Commit, Abort, Settle, Stats,
    Flush, Leave, Follow,
]

Reply = Union[Welcome, Refused, Registered, Answered, Granted, Committed, Flushed, Statistics, Done, Departed]

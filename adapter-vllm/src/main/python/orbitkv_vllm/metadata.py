"""What the scheduler half tells the workers in each step, and what they tell it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from vllm.distributed.kv_transfer.kv_connector.v1.base import KVConnectorMetadata, KVConnectorWorkerMetadata

_K = TypeVar("_K")


class LoadOrder(NamedTuple):
    """Blocks of a lease, from ``first_block`` of it on, to be copied into pages."""

    request: str
    lease: int
    first_block: int
    pages: tuple[int, ...]


class SaveOrder(NamedTuple):
    """Blocks to be copied out of pages. ``hashes`` are those of the series behind the first ``known``.

    Without pages nothing is copied or reported, and the hashes belong to the series all the same.
    """

    save: int
    series: int
    known: int
    hashes: bytes
    first_block: int
    pages: tuple[int, ...]


@dataclass
class Orders(KVConnectorMetadata):
    """Of one step, for every rank."""

    loads: list[LoadOrder] = field(default_factory=list)
    saves: list[SaveOrder] = field(default_factory=list)
    ended_series: list[int] = field(default_factory=list)
    without_load: list[str] = field(default_factory=list)
    """Requests that wait for a load which nobody will start."""


class Ended(NamedTuple):
    """How many ranks have reported a transfer, and how many blocks the one with the fewest has."""

    ranks: int
    blocks: int

    def __or__(self, other: object) -> Ended:
        if not isinstance(other, Ended):
            return NotImplemented
        return Ended(self.ranks + other.ranks, min(self.blocks, other.blocks))


@dataclass
class Reports(KVConnectorWorkerMetadata):
    """Transfers that ended since the last step. Their pages are the engine's again on the ranks that reported."""

    saves: dict[int, Ended] = field(default_factory=dict)
    loads: dict[str, Ended] = field(default_factory=dict)

    def aggregate(self, other: KVConnectorWorkerMetadata) -> Reports:
        """Returns both, as one report of more ranks."""
        if not isinstance(other, Reports):
            raise TypeError(f"cannot aggregate {type(other).__name__} with {type(self).__name__}")
        return Reports(merged(self.saves, other.saves), merged(self.loads, other.loads))


def merged(some: dict[_K, Ended], others: dict[_K, Ended]) -> dict[_K, Ended]:
    """Returns the reports of both."""
    result = dict(some)
    for key, ended in others.items():
        before = result.get(key)
        result[key] = ended if before is None else before | ended
    return result


class Described(NamedTuple):
    """What only a worker knows of its memory."""

    rank: int
    shard_bytes: int
    facts: tuple[tuple[str, str], ...]

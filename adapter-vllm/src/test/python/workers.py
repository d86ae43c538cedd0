"""Workers that report transfers when a test says so, and copy nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Optional

from vllm.v1.outputs import KVConnectorOutput

from orbitkv_vllm.metadata import Ended, LoadOrder, Orders, Reports, SaveOrder


@dataclass
class Rank:
    """One worker. Transfers end in the step after their order unless they are held."""

    holds_loads: bool = False
    holds_saves: bool = False
    load_blocks: Optional[int] = None
    """How many blocks each load brings; all unless said otherwise."""
    save_blocks: Optional[int] = None
    loads: list[LoadOrder] = field(default_factory=list)
    saves: list[SaveOrder] = field(default_factory=list)
    new_loads: list[LoadOrder] = field(default_factory=list)
    new_saves: list[SaveOrder] = field(default_factory=list)


class Workers:
    """All ranks of an engine."""

    def __init__(self, ranks: int = 1) -> None:
        self.ranks = [Rank() for _ in range(ranks)]

    def step(self, number: int, orders: Orders) -> KVConnectorOutput:
        """Does a step as the worker half does it."""
        rank = self.ranks[number]
        finished = set(orders.without_load)
        failed = set(orders.without_load)
        invalid: set[int] = set()
        reports = Reports()
        if not rank.holds_loads:
            for load in rank.loads:
                blocks = len(load.pages) if rank.load_blocks is None else min(rank.load_blocks, len(load.pages))
                reports.loads[load.request] = Ended(1, blocks)
                finished.add(load.request)
                if blocks == 0:
                    failed.add(load.request)
                else:
                    invalid.update(load.pages[blocks:])
            rank.loads = []
        if not rank.holds_saves:
            for save in rank.saves:
                blocks = len(save.pages) if rank.save_blocks is None else rank.save_blocks
                reports.saves[save.save] = Ended(1, blocks)
            rank.saves = []
        rank.loads += orders.loads
        rank.saves += [save for save in orders.saves if save.pages]
        rank.new_loads += orders.loads
        rank.new_saves += orders.saves
        return KVConnectorOutput(
            finished_recving=finished or None,
            failed_recving=failed,
            invalid_block_ids=invalid,
            kv_connector_worker_meta=reports if reports.loads or reports.saves else None,
        )

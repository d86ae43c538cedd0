"""Copies of one request or one node in all pools: asked for together, and ended when all of them have."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple, Optional

from orbitkv_sglang.memory import LayerWaits
from orbitkv_sglang.transfers import Load, Save, Transfers


class Part(NamedTuple):
    """A block of a sliding window, and its page."""

    block: bytes
    page: int


class JointLoad:
    """Loads that agents have taken, of those that were asked for together."""

    def __init__(self, pages: Load, window: Sequence[Load], whole: bool) -> None:
        self.loads = (pages, *window)
        self.whole = whole
        """Whether they are all; else they are to be cancelled."""

    @property
    def landed(self) -> bool:
        """Whether every block is in its page."""
        return all(load.landed for load in self.loads)

    @property
    def ended(self) -> bool:
        """Whether nothing writes their pages any more, as far as is known."""
        return all(load.ended for load in self.loads)

    @property
    def mark(self) -> int:
        """What a forward waits for that waits layer by layer."""
        return self.loads[0].mark

    def wait(self, limit_s: float) -> None:
        """Waits until nothing writes their pages any more. ``StuckError`` if that cannot be seen in time."""
        end = time.monotonic() + limit_s
        for load in self.loads:
            load.wait(max(0.0, end - time.monotonic()))


class JointSave:
    """Blocks of a chain to be saved, and those of the sliding windows that end in it."""

    def __init__(self, pages: Save, window: Sequence[Save] = ()) -> None:
        self._pages = pages
        self._window = window

    @classmethod
    def failed(cls) -> JointSave:
        """One that does not take place."""
        save = Save(b"", 0, ())
        save.stored = False
        return cls(save)

    @property
    def stored(self) -> Optional[bool]:
        """Whether every block is stored; nothing while that is not known."""
        if self._pages.stored is None or any(save.stored is None for save in self._window):
            return None
        return self._pages.stored and all(save.stored for save in self._window)


class Copies:
    """One rank's copies in all of its pools."""

    def __init__(self, pages: Transfers, window: Optional[Transfers] = None) -> None:
        """``window`` copies the pages of layers with a sliding window, if the model has any."""
        self._pages = pages
        self._window = window
        self._all = (pages,) if window is None else (pages, window)

    @property
    def layers(self) -> Optional[LayerWaits]:
        """What a forward waits for layer by layer, if it does."""
        return self._pages.layers

    @property
    def ready(self) -> bool:
        """Whether there is an agent for every pool, as far as is known."""
        return all(transfers.ready for transfers in self._all)

    def load(
        self, lease: int, first_block: int, pages: Sequence[int], window: Sequence[tuple[int, int]]
    ) -> Optional[JointLoad]:
        """Has blocks of a lease copied into pages, and a window's, each of a lease of its own. Nothing: no page is
        touched.
        """
        load = self._pages.load(lease, first_block, pages)
        if load is None:
            return None
        taken: list[Load] = []
        if self._window is not None:
            taken = self._window.load_each([(own, 0, (page,)) for own, page in window])
        return JointLoad(load, taken, len(taken) == len(window))

    def cancel(self, joint: JointLoad, limit_s: float) -> None:
        """Ends loads, and returns when nothing writes their pages any more. ``StuckError`` if that cannot be seen."""
        load, *window = joint.loads
        self._pages.cancel(load, limit_s)
        if self._window is not None:
            for each in window:
                self._window.cancel(each, limit_s)

    def save(self, chain: bytes, first_block: int, pages: Sequence[int], window: Sequence[Part]) -> JointSave:
        """Has blocks copied out of their pages."""
        save = Save(chain, first_block, pages)
        parts = [Save(part.block, 0, (part.page,)) for part in window]
        self._pages.save(save)
        if self._window is not None:
            for each in parts:
                self._window.save(each)
        return JointSave(save, parts)

    def quiesce(self, limit_s: float) -> None:
        """Returns when nothing is copied any more. ``StuckError`` if that cannot be seen in time."""
        for transfers in self._all:
            transfers.quiesce(limit_s)

    def close(self, limit_s: float) -> None:
        """Waits for copies under way, and leaves the agents. ``StuckError`` if their end cannot be seen in time."""
        for transfers in self._all:
            transfers.close(limit_s)

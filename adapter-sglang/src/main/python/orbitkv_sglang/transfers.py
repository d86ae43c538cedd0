"""Copies between this rank's pages and the cache, by its agent: loads at once, saves one after another."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Optional, Protocol

from orbitkv_agent import AgentClient
from orbitkv_agent.client import Finished, Transfer
from orbitkv_sglang.memory import LayerWaits

_LOG = logging.getLogger("orbitkv_sglang")

_WAIT_S = 0.002
"""How long the agent may hold an answer back while copies run: a load that comes meanwhile waits as long."""

_AWAY_S = 0.05
"""Between two attempts to hear of an agent that is away."""

_IDLE_S = 1.0

_CONNECT_S = 0.2
"""How long an attempt to connect again takes at most: a load that comes meanwhile waits as long."""


_MOST_SAVES = 512
"""Half of what an agent takes at once; the others wait here."""


class StuckError(RuntimeError):
    """Copies whose end nobody can prove. Their pages stay with them."""


class Load:
    """A load that the agent has taken."""

    def __init__(self, transfer: Transfer, mark: int = 0) -> None:
        """``mark`` is what a forward waits for that waits layer by layer."""
        self.transfer = transfer
        self.mark = mark
        self.landed = False
        self._ended = threading.Event()

    def end(self, blocks: int) -> None:
        """Its copies are drained, and so many of its blocks are in their pages."""
        self.landed = blocks == len(self.transfer.pages)
        self._ended.set()

    @property
    def ended(self) -> bool:
        """Whether nothing writes its pages any more, as far as is known."""
        return self._ended.is_set()

    def wait(self, limit_s: float) -> None:
        """Waits until nothing writes its pages any more. ``StuckError`` if that cannot be seen in time."""
        if not self._ended.wait(limit_s):
            raise StuckError(f"a load into {len(self.transfer.pages)} pages has not ended in {limit_s:g} s")


class Save:
    """Blocks of a chain to be saved."""

    def __init__(self, chain: bytes, first_block: int, pages: Sequence[int]) -> None:
        self.chain = chain
        self.first_block = first_block
        self.pages = pages
        self.stored: Optional[bool] = None
        """Whether every block is stored; nothing while that is not known. The tree offers the others again."""


class Fence(Protocol):
    """Orders the agent's copies behind the engine's work."""

    def record(self) -> None:
        """Has copies that are asked for from now on wait for what the engine has asked of its device so far."""


class Transfers:
    """One rank's copies. Loads are asked for on the engine's thread; a thread of its own does all else.

    An agent that dies takes its copies with it: they are reported as failed when its process is gone, and not before.
    """

    def __init__(
        self,
        client: Callable[[], Optional[AgentClient]],
        fence: Fence,
        layers: Optional[LayerWaits] = None,
    ) -> None:
        """``client`` returns the agent's client as soon as there is one; from then on it is used here alone."""
        self._layers = layers
        self._find = client
        self._fence = fence
        self._client: Optional[AgentClient] = None
        self._agent = threading.Lock()
        """Held while the client is used."""
        self._state = threading.Condition()
        self._urgent = 0
        self._closing = False
        self._queue: deque[Save] = deque()
        self._submitting = 0
        self._loads: dict[int, Load] = {}
        self._saves: dict[int, Save] = {}
        self._thread = threading.Thread(target=self._run, name="orbitkv-transfers", daemon=True)
        self._thread.start()

    @property
    def layers(self) -> Optional[LayerWaits]:
        """What a forward waits for layer by layer, if it does."""
        return self._layers

    @property
    def ready(self) -> bool:
        """Whether there is an agent, as far as is known."""
        client = self._client or self._find()
        return client is not None and client.connected

    def load(self, lease: int, first_block: int, pages: Sequence[int]) -> Optional[Load]:
        """Has blocks of a lease copied into pages. Nothing: no page is touched."""
        loads = self.load_each([(lease, first_block, pages)])
        return loads[0] if loads else None

    def load_each(self, parts: Sequence[tuple[int, int, Sequence[int]]]) -> list[Load]:
        """As ``load``, of several leases in one turn. Ends at the first that is not taken, and returns those before."""
        taken: list[Load] = []
        with self._state:
            self._urgent += 1
        try:
            with self._agent:
                client = self._connected()
                if client is None:
                    return taken
                self._fence.record()
                for lease, first_block, pages in parts:
                    mark = 0 if self._layers is None else self._layers.next_mark()
                    transfer = client.load(lease, pages, first_block=first_block, mark=mark)
                    if transfer is None:
                        break
                    load = Load(transfer, mark)
                    with self._state:
                        self._loads[transfer.id] = load
                    taken.append(load)
                return taken
        finally:
            with self._state:
                self._urgent -= 1
                self._state.notify_all()

    def cancel(self, load: Load, limit_s: float) -> None:
        """Ends a load, and returns when nothing writes its pages any more. ``StuckError`` if that cannot be seen."""
        with self._agent:
            if self._client is not None:
                self._client.cancel(load.transfer)
        load.wait(limit_s)

    def save(self, save: Save) -> None:
        """Has blocks copied out of their pages. ``save.stored`` tells when that has ended."""
        self._fence.record()
        with self._state:
            self._queue.append(save)
            self._state.notify_all()

    def quiesce(self, limit_s: float) -> None:
        """Returns when nothing is copied any more. ``StuckError`` if that cannot be seen in time."""
        with self._state:
            if not self._state.wait_for(lambda: not self._busy(), limit_s):
                raise StuckError(
                    f"{len(self._loads)} loads and {len(self._saves) + len(self._queue)} saves have not ended in"
                    f" {limit_s:g} s"
                )

    def close(self, limit_s: float) -> None:
        """Waits for copies under way, and leaves the agent. ``StuckError`` if their end cannot be seen in time."""
        try:
            self.quiesce(limit_s)
        finally:
            with self._state:
                self._closing = True
                self._state.notify_all()
            self._thread.join(limit_s)
            with self._agent:
                if self._client is not None:
                    self._client.close(deadline_s=limit_s)

    def _busy(self) -> bool:
        return bool(self._queue or self._submitting or self._loads or self._saves)

    def _is_away(self) -> bool:
        """Whether there was an agent, and nobody has heard of it since it was lost."""
        return self._client is not None and not self._client.connected

    def _connected(self) -> Optional[AgentClient]:
        if self._client is None:
            self._client = self._find()
        return self._client

    def _run(self) -> None:
        while True:
            with self._state:
                while not (self._closing or self._busy() or self._is_away()):
                    # Nobody says when an agent is lost.
                    self._state.wait(_IDLE_S)
                if self._closing and not self._busy():
                    return
                # A load that waits for its turn goes before the next question.
                self._state.wait_for(lambda: self._urgent == 0)
                saves = [self._queue.popleft() for _ in range(min(len(self._queue), _MOST_SAVES - len(self._saves)))]
                self._submitting = len(saves)
            try:
                for save in saves:
                    self._submit(save)
                away = not self._collect()
            except Exception:
                # What is not known to have ended has not: its pages stay with it.
                _LOG.exception("copies are not heard of for a while")
                away = True
            if away:
                time.sleep(_AWAY_S)

    def _submit(self, save: Save) -> None:
        with self._agent:
            client = self._connected()
            transfer = None
            try:
                if client is not None:
                    transfer = client.save(save.chain, save.first_block, save.pages)
            except Exception:
                # Nobody knows whether it is copied: it stays under way, and its pages with it.
                _LOG.exception("a save is not heard of any more")
                return
        with self._state:
            self._submitting -= 1
            if transfer is None:
                save.stored = client is not None and client.stored == len(save.pages)
            else:
                self._saves[transfer.id] = save
            self._state.notify_all()

    def _collect(self) -> bool:
        """Hears which copies have ended. Returns whether the agent is there."""
        with self._agent:
            client = self._client
            if client is None:
                return False
            connected = client.connect(deadline_s=_CONNECT_S)
            ended = client.progress(wait_s=_WAIT_S)
        if ended:
            with self._state:
                for each in ended:
                    self._end(each)
                self._state.notify_all()
        return connected

    def _end(self, ended: Finished) -> None:
        load = self._loads.pop(ended.transfer.id, None)
        save = self._saves.pop(ended.transfer.id, None)
        if load is not None:
            if self._layers is not None:
                # An agent that has died raised nothing, and a forward waits.
                self._layers.passed(load.mark)
            load.end(ended.blocks)
        if save is not None:
            # Some may be stored that were not wanted. Nobody says how many, until it is offered again.
            save.stored = ended.blocks == len(save.pages)

"""A circuit breaker: who was not there is not looked for again at once."""

from __future__ import annotations

import logging
from typing import Callable


class Breaker:
    """Open for an interval that doubles with every failure in a row. One thread at a time."""

    def __init__(
        self, retry_s: float, max_retry_s: float, clock: Callable[[], float], log: logging.Logger, missing: str
    ) -> None:
        """``missing`` says in the log who is not there; a failure is logged when it is another than the last."""
        self._retry_s = retry_s
        self._max_retry_s = max_retry_s
        self._clock = clock
        self._log = log
        self._missing = missing
        self._failures = 0
        self._retry_at = clock()
        self._trouble = ""

    @property
    def trouble(self) -> str:
        """What the last failure was; empty when all is well."""
        return self._trouble

    @property
    def is_open(self) -> bool:
        """Whether it is too early to try again."""
        return self.pause_s > 0

    @property
    def pause_s(self) -> float:
        """How long it still is too early."""
        return max(0.0, self._retry_at - self._clock())

    def succeeded(self) -> None:
        """All is well."""
        self._failures = 0
        self._trouble = ""

    def failed(self, trouble: str) -> None:
        """Opens it."""
        self._retry_at = self._clock() + min(self._max_retry_s, self._retry_s * 2.0 ** min(self._failures, 30))
        self._failures += 1
        if trouble != self._trouble:
            self._log.warning("%s: %s", self._missing, trouble)
        self._trouble = trouble

"""Requests that find out whether there is a cache."""

from __future__ import annotations

import random
from collections.abc import Iterator

from qualification.engine import Request


def probes(block: int) -> Iterator[Request]:
    """Prompts of one block and a bit that nobody has asked for before."""
    numbers = random.SystemRandom()
    while True:
        yield Request("probe", tuple(numbers.randrange(3, 1024) for _ in range(block + 3)), 2)

"""Damage on the SSD, as the store's format page describes it."""

from __future__ import annotations

from pathlib import Path

PAGE = 4096
RECORD = b"OKVEXTNT"


def damage(store: Path) -> int:
    """Flips a bit of every block that is kept, and tells how many those are."""
    damaged = 0
    with open(store, "r+b") as file:
        while page := file.read(PAGE):
            if page.startswith(RECORD):
                at = file.tell()
                byte = file.read(1)
                file.seek(at)
                file.write(bytes([byte[0] ^ 1]))
                file.seek(at)
                damaged += 1
    return damaged

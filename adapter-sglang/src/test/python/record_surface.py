"""Writes what the installed SGLang has of the names that the linker uses: ``surface.json``, beside ``surface.py``.

Run with the environment's Python when the linker is made for another release, and read the difference.
"""

from __future__ import annotations

import json

from orbitkv_sglang import surface


def text() -> str:
    """Returns the record of the installed engine."""
    return json.dumps(surface.observed(), indent=1) + "\n"


if __name__ == "__main__":
    with open(surface._RECORD, "w", encoding="utf-8") as file:
        file.write(text())

"""Writes what the installed vLLM has of the names that the connector uses: ``surface.json``, beside ``surface.py``.

Run with the environment's Python when the connector is made for another release, and read the difference.
"""

from __future__ import annotations

import json

from orbitkv_vllm import surface


def text() -> str:
    """Returns the record of the installed engine."""
    return json.dumps(surface.observed(), indent=1) + "\n"


if __name__ == "__main__":
    with open(surface._RECORD, "w", encoding="utf-8") as file:
        file.write(text())

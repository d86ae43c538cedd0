"""What a process has read that ranks are forked from."""

from __future__ import annotations

import loaded

from qualification import ranks

loaded.load()

__all__ = ["ranks"]

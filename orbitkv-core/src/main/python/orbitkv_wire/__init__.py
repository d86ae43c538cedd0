"""The protocol of the OrbitKV Manager, for engines in Python. ``docs/wire.md`` has it byte by byte.

``ManagerClient`` is what a scheduler uses: it asks, and a Manager that is gone is a miss. ``Connection`` and the
messages are one level below.
"""

from orbitkv_wire.client import Answer, Lease, ManagerClient
from orbitkv_wire.connection import ClosedError, Connection, MalformedError
from orbitkv_wire.messages import ALL_RANKS, SCHEDULER, CacheStats, Refusal, Standing

__all__ = [
    "ALL_RANKS",
    "SCHEDULER",
    "Answer",
    "CacheStats",
    "ClosedError",
    "Connection",
    "Lease",
    "MalformedError",
    "ManagerClient",
    "Refusal",
    "Standing",
]

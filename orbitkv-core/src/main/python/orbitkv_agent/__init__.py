"""The engine's side of an OrbitKV agent. ``docs/agent.md`` has the protocol byte by byte.

``AgentClient`` is what an engine worker uses. ``SharedPool`` is memory for an engine that computes on the CPU.
"""

from orbitkv_agent.client import AgentClient, Answer, Finished, Transfer
from orbitkv_agent.messages import LayerStanding
from orbitkv_agent.pool import PageGroup, SharedPool

__all__ = [
    "AgentClient",
    "Answer",
    "Finished",
    "LayerStanding",
    "PageGroup",
    "SharedPool",
    "Transfer",
]

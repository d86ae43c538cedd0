"""The engine's side of an OrbitKV agent. ``docs/agent.md`` has the protocol byte by byte.

``AgentClient`` is what an engine worker uses, and ``AgentLauncher`` is what starts its agent, in an ``EngineFolder``.
``SharedPool`` is memory for an engine that computes on the CPU.
"""

from orbitkv_agent.client import AgentClient, Answer, Finished, Transfer
from orbitkv_agent.folder import EngineFolder, default_runtime_dir
from orbitkv_agent.launch import AgentLauncher
from orbitkv_agent.messages import LayerStanding
from orbitkv_agent.pool import PageGroup, SharedPool

__all__ = [
    "AgentClient",
    "AgentLauncher",
    "Answer",
    "EngineFolder",
    "Finished",
    "LayerStanding",
    "PageGroup",
    "SharedPool",
    "Transfer",
    "default_runtime_dir",
]

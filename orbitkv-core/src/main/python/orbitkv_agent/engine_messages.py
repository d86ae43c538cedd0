"""What every engine's protocol begins with: who asks, what its blocks belong to, and whether the cache is there.

An engine's protocol has these and its own, as tuples on the wire: the order of fields is the protocol.
"""

from __future__ import annotations

from orbitkv_agent.messages import Refused, Welcome
from orbitkv_wire.messages import Hash, Int32, Int64, Message, Text

__all__ = ["Attached", "Hello", "Identified", "Identify", "Identifying", "Refused", "Welcome"]


class Hello(Message, frozen=True, tag=1):
    protocol: Int32
    software: Text
    engine_version: Text
    probe: Hash


class Identify(Message, frozen=True, tag=2):
    """``asserted_digest`` has 32 bytes, or none to have the files of ``model_path`` read."""

    model_path: str
    asserted_digest: bytes
    adapter_paths: list[str]
    facts: list[tuple[str, str]]


class Identifying(Message, frozen=True, tag=3):
    done_bytes: Int64
    total_bytes: Int64


class Identified(Message, frozen=True, tag=4):
    namespace: Hash


class Attached(Message, frozen=True, tag=5):
    attached: bool

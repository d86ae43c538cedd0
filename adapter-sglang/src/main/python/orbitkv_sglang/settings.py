"""What an operator sets in ``--hicache-storage-backend-extra-config``, as JSON or ``@`` and the path of a file."""

from __future__ import annotations

import os
from typing import Annotated, Literal, Optional

import msgspec
from msgspec import Meta

_OPTION = "--hicache-storage-backend-extra-config"

_Size = Annotated[str, Meta(pattern=r"^[0-9]+(B|KiB|MiB|GiB|TiB)?$")]
_Path = Annotated[str, Meta(pattern=r"^/")]


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings as they are used. Sizes are text, as the agent's command line has them."""

    manager: Optional[_Path] = None
    """Socket of a node's Manager; without one, the agent of rank 0 hosts a Manager for this engine."""
    dram: Optional[_Size] = None
    """Of a hosted Manager; 4 GiB unless it is set."""
    ssd: Optional[Annotated[str, Meta(pattern=r"^/.*:[0-9]+(B|KiB|MiB|GiB|TiB)?$")]] = None
    """``FOLDER:SIZE`` of a hosted Manager's SSD."""
    runtime_dir: Optional[_Path] = None
    engine_id: Optional[Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,47}$")]] = None
    """The name of this engine, the same in all starts and of no other engine on this machine; else one a start."""
    scope: str = ""
    """Engines with another scope share nothing with this one."""
    model_digest: Optional[Annotated[str, Meta(pattern=r"^[0-9a-fA-F]{64}$")]] = None
    """What the operator says the model's files are, 64 hexadecimal digits; else the agent reads them."""
    pending_ms: Annotated[int, Meta(ge=0, le=60_000)] = 1000
    """How long a request waits for reads from the SSD before it does without them."""
    loads: Literal["on", "off"] = "on"
    """Whether anything is restored; off on a decode worker, whose pages its transport alone writes."""
    saves: Literal["on", "off"] = "on"
    """Whether pages are saved; on a decode worker, those of requests that have finished well."""
    early: Literal["on", "off"] = "off"
    """Whether a request is asked about when it is queued, and not only when it may run: the SSD is read meanwhile, and what
    is found is held from then on."""
    layered: Literal["on", "off"] = "off"
    """On a GPU: whether a forward begins before its loads have ended, and waits where it reads a layer."""
    device_settings: dict[str, str] = msgspec.field(default_factory=dict)
    """Of the agent's device, by name."""
    agent_command: Optional[Annotated[list[str], Meta(min_length=1)]] = None
    """What starts an agent; that of this package unless it is set."""

    @classmethod
    def parse(cls, text: Optional[str]) -> Settings:
        """Reads and checks settings. ``ValueError`` names the one that is wrong."""
        if text is not None and text.startswith("@"):
            try:
                with open(text[1:], encoding="utf-8") as file:
                    text = file.read()
            except OSError as e:
                raise ValueError(f"{_OPTION} names a file that cannot be read: {e}") from e
        try:
            settings = msgspec.json.decode(text or "{}", type=cls)
        except msgspec.MsgspecError as e:
            raise ValueError(f"{_OPTION}: {e}; settings are {', '.join(cls.__struct_fields__)}") from e
        if settings.manager is not None and (settings.dram is not None or settings.ssd is not None):
            raise ValueError(f"{_OPTION}: dram and ssd are of a hosted Manager, and that of manager has its own")
        return settings

    @property
    def runtime(self) -> str:
        """The folder of this user's engines: memory, since a hosted Manager has its blocks there."""
        return self.runtime_dir or f"/dev/shm/orbitkv-{os.getuid()}"

"""What an operator sets in ``kv_connector_extra_config``."""

from __future__ import annotations

import enum
import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple, Optional

_SIZE = re.compile(r"[0-9]+(B|KiB|MiB|GiB|TiB)?")
_NAMES = (
    "manager", "dram", "ssd", "runtime_dir", "scope", "model_digest", "adapters", "defer_ms", "agent_command", "loads",
    "saves", "delivery_s", "answer_ms", "device_settings",
)
_DIGEST = re.compile(r"[0-9a-fA-F]{64}")


class Saves(enum.Enum):
    """Which blocks are saved."""

    OFF = "off"
    ON = "on"
    """Each when it is computed; those of an answer some at a time."""
    FINISHED = "finished"
    """Those of requests that have finished well: where a transport brings pages, none is saved before its request has
    shown what became of them."""


class Settings(NamedTuple):
    """Settings as they are used. Sizes are text, as the agent's command line has them."""

    manager: Optional[str]
    """Socket of a node's Manager; without one, the agent of rank 0 hosts a Manager for this engine."""
    dram: str
    ssd: Optional[str]
    """``FOLDER:SIZE`` of a hosted Manager's SSD."""
    runtime_dir: str
    scope: str
    """Engines with another scope share nothing with this one."""
    model_digest: bytes
    """What the operator says the model's files are, 32 bytes; empty has the agent read them."""
    adapters: tuple[tuple[str, str], ...]
    """The LoRA adapters there are, by name: name and local folder."""
    defer_millis: int
    """How long a request waits for reads from the SSD before it does without them."""
    agent_command: Optional[tuple[str, ...]]
    """What starts an agent; that of this package unless said otherwise."""
    loads: bool
    saves: Saves
    delivery_s: Optional[int] = None
    """Nothing is saved of a request whose prompt's pages another engine had kept for longer when they had arrived."""
    answer_millis: int = 50
    """How long a step of the engine waits for an answer of the agent before it does without the cache."""
    device_settings: tuple[tuple[str, str], ...] = ()
    """What the agent's device is set to, by name, such as ``loads`` and ``auto`` of a GPU."""

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> Settings:
        """Reads and checks settings. ``ValueError`` names the one that is wrong."""
        unknown = sorted(set(given) - set(_NAMES))
        if unknown:
            raise ValueError(f"kv_connector_extra_config.{unknown[0]} is no setting; there are {', '.join(_NAMES)}")
        settings = cls(
            manager=_path("manager", given.get("manager")),
            dram=_size("dram", given.get("dram")),
            ssd=_ssd("ssd", given.get("ssd")),
            runtime_dir=_runtime_dir("runtime_dir", given.get("runtime_dir")),
            scope=_text("scope", given.get("scope")),
            model_digest=_digest("model_digest", given.get("model_digest")),
            adapters=_adapters("adapters", given.get("adapters")),
            defer_millis=_millis("defer_ms", given.get("defer_ms"), 0, 60_000, unless_given=1000),
            agent_command=_command("agent_command", given.get("agent_command")),
            loads=_choice("loads", given.get("loads"), ("on", "off")) == "on",
            saves=Saves(_choice("saves", given.get("saves"), ("on", "off", "finished"))),
            delivery_s=_seconds("delivery_s", given.get("delivery_s")),
            answer_millis=_millis("answer_ms", given.get("answer_ms"), 1, 10_000, unless_given=50),
            device_settings=_device_settings("device_settings", given.get("device_settings")),
        )
        if settings.manager is not None:
            for name in ("dram", "ssd"):
                if given.get(name) is not None:
                    raise _wrong(name, given[name], "left out: the Manager of 'manager' has its own memory")
        return settings


def _wrong(name: str, value: Any, expected: str) -> ValueError:
    return ValueError(f"kv_connector_extra_config.{name} is {value!r}, expected {expected}")


def _text(name: str, value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _wrong(name, value, "a text")
    return value


def _path(name: str, value: Any) -> Optional[str]:
    if value is None:
        return None
    if not isinstance(value, str) or not os.path.isabs(value):
        raise _wrong(name, value, "an absolute path")
    return value


def _size(name: str, value: Any) -> str:
    if value is None:
        return "4GiB"
    if not isinstance(value, str) or not _SIZE.fullmatch(value):
        raise _wrong(name, value, "a size such as 16GiB")
    return value


def _ssd(name: str, value: Any) -> Optional[str]:
    if value is None:
        return None
    folder, _, size = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    if not os.path.isabs(folder) or not _SIZE.fullmatch(size):
        raise _wrong(name, value, "FOLDER:SIZE such as /var/cache/orbitkv:200GiB")
    return str(value)


def _runtime_dir(name: str, value: Any) -> str:
    path = _path(name, value)
    if path is not None:
        return path
    # A hosted Manager has its blocks there, so it has to be memory, and as much as there is.
    return f"/dev/shm/orbitkv-{os.getuid()}"


def _digest(name: str, value: Any) -> bytes:
    if value is None:
        return b""
    if not isinstance(value, str) or not _DIGEST.fullmatch(value):
        raise _wrong(name, value, "64 hexadecimal digits")
    return bytes.fromhex(value)


def _adapters(name: str, value: Any) -> tuple[tuple[str, str], ...]:
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        raise _wrong(name, value, "an object of names and local folders")
    for adapter, folder in value.items():
        if not isinstance(folder, str) or not os.path.isdir(folder) or not os.path.isabs(folder):
            raise _wrong(f"{name}.{adapter}", folder, "the absolute path of a folder with a PEFT adapter")
    return tuple(sorted((str(adapter), str(folder)) for adapter, folder in value.items()))


def _millis(name: str, value: Any, least: int, most: int, *, unless_given: int) -> int:
    if value is None:
        return unless_given
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise _wrong(name, value, f"milliseconds from {least} to {most}")
    return value


def _seconds(name: str, value: Any) -> Optional[int]:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value <= 0):
        raise _wrong(name, value, "seconds from 1")
    return value


def _command(name: str, value: Any) -> Optional[tuple[str, ...]]:
    if value is None:
        return None
    if not isinstance(value, (list, tuple)) or not value or not all(isinstance(word, str) for word in value):
        raise _wrong(name, value, "a list of words")
    return tuple(value)


def _device_settings(name: str, value: Any) -> tuple[tuple[str, str], ...]:
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        raise _wrong(name, value, "an object of names and texts or numbers")
    for setting, of in value.items():
        if isinstance(of, bool) or not isinstance(of, (str, int)):
            raise _wrong(f"{name}.{setting}", of, "a text or a number")
    return tuple(sorted((str(setting), str(of)) for setting, of in value.items()))


def _choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Returns one of some words, the first unless one is given."""
    if value is None:
        return choices[0]
    if value not in choices:
        raise _wrong(name, value, f"one of {', '.join(choices)}")
    return str(value)

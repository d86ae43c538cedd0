"""How the ``orbitkv`` command of this package is started: with the modules and the Java that lie in it."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from typing import NoReturn

_HOME = os.path.dirname(os.path.abspath(__file__))


def command(*arguments: str) -> list[str]:
    """Returns the words that start the command with some arguments.

    ``ORBITKV_JAVA_OPTS`` is added to the JVM's options. Raises ``FileNotFoundError`` for a package without a Java.
    """
    java = os.path.join(_HOME, "runtime", "bin", "java")
    if not os.path.exists(java):
        raise FileNotFoundError(f"there is no {java}; install the wheel, or name another command")
    return [
        java,
        *_memory(arguments),
        *_gc_log(arguments),
        *shlex.split(os.environ.get("ORBITKV_JAVA_OPTS", "")),
        "--module-path",
        os.path.join(_HOME, "modules"),
        "--enable-native-access=io.orbitkv.backend.dram,io.orbitkv.backend.gpu.cuda,io.orbitkv.backend.iouring",
        "--module",
        "io.orbitkv.cli/io.orbitkv.cli.Main",
        *arguments,
    ]


def main() -> NoReturn:
    """Becomes the command, so that signals and the exit code are its own."""
    try:
        words = command(*sys.argv[1:])
        os.execv(words[0], words)
    except OSError as e:
        sys.exit(f"orbitkv: {e}")


def _memory(arguments: Sequence[str]) -> list[str]:
    """Blocks are not on the heap. What serves lookups must not stop for a collection."""
    name = arguments[0] if arguments else ""
    hosts = name == "agent" and any(argument.startswith("--host-manager") for argument in arguments)
    if name == "manager" or hosts:
        return ["-XX:+UseZGC", "-Xms256m", "-Xmx256m"]
    if name in ("replay", "quickstart", "bench"):
        return ["-XX:+UseZGC", "-Xmx1g"]
    return ["-XX:+UseSerialGC", "-Xmx256m"]


def _gc_log(arguments: Sequence[str]) -> list[str]:
    """The JVM has to be told when it starts. The command knows the option too, for its help."""
    for argument, following in zip(arguments, (*arguments[1:], "")):
        name, _, value = argument.partition("=")
        if name == "--gc-log":
            return [f"-Xlog:gc*,safepoint:file={value or following}:time,uptime"]
    return []

"""Times lookups through a Manager beside a bare echo of the same bytes, for ``orbitkv bench wire``.

Usage: manager_lookup.py MANAGER_SOCKET ECHO_SOCKET, and one JSON object of settings on standard input: ``instance``,
``incarnation``, ``namespace``, ``shard_bytes``, ``hit`` and ``miss`` (chains, all in hexadecimal), ``rounds`` and
``lookups`` (of each kind, a round). Prints one JSON object: per kind all times in nanoseconds.

A lookup is a query with its answer, and for a hit the release of its lease, which is timed by itself. The echo is given
the bytes of the query's frame and answers with as many as the Manager's answer has.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from typing import Any

from orbitkv_wire import messages
from orbitkv_wire.connection import Connection

_FAR = 60.0


def _attach(path: str, settings: dict[str, Any]) -> tuple[Connection, int]:
    connection = Connection.open(path, time.monotonic() + _FAR)
    hello = messages.Hello(messages.VERSION, "manager_lookup", os.getpid(), 0, messages.probe())
    _call(connection, hello, messages.Welcome)
    register = messages.Register(
        settings["instance"], settings["incarnation"], bytes.fromhex(settings["namespace"]), 1, settings["shard_bytes"], 0,
        messages.ALL_RANKS)
    return connection, _call(connection, register, messages.Registered).generation


def _call(connection: Connection, request: messages.Request, kind: Any) -> Any:
    reply = connection.call(request, time.monotonic() + _FAR)
    if not isinstance(reply, kind):
        raise SystemExit(f"{type(request).__name__} was answered {reply}")
    return reply


def _echo(echo: socket.socket, frame: bytes, answer: bytearray) -> None:
    echo.sendall(frame)
    view = memoryview(answer)
    while view:
        view = view[echo.recv_into(view):]


def main() -> None:
    settings = json.load(sys.stdin)
    chains = {kind: bytes.fromhex(settings[kind]) for kind in ("hit", "miss")}
    times: dict[str, list[int]] = {kind: [] for kind in ("echo", "hit", "miss", "release", "encode")}
    connection, generation = _attach(sys.argv[1], settings)
    encoder = messages_encoder()
    operation = 0
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as echo:
        echo.connect(sys.argv[2])
        body = encoder.encode(messages.Query(generation, 1, 0, chains["hit"]))
        frame = len(body).to_bytes(4, "big") + body
        answer_bytes = 4 + len(encoder.encode(messages.Answered(messages.Standing.HIT, 1 << 20, 1 << 30, 1250, 0, "NONE", "")))
        answer = bytearray(answer_bytes)
        echo.sendall(answer_bytes.to_bytes(4, "big") + len(frame).to_bytes(4, "big"))
        clock = time.perf_counter_ns
        for _ in range(settings["rounds"]):
            for _ in range(settings["lookups"]):
                start = clock()
                _echo(echo, frame, answer)
                times["echo"].append(clock() - start)
            for kind in ("hit", "miss"):
                for _ in range(settings["lookups"]):
                    operation += 1
                    start = clock()
                    reply = _call(connection, messages.Query(generation, operation, 0, chains[kind]), messages.Answered)
                    times[kind].append(clock() - start)
                    if kind == "hit":
                        if reply.standing is not messages.Standing.HIT or reply.dram_blocks * 32 != len(chains[kind]):
                            raise SystemExit(f"a lookup of {len(chains[kind]) // 32} blocks was answered {reply}")
                        start = clock()
                        _call(connection, messages.Release(generation, reply.lease), messages.Done)
                        times["release"].append(clock() - start)
                    elif reply.standing is not messages.Standing.MISS:
                        raise SystemExit(f"a lookup of unknown blocks was answered {reply}")
            for _ in range(settings["lookups"]):
                start = clock()
                encoder.encode(messages.Query(generation, operation, 0, chains["hit"]))
                times["encode"].append(clock() - start)
    _call(connection, messages.Leave(generation), messages.Done)
    connection.close()
    json.dump(times, sys.stdout)


def messages_encoder() -> Any:
    import msgspec

    return msgspec.msgpack.Encoder()


if __name__ == "__main__":
    main()

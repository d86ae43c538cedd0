"""
Tries the released engine on a GPU with and without OrbitKV, and prints tables: python -m gpu --help.

``pools`` needs no engine's kernels: it drives the released tree and pools with bytes that are known.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from gpu.trial import Plan, Trial

ENGINE_PARTS = ("correct", "first-token", "throughput")
PARTS = ("pools", *ENGINE_PARTS)


def main() -> int:
    """Tries the parts, and tells which failed."""
    parser = argparse.ArgumentParser(prog="gpu", description=__doc__)
    parser.add_argument("--command", type=shlex.split, help="what starts orbitkv, if not the wheel's command")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--memory", type=Path, default=Path("/dev/shm"), help="a folder in memory")
    parser.add_argument("--ssd", type=Path, help="a folder for the node's SSD tier")
    parser.add_argument("--ssd-size", default="40GiB")
    parser.add_argument("--dram", default="16GiB", help="memory of the node's Manager")
    parser.add_argument("--tokens", type=int, default=80_000, help="tokens of each engine's KV cache")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--logs", type=Path, help="where logs are kept")
    parser.add_argument("--core", choices=("rust", "python"),
                        help="of the tree in 'pools'; that in Rust is built for the release's own PyTorch")
    parser.add_argument("--small", action="store_true", help="a small model on a CPU")
    arguments = parser.parse_args()
    # What was started ends too if the time for it does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(124))
    os.environ.update({"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"})
    if arguments.command is None:
        from orbitkv.command import command

        arguments.command = command()
    with (
        tempfile.TemporaryDirectory(
            prefix="orbitkv-gpu-", dir=arguments.ssd, ignore_cleanup_errors=True) as disk,
        tempfile.TemporaryDirectory(prefix="okv-", dir=arguments.memory, ignore_cleanup_errors=True) as memory,
    ):
        plan = Plan(
            arguments.small, arguments.rounds, arguments.seed, arguments.tokens, arguments.dram, arguments.ssd_size,
            arguments.command, Path(disk), Path(memory), arguments.logs or Path(disk) / "logs",
            arguments.core)
        failed = _run(plan, arguments.parts)
    print(f"{len(arguments.parts)} parts, failed: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


def _run(plan: Plan, parts: list[str]) -> list[str]:
    failed = []
    if "pools" in parts:
        from gpu.pools import PoolTrial

        failed += _part("pools", lambda: PoolTrial(plan).run())
    parts = [part for part in parts if part in ENGINE_PARTS]
    if not parts:
        return failed
    trial = Trial(plan)
    try:
        if _part("start", trial.start):
            return [*failed, *parts]
        does: dict[str, Callable[[], None]] = {
            "correct": trial.correct, "first-token": trial.first_token, "throughput": trial.throughput}
        for part in parts:
            failed += _part(part, does[part])
    finally:
        trial.close()
    return failed


def _part(name: str, does: Callable[[], None]) -> list[str]:
    began = time.monotonic()
    print(f"== {name}", flush=True)
    try:
        does()
    except Exception:
        traceback.print_exc(file=sys.stdout)
        return [name]
    finally:
        print(f"== {name}: {time.monotonic() - began:.0f} s", flush=True)
    return []


if __name__ == "__main__":
    sys.exit(main())

"""Runs the qualification: python -m qualification --help."""

from __future__ import annotations

import argparse
import difflib
import importlib.util
import logging
import os
import shlex
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

import loaded

from qualification import document, neighbours, ranks, scenarios, server, window
from qualification.bench import Bench, Outcome, Row


def main() -> int:
    """Runs scenarios and writes or compares the page."""
    parser = argparse.ArgumentParser(prog="qualification", description=__doc__)
    parser.add_argument(
        "--command", type=shlex.split, help="what starts orbitkv; the wheel's own command unless said otherwise")
    parser.add_argument("--vllm", help="a Python that has the released vLLM")
    parser.add_argument("--installed", help="the folder of OrbitKV's packages, for that Python")
    parser.add_argument("--only", action="append", default=[], help="a part of a name: scenarios to run, and no page")
    parser.add_argument("--page", type=Path, help="where the page is written")
    parser.add_argument("--compare", type=Path, help="the page that must come out")
    parser.add_argument("--verbose", action="store_true", help="print what everybody logs")
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    logging.basicConfig(level=logging.INFO if arguments.verbose else logging.CRITICAL)
    with (
        tempfile.TemporaryDirectory(prefix="orbitkv-qualification-", ignore_cleanup_errors=True) as folder,
        tempfile.TemporaryDirectory(prefix="okv-", dir="/dev/shm", ignore_cleanup_errors=True) as memory,
    ):
        bench = Bench(Path(memory), Path(folder), arguments.command, arguments.vllm, arguments.installed)
        rows = _run(bench, arguments.only)
    failed = [row for row in rows if row.failure is not None]
    print(f"{len(rows)} scenarios, {len(failed)} failed")
    if failed or arguments.only:
        return 1 if failed else 0
    package = importlib.util.find_spec("sglang")
    assert package is not None and package.origin is not None
    text = document.page(rows, Path(package.origin).parents[1])
    if arguments.page is not None:
        arguments.page.write_text(text, encoding="utf-8")
    if arguments.compare is not None:
        expected = arguments.compare.read_text(encoding="utf-8") if arguments.compare.exists() else ""
        difference = list(difflib.unified_diff(
            document.timeless(expected).splitlines(), document.timeless(text).splitlines(),
            "committed", "of this run", lineterm=""))
        if difference:
            print("The committed page is not what came out of this run:", *difference, sep="\n")
            return 1
    return 0


def _run(bench: Bench, only: Sequence[str]) -> list[Row]:
    loaded.load()
    rows = []
    try:
        for name, cores, scenario in [*scenarios.ALL, *window.ALL, *ranks.ALL, *neighbours.ALL, *server.ALL]:
            if only and not any(part in name for part in only):
                continue
            for core in cores:
                title = name if len(cores) == 1 else f"{name}, {core} tree"
                rows.append(_row(title, bench, lambda: scenario(bench, core)))
                print(f"{title}: {rows[-1].failure or rows[-1].result} ({rows[-1].seconds:.1f} s)", flush=True)
    finally:
        # Also if it is interrupted.
        bench.close()
    return rows


def _row(title: str, bench: Bench, scenario: Callable[[], Outcome]) -> Row:
    began = time.monotonic()
    try:
        outcome = scenario()
        failure = None
    except Exception:
        outcome, failure = Outcome("", None), traceback.format_exc()
    try:
        bench.close()
    except Exception:
        failure = f"{failure or ''}{traceback.format_exc()}"
    return Row(title, outcome.result, outcome.pages, time.monotonic() - began, failure)


if __name__ == "__main__":
    sys.exit(main())

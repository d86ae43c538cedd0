"""Runs the qualification: python -m qualification --help."""

from __future__ import annotations

import argparse
import difflib
import importlib.util
import os
import shlex
import sys
import tempfile
from pathlib import Path

from qualification import document, scenarios
from qualification.driver import Bench, Installed
from qualification.model import Model
from qualification.reference import Reference
from qualification.scenario import Run


def main() -> int:
    """Runs scenarios and writes or compares the page."""
    parser = argparse.ArgumentParser(prog="qualification", description=__doc__)
    parser.add_argument(
        "--path", action="append", required=True, help="a folder of OrbitKV's packages, as pip --target makes it")
    parser.add_argument(
        "--command", type=shlex.split, help="what starts orbitkv; the wheel's own command unless said otherwise")
    parser.add_argument("--only", action="append", default=[], help="a part of a name: groups to run, and no page")
    parser.add_argument("--page", type=Path, help="where the page is written")
    parser.add_argument("--compare", type=Path, help="the page that must come out")
    parser.add_argument("--verbose", action="store_true", help="print what engines counted")
    arguments = parser.parse_args()
    # Threads that wait for one another by turning round are slow on a machine that does other things as well.
    os.environ["OMP_NUM_THREADS"] = "1"
    with (
        tempfile.TemporaryDirectory(prefix="orbitkv-qualification-", ignore_cleanup_errors=True) as folder,
        tempfile.TemporaryDirectory(prefix="okv-", dir="/dev/shm", ignore_cleanup_errors=True) as memory,
    ):
        installed = Installed(tuple(arguments.path), arguments.command and tuple(arguments.command))
        bench = Bench(Path(folder), Path(memory), installed)
        try:
            run = Run(Model(), Reference(bench), lambda line: print(line, flush=True), arguments.verbose)
            scenarios.run(bench, run, arguments.only)
        finally:
            bench.close()
    failed = [row.name for row in run.rows if row.failure is not None]
    print(f"{len(run.rows)} scenarios, {len(failed)} failed, {sum(row.compared for row in run.rows):,} tokens compared")
    if failed or arguments.only:
        return 1 if failed else 0
    package = importlib.util.find_spec("vllm")
    assert package is not None and package.origin is not None
    text = document.page(run.rows, Path(package.origin).parents[1])
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


if __name__ == "__main__":
    sys.exit(main())

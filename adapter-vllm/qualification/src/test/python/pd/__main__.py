"""Tries prefill, decode and the router with NIXL and OrbitKV: python -m pd --help."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
import tempfile
from pathlib import Path

from pd import faults
from pd.cluster import Cluster
from pd.trial import DECODE, LOADED, PREFILL, ROUTER, SAVED, Trial
from qualification.model import Model, write


def main() -> int:
    """Prints a line for each thing that was shown."""
    parser = argparse.ArgumentParser(prog="pd", description=__doc__)
    parser.add_argument("--path", action="append", required=True, help="a folder of packages, as pip --target makes it")
    parser.add_argument("--command", type=shlex.split, help="what starts orbitkv; the wheel's own unless it is given")
    parser.add_argument("--fault", action="append", choices=faults.ALL, help="only these; all unless it is given")
    arguments = parser.parse_args()
    # Whoever is ended ends what it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    path = [*arguments.path, *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(path)
    os.environ["PATH"] = os.pathsep.join([*(f"{one}/bin" for one in arguments.path), os.environ["PATH"]])
    with (
        tempfile.TemporaryDirectory(prefix="orbitkv-pd-", ignore_cleanup_errors=True) as folder,
        tempfile.TemporaryDirectory(prefix="okv-", dir="/dev/shm", ignore_cleanup_errors=True) as memory,
    ):
        model = Path(folder) / "model"
        write(Model(), model)
        cluster = Cluster(Path(folder), Path(memory), model, arguments.command or (sys.executable, "-m", "orbitkv"))
        try:
            trial = Trial(cluster)
            _path(trial)
            for name in arguments.fault or faults.ALL:
                faults.ALL[name](trial)
            _restart(trial)
        except BaseException:
            for title in cluster.titles:
                print(f"--- {title}\n{cluster.log(title)}")
            raise
        finally:
            cluster.close()
    return 0


def _path(trial: Trial) -> None:
    cluster = trial.cluster
    cluster.start("alone", PREFILL, DECODE)
    cluster.start(ROUTER)
    # The first requests find the agents starting.
    trial.saves(PREFILL, PREFILL)
    trial.saves(DECODE, DECODE)
    transfers = cluster.metric(DECODE, "vllm:nixl_xfer_time_seconds_count")
    prompts = [trial.prompt(length) for length in (101, 64, 40, 97)]
    trial.exact(ROUTER, prompts, "through router, P and D")
    transfers = cluster.metric(DECODE, "vllm:nixl_xfer_time_seconds_count") - transfers
    trial.shown(transfers >= len(prompts), "NIXL has moved each prompt from P to D", f"{transfers:.0f} transfers")
    trial.saves(DECODE, ROUTER)
    trial.shown(True, "D has saved of finished requests", f"{cluster.metric(DECODE, SAVED):.0f} tokens")
    trial.shown(cluster.metric(DECODE, LOADED) == 0, "D has restored nothing", "0 tokens")
    check = cluster.check()
    trial.shown(check.returncode == 0, "'orbitkv pd check' finds the composition as its file says", check.stdout)


def _restart(trial: Trial) -> None:
    """An engine that has nothing of its own is asked for everything, whatever had become of it."""
    cluster = trial.cluster
    asked = [prompt for prompt in trial.asked if len(prompt) > 40]
    cluster.kill(PREFILL)
    cluster.start(PREFILL)
    trial.saves(PREFILL, PREFILL)
    trial.exact(PREFILL, asked, "every prompt once more, of a P that was started again")
    trial.poked(PREFILL, lambda: cluster.metric(PREFILL, LOADED) > 0, "P restores")
    restored = cluster.metric(PREFILL, LOADED)
    trial.shown(restored > 0, "which has restored", f"{restored:.0f} of {sum(map(len, asked))} tokens")


if __name__ == "__main__":
    sys.exit(main())

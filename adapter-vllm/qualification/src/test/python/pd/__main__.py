"""Tries prefill, decode and the router with NIXL and OrbitKV: python -m pd --help."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import tempfile
import time
from pathlib import Path

from pd.cluster import Cluster
from qualification.model import Model, write

_TOKENS = 12
_PROMPTS = [[(seed * 131 + 7 * token) % 1000 + 3 for token in range(length)] for seed, length in
            ((1, 101), (2, 64), (3, 40), (4, 97))]


def main() -> int:
    """Prints a line for each thing that was shown."""
    parser = argparse.ArgumentParser(prog="pd", description=__doc__)
    parser.add_argument("--path", action="append", required=True, help="a folder of packages, as pip --target makes it")
    parser.add_argument("--command", type=shlex.split, help="what starts orbitkv; the wheel's own unless it is given")
    arguments = parser.parse_args()
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
            _run(cluster)
        except BaseException:
            for title in cluster.titles:
                print(f"--- {title}\n{cluster.log(title)}")
            raise
        finally:
            cluster.close()
    return 0


def _run(cluster: Cluster) -> None:
    prefill, decode = "prefill 'p0'", "decode 'd0'"
    cluster.start_alone()
    expected = [cluster.complete("alone", prompt, _TOKENS) for prompt in _PROMPTS]
    longer = [prompt + answer + [11, 12, 13] for prompt, answer in zip(_PROMPTS, expected)]
    expected_longer = [cluster.complete("alone", prompt, _TOKENS) for prompt in longer]
    cluster.stop("alone")

    cluster.start(prefill, decode)
    cluster.start("router")
    # The first requests find the agents starting.
    _settle(cluster, decode)
    answers = [cluster.complete("router", prompt, _TOKENS) for prompt in _PROMPTS]
    _shown(answers == expected, "answers through router, P and D are those of an engine alone", f"{len(answers)} of 4")
    transfers = cluster.metric(decode, "vllm:nixl_xfer_time_seconds_count")
    _shown(transfers >= len(_PROMPTS), "NIXL has moved each prompt from P to D", f"{transfers:.0f} transfers")
    saved = _until_more(cluster, decode, "vllm:orbitkv_saved_tokens_total", 0)
    _shown(saved > 0, "D has saved what was delivered, of finished requests", f"{saved:.0f} tokens")
    _shown(cluster.metric(decode, "vllm:orbitkv_loaded_tokens_total") == 0, "D has restored nothing", "0 tokens")
    check = cluster.check()
    _shown(check.returncode == 0, "'orbitkv pd check' finds the composition as its file says", check.stdout)

    cluster.kill(prefill)
    cluster.start(prefill)
    _settle(cluster, prefill)
    before = cluster.metric(prefill, "vllm:orbitkv_loaded_tokens_total")
    answers = _patient(cluster, longer)
    loaded = cluster.metric(prefill, "vllm:orbitkv_loaded_tokens_total") - before
    _shown(answers == expected_longer, "the second turn's answers are those of an engine alone, after P was killed", "")
    _shown(loaded > 0, "P has restored what it and D had saved before it was killed", f"{loaded:.0f} tokens")


def _settle(cluster: Cluster, title: str) -> None:
    """Has a worker compute until it has saved something: its agent has started."""
    for attempt in range(300):
        cluster.complete(title, [(attempt * 17 + token) % 900 + 50 for token in range(33)], 1)
        if cluster.metric(title, "vllm:orbitkv_saved_tokens_total") > 0:
            return
        time.sleep(0.5)
    raise AssertionError(f"{title} has saved nothing:\n{cluster.log(title)}")


def _until_more(cluster: Cluster, title: str, metric: str, than: float) -> float:
    for _ in range(100):
        value = cluster.metric(title, metric)
        if value > than:
            return value
        time.sleep(0.2)
    return than


def _patient(cluster: Cluster, prompts: list[list[int]]) -> list[list[int]]:
    """Asks the router, which takes a while to trust a worker again that was gone."""
    for _ in range(60):
        try:
            return [cluster.complete("router", prompt, _TOKENS) for prompt in prompts]
        except OSError as e:
            print(f"the router: {e}")
            time.sleep(2)
    raise AssertionError(cluster.log("router"))


def _shown(true: bool, what: str, how: str) -> None:
    print(f"{'shown' if true else 'NOT SHOWN'}: {what}{how and ': '}{how}", flush=True)
    if not true:
        raise AssertionError(what)


if __name__ == "__main__":
    sys.exit(main())

"""The processes of a composition: a Manager, what a plan names, and an engine alone to compare with."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

from qualification.processes import await_end, descendants

START_LIMIT_S = 900.0
ANSWER_LIMIT_S = 300.0

_OPTIONS: dict[str, Any] = {
    "--dtype": "float32", "--enforce-eager": True, "--max-model-len": 2048, "--num-gpu-blocks-override": 256,
    "--skip-tokenizer-init": True,
}
_ENVIRONMENT = {
    "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": "1",
    "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1", "UCX_TLS": "tcp",
}


class Cluster:
    """One prefill worker, one decode worker, their router and their Manager, on ports of this machine."""

    def __init__(self, folder: Path, memory: Path, model: Path, command: Sequence[str]) -> None:
        """Starts the Manager, and has the plan made. ``command`` are the words that start ``orbitkv``."""
        self._folder = folder
        self._command = [*command]
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._ports = dict(zip(("prefill", "decode", "router", "alone", "p_side", "d_side"), _free_ports(6)))
        self._model = model
        self._manager = memory / "manager"
        self._start("manager", [*self._command, "manager", "--runtime", str(self._manager), "--dram", "512MiB",
                                "--block-bytes", "128KiB", "--http", "127.0.0.1:0"], {})
        http = self._manager / "manager.http"
        _until(lambda: self._runs("manager") and http.exists() and http.read_text().strip(), "the Manager serves")
        self.file = folder / "pd.json"
        self.file.write_text(json.dumps(self._composition(http.read_text().strip()), indent=2))
        planned = subprocess.run(
            [*self._command, "pd", "plan", str(self.file), "--json"], check=True, capture_output=True, text=True)
        self.plan = {process["title"]: process for process in json.loads(planned.stdout)["processes"]}

    def _composition(self, manager_http: str) -> dict[str, Any]:
        ports = self._ports
        common = {
            "manager": str(self._manager / "manager.sock"), "manager_http": manager_http, "options": _OPTIONS,
            "environment": _ENVIRONMENT,
        }
        return {
            "engine": "vllm",
            "model": {"path": str(self._model), "served_name": "m"},
            "cache": {"block_tokens": 32},
            "prefill": [{"name": "p0", "port": ports["prefill"], "transfer_port": ports["p_side"], **common}],
            "decode": [{"name": "d0", "port": ports["decode"], "transfer_port": ports["d_side"], **common}],
            "router": {"port": ports["router"]},
        }

    @property
    def titles(self) -> list[str]:
        """What runs."""
        return list(self._processes)

    def start(self, *titles: str) -> None:
        """Starts planned processes, and waits until they serve."""
        for title in titles:
            planned = self.plan[title]
            self._start(title, planned["command"], planned["environment"])
        for title in titles:
            self._wait(title, self.port(title))

    def start_alone(self) -> None:
        """Starts an engine without a cache and without a transport."""
        words = []
        for option, value in _OPTIONS.items():
            words += [option] if value is True else [option, str(value)]
        self._start("alone", ["vllm", "serve", str(self._model), "--served-model-name", "m", "--host", "127.0.0.1",
                              "--port", str(self._ports["alone"]), "--block-size", "32", *words], _ENVIRONMENT)
        self._wait("alone", self._ports["alone"])

    def port(self, title: str) -> int:
        """Where a process listens."""
        return self._ports[title.split(" ")[0]]

    def kill(self, title: str) -> None:
        """Kills a process and those that it has started."""
        process = self._processes.pop(title)
        all_of_it = descendants(process.pid)
        for one in all_of_it:
            os.kill(one, signal.SIGKILL)
        process.wait()
        await_end(one for one in all_of_it if one != process.pid)

    def stop(self, title: str) -> None:
        """Ends a process in order."""
        process = self._processes.pop(title)
        all_of_it = descendants(process.pid)
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for one in all_of_it:
            # A server that has ended may leave a worker that is still starting.
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        await_end(one for one in all_of_it if one != process.pid)

    def close(self) -> None:
        """Ends everything."""
        for title in reversed(list(self._processes)):
            self.stop(title)

    def complete(self, title: str, prompt: Sequence[int], tokens: int) -> list[int]:
        """Asks for an answer, as a client does. Returns its tokens."""
        answer = json.loads(self.ask(self.port(title), "/v1/completions", {
            "model": "m", "prompt": list(prompt), "max_tokens": tokens, "temperature": 0, "ignore_eos": True,
            "return_token_ids": True,
        }))
        return list(answer["choices"][0]["token_ids"])

    def metric(self, title: str, name: str) -> float:
        """The sum of a metric over its labels; zero if there is none."""
        lines = self.ask(self.port(title), "/metrics").splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.partition("{")[0] == name)

    def check(self) -> subprocess.CompletedProcess[str]:
        """Has the composition compared with its file."""
        return subprocess.run(
            [*self._command, "pd", "check", str(self.file)], capture_output=True, text=True, check=False)

    def log(self, title: str) -> str:
        """What a process has printed last."""
        return self._log(title).read_text(errors="replace")[-3000:]

    def ask(self, port: int, path: str, body: Optional[dict[str, Any]] = None) -> str:
        """Asks a server."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}{path}", None if body is None else json.dumps(body).encode(),
            {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=ANSWER_LIMIT_S) as answer:
            text: str = answer.read().decode()
            return text

    def _start(self, title: str, command: Sequence[str], environment: dict[str, str]) -> None:
        words = [shutil.which(command[0]) or command[0], *command[1:]]
        if command[:2] == ["vllm", "serve"]:
            # The same by its module: the command asks for a distribution of its name, and the CPU build has another.
            words = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", *command[2:]]
        elif command[0] == "vllm-router":
            # It lies in an environment of its own, and imports what vLLM's has.
            words = [sys.executable, "-m", "vllm_router.launch_router", *command[1:]]
        with open(self._log(title), "ab") as log:
            self._processes[title] = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                env={**os.environ, **environment})

    def _runs(self, title: str) -> bool:
        if self._processes[title].poll() is not None:
            raise AssertionError(f"{title} has ended:\n{self.log(title)}")
        return True

    def _log(self, title: str) -> Path:
        return self._folder / f"{title.replace(' ', '-').replace(chr(39), '')}.log"

    def _wait(self, title: str, port: int) -> None:
        def serves() -> bool:
            self._runs(title)
            try:
                self.ask(port, "/health")
                return True
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                return False

        _until(serves, f"{title} serves")


def _until(condition: Any, what: str) -> None:
    deadline = time.monotonic() + START_LIMIT_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not in {START_LIMIT_S:.0f} s: {what}")
        time.sleep(0.5)


def _free_ports(count: int) -> list[int]:
    held = [socket.socket() for _ in range(count)]
    try:
        for one in held:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in held]
    finally:
        for one in held:
            one.close()

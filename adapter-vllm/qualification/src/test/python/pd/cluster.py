"""The processes of a composition: a Manager, what a plan names, and an engine alone to compare with."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Optional

from pd.question import Question
from qualification.processes import await_end, deliver, descendants, queues

START_LIMIT_S = 900.0
ANSWER_LIMIT_S = 300.0

_OPTIONS: dict[str, Any] = {
    "--dtype": "float32", "--enforce-eager": True, "--max-model-len": 4096, "--max-num-batched-tokens": 128,
    "--num-gpu-blocks-override": 256,
    "--skip-tokenizer-init": True,
}
_ENVIRONMENT = {
    "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": "1",
    "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1", "UCX_TLS": "tcp",
}

_ACCESS = re.compile(r'"(GET|POST) /\S* HTTP/1.1" 200')
"""What servers print of each request that went well."""


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
        self.plan["alone"] = {"environment": _ENVIRONMENT, "command": [
            "vllm", "serve", str(model), "--served-model-name", "m", "--host", "127.0.0.1", "--port",
            str(self._ports["alone"]), "--block-size", "32", "--no-enable-prefix-caching",
            *(word for option, value in _OPTIONS.items() for word in (option, str(value)) if word != "True"),
        ]}

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
        """Starts planned processes, or 'alone', an engine without cache and transport. Waits until they serve."""
        for title in titles:
            planned = self.plan[title]
            self._start(title, planned["command"], planned["environment"])
        for title in titles:
            self._wait(title, self.port(title))

    def port(self, title: str) -> int:
        """Where a process listens."""
        return self._ports[title.split(" ")[0]]

    def kill(self, title: str) -> None:
        """Kills a process and those that it has started."""
        process = self._processes.pop(title)
        all_of_it = descendants(process.pid)
        files = queues(all_of_it)
        for one in all_of_it:
            # It may have ended by itself.
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        process.wait()
        await_end(one for one in all_of_it if one != process.pid)
        for file in files:
            file.unlink(missing_ok=True)

    def stop(self, title: str) -> None:
        """Ends a process in order."""
        process = self._processes.pop(title)
        all_of_it = descendants(process.pid)
        files = queues(all_of_it)
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
        for file in files:
            file.unlink(missing_ok=True)

    def close(self) -> None:
        """Ends everything."""
        for title in reversed(list(self._processes)):
            self.stop(title)

    @contextlib.contextmanager
    def stopped(self, title: str) -> Iterator[None]:
        """Has an engine stand still, but not the server before it, which goes on taking requests and telling counts."""
        engine = [one for one in descendants(self._processes[title].pid) if one != self._processes[title].pid]
        for one in engine:
            deliver(one, signal.SIGSTOP)
        try:
            yield
        finally:
            for one in engine:
                # Some have been killed since.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(one, signal.SIGCONT)

    def question(
        self, title: str, prompt: Sequence[int], tokens: int, transfer: Optional[dict[str, Any]] = None
    ) -> Question:
        """Asks for an answer, as a client does, or with parameters of a transfer, as a router does."""
        body: dict[str, Any] = {
            "model": "m", "prompt": list(prompt), "max_tokens": tokens, "temperature": 0, "ignore_eos": True,
            "return_token_ids": True,
        }
        if transfer is not None:
            body["kv_transfer_params"] = transfer
        return Question(self.port(title), body, ANSWER_LIMIT_S)

    def complete(self, title: str, prompt: Sequence[int], tokens: int) -> list[int]:
        """Asks, and waits for the answer's tokens."""
        return self.question(title, prompt, tokens).tokens()

    def hand_over(self, title: str, prompt: Sequence[int]) -> dict[str, Any]:
        """Has a prompt computed, and returns how another engine gets its pages."""
        asked = self.question(title, prompt, 1, {"do_remote_decode": True, "do_remote_prefill": False})
        parameters: dict[str, Any] = asked.answer()["kv_transfer_params"]
        return parameters

    def metric(self, title: str, name: str, label: str = "") -> float:
        """The sum of a metric over its labels, or over those with one of them; zero if there is none."""
        lines = self.ask(self.port(title), "/metrics").splitlines()
        return sum(
            float(line.rpartition(" ")[2]) for line in lines if line.partition("{")[0] == name and label in line)

    def has_ended(self, title: str) -> bool:
        """Whether a process has ended by itself."""
        return self._processes[title].poll() is not None

    def until(self, condition: Callable[[], bool], what: str, but: str = "") -> None:
        """Waits for something that comes about in processes that run, all but perhaps one."""
        def holds() -> bool:
            for title in self._processes:
                if title != but:
                    self._runs(title)
            return condition()

        _until(holds, what)

    def check(self) -> subprocess.CompletedProcess[str]:
        """Has the composition compared with its file."""
        return subprocess.run(
            [*self._command, "pd", "check", str(self.file)], capture_output=True, text=True, check=False)

    def log(self, title: str) -> str:
        """What a process has printed last."""
        lines = self._log(title).read_text(errors="replace").splitlines()
        return "\n".join([line for line in lines if not _ACCESS.search(line)][-80:])

    def has_said(self, title: str, text: str) -> bool:
        """Whether a process has printed something."""
        return text in self._log(title).read_text(errors="replace")

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


def _until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + START_LIMIT_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not in {START_LIMIT_S:.0f} s: {what}")
        time.sleep(0.1)


def _free_ports(count: int) -> list[int]:
    held = [socket.socket() for _ in range(count)]
    try:
        for one in held:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in held]
    finally:
        for one in held:
            one.close()

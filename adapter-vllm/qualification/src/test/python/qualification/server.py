"""The engine as it is deployed: an HTTP server, an engine core and a worker, in processes of their own."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qualification.engine import CONNECTOR, Outcome, Request, Settings
from qualification.probe import probes
from qualification.processes import agents, await_end, descendants

START_LIMIT = 300.0
REQUEST_LIMIT = 60.0

ENVIRONMENT = {
    "VLLM_USE_V2_MODEL_RUNNER": "0",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_OFFLINE": "1",
}


class Server:
    """One server. The command is that of `vllm serve`, by the module's name."""

    def __init__(self, settings: Settings, load_path: tuple[str, ...]) -> None:
        self.settings = settings
        with contextlib.closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        command = [
            sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", settings.model, "--tokens-only",
            "--host", "127.0.0.1", "--port", str(self._port), "--dtype", settings.dtype, "--enforce-eager",
            "--max-model-len", str(settings.longest), "--num-gpu-blocks-override", str(settings.blocks),
            "--block-size", str(settings.block_tokens),
        ]
        if settings.connector is not None:
            transfer = {
                "kv_connector": CONNECTOR,
                "kv_role": "kv_both",
                "engine_id": settings.identity,
                "kv_load_failure_policy": settings.failures,
                "kv_connector_extra_config": dict(settings.connector),
            }
            if settings.module is not None:
                transfer["kv_connector_module_path"] = settings.module
            command += ["--kv-transfer-config", json.dumps(transfer)]
        path = [*load_path, *filter(None, [os.environ.get("PYTHONPATH")])]
        with open(settings.log, "a", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                env={**os.environ, **ENVIRONMENT, "PYTHONPATH": os.pathsep.join(path)})
        try:
            self._wait()
            if settings.connector is not None:
                self.await_cache()
        except BaseException:
            self.kill()
            raise

    def generate(self, request: Request) -> Outcome:
        """One request, as a client sends it."""
        answer = self._ask("/inference/v1/generate", {
            "model": self.settings.model,
            "token_ids": request.prompt,
            "sampling_params": {"temperature": 0, "max_tokens": request.tokens, "ignore_eos": True},
        })
        choice = json.loads(answer)["choices"][0]
        return Outcome(tuple(choice["token_ids"]), choice["finish_reason"], 0)

    def supplied(self) -> float:
        """Tokens that OrbitKV supplied, as the scheduler counts them."""
        return self.metric("vllm:external_prefix_cache_hits_total")

    def loaded(self) -> float:
        """Bytes that the connector has loaded."""
        return self.metric("vllm:orbitkv_loaded_bytes_total")

    def metric(self, name: str) -> float:
        """The sum of a Prometheus metric over its labels."""
        found = re.findall(rf"^{re.escape(name)}(?:\{{[^}}]*\}})? (\S+)$", self._ask("/metrics"), re.MULTILINE)
        if not found:
            raise AssertionError(f"the server has no metric {name}")
        return sum(float(value) for value in found)

    def await_cache(self) -> None:
        """Waits until what the engine computes is saved: its agent starts while it serves already."""
        deadline = time.monotonic() + START_LIMIT
        for probe in probes(self.settings.block_tokens):
            self.generate(probe)
            if self.metric("vllm:orbitkv_saved_tokens_total") > 0:
                return
            if time.monotonic() > deadline:
                raise AssertionError(f"nothing was saved in {START_LIMIT:.0f} s:\n{self.log()}")
            time.sleep(0.2)

    def log(self) -> str:
        """The end of what the processes printed."""
        return Path(self.settings.log).read_text(errors="replace")[-6000:]

    @property
    def alive(self) -> bool:
        """Whether the process is there."""
        return self._process.poll() is None

    def kill(self) -> None:
        """Kills the server and all that it and its children have started; the agent has to end by itself."""
        launched = agents(self.settings.identity)
        for process in descendants(self._process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._process.wait()
        await_end(launched)

    def stop(self) -> None:
        """Ends the server in order."""
        processes = descendants(self._process.pid) + agents(self.settings.identity)
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(REQUEST_LIMIT)
        await_end(processes)

    def _wait(self) -> None:
        deadline = time.monotonic() + START_LIMIT
        while True:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"the server did not start:\n{self.log()}")
            with contextlib.suppress(OSError):
                self._ask("/health")
                return
            time.sleep(0.2)

    def _ask(self, path: str, body: Mapping[str, Any] | None = None) -> str:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._port}{path}", data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=REQUEST_LIMIT) as answer:
            text: str = answer.read().decode()
            return text

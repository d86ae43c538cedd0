"""Engines on one GPU beside each other, and the Manager that some of them have."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from gpu.engine import GpuServed, Replays
from qualification.driver import ENVIRONMENT, Bench, Engine, Installed
from qualification.engine import Outcome, Request, Settings
from qualification.model import Model

START_LIMIT = 400.0
ATTACH_LIMIT = 120.0


class GpuEngine(Engine):
    """An engine in a process of its own, on the GPU that it shares with the others."""

    start_limit = START_LIMIT
    command_limit = 300.0

    def facts(self) -> dict[str, str]:
        """What the engine is."""
        facts: dict[str, str] = self._call(GpuServed.facts)
        return facts

    def answer_and_pages(self, request: Request) -> tuple[Outcome, list[int]]:
        """The answer to a request, and a sum over each whole block of its prompt."""
        found: tuple[Outcome, list[int]] = self._call(GpuServed.answer_and_pages, request)
        return found

    def answer_with_others_pages(self, request: Request) -> Outcome:
        """The answer to a request whose pages are overwritten behind the first token."""
        outcome: Outcome = self._call(GpuServed.answer_with_others_pages, request)
        return outcome

    def decode_times(self, *requests: Request) -> list[float]:
        """Seconds of each step in which all requests decode."""
        times: list[float] = self._call(GpuServed.decode_times, *requests)
        return times

    def replays(self) -> Replays:
        """Replays of graphs since the last call."""
        replays: Replays = self._call(GpuServed.replays)
        return replays

    def saturate(self, blocks: int, under_way: int) -> None:
        """Has so many saves of so many blocks under way from now on."""
        self._call(GpuServed.saturate, blocks, under_way)

    def drive(self, blocks: int, under_way: int, seconds: float) -> float:
        """Saves without end for so long, in an engine that does nothing else; the bytes a second."""
        return float(self._call(GpuServed.drive, blocks, under_way, seconds))

    def calm(self) -> None:
        """Ends that."""
        self._call(GpuServed.calm)


class GpuBench(Bench):
    """Starts engines at once, since each start takes long."""

    def __init__(self, folder: Path, memory: Path, installed: Installed, environment: Mapping[str, str]) -> None:
        super().__init__(folder, memory, installed, preload="gpu.preload")
        self._environment = {**ENVIRONMENT, **environment}

    def configuration(self, name: str, model: Model) -> str:
        """Makes a folder with the shape of a model, and no weights."""
        folder = self.folder / name
        folder.mkdir(parents=True)
        (folder / "config.json").write_text(json.dumps({
            "architectures": ["Qwen3ForCausalLM"],
            "model_type": "qwen3",
            "hidden_size": model.hidden,
            "intermediate_size": model.inner,
            "num_hidden_layers": model.layers,
            "num_attention_heads": model.heads,
            "num_key_value_heads": model.kv_heads,
            "head_dim": model.head,
            "vocab_size": model.vocabulary,
            "max_position_embeddings": model.positions,
            "rms_norm_eps": 1e-6,
            "rope_theta": 1000000.0,
            "tie_word_embeddings": False,
            "torch_dtype": "bfloat16",
            "hidden_act": "silu",
            "attention_bias": False,
            "bos_token_id": 1,
            "eos_token_id": 2,
        }, indent=2) + "\n")
        return str(folder)

    def engines(self, all_settings: Mapping[str, Settings]) -> dict[str, GpuEngine]:
        """Starts engines at once."""
        placed = {name: self.placed(settings) for name, settings in all_settings.items()}
        for name, settings in placed.items():
            print(f"engine {name}: log {Path(settings.log).name}, {_said(settings)}", flush=True)
        with ThreadPoolExecutor(len(placed)) as starts:
            started = {name: starts.submit(self._started_engine, settings) for name, settings in placed.items()}
            return {name: future.result() for name, future in started.items()}

    def _started_engine(self, settings: Settings) -> GpuEngine:
        engine = GpuEngine(self._context, settings, self._environment, GpuServed)
        self._engines.append(engine)
        if settings.connector is not None:
            engine.await_cache(ATTACH_LIMIT)
        return engine

    def keep_logs(self, folder: Path) -> None:
        """Copies what processes said."""
        folder.mkdir(parents=True, exist_ok=True)
        for log in [*self.folder.rglob("*.log"), *self._memory.rglob("*.log")]:
            shutil.copy(log, folder / f"{log.parent.name}-{log.name}")


def _said(settings: Settings) -> str:
    shown: dict[str, Any] = asdict(replace(settings, model="", log="", load_path=()))
    return json.dumps({name: value for name, value in shown.items() if value not in ("", ())}, default=str)


def processors() -> int:
    """Processors of this machine."""
    return os.cpu_count() or 1

"""A whole engine with a small model, on a CPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from qualification import serving
from qualification.bench import Bench, ManagerProcess, Outcome

ALL: list[tuple[str, tuple[str, ...], Callable[[Bench, str], Outcome]]] = []

_LIMIT_S = 900
_CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 1024,
    "max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "torch_dtype": "float32", "tie_word_embeddings": False,
}


def _make_model(folder: Path) -> None:
    """Writes a small model whose weights are random numbers, the same in every run."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(1)
    LlamaForCausalLM(LlamaConfig(**_CONFIG)).to(torch.float32).save_pretrained(folder)


def _serve(
    bench: Bench, manager: ManagerProcess, model: Path, prompts: list[list[int]], early: str
) -> list[dict[str, Any]]:
    settings = {
        "manager": manager.socket, "runtime_dir": str(bench.memory / "run"), "pending_ms": 10_000, "early": early,
    }
    if bench.command is not None:
        settings["agent_command"] = list(bench.command)
    kernels = Path(__file__).parent.parent / "kernels"
    environment = dict(os.environ, PYTHONPATH=f"{os.environ.get('PYTHONPATH', '')}:{kernels}")
    ended = subprocess.run(
        [sys.executable, "-m", "qualification.serving", json.dumps(settings), str(model), json.dumps(prompts)],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=_LIMIT_S, check=False,
    )
    lines = [line for line in ended.stdout.splitlines() if line.startswith(serving.MARK)]
    assert ended.returncode == 0 and len(lines) == 1, ended.stdout[-3000:]
    answers: list[dict[str, Any]] = json.loads(lines[0].removeprefix(serving.MARK))
    return answers


def _engine_with_a_model(bench: Bench, _: str) -> Outcome:
    model = bench.disk / "model"
    _make_model(model)
    manager = bench.manager(ssd=True)
    prompts = [[(seed * 7 + index * 31) % 1000 + 3 for index in range(200)] for seed in (1, 2)]
    first = _serve(bench, manager, model, prompts, "off")
    computed, flushed = first[:2], first[2:]
    assert [answer["cached"] for answer in computed] == [0, 0], first
    assert [answer["cached"] for answer in flushed] == [192, 192], first
    second = _serve(bench, manager, model, prompts, "on")
    assert [answer["cached"] for answer in second] == [192] * 4, second
    for answers in (flushed, second[:2], second[2:]):
        assert [answer["tokens"] for answer in answers] == [answer["tokens"] for answer in computed], (first, second)
    return Outcome("the same tokens as computed: after a flush, and in the next start of the engine", 6 * 12)


ALL.append(("released engine with a model, on a CPU", ("rust",), _engine_with_a_model))

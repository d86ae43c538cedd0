"""The page that a run leaves: what ran, and what came of it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from qualification.bench import Row

DISTRIBUTIONS = ("sglang", "torch", "transformers", "msgspec")

# What the linker calls, is called by, or reads the fields of.
FILES = (
    "srt/disaggregation/common/conn.py",
    "srt/disaggregation/decode.py",
    "srt/managers/schedule_batch.py",
    "srt/managers/schedule_policy.py",
    "srt/managers/scheduler.py",
    "srt/managers/scheduler_components/weight_updater.py",
    "srt/managers/tp_worker.py",
    "srt/mem_cache/allocator/paged.py",
    "srt/mem_cache/base_prefix_cache.py",
    "srt/mem_cache/cache_init_params.py",
    "srt/mem_cache/common.py",
    "srt/mem_cache/cpp_utils/hash_binding.cpp",
    "srt/mem_cache/hicache_storage.py",
    "srt/mem_cache/memory_pool.py",
    "srt/mem_cache/registry.py",
    "srt/mem_cache/rust_tree_core/adapter.py",
    "srt/mem_cache/unified_cache/components/full.py",
    "srt/mem_cache/unified_cache/unified_cache_linker.py",
    "srt/mem_cache/unified_cache/unified_tree_core.py",
    "srt/mem_cache/unified_radix_cache.py",
    "srt/mem_cache/utils.py",
    "srt/plugins/__init__.py",
    "srt/plugins/hook_registry.py",
    "srt/runtime_context.py",
)

HEAD = """\
# Qualification with SGLang 0.5.22

The released tree (`UnifiedRadixCache`), its linker wrapper, allocator and pools on a CPU, with agents and a Manager as
they are used. `adapter-sglang/qualification/run qualification` writes this page; the build runs it too, and fails if
another page comes out.

* In all scenarios but the last two there is no model. Every row of every layer is bytes that follow from all tokens up
  to it; what is restored is compared byte by byte with what would have been computed. Pages that nobody writes hold a
  sentinel.
* There a test takes the scheduler's part: it calls the tree and the linker as the released scheduler does, in that
  order.
* With a decode worker, a test is the transport too: the released queues allocate, fail and free, and no peer is there.
* In the last but one, the released vLLM serves a small model in a process of its own, with its own adapter, and the
  tree of this engine is asked at the same time. Each comes back six times to a quarter of what fits in memory, while
  the other one saves a third of what fits, each time something else.
* In the last one, the released engine's own processes serve a small model whose weights are random numbers. Its answers
  are compared token by token with those that it computed. The wheel has no kernels for a CPU: three that it then takes
  from another package are given to it in plain torch.
* Nothing here was run on a GPU: [qualification-sglang-gpu.md](qualification-sglang-gpu.md).
* After a scenario no node is locked, no lease is held, and every slot is free or the tree's.
* Pages are of 16 tokens. *Pages* is how many a scenario restored; "some" where timing decides.
"""


def page(rows: Sequence[Row], packages: Path) -> str:
    """The whole page. Only the last column of the results may differ between runs."""
    lines = [HEAD, "| scenario | result | pages | s |", "|---|---|---:|---:|"]
    for row in rows:
        pages = "some" if row.pages is None else f"{row.pages:,}"
        lines.append(f"| {row.name} | {row.result} | {pages} | {row.seconds:.1f} |")
    lines += ["", "## The engine", "", "The official wheel, without the packages that have kernels for GPUs.", ""]
    lines += ["| package | version |", "|---|---|"]
    lines += [f"| {name} | {metadata.version(name)} |" for name in DISTRIBUTIONS]
    lines += ["", "| file of the engine that OrbitKV depends on | SHA-256 |", "|---|---|"]
    lines += [f"| `sglang/{name}` | `{_digest(packages / 'sglang' / name)}` |" for name in FILES]
    return "\n".join(lines) + "\n"


def timeless(text: str) -> str:
    """The page without what differs between runs."""
    return re.sub(r"\| \d+\.\d \|$", "| |", text, flags=re.MULTILINE)


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()

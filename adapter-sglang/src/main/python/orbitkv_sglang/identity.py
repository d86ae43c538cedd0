"""What blocks of this engine belong to: every fact on which the bytes of a block depend, beside its tokens.

The hash of a block covers tokens, adapter and salt. All else is here. Two engines whose facts are the same share
blocks; a fact that differs is a miss. The agent adds the digests of the model's and the adapters' files.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from orbitkv_sglang.adapter import Identity
from orbitkv_sglang.settings import Settings
from orbitkv_sglang.window import Pools

if TYPE_CHECKING:
    from sglang.srt.mem_cache.registry import TreeCacheBuildContext

Facts = tuple[tuple[str, str], ...]

_PROBE_TOKENS = 32
_PROBE_PAGE = 16


class EngineStart(NamedTuple):
    """This start of this engine, the same in all of its processes."""

    name: str
    incarnation: int


def engine_start(engine_id: str | None) -> EngineStart:
    """Returns what the ranks of one engine have in common: they are started by one process."""
    parent = os.getppid()
    with open(f"/proc/{parent}/stat", encoding="ascii", errors="replace") as file:
        started = file.read().rpartition(")")[2].split()[19]
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        boot = file.read().strip()
    name = engine_id or f"sglang-{parent}-{started}"
    text = "\n".join((name, str(parent), started, boot))
    number: int = struct.unpack(">q", hashlib.sha256(text.encode()).digest()[:8])[0]
    return EngineStart(name, number)


def facts(context: TreeCacheBuildContext, pools: Pools, settings: Settings, version: str, device: str) -> Facts:
    """Returns what decides the bytes. The same on all ranks, or they cannot share an instance."""
    from sglang.srt.runtime_context import get_device, get_exec, get_lora, get_model, get_parallel

    model = get_model()
    kernel = get_exec().kernel
    parallel: Any = get_parallel()
    pages, window = pools
    pool = context.params.token_to_kv_pool_allocator.get_kvcache()
    pool = getattr(pool, "full_kv_pool", pool)
    found = {
        "engine": f"sglang {version}",
        "scope": settings.scope,
        "model.config": _digest(_configuration(context.model_config.hf_config.to_dict())),
        "model.dtype": str(context.model_config.dtype),
        "model.quantization": f"{model.quantization} {model.quantization_param_path} {model.modelopt_quant}",
        "model.overrides": str(model.json_model_override_args),
        "model.context": str(model.context_length),
        "model.impl": str(model.model_impl),
        # Weights that are made up have no file.
        "model.load": f"{model.load_format} {get_device().random_seed if model.load_format == 'dummy' else ''}",
        "cache.dtype": f"{model.kv_cache_dtype} {pool.dtype} {pool.store_dtype}",
        "cache.block_tokens": str(pages.page_tokens),
        "hash.algorithm": "sglang sha256",
        "hash.probe": hash_probe(),
        "parallel.tensor": str(parallel.tp_size),
        "parallel.expert": str(parallel.ep_size),
        "pages.layout": pages.layout,
        "pages.backends": f"{kernel.attention_backend} {kernel.prefill_attention_backend}"
        f" {kernel.decode_attention_backend}",
        "pages.pieces": str([piece.page_bytes for piece in pages.pieces]),
        "pages.platform": device,
    }
    if window is not None:
        found["window"] = (
            f"{context.params.sliding_window_size} {window.layers} {window.pages.layout}"
            f" {[piece.page_bytes for piece in window.pages.pieces]}"
        )
    lora = get_lora()
    if lora.enable_lora:
        found["lora"] = f"{lora.max_lora_rank} {lora.lora_target_modules} {lora.lora_backend}"
        # The engine's id of an adapter, which its hashes have in them, follows from its name and its path.
        found["lora.names"] = json.dumps([[ref.lora_id, ref.lora_name] for ref in _adapters()])
    return tuple(found.items())


def identity(settings: Settings, stated: Facts) -> Identity:
    """Returns what the agent makes the namespace of. ``ValueError`` says why the model's files cannot be told."""
    adapters = tuple(os.path.realpath(str(ref.lora_path)) for ref in _adapters())
    for path in adapters:
        if not os.path.isdir(path):
            raise ValueError(f"--lora-paths names {path}, expected a local folder with a PEFT adapter")
    if settings.model_digest is not None:
        return Identity("", bytes.fromhex(settings.model_digest), adapters, stated)
    return Identity(_model_folder(), b"", adapters, stated)


def hash_probe() -> str:
    """Returns the last hash of a chain of known tokens, as this engine computes it."""
    from sglang.srt.mem_cache.utils import get_hash_str

    return str(get_hash_str(list(range(_PROBE_TOKENS)), None, page_size=_PROBE_PAGE)[-1])


def _adapters() -> list[Any]:
    from sglang.srt.runtime_context import get_lora

    lora = get_lora()
    if not lora.enable_lora:
        return []
    refs = [ref for ref in lora.lora_paths if hasattr(ref, "lora_path")]
    if len(refs) != len(lora.lora_paths):
        raise ValueError("--lora-paths has not been resolved to adapters")
    return sorted(refs, key=lambda ref: str(ref.lora_name))


def _model_folder() -> str:
    from sglang.srt.runtime_context import get_model

    path, revision = str(get_model().model_path), get_model().revision
    if not os.path.exists(path):
        try:
            from huggingface_hub import snapshot_download

            path = str(snapshot_download(path, revision=revision, local_files_only=True))
        except Exception as e:
            raise ValueError(
                f"the files of model {path} are not on this machine: set model_digest in"
                " --hicache-storage-backend-extra-config to 64 hexadecimal digits that change with them"
            ) from e
    return os.path.realpath(path)


def _configuration(values: Mapping[str, Any]) -> dict[str, Any]:
    """Without what says where the model lies and what wrote its file."""
    return {
        name: _configuration(value) if isinstance(value, Mapping) else value
        for name, value in values.items()
        if not str(name).startswith("_") and name != "transformers_version"
    }


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=_text).encode()).hexdigest()


def _text(value: Any) -> str:
    text = str(value)
    # The address of an object is another one in every process.
    return type(value).__name__ if " at 0x" in text else text

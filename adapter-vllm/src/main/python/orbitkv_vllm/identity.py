"""What blocks of this engine belong to: every fact on which the bytes of a block depend, beside its tokens.

The hash of a block covers tokens, adapter name, images and salt. All else is here. Two engines whose facts are the same
share blocks; a fact that differs is a miss. The agent adds the digests of the model's and the adapters' files.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vllm.utils.hashing import get_hash_fn_by_name
from vllm.v1.core.kv_cache_utils import resolve_none_hash_seed

from orbitkv_vllm.layout import Pool
from orbitkv_vllm.settings import Settings
from orbitkv_vllm.vllm_wire import Identity

if TYPE_CHECKING:
    from vllm.config import VllmConfig
    from vllm.v1.kv_cache_interface import AttentionSpec

Facts = tuple[tuple[str, str], ...]


def facts_of_config(config: VllmConfig, engine_version: str, settings: Settings) -> Facts:
    """Returns what every process of the engine knows."""
    model = config.model_config
    cache = config.cache_config
    parallel = config.parallel_config
    facts = {
        "engine": f"vllm {engine_version}",
        "scope": settings.scope,
        "model.config": _digest(_configuration(model.hf_config.to_dict())),
        "model.dtype": str(model.dtype),
        "model.quantization": f"{model.quantization} {_digest(model.quantization_config)}",
        "model.max_len": str(model.max_model_len),
        "model.impl": f"{model.model_impl} {sorted(model.model_class_overrides.items())}",
        "model.sliding_window_off": str(model.disable_sliding_window),
        "model.processor": _digest(_multimodal(model)),
        # Weights that are made up have no file.
        "model.load": f"{config.load_config.load_format} {model.seed if _is_dummy(config) else ''}",
        "cache.dtype": str(cache.cache_dtype),
        "cache.dtype_skipped_layers": ",".join(cache.kv_cache_dtype_skip_layers),
        "cache.block_tokens": str(cache.block_size),
        "hash.algorithm": cache.prefix_caching_hash_algo,
        "hash.probe": hash_probe(cache.prefix_caching_hash_algo).hex(),
        "parallel.tensor": str(parallel.tensor_parallel_size),
        "parallel.expert": str(parallel.enable_expert_parallel),
    }
    lora = config.lora_config
    if lora is not None:
        facts["lora"] = f"{lora.lora_dtype} {lora.target_modules} {lora.fully_sharded_loras}"
        facts["lora.names"] = json.dumps([name for name, _ in settings.adapters])
    return tuple(facts.items())


def facts_of_pages(
    layout: str,
    backends: Sequence[str],
    kernel_block_tokens: int,
    spec: AttentionSpec,
    layers: Sequence[str],
    pool: Pool,
) -> Facts:
    """Returns what a worker knows of its pages. It is the same for all ranks, or they cannot share an instance."""
    groups = [(group.layers, group.page_bytes) for group in pool.groups]
    return (
        ("pages.layout", layout),
        ("pages.backends", ",".join(backends)),
        ("pages.kernel_block_tokens", str(kernel_block_tokens)),
        ("pages.spec", f"{type(spec).__name__} {spec.num_heads} {spec.num_states} {spec.state_content_size_bytes}"),
        ("pages.heads", f"{spec.num_kv_heads} {spec.head_size} {spec.head_size_v}"),
        ("pages.dtype", f"{spec.dtype} {spec.kv_quant_mode.name}"),
        ("pages.layers", _digest(list(layers))),
        ("pages.pieces", str(groups)),
        ("pages.platform", _platform(spec)),
    )


def identity(config: VllmConfig, settings: Settings, facts: Facts) -> Identity:
    """Returns what the agent makes the namespace of. ``ValueError`` says why the model's files cannot be told."""
    adapters = tuple(folder for _, folder in settings.adapters)
    if settings.model_digest:
        return Identity("", settings.model_digest, adapters, facts)
    return Identity(_model_folder(config), b"", adapters, facts)


def hash_probe(algorithm: str) -> bytes:
    """Returns the second hash of a chain of known tokens, as this engine computes it."""
    function: Callable[[Any], bytes] = get_hash_fn_by_name(algorithm)
    parent = function(resolve_none_hash_seed(function))
    for first in (0, 16):
        parent = function((parent, tuple(range(first, first + 16)), None))
    return parent


def incarnation(engine_id: str, instance_id: str, engine_pid: int) -> int:
    """Returns 64 bits that are this start's: the same in all of its processes, and another's at no time."""
    with open(f"/proc/{engine_pid}/stat", encoding="ascii", errors="replace") as file:
        started = file.read().rpartition(")")[2].split()[19]
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        boot = file.read().strip()
    text = "\n".join((engine_id, instance_id, str(engine_pid), started, boot))
    number: int = struct.unpack(">q", hashlib.sha256(text.encode()).digest()[:8])[0]
    return number


def _model_folder(config: VllmConfig) -> str:
    model = config.model_config
    path = model.model_weights or model.model
    if not os.path.exists(path):
        path = _downloaded(path, model.revision)
    return os.path.realpath(path)


def _downloaded(repository: str, revision: str | None) -> str:
    try:
        from huggingface_hub import snapshot_download

        return str(snapshot_download(repository, revision=revision, local_files_only=True))
    except Exception as e:
        raise ValueError(
            f"the files of model {repository} are not on this machine: set kv_connector_extra_config.model_digest"
            " to 64 hexadecimal digits that change with them"
        ) from e


def _is_dummy(config: VllmConfig) -> bool:
    return config.load_config.load_format == "dummy"


def _multimodal(model: Any) -> Any:
    return None if model.multimodal_config is None else model.multimodal_config.mm_processor_kwargs


def _configuration(values: Mapping[str, Any]) -> dict[str, Any]:
    """Without what says where the model lies and what wrote its file."""
    return {
        name: _configuration(value) if isinstance(value, Mapping) else value
        for name, value in values.items()
        if not str(name).startswith("_") and name != "transformers_version"
    }


def _platform(spec: AttentionSpec) -> str:
    from vllm.platforms import current_platform

    if not current_platform.is_cpu():
        # Kernels for one generation of GPUs round otherwise than those for another.
        capability = current_platform.get_device_capability()
        return f"{current_platform.device_type} {capability.major}.{capability.minor}" if capability else "unknown"
    # Which instructions the kernels use decides how they order keys within a page.
    from vllm.v1.attention.backends.cpu_attn import _get_attn_isa

    return f"cpu {_get_attn_isa(spec.dtype, spec.block_size, spec.head_size)}"


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=_text).encode()).hexdigest()


def _text(value: Any) -> str:
    text = str(value)
    # The address of an object is another one in every process.
    return type(value).__name__ if " at 0x" in text else text

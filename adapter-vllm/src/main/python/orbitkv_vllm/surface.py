"""What this connector uses of the engine, compared with a record of the release that it was made for.

vLLM calls its connector interface experimental: names and fields move between releases. An engine that differs would
fail in the middle of a request, or worse, would not. So one that differs is refused when it starts.
"""

from __future__ import annotations

import dataclasses
import enum
import importlib
import inspect
import json
import os
from collections.abc import Iterator
from typing import Any

ENGINE_VERSION = "0.31.0"

_RECORD = os.path.join(os.path.dirname(__file__), "surface.json")

_BASE = "vllm.distributed.kv_transfer.kv_connector.v1.base"
_OUTPUT = "vllm.v1.core.sched.output"
_CACHE = "vllm.v1.kv_cache_interface"
_METRICS = "vllm.distributed.kv_transfer.kv_connector.v1.metrics"
_EVENTS = "vllm.distributed.kv_events"

# Classes of which everything public is part of the contract.
_WHOLE: tuple[tuple[str, str], ...] = (
    (_BASE, "KVConnectorBase_V1"),
    (_BASE, "SupportsHMA"),
    (_BASE, "KVConnectorMetadata"),
    (_BASE, "KVConnectorWorkerMetadata"),
    (_BASE, "KVConnectorHandshakeMetadata"),
    (_METRICS, "KVConnectorStats"),
    (_METRICS, "KVConnectorPromMetrics"),
)

# Fields of classes, in their order.
_FIELDS: tuple[tuple[str, str], ...] = (
    (_BASE, "KVConnectorRole"),
    (_BASE, "KVConnectorTransferResults"),
    ("vllm.v1.kv_cache_layout", "KVCacheLayout"),
    ("vllm.v1.outputs", "KVConnectorOutput"),
    (_OUTPUT, "SchedulerOutput"),
    (_OUTPUT, "CachedRequestData"),
    (_OUTPUT, "NewRequestData"),
    (_OUTPUT, "KVConnectorBlockState"),
    (_CACHE, "KVCacheConfig"),
    (_CACHE, "KVCacheTensor"),
    (_CACHE, "KVCacheGroupSpec"),
    (_CACHE, "KVCacheGroupRole"),
    (_CACHE, "KVCacheSpec"),
    (_CACHE, "AttentionSpec"),
    (_CACHE, "FullAttentionSpec"),
    ("vllm.config.kv_transfer", "KVTransferConfig"),
    (_EVENTS, "BlockStored"),
    (_EVENTS, "AllBlocksCleared"),
    ("vllm.lora.request", "LoRARequest"),
)

# Functions and properties; without a class, of a module.
_MEMBERS: tuple[tuple[str, str | None, tuple[str, ...]], ...] = (
    (_OUTPUT, "KVConnectorBlockState", ("get_block_ids",)),
    (_CACHE, "AttentionSpec", ("num_heads", "num_states", "state_content_size_bytes", "page_size_bytes")),
    (_CACHE, None, ("group_kernel_blocks",)),
    ("vllm.config.cache", "CacheConfig", ("get_resolved_kv_cache_layout",)),
    ("vllm.v1.core.block_pool", "BlockPool", ("touch", "free_blocks", "get_num_free_blocks")),
    ("vllm.v1.core.kv_cache_manager", "KVCacheBlocks", ("get_block_ids",)),
    ("vllm.v1.core.kv_cache_utils", None, ("resolve_none_hash_seed", "maybe_convert_block_hash")),
    ("vllm.utils.hashing", None, ("get_hash_fn_by_name",)),
    ("vllm.distributed.kv_transfer.kv_connector.factory", "KVConnectorFactory", ("register_connector",)),
    ("vllm.config.vllm", "VllmConfig", ("use_v2_model_runner",)),
)

# Attributes that objects get when they are made.
_ATTRIBUTES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "vllm.v1.request",
        "Request",
        (
            "request_id", "block_hashes", "num_computed_tokens", "all_token_ids", "lora_request", "cache_salt",
            "skip_reading_prefix_cache", "resumable", "session_id", "num_preemptions", "num_in_flight_tokens",
        ),
    ),
    ("vllm.v1.core.block_pool", "BlockPool", ("blocks", "num_gpu_blocks", "free_block_queue")),
)


class UnknownEngineError(RuntimeError):
    """The engine is not the one that this connector was made for."""


def require_known_engine() -> str:
    """Returns the engine's version, or raises ``UnknownEngineError`` that names what differs."""
    import vllm

    version = str(vllm.__version__)
    # A build for other hardware has a suffix.
    if version.partition("+")[0] != ENGINE_VERSION:
        raise UnknownEngineError(
            f"OrbitKV for vLLM {ENGINE_VERSION} is not for vLLM {version}; install vllm=={ENGINE_VERSION}, or leave"
            " kv_connector OrbitKvConnector out of --kv-transfer-config"
        )
    with open(_RECORD, encoding="utf-8") as file:
        expected: dict[str, str] = json.load(file)
    found = observed()
    differing = sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
    if differing:
        first = differing[0]
        raise UnknownEngineError(
            f"this vLLM {version} is not the released one: {len(differing)} of {len(expected)} names that OrbitKV uses"
            f" differ; the first is {first}: expected {expected.get(first, 'none')}, found {found.get(first, 'none')}"
        )
    return ENGINE_VERSION


def observed() -> dict[str, str]:
    """Returns what is there, by name: parameters of functions, fields of classes in their order, members of enums."""
    found = dict(_describe())
    return {name: found[name] for name in sorted(found)}


def _describe() -> Iterator[tuple[str, str]]:
    for module, name in _WHOLE:
        owner = _get(module, name)
        for member in vars(owner):
            if not member.startswith("_") or member == "__init__":
                yield f"{module}.{name}.{member}", _member(owner, member)
    for module, name in _FIELDS:
        yield f"{module}.{name}", _fields(_get(module, name))
    for module, of, members in _MEMBERS:
        owner = _get(module, of)
        for member in members:
            yield f"{module}.{member}" if of is None else f"{module}.{of}.{member}", _member(owner, member)
    for module, name, members in _ATTRIBUTES:
        code = getattr(_get(module, name).__init__, "__code__", None)
        for member in members:
            assigned = code is not None and member in code.co_names
            yield f"{module}.{name}.{member}", "attribute" if assigned else "none"


def _get(module: str, owner: str | None) -> Any:
    try:
        found = importlib.import_module(module)
        return found if owner is None else getattr(found, owner)
    except (ImportError, AttributeError):
        return type("Missing", (), {})


def _fields(owner: Any) -> str:
    if isinstance(owner, enum.EnumMeta):
        members: dict[str, Any] = dict(owner.__members__)
        return " ".join(f"{name}={member.value!r}" for name, member in members.items())
    if dataclasses.is_dataclass(owner):
        missing = dataclasses.MISSING
        return " ".join(
            field.name if field.default is missing and field.default_factory is missing else f"{field.name}="
            for field in dataclasses.fields(owner)
        )
    return " ".join(getattr(owner, "__struct_fields__", ()))


def _member(owner: Any, name: str) -> str:
    value = inspect.getattr_static(owner, name, None)
    if value is None:
        return "none"
    if isinstance(value, property) or type(value).__name__ == "cached_property":
        return "property"
    kind = ""
    if isinstance(value, (classmethod, staticmethod)):
        kind = f"{type(value).__name__} "
        value = value.__func__
    value = inspect.unwrap(value) if callable(value) else value
    code = getattr(value, "__code__", None)
    if code is None:
        return repr(getattr(value, "value", value))
    return kind + _parameters(value, code)


def _parameters(function: Any, code: Any) -> str:
    # By hand: inspect.signature takes a hundred times as long, and this runs whenever a process of an engine starts.
    positional = code.co_varnames[: code.co_argcount]
    keywords = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    optional = len(positional) - len(function.__defaults__ or ())
    words = [name if index < optional else f"{name}=" for index, name in enumerate(positional)]
    rest = code.co_argcount + code.co_kwonlyargcount
    if code.co_flags & inspect.CO_VARARGS:
        words.append(f"*{code.co_varnames[rest]}")
        rest += 1
    elif keywords:
        words.append("*")
    words += [f"{name}=" if name in (function.__kwdefaults__ or {}) else name for name in keywords]
    if code.co_flags & inspect.CO_VARKEYWORDS:
        words.append(f"**{code.co_varnames[rest]}")
    return f"({', '.join(words)})"

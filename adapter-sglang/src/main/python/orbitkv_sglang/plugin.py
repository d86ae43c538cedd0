"""The entry point of ``sglang.srt.plugins``, which SGLang calls in each of its processes, whatever they are for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sglang.srt.mem_cache.base_prefix_cache import BasePrefixCache
    from sglang.srt.mem_cache.registry import TreeCacheBuildContext

BACKEND = "orbitkv"


def register() -> None:
    """Makes the backend known by its name. Nothing of it is imported until an engine selects it."""
    from sglang.srt.mem_cache.registry import get_radix_cache_factory, register_radix_cache_backend

    from orbitkv_sglang import hooks

    # Called more than once in a process, and a name that is known is an error there.
    if get_radix_cache_factory(BACKEND) is None:
        register_radix_cache_backend(BACKEND, _factory)
        hooks.register()


def _factory(context: TreeCacheBuildContext) -> BasePrefixCache:
    from orbitkv_sglang.factory import tree_cache

    return tree_cache(context)

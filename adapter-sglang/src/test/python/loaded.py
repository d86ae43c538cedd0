"""The plugin as the engine loads it, in the process of a test."""

from __future__ import annotations

from sglang.srt.plugins.hook_registry import HookRegistry

from orbitkv_sglang import hooks, plugin


def load() -> None:
    """Registers the plugin and applies its hooks, once."""
    plugin.register()
    if hooks.missing():
        HookRegistry.apply_hooks()

"""What the released interface has no call for. Each hook does nothing in an engine that has not selected OrbitKV.

SGLang's registry finds targets by their names, which are not part of any interface, and says nothing of one that it
does not find. So the factory asks ``missing`` before it makes a cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_ADMISSION = "sglang.srt.managers.schedule_policy.PrefillAdder.add_one_req"
_UPDATER = "sglang.srt.managers.scheduler_components.weight_updater.SchedulerWeightUpdaterManager"
_UPDATES = (
    "update_weights_from_disk", "update_weights_from_distributed", "update_weights_from_tensor",
    "update_weights_from_ipc",
)

TARGETS: tuple[str, ...] = (_ADMISSION, *(f"{_UPDATER}.{name}" for name in _UPDATES))
"""Every target, by its full name."""


def register() -> None:
    """States the hooks. SGLang applies them when all plugins have been called."""
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType

    HookRegistry.register(_ADMISSION, _admit, HookType.AROUND)
    for name in _UPDATES:
        HookRegistry.register(f"{_UPDATER}.{name}", _before_update, HookType.BEFORE)


def missing() -> list[str]:
    """Returns the targets that these hooks do not wrap."""
    import pkgutil

    left = []
    for target in TARGETS:
        try:
            found: Any = pkgutil.resolve_name(target)
        except (AttributeError, ImportError, ValueError):
            found = None
        while found is not None and not _is_ours(found):
            found = getattr(found, "__wrapped__", None)
        if found is None:
            left.append(target)
    return left


def _is_ours(function: Any) -> bool:
    closure = getattr(function, "__closure__", None) or ()
    return any(cell.cell_contents is hook for cell in closure for hook in (_admit, _before_update))


def _admit(original: Callable[..., Any], adder: Any, req: Any, *args: Any, **keywords: Any) -> Any:
    """Lets a request wait whose blocks are being read. The tree has made sure that all ranks say the same."""
    is_pending = getattr(getattr(adder.tree_cache, "linker", None), "is_pending", None)
    if is_pending is not None and is_pending(req.rid):
        from sglang.srt.managers.schedule_policy import AddReqResult

        return AddReqResult.CONTINUE
    return original(adder, req, *args, **keywords)


def _before_update(updater: Any, *args: Any, **keywords: Any) -> None:
    """Has nothing found or saved any more: the weights are about to be others than those that name the blocks."""
    tree = getattr(getattr(updater, "scheduler", None), "tree_cache", None)
    retire = getattr(getattr(tree, "linker", None), "retire", None)
    if retire is not None:
        retire("weights were updated in a running engine")

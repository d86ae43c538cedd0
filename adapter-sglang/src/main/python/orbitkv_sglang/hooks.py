"""What the released interface has no call for. Each hook does nothing in an engine that has not selected OrbitKV.

SGLang's registry finds targets by their names, which are not part of any interface, and says nothing of one that it
does not find. So the factory asks ``missing`` before it makes a cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Optional

_ADMISSION = "sglang.srt.managers.schedule_policy.PrefillAdder.add_one_req"
_QUEUE = "sglang.srt.managers.scheduler.Scheduler._add_request_to_queue"
_UPDATER = "sglang.srt.managers.scheduler_components.weight_updater.SchedulerWeightUpdaterManager"
_UPDATES = (
    "update_weights_from_disk", "update_weights_from_distributed", "update_weights_from_tensor",
    "update_weights_from_ipc",
)

_DECODE = "sglang.srt.disaggregation.decode"
_STEP = f"{_DECODE}.SchedulerDisaggregationDecodeMixin.process_decode_queue"
_RELEASE = f"{_DECODE}.DecodeTransferQueue._release_request"

TARGETS: tuple[str, ...] = (_ADMISSION, _QUEUE, *(f"{_UPDATER}.{name}" for name in _UPDATES), _STEP, _RELEASE)
"""Every target, by its full name."""


def register() -> None:
    """States the hooks. SGLang applies them when all plugins have been called."""
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType

    HookRegistry.register(_ADMISSION, _admit, HookType.AROUND)
    HookRegistry.register(_QUEUE, _enqueue, HookType.AROUND)
    for name in _UPDATES:
        HookRegistry.register(f"{_UPDATER}.{name}", _before_update, HookType.BEFORE)
    HookRegistry.register(_STEP, _before_step, HookType.BEFORE)
    HookRegistry.register(_RELEASE, _before_release, HookType.BEFORE)


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
    ours = (_admit, _enqueue, _before_update, _before_step, _before_release)
    return any(cell.cell_contents is hook for cell in closure for hook in ours)


def _admit(original: Callable[..., Any], adder: Any, req: Any, *args: Any, **keywords: Any) -> Any:
    """Lets a request wait whose blocks are being read. The tree has made sure that all ranks say the same."""
    is_pending = getattr(getattr(adder.tree_cache, "linker", None), "is_pending", None)
    if is_pending is not None and is_pending(req.rid):
        from sglang.srt.managers.schedule_policy import AddReqResult

        return AddReqResult.CONTINUE
    return original(adder, req, *args, **keywords)


def _enqueue(original: Callable[..., Any], scheduler: Any, req: Any, *args: Any, **keywords: Any) -> Any:
    """Asks about a request as the pass does in which it may run, if an operator wants that. All ranks queue the same
    requests in the same order, and this one is not queued if it was refused."""
    result = original(scheduler, req, *args, **keywords)
    asks_early = getattr(getattr(scheduler.tree_cache, "linker", None), "asks_early", False)
    if asks_early and scheduler.waiting_queue and scheduler.waiting_queue[-1] is req:
        req.init_next_round_input(scheduler.tree_cache)
    return result


def _before_update(updater: Any, *args: Any, **keywords: Any) -> None:
    """Has nothing found or saved any more: the weights are about to be others than those that name the blocks."""
    retire = _retire_of(getattr(getattr(updater, "scheduler", None), "tree_cache", None))
    if retire is not None:
        retire("weights were updated in a running engine")


def _before_step(scheduler: Any, *args: Any, **keywords: Any) -> None:
    """Takes what has ended, which the loop of a decode worker does for a hierarchical cache alone."""
    if _retire_of(scheduler.tree_cache) is not None:
        scheduler.tree_cache.check_hicache_events()


def _before_release(queue: Any, decode_req: Any, *args: Any, **keywords: Any) -> None:
    """Has nothing saved any more when pages are freed that prefill may still be writing.

    Nobody can tell where a late write ends up, nor what is then computed from it.
    """
    retire = _retire_of(queue.tree_cache)
    if retire is not None and not _is_drained(decode_req):
        retire(f"the transfer of request {decode_req.req.rid!r} was not seen to end, and its pages are used again")


def _is_drained(decode_req: Any) -> bool:
    """Whether every prefill rank has said that it does not write this request's pages any more."""
    receiver = decode_req.kv_receiver
    ranks = len(getattr(receiver, "bootstrap_infos", None) or ())
    return ranks > 0 and bool(receiver.kv_mgr.is_abort_release_safe(decode_req.req.bootstrap_room, ranks))


def _retire_of(tree: Any) -> Optional[Callable[[str], None]]:
    """Returns how to end the use of the cache, if this engine has selected it."""
    retire: Optional[Callable[[str], None]] = getattr(getattr(tree, "linker", None), "retire", None)
    return retire

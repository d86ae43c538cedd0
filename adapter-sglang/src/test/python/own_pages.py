"""Pools whose buffers lie in pages of memory that hold nothing else, as pools of real size do."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from typing import Any, Optional

import torch
from torch.overrides import TorchFunctionMode


class OwnPages(TorchFunctionMode):
    """Maps what ``torch.zeros`` makes for the processor meanwhile.

    A test has several engines in one process, and an engine's pages are taken over whole. Buffers as small as a test's may
    come from the heap, where those of two engines then share a page now and then.
    """

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Optional[dict[str, Any]] = None
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        if func is not torch.zeros or made.device.type != "cpu" or made.nbytes == 0:
            return made
        memory = mmap.mmap(-1, made.nbytes, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        return torch.frombuffer(memory, dtype=made.dtype, count=made.numel()).view(made.shape)

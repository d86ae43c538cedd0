"""The CUDA driver's own functions, each call of which is checked."""

from __future__ import annotations

import ctypes
from typing import Any, Optional


class CudaError(RuntimeError):
    """The driver refused something, in its own words."""


class CudaDriver:
    """The driver of this machine, or another with the same functions."""

    def __init__(self, functions: Optional[Any] = None) -> None:
        """``CudaError`` if this machine has none."""
        self.functions = functions if functions is not None else _load()

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function. ``CudaError`` with its name if it fails."""
        self.check(name, getattr(self.functions, name)(*arguments))

    def check(self, name: str, result: int) -> None:
        """Raises a ``CudaError`` for what a function returned, unless that is zero."""
        if result:
            text = ctypes.c_char_p()
            self.functions.cuGetErrorName(result, ctypes.byref(text))
            raise CudaError(f"{name} failed with {(text.value or b'unknown error').decode()} ({result})")


def _load() -> Any:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise CudaError(f"this machine has no CUDA driver: {error}") from None

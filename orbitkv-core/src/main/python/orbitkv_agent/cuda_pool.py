"""An engine's pages on an NVIDIA GPU, made known to its agent: handles of the driver's own, and no framework's.

The driver exports what ``cuMemAlloc`` gave out. Memory that is mapped piece by piece (expandable segments, sleep mode,
stream-ordered pools) it does not; that is found out here, before an agent is asked.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from types import TracebackType
from typing import Any, NamedTuple, Optional

from orbitkv_agent.cuda_driver import CudaDriver, CudaError
from orbitkv_agent.layer_gates import LayerGates

_EVENT_DISABLE_TIMING = 2
_EVENT_INTERPROCESS = 4
_POINTER_EXPORTABLE = 13
_HANDLE_BYTES = 64
_UUID_BYTES = 16
_NOT_READY = 600

_NOT_EXPORTABLE = (
    "it is mapped piece by piece or of a stream-ordered pool. Start the engine without "
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (or PYTORCH_ALLOC_CONF) and backend:cudaMallocAsync, "
    "and without sleep mode (vLLM: --enable-sleep-mode)"
)


class NotExportableError(CudaError):
    """Memory of a kind that no other process can open; the message has the setting to change."""


class MemoryRange(NamedTuple):
    """Bytes of the engine's memory on the GPU, all in one allocation."""

    address: int
    size: int


class CudaPool:
    """Memory that an engine's pages lie in, and an event that orders an agent's copies behind the engine's work.

    The pool is the ranges one behind another: groups of layers are stated in its offsets. Made on a thread whose
    current CUDA context is the engine's. ``memory`` is what an ``AgentClient`` takes. Before each load and save, the
    engine calls ``record`` with the stream that uses the pages.
    """

    def __init__(
        self,
        ranges: Sequence[MemoryRange],
        *,
        gates: Optional[LayerGates] = None,
        driver: Optional[Any] = None,
    ) -> None:
        """``gates`` are what streams of the engine wait for; they stay the caller's."""
        if not ranges:
            raise ValueError("a pool has one range at least")
        self._driver = CudaDriver(driver)
        self._event = ctypes.c_void_p()
        parts = [self._export(item) for item in ranges]
        device = ctypes.c_int()
        self._driver.call("cuCtxGetDevice", ctypes.byref(device))
        uuid = (ctypes.c_ubyte * _UUID_BYTES)()
        self._driver.call("cuDeviceGetUuid_v2", uuid, device)
        self._driver.call("cuEventCreate", ctypes.byref(self._event), _EVENT_INTERPROCESS | _EVENT_DISABLE_TIMING)
        handle = (ctypes.c_ubyte * _HANDLE_BYTES)()
        try:
            self._driver.call("cuIpcGetEventHandle", handle, self._event)
        except CudaError:
            self.close()
            raise
        order = bytes(handle).hex() + ("" if gates is None else f",{gates.words}")
        self.memory = ":".join(["cuda-ipc", bytes(uuid).hex(), str(os.getpid()), order, *parts])

    def record(self, stream: int) -> None:
        """Has copies that are asked for from now on wait for what is in a stream, given by its number, so far."""
        self._driver.call("cuEventRecord", self._event, ctypes.c_void_p(stream))

    def reached(self) -> bool:
        """Whether the stream has come to where it was when ``record`` was called last. Copies then wait for nothing."""
        result = self._driver.functions.cuEventQuery(self._event)
        if result != _NOT_READY:
            self._driver.check("cuEventQuery", result)
        return not result

    def close(self) -> None:
        """Gives the event up. The memory is the engine's."""
        if self._event:
            self._driver.call("cuEventDestroy_v2", self._event)
            self._event = ctypes.c_void_p()

    def __enter__(self) -> CudaPool:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        value: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def _export(self, item: MemoryRange) -> str:
        address = ctypes.c_uint64(item.address)
        base = ctypes.c_uint64()
        size = ctypes.c_size_t()
        self._driver.call("cuMemGetAddressRange_v2", ctypes.byref(base), ctypes.byref(size), address)
        end = base.value + size.value
        exportable = ctypes.c_int()
        self._driver.call("cuPointerGetAttribute", ctypes.byref(exportable), _POINTER_EXPORTABLE, address)
        if not exportable.value:
            raise NotExportableError(f"memory at {item.address:#x} cannot be opened by an agent: {_NOT_EXPORTABLE}")
        if item.size < 1 or item.address + item.size > end:
            raise ValueError(
                f"{item.size} bytes at {item.address:#x} are not in one allocation, which ends at {end:#x}; "
                "state a range for each"
            )
        handle = (ctypes.c_ubyte * _HANDLE_BYTES)()
        try:
            self._driver.call("cuIpcGetMemHandle", handle, address)
        except CudaError as error:
            raise NotExportableError(
                f"memory at {item.address:#x} was not exported ({error}): {_NOT_EXPORTABLE}"
            ) from None
        return f"{bytes(handle).hex()},{item.address - base.value},{item.size}"

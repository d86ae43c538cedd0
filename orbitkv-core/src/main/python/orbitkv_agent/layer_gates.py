"""Lets streams of an engine wait for layers of a load on an NVIDIA GPU, and never for longer than its agent lives."""

from __future__ import annotations

import ctypes
import mmap
import os
from typing import Any, Optional

from orbitkv_agent.cuda_driver import CudaDriver
from orbitkv_agent.living_file import FOLDER, LivingFile

_NUMBER_BYTES = 4
_NUMBERS = 1 << 32

_HOST_PORTABLE_AND_MAPPED = 3
_WAIT_UNTIL_NOT_LESS = 0


class LayerGates:
    """Numbers in memory that an agent shares, one for each band of a pool's layers, the first layers' first.

    Each load has a mark, later than all before. Behind each band of its layers the agent's GPU raises the band's gate to
    the mark, and a stream that waits for one of those layers goes on.

    They are no events, since one of a process that was killed never completes. ``passed`` raises them from here: it is to
    be called at the end of every load, however it ended, and does nothing where the agent has done it.
    """

    def __init__(self, layers: int, gates: int, *, driver: Optional[Any] = None, folder: str = FOLDER) -> None:
        """Made on a thread whose current CUDA context is the engine's. A pool has so many ``layers``."""
        if not 1 <= gates <= layers:
            raise ValueError(f"{gates} gates for {layers} layers, expected one for each layer at most")
        self._layers = layers
        self._last = 0
        self._driver = CudaDriver(driver)
        self._file = LivingFile(folder, "gates-")
        self.path = self._file.path
        try:
            os.ftruncate(self._file.descriptor, -(-gates * _NUMBER_BYTES // mmap.PAGESIZE) * mmap.PAGESIZE)
            self._memory = mmap.mmap(self._file.descriptor, 0)
            self._gates = (ctypes.c_uint32 * gates).from_buffer(self._memory)
            self._host = ctypes.c_void_p(ctypes.addressof(self._gates))
            self._address = self._pin()
        except BaseException:
            self._file.remove()
            raise

    def _pin(self) -> int:
        address = ctypes.c_uint64()
        size = ctypes.c_size_t(len(self._memory))
        self._driver.call("cuMemHostRegister_v2", self._host, size, _HOST_PORTABLE_AND_MAPPED)
        self._driver.call("cuMemHostGetDevicePointer_v2", ctypes.byref(address), self._host, 0)
        return address.value

    @property
    def words(self) -> str:
        """What an agent is told of them."""
        return f"{len(self._gates)},{self.path}"

    def next_mark(self) -> int:
        """Returns the mark of the next load, in 32 bits with a sign. Loads are to be asked for in this order."""
        self._last = self._last % (_NUMBERS - 1) + 1
        return self._last - _NUMBERS if self._last >= _NUMBERS // 2 else self._last

    def wait(self, stream: int, layer: int, mark: int) -> None:
        """Has a stream, given by its number, wait until a layer of the load with this mark is in its pages."""
        address = self._address + _NUMBER_BYTES * (layer * len(self._gates) // self._layers)
        self._driver.call(
            "cuStreamWaitValue32_v2",
            ctypes.c_void_p(stream),
            ctypes.c_uint64(address),
            ctypes.c_uint32(mark % _NUMBERS),
            _WAIT_UNTIL_NOT_LESS,
        )

    def passed(self, mark: int) -> None:
        """States that nothing of a load is copied any more: what waits for it goes on. From any thread."""
        for gate, reached in enumerate(self._gates):
            # An agent that was started since may raise it meanwhile. If this comes later, the end of its load mends it.
            if 0 < (mark - reached) % _NUMBERS < _NUMBERS // 2:
                self._gates[gate] = mark % _NUMBERS

    def close(self) -> None:
        """Gives them up. No stream may be waiting. Idempotent."""
        if self._file.is_held:
            self._driver.call("cuMemHostUnregister", self._host)
            self._file.remove()

"""What an engine says of its memory on a GPU, over a driver that holds none."""

from __future__ import annotations

import ctypes
import os
import unittest
from typing import Any

from orbitkv_agent.cuda_pool import CudaError, CudaPool, MemoryRange, NotExportableError

BASE = 0x7F0000000000
SIZE = 1 << 20


class FakeDriver:
    """One allocation, two if it is asked for both halves."""

    def __init__(self) -> None:
        self.exportable = 1
        self.exports = True
        self.events = 0
        self.recorded: list[int] = []
        self.query = 0

    def cuMemGetAddressRange_v2(self, base: Any, size: Any, address: ctypes.c_uint64) -> int:
        if not BASE <= address.value < BASE + SIZE:
            return 1
        base._obj.value, size._obj.value = BASE, SIZE
        return 0

    def cuPointerGetAttribute(self, value: Any, attribute: int, address: ctypes.c_uint64) -> int:
        value._obj.value = self.exportable
        return 0 if attribute == 13 else 1

    def cuIpcGetMemHandle(self, handle: Any, address: ctypes.c_uint64) -> int:
        handle[0] = 0xAB
        return 0 if self.exports else 1

    def cuCtxGetDevice(self, device: Any) -> int:
        device._obj.value = 3
        return 0

    def cuDeviceGetUuid_v2(self, uuid: Any, device: ctypes.c_int) -> int:
        uuid[0] = device.value
        return 0

    def cuEventCreate(self, event: Any, flags: int) -> int:
        event._obj.value = 77
        self.events += 1
        return 0 if flags == 6 else 1

    def cuIpcGetEventHandle(self, handle: Any, event: ctypes.c_void_p) -> int:
        handle[1] = event.value
        return 0 if self.exports else 1

    def cuEventRecord(self, event: ctypes.c_void_p, stream: ctypes.c_void_p) -> int:
        self.recorded.append(stream.value or 0)
        return 0

    def cuEventQuery(self, event: ctypes.c_void_p) -> int:
        return self.query

    def cuEventDestroy_v2(self, event: ctypes.c_void_p) -> int:
        self.events -= 1
        return 0

    def cuGetErrorName(self, error: int, text: Any) -> int:
        text._obj.value = b"CUDA_ERROR_INVALID_VALUE"
        return 0


class CudaPoolTest(unittest.TestCase):
    def setUp(self) -> None:
        self.driver = FakeDriver()

    def pool(self, *ranges: MemoryRange) -> CudaPool:
        return CudaPool(ranges, driver=self.driver)

    def test_ranges_are_stated_by_their_place_in_an_allocation(self) -> None:
        with self.pool(MemoryRange(BASE + 512, 1024), MemoryRange(BASE + 4096, 2048)) as pool:
            scheme, uuid, pid, event, *parts = pool.memory.split(":")
        self.assertEqual(scheme, "cuda-ipc")
        self.assertEqual(pid, str(os.getpid()))
        self.assertEqual(uuid, "03" + "00" * 15)
        self.assertEqual(event, "004d" + "00" * 62)
        self.assertEqual(parts, ["ab" + "00" * 63 + ",512,1024", "ab" + "00" * 63 + ",4096,2048"])
        self.assertEqual(self.driver.events, 0)

    def test_an_event_is_recorded_in_the_engines_stream(self) -> None:
        with self.pool(MemoryRange(BASE, SIZE)) as pool:
            pool.record(0)
            pool.record(1234)
        self.assertEqual(self.driver.recorded, [0, 1234])

    def test_it_is_told_whether_the_stream_has_come_there(self) -> None:
        with self.pool(MemoryRange(BASE, SIZE)) as pool:
            self.assertTrue(pool.reached())
            self.driver.query = 600
            self.assertFalse(pool.reached())
            self.driver.query = 1
            with self.assertRaisesRegex(CudaError, "cuEventQuery failed"):
                pool.reached()

    def test_memory_that_no_other_process_can_open_is_refused_with_the_setting(self) -> None:
        self.driver.exportable = 0
        with self.assertRaisesRegex(NotExportableError, "expandable_segments.*sleep mode"):
            self.pool(MemoryRange(BASE, SIZE))
        self.driver.exportable = 1
        self.driver.exports = False
        with self.assertRaisesRegex(NotExportableError, r"CUDA_ERROR_INVALID_VALUE \(1\)"):
            self.pool(MemoryRange(BASE, SIZE))
        self.assertEqual(self.driver.events, 0)

    def test_ranges_beyond_an_allocation_are_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "not in one allocation"):
            self.pool(MemoryRange(BASE + 1, SIZE))
        with self.assertRaisesRegex(CudaError, "cuMemGetAddressRange_v2 failed"):
            self.pool(MemoryRange(BASE + SIZE, 1))
        with self.assertRaisesRegex(ValueError, "one range at least"):
            self.pool()

    def test_a_machine_without_a_driver_is_said(self) -> None:
        try:
            ctypes.CDLL("libcuda.so.1")
        except OSError:
            with self.assertRaisesRegex(CudaError, "no CUDA driver"):
                CudaPool([MemoryRange(BASE, SIZE)])


if __name__ == "__main__":
    unittest.main()

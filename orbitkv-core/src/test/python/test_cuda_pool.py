"""What an engine says of its memory on a GPU, over a driver that holds none."""

from __future__ import annotations

import ctypes
import os
import struct
import tempfile
import unittest
from contextlib import closing
from typing import Any

from orbitkv_agent.cuda_driver import CudaError
from orbitkv_agent.cuda_pool import CudaPool, MemoryRange, NotExportableError
from orbitkv_agent.layer_gates import LayerGates

BASE = 0x7F0000000000
GATES = 0x7E0000000000
SIZE = 1 << 20


class FakeDriver:
    """One allocation, two if it is asked for both halves."""

    def __init__(self) -> None:
        self.exportable = 1
        self.exports = True
        self.events = 0
        self.recorded: list[int] = []
        self.query = 0
        self.pinned: list[int] = []
        self.waits: list[tuple[int, int, int]] = []

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

    def cuMemHostRegister_v2(self, address: ctypes.c_void_p, size: ctypes.c_size_t, flags: int) -> int:
        self.pinned.append(address.value or 0)
        return 0 if size.value == 4096 and address.value and address.value % 4096 == 0 and flags == 3 else 1

    def cuMemHostUnregister(self, address: ctypes.c_void_p) -> int:
        self.pinned.remove(address.value or 0)
        return 0

    def cuMemHostGetDevicePointer_v2(self, address: Any, host: ctypes.c_void_p, flags: int) -> int:
        address._obj.value = GATES
        return 0

    def cuStreamWaitValue32_v2(
        self, stream: ctypes.c_void_p, address: ctypes.c_uint64, value: ctypes.c_uint32, flags: int
    ) -> int:
        self.waits.append((stream.value or 0, address.value, value.value))
        return flags

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

    def test_gates_are_stated_beside_the_event(self) -> None:
        with (
            tempfile.TemporaryDirectory() as folder,
            closing(LayerGates(4, 2, driver=self.driver, folder=folder)) as gates,
        ):
            with CudaPool([MemoryRange(BASE, SIZE)], gates=gates, driver=self.driver) as pool:
                event, count, path = pool.memory.split(":")[3].split(",")
            self.assertEqual((event, count), ("004d" + "00" * 62, "2"))
            self.assertEqual(os.path.dirname(path), folder)


class LayerGatesTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.driver = FakeDriver()

    def gates(self, layers: int, count: int) -> LayerGates:
        made = LayerGates(layers, count, driver=self.driver, folder=self.folder)
        self.addCleanup(made.close)
        return made

    def numbers(self, gates: LayerGates, count: int) -> tuple[int, ...]:
        with open(gates.path, "rb") as file:
            return struct.unpack(f"<{count}I", file.read(4 * count))

    def raise_to(self, gates: LayerGates, *numbers: int) -> None:
        with open(gates.path, "r+b") as file:
            file.write(struct.pack(f"<{len(numbers)}I", *numbers))

    def test_a_stream_waits_for_the_band_that_its_layer_is_in(self) -> None:
        gates = self.gates(10, 4)
        mark = gates.next_mark()
        for layer in range(10):
            gates.wait(7, layer, mark)
        # As Band.bandOf has them.
        bands = [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]
        self.assertEqual(self.driver.waits, [(7, GATES + 4 * band, mark) for band in bands])

    def test_what_no_agent_has_raised_is_raised_at_the_end_and_nothing_is_lowered(self) -> None:
        gates = self.gates(3, 3)
        marks = [gates.next_mark() for _ in range(3)]
        self.assertEqual(marks, [1, 2, 3])
        self.raise_to(gates, 3, 1, 2)
        gates.passed(2)
        self.assertEqual(self.numbers(gates, 3), (3, 2, 2))
        gates.passed(1)
        self.assertEqual(self.numbers(gates, 3), (3, 2, 2))

    def test_marks_go_on_where_32_bits_end(self) -> None:
        gates = self.gates(1, 1)
        gates._last = (1 << 31) - 2
        self.assertEqual([gates.next_mark() for _ in range(2)], [(1 << 31) - 1, -(1 << 31)])
        gates._last = (1 << 32) - 2
        self.assertEqual([gates.next_mark() for _ in range(2)], [-1, 1])
        gates.wait(0, 0, -1)
        self.assertEqual(self.driver.waits, [(0, GATES, (1 << 32) - 1)])
        self.raise_to(gates, (1 << 32) - 1)
        gates.passed(1)
        self.assertEqual(self.numbers(gates, 1), (1,))

    def test_nothing_is_left_of_them(self) -> None:
        with closing(self.gates(2, 1)):
            self.assertEqual(len(os.listdir(self.folder)), 1)
        self.assertEqual((os.listdir(self.folder), self.driver.pinned), ([], []))
        with open(os.path.join(self.folder, "orbitkv-kv-gates-dead"), "wb") as left:
            left.write(b"1234")
        self.gates(2, 1)
        self.assertEqual(len(os.listdir(self.folder)), 1)

    def test_more_gates_than_layers_are_refused(self) -> None:
        for count in (0, 3):
            with self.assertRaisesRegex(ValueError, "2 layers"):
                self.gates(2, count)


if __name__ == "__main__":
    unittest.main()

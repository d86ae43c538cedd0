"""Pages on a GPU as the agent opens them, with a driver that only remembers."""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from typing import Any, Optional

import torch

from orbitkv_agent.cuda_pool import CudaPool, MemoryRange, NotExportableError
from orbitkv_vllm.assembly import _agent_arguments, _device
from orbitkv_vllm.layout import Pool
from orbitkv_vllm.profile import ProfileError
from orbitkv_vllm.rendezvous import Rendezvous
from orbitkv_vllm.settings import Settings
from orbitkv_vllm.shared import GpuPages, HostPages, share

_POOL = Pool(0x7F00_0010_0000, 1 << 30, ())


class _Exported:
    def __init__(self, ranges: Sequence[MemoryRange]) -> None:
        self.ranges = list(ranges)
        self.memory = "cuda-ipc:exported"
        self.recorded: list[int] = []
        self.done = True
        self.closed = 0

    def record(self, stream: int) -> None:
        self.recorded.append(stream)

    def reached(self) -> bool:
        return self.done

    def close(self) -> None:
        self.closed += 1


class SharedTest(unittest.TestCase):
    def setUp(self) -> None:
        self.exported: Optional[_Exported] = None
        self.stream = 7

    def export(self, ranges: Sequence[MemoryRange]) -> Any:
        self.exported = _Exported(ranges)
        return self.exported

    def pages(self) -> tuple[GpuPages, _Exported]:
        pages = GpuPages(_POOL, lambda: self.stream, exported=self.export)
        assert self.exported is not None
        return pages, self.exported

    def test_the_pool_is_one_range_that_begins_where_it_begins(self) -> None:
        pages, exported = self.pages()
        self.assertEqual([MemoryRange(_POOL.address, _POOL.size)], exported.ranges)
        self.assertEqual(("cuda-ipc:exported", 0), (pages.memory, pages.offset))

    def test_copies_follow_the_stream_of_the_moment(self) -> None:
        pages, exported = self.pages()
        self.assertEqual([], exported.recorded)
        pages.follow_engine()
        self.stream = 9
        pages.follow_engine()
        self.assertEqual([7, 9], exported.recorded)
        exported.done = False
        self.assertFalse(pages.engine_followed())

    def test_nothing_is_recorded_once_the_sharing_has_ended(self) -> None:
        pages, exported = self.pages()
        pages.close()
        pages.close()
        pages.follow_engine()
        self.assertEqual((1, []), (exported.closed, exported.recorded))

    def test_memory_that_cannot_be_exported_is_refused_with_the_setting(self) -> None:
        class Driver:
            def __getattr__(self, name: str) -> Any:
                return lambda *arguments: 0

        with self.assertRaisesRegex(NotExportableError, "expandable_segments"):
            GpuPages(_POOL, lambda: 0, exported=lambda ranges: CudaPool(ranges, driver=Driver()))

    def test_a_cpu_s_pages_are_shared_as_a_file(self) -> None:
        memory = torch.zeros(1 << 16, dtype=torch.int8)
        pages = share(Pool(memory.data_ptr(), memory.numel(), ()), torch.device("cpu"))
        try:
            self.assertIsInstance(pages, HostPages)
            self.assertTrue(pages.memory.startswith("/dev/shm/"))
            pages.follow_engine()
            self.assertTrue(pages.engine_followed())
        finally:
            pages.close()
        pages.close()


class DeviceTest(unittest.TestCase):
    def test_the_agent_is_told_the_gpu_and_its_settings(self) -> None:
        settings = Settings.parse({"manager": "/run/m.sock", "device_settings": {"loads": "auto", "bands": 2}})
        rendezvous = Rendezvous("/run/x", "engine")
        words = _agent_arguments(settings, rendezvous, 1, 4096, torch.device("cuda", 3))
        self.assertEqual(
            ["--device", "cuda", "--device-ordinal", "3", "--device-setting", "bands=2", "--device-setting",
             "loads=auto", "--manager", "/run/m.sock"], words)
        self.assertNotIn("--device", _agent_arguments(Settings.parse({}), rendezvous, 0, 4096, torch.device("cpu")))

    def test_pages_of_one_rank_are_on_one_device(self) -> None:
        class View:
            def __init__(self, device: str) -> None:
                self.device = torch.device(device)

        def views(*devices: str) -> Any:
            return {f"layer.{index}": View(device) for index, device in enumerate(devices)}

        self.assertEqual(torch.device("cuda", 1), _device(views("cuda:1", "cuda:1")))
        with self.assertRaisesRegex(ProfileError, "on cuda:0, cuda:1, expected one device"):
            _device(views("cuda:0", "cuda:1"))
        with self.assertRaisesRegex(ProfileError, "layer.1 has its pages on xpu:0"):
            _device(views("cuda:0", "xpu:0"))


if __name__ == "__main__":
    unittest.main()

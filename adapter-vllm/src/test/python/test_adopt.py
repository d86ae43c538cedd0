"""Memory of this process that becomes a file's and comes back, with what lies beside it."""

from __future__ import annotations

import ctypes
import mmap
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import torch

from orbitkv_agent import adopt
from orbitkv_agent.adopt import AdoptedMemory, AdoptedRanges, AdoptError
from orbitkv_agent.living_file import sweep


class AdoptTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(dir="/dev/shm", prefix="okv-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_a_tensor_is_a_file_where_it_is_and_then_its_own_again(self) -> None:
        # Of the heap and of mappings of their own; of one portion, several, and a byte more than a page.
        for size in (1000, 4097, 50_000, 3_000_000, 70_000_000):
            with self.subTest(size):
                tensor = torch.arange(size, dtype=torch.int32).to(torch.int8)
                expected = tensor.clone()
                memory = AdoptedMemory(tensor.data_ptr(), size, self.folder)
                self.assertTrue(torch.equal(expected, tensor))
                with open(memory.path, "r+b") as file, mmap.mmap(file.fileno(), 0) as seen:
                    at = memory.offset
                    self.assertEqual(bytes(expected.numpy()), seen[at : at + size])
                    tensor[size // 2] = 77
                    self.assertEqual(77, seen[at + size // 2])
                    seen[at], seen[at + size - 1] = 5, 6
                    self.assertEqual((5, 6), (tensor[0].item(), tensor[-1].item()))
                    expected[0], expected[-1], expected[size // 2] = 5, 6, 77
                    memory.close()
                    self.assertTrue(torch.equal(expected, tensor))
                    # Whoever still has the file does not reach the tensor.
                    seen[at] = 9
                    self.assertEqual(5, tensor[0].item())
                self.assertEqual([], os.listdir(self.folder))
                memory.close()

    def test_what_lies_beside_it_in_its_pages_stays(self) -> None:
        around = torch.arange(5 * mmap.PAGESIZE, dtype=torch.int32).to(torch.int8)
        expected = around.clone()
        with AdoptedMemory(around.data_ptr() + 700, 2 * mmap.PAGESIZE + 11, self.folder):
            self.assertTrue(torch.equal(expected, around))
            around[0], around[-1], around[699] = 1, 2, 3
        expected[0], expected[-1], expected[699] = 1, 2, 3
        self.assertTrue(torch.equal(expected, around))

    def test_portions_join(self) -> None:
        with mock.patch.object(adopt, "_PORTION", 2 * mmap.PAGESIZE):
            tensor = torch.arange(9 * mmap.PAGESIZE + 5, dtype=torch.int32).to(torch.int8)
            expected = tensor.clone()
            memory = AdoptedMemory(tensor.data_ptr(), tensor.numel(), self.folder)
            self.assertTrue(torch.equal(expected, tensor))
            memory.close()
            self.assertTrue(torch.equal(expected, tensor))

    def test_several_tensors_are_one_file(self) -> None:
        # Some share a page with their neighbour, and some lie far from the others.
        small = torch.arange(3 * mmap.PAGESIZE, dtype=torch.int32).to(torch.int8)
        tensors = [torch.full((size,), index, dtype=torch.int8) for index, size in enumerate((9000, 5_000_000, 300))]
        tensors += [small[:500], small[700 : 2 * mmap.PAGESIZE]]
        expected = [tensor.clone() for tensor in tensors]
        memory = AdoptedRanges([(tensor.data_ptr(), tensor.numel()) for tensor in tensors], self.folder)
        with open(memory.path, "r+b") as file, mmap.mmap(file.fileno(), 0) as seen:
            for index, tensor in enumerate(tensors):
                at = memory.offset_of(tensor.data_ptr())
                self.assertEqual(bytes(expected[index].numpy()), seen[at : at + tensor.numel()])
                seen[at] = expected[index][0] = 100 + index
        memory.close()
        for tensor, wanted in zip(tensors, expected):
            self.assertTrue(torch.equal(wanted, tensor))
        with self.assertRaisesRegex(ValueError, "was not taken over"):
            memory.offset_of(1)

    def test_memory_that_is_not_this_process_s_alone_is_refused(self) -> None:
        with mmap.mmap(-1, 4 * mmap.PAGESIZE, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS) as shared:
            address = ctypes.addressof(ctypes.c_char.from_buffer(shared))
            with self.assertRaisesRegex(AdoptError, "rw-s"):
                AdoptedMemory(address, 100, self.folder)
        with self.assertRaisesRegex(AdoptError, "memory there ends at"):
            AdoptedMemory(mmap.PAGESIZE, 100, self.folder)
        self.assertEqual([], os.listdir(self.folder))

    def test_a_page_that_lies_in_another_pool_too_is_refused_with_what_to_do(self) -> None:
        buffer = mmap.mmap(-1, 4 * mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        address = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
        with AdoptedMemory(address, 2 * mmap.PAGESIZE - 100, self.folder):
            with self.assertRaisesRegex(AdoptError, "start one of them in a process of its own"):
                AdoptedMemory(address + 2 * mmap.PAGESIZE - 100, 100 + mmap.PAGESIZE, self.folder)
        with AdoptedMemory(address + 2 * mmap.PAGESIZE - 100, 100 + mmap.PAGESIZE, self.folder):
            pass

    def test_memory_for_which_there_is_no_room_is_left_as_it_was(self) -> None:
        tensor = torch.ones(100_000, dtype=torch.int8)

        def full(*_: int) -> None:
            raise OSError(28, "No space left on device")

        with mock.patch.object(os, "posix_fallocate", full):
            with self.assertRaisesRegex(AdoptError, "bytes free, and the KV cache needs .* --shm-size"):
                AdoptedMemory(tensor.data_ptr(), tensor.numel(), self.folder)
        self.assertEqual(100_000, int(tensor.sum(dtype=torch.int64)))
        self.assertEqual([], os.listdir(self.folder))

    def test_what_a_killed_process_leaves_is_removed_and_what_a_living_one_has_is_not(self) -> None:
        script = (
            "import ctypes, os, sys; from orbitkv_agent.adopt import AdoptedMemory\n"
            "kept = ctypes.create_string_buffer(100000)\n"
            "memory = AdoptedMemory(ctypes.addressof(kept), 100000, sys.argv[1])\n"
            "print('shared', flush=True); sys.stdin.read()"
        )
        with subprocess.Popen(
            [sys.executable, "-c", script, self.folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ
        ) as process:
            assert process.stdout is not None
            self.assertEqual(b"shared\n", process.stdout.readline())
            sweep(self.folder)
            self.assertEqual(1, len(os.listdir(self.folder)))
            process.kill()
        sweep(self.folder)
        self.assertEqual([], os.listdir(self.folder))


if __name__ == "__main__":
    unittest.main()

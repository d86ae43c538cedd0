"""An engine's memory on a GPU, for checks: does what lines on its standard input say, and answers each with a line.

    alloc BYTES [PARTS]   takes memory, in so many allocations; answers with what an agent is told of it
    write FILE | read FILE   copies a file to the memory, or the memory to a file
    set AT BYTES VALUE    sets bytes
    later AT BYTES VALUE  enqueues the same behind a gate, and records the event
    gate                  opens the gate
    record                records the event
    free                  answers with the bytes of the GPU that are free
"""

from __future__ import annotations

import ctypes
import sys

from orbitkv_agent.cuda_pool import CudaPool, MemoryRange

cuda = ctypes.CDLL("libcuda.so.1")


def call(name: str, *arguments: object) -> None:
    result = getattr(cuda, name)(*arguments)
    if result:
        raise RuntimeError(f"{name}: {result}")


def main() -> None:
    device, context, stream = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    call("cuStreamCreate", ctypes.byref(stream), 1)
    gate, gate_device = ctypes.c_void_p(), ctypes.c_uint64()
    call("cuMemHostAlloc", ctypes.byref(gate), ctypes.c_size_t(4), 3)
    call("cuMemHostGetDevicePointer_v2", ctypes.byref(gate_device), gate, 0)
    opened = ctypes.cast(gate, ctypes.POINTER(ctypes.c_uint32))
    opened[0] = gates = 0
    parts: list[tuple[int, int]] = []
    pool = None

    def pieces(at: int, size: int) -> list[tuple[int, int, int]]:
        """Returns address, place in the pool and size of each part of some bytes."""
        found, start = [], 0
        for address, length in parts:
            first, end = max(at, start), min(at + size, start + length)
            if first < end:
                found.append((address + first - start, first, end - first))
            start += length
        return found

    for line in sys.stdin:
        words = line.split()
        answer = "ok"
        if words[0] == "alloc":
            count = int(words[2]) if len(words) > 2 else 1
            for _ in range(count):
                address, size = ctypes.c_uint64(), int(words[1]) // count
                call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
                parts.append((address.value, size))
            pool = CudaPool([MemoryRange(address, size) for address, size in parts])
            answer = pool.memory
        elif words[0] == "write":
            content = open(words[1], "rb").read()
            for address, at, size in pieces(0, len(content)):
                call("cuMemcpyHtoD_v2", ctypes.c_uint64(address), content[at : at + size], ctypes.c_size_t(size))
        elif words[0] == "read":
            with open(words[1], "wb") as out:
                for address, size in parts:
                    content = ctypes.create_string_buffer(size)
                    call("cuMemcpyDtoH_v2", content, ctypes.c_uint64(address), ctypes.c_size_t(size))
                    out.write(content.raw)
        elif words[0] in ("set", "later"):
            if words[0] == "later":
                gates += 1
                call("cuStreamWaitValue32_v2", stream, gate_device, gates, 0)
            for address, _, size in pieces(int(words[1]), int(words[2])):
                call("cuMemsetD8Async", ctypes.c_uint64(address), int(words[3]), ctypes.c_size_t(size), stream)
            if words[0] == "later" and pool:
                pool.record(stream.value or 0)
            else:
                call("cuStreamSynchronize", stream)
        elif words[0] == "gate":
            opened[0] += 1
        elif words[0] == "record" and pool:
            pool.record(stream.value or 0)
        elif words[0] == "free":
            free, total = ctypes.c_size_t(), ctypes.c_size_t()
            call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
            answer = str(free.value)
        else:
            raise ValueError(line)
        print(answer, flush=True)


main()

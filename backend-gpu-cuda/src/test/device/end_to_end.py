"""An engine's pages through agent and Manager on a GPU: bytes, time, and what is left when the engine is killed.

    end_to_end.py FOLDER COMMAND...    COMMAND starts orbitkv; FOLDER is private and in shared memory
"""

from __future__ import annotations

import ctypes
import hashlib
import itertools
import os
import signal
import subprocess
import sys
import time
from typing import Callable, Optional

from orbitkv_agent import AgentClient, PageGroup, Transfer
from orbitkv_agent.cuda_pool import CudaPool, MemoryRange, NotExportableError
from orbitkv_agent.layer_gates import LayerGates

PIECE, LAYERS, PAGES, BLOCKS = 65536, 36, 4096, 57
SHARD = PIECE * LAYERS
STRIDE = PIECE * PAGES

cuda = ctypes.CDLL("libcuda.so.1")


def call(name: str, *arguments: object) -> None:
    result = getattr(cuda, name)(*arguments)
    if result:
        raise RuntimeError(f"{name}: {result}")


def start_cuda() -> None:
    device, context = ctypes.c_int(), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)


def free_bytes() -> int:
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    return free.value


def allocate(size: int) -> int:
    address = ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
    return address.value


def chain(seed: int, blocks: int = BLOCKS) -> bytes:
    return b"".join(hashlib.sha256(f"{seed}/{i}".encode()).digest() for i in range(blocks))


def write(pool: int, page: int, content: bytes) -> None:
    for layer in range(LAYERS):
        piece = content[layer * PIECE : (layer + 1) * PIECE]
        call("cuMemcpyHtoD_v2", ctypes.c_uint64(pool + layer * STRIDE + page * PIECE), piece, ctypes.c_size_t(PIECE))


def read(pool: int, page: int) -> bytes:
    piece = ctypes.create_string_buffer(PIECE)
    content = b""
    for layer in range(LAYERS):
        call("cuMemcpyDtoH_v2", piece, ctypes.c_uint64(pool + layer * STRIDE + page * PIECE), ctypes.c_size_t(PIECE))
        content += piece.raw
    return content


class Engine:
    def __init__(self, folder: str, name: str, gates: Optional[LayerGates] = None) -> None:
        self.address = allocate(STRIDE * LAYERS)
        self.pool = CudaPool([MemoryRange(self.address, STRIDE * LAYERS)], gates=gates)
        self.stream = self.lease = 0
        self.operations = itertools.count(1)
        self.agent = AgentClient(
            f"{folder}/agent/agent.sock", instance=name, incarnation=time.time_ns(), namespace=b"\1" * 32,
            groups=[PageGroup(0, LAYERS, PAGES, PIECE, STRIDE, PIECE)], memory=self.pool.memory, deadline_s=10,
        )

    def save(self, hashes: bytes, pages: list[int]) -> int:
        self.pool.record(self.stream)
        return self.finish(taken(lambda: self.agent.save(hashes, 0, pages)))

    def load(self, hashes: bytes, pages: list[int], mark: int = 0) -> int:
        blocks = self.finish(self.begin_load(hashes, pages, mark))
        self.agent.release(self.lease)
        return blocks

    def begin_load(self, hashes: bytes, pages: list[int], mark: int = 0) -> Transfer:
        return taken(lambda: self._try_load(hashes, pages, mark))

    def _try_load(self, hashes: bytes, pages: list[int], mark: int) -> Optional[Transfer]:
        answer = self.agent.query(next(self.operations), 0, hashes)
        if answer.lease is None:
            return None
        self.lease = answer.lease
        self.pool.record(self.stream)
        transfer = self.agent.load(self.lease, pages, mark=mark)
        if transfer is None:
            self.agent.release(self.lease)
        return transfer

    def finish(self, transfer: Transfer) -> int:
        while True:
            for finished in self.agent.progress(wait_s=0.5):
                if finished.transfer is transfer:
                    return finished.blocks


def wait_for(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdout
    line = process.stdout.readline()
    if word not in line:
        raise RuntimeError(f"expected {word}, found {line!r}")
    print(line, end="", flush=True)


def taken(start: Callable[[], Optional[Transfer]]) -> Transfer:
    """Asks until the agent takes it: it refuses while its cache or the memory that is needed is not there yet."""
    began = time.monotonic()
    while True:
        transfer = start()
        if transfer is not None:
            return transfer
        time.sleep(0.005)
        if time.monotonic() - began > 60:
            raise RuntimeError("nothing is taken for a minute")


def pinned(engine: Engine) -> float:
    """Saves one block until the agent takes it. Returns the seconds."""
    began = time.monotonic()
    engine.finish(taken(lambda: engine.agent.save(chain(1000 + int(began * 1000) % 1000, 1), 0, [0])))
    return time.monotonic() - began


def bare() -> float:
    """Returns the seconds of one copy of as many bytes."""
    size = SHARD * BLOCKS
    host, stream = ctypes.c_void_p(), ctypes.c_void_p()
    call("cuMemHostAlloc", ctypes.byref(host), ctypes.c_size_t(size), 0)
    call("cuStreamCreate", ctypes.byref(stream), 1)
    device = allocate(size)
    times = []
    for _ in range(21):
        began = time.perf_counter()
        call("cuMemcpyHtoDAsync_v2", ctypes.c_uint64(device), host, ctypes.c_size_t(size), stream)
        call("cuStreamSynchronize", stream)
        times.append(time.perf_counter() - began)
    call("cuMemFree_v2", ctypes.c_uint64(device))
    call("cuMemFreeHost", host)
    return sorted(times)[10]


def check(folder: str) -> None:
    engine = Engine(folder, "engine")
    print(f"memory pinned, as far as a save needs it, after {pinned(engine):.2f} s")
    contents = [os.urandom(SHARD) for _ in range(BLOCKS)]
    pages = [(i * 71) % PAGES for i in range(BLOCKS)]
    for page, content in zip(pages, contents):
        write(engine.address, page, content)
    if engine.save(chain(1), pages) != BLOCKS:
        raise RuntimeError("not every block was committed")
    others = [(i * 37 + 5) % PAGES for i in range(BLOCKS)]
    if engine.load(chain(1), others) != BLOCKS:
        raise RuntimeError("not every block was loaded")
    for page, content in zip(others, contents):
        if read(engine.address, page) != content:
            raise RuntimeError(f"page {page} has other bytes")
    print(f"{BLOCKS} blocks of {SHARD} bytes saved and loaded through agent and Manager: every byte as expected")
    # The first hundreds are for the JVM's compiler.
    times, saves = [], []
    for _ in range(800):
        began = time.perf_counter()
        engine.load(chain(1), others)
        times.append(time.perf_counter() - began)
    for i in range(200):
        hashes = chain(100 + i)
        began = time.perf_counter()
        engine.save(hashes, pages)
        saves.append(time.perf_counter() - began)
    one, load, save = bare(), sorted(times[-101:])[50], sorted(saves[-51:])[25]
    size = SHARD * BLOCKS
    print(f"| {size / 2**20:.1f} MiB through agent and Manager | load {load * 1e6:.0f} us, {size / load / 1e9:.1f} GB/s"
          f" | save {save * 1e6:.0f} us, {size / save / 1e9:.1f} GB/s | one copy {one * 1e6:.0f} us |")
    # For the engine that is killed.
    engine.save(chain(1), others)
    engine.agent.close()


def killed(folder: str) -> None:
    """A child is the engine, is killed while it loads, and its memory is asked for until it is free."""
    before = free_bytes()
    child = subprocess.Popen([sys.executable, __file__, folder, "--engine"], stdout=subprocess.PIPE, text=True)
    wait_for(child, "loading")
    used = before - free_bytes()
    child.send_signal(signal.SIGKILL)
    child.wait()
    began = time.monotonic()
    while before - free_bytes() > 64 << 20:
        if time.monotonic() - began > 10:
            raise RuntimeError(f"{before - free_bytes()} bytes are not free 10 s after the engine")
        time.sleep(0.002)
    print(f"killed engine: {used / 2**30:.1f} GiB free again {(time.monotonic() - began) * 1000:.0f} ms after its end")


def engine_until_killed(folder: str) -> None:
    engine = Engine(folder, "killed")
    engine.begin_load(chain(1), list(range(BLOCKS)))
    print("loading", flush=True)
    time.sleep(600)


def stream() -> ctypes.c_void_p:
    made = ctypes.c_void_p()
    call("cuStreamCreate", ctypes.byref(made), 1)
    return made


def passes(waiting: ctypes.c_void_p) -> bool:
    return int(cuda.cuStreamQuery(waiting)) == 0


def layers(folder: str, agent: subprocess.Popen[str]) -> None:
    """A stream reads each layer as soon as it is there; and goes on when the agent is killed, which raises nothing."""
    gates = LayerGates(LAYERS, 4)
    engine = Engine(folder, "layers", gates)
    pinned(engine)
    contents = [os.urandom(SHARD) for _ in range(BLOCKS)]
    pages = [(i * 71) % PAGES for i in range(BLOCKS)]
    for page, content in zip(pages, contents):
        write(engine.address, page, content)
    engine.save(chain(2), pages)
    others = [(i * 37 + 5) % PAGES for i in range(BLOCKS)]
    # Not of every block: a stream that waits takes so many requests only.
    watched = others[::8]
    size = SHARD * len(watched)
    reading, seen = stream(), allocate(size)
    times = []
    copied = ctypes.create_string_buffer(size)
    for _ in range(20):
        mark = gates.next_mark()
        # What was loaded before is not there any more.
        for page in watched:
            write(engine.address, page, bytes(SHARD))
        marks = [ctypes.c_void_p() for _ in range(4)]
        for event in marks:
            call("cuEventCreate", ctypes.byref(event), 0)
        for layer in range(LAYERS):
            gates.wait(reading.value or 0, layer, mark)
            for i, page in enumerate(watched):
                call("cuMemcpyDtoDAsync_v2", ctypes.c_uint64(seen + i * SHARD + layer * PIECE),
                     ctypes.c_uint64(engine.address + layer * STRIDE + page * PIECE), ctypes.c_size_t(PIECE), reading)
            if layer % 9 == 8:
                call("cuEventRecord", marks[layer // 9], reading)
        time.sleep(0.02)
        if passes(reading):
            raise RuntimeError("a stream has not waited for its layers")
        began = time.perf_counter()
        if engine.load(chain(2), others, mark) != BLOCKS:
            raise RuntimeError("not every block was loaded")
        gates.passed(mark)
        call("cuStreamSynchronize", reading)
        times.append(time.perf_counter() - began)
        spans = []
        for event in marks[1:4]:
            span = ctypes.c_float()
            call("cuEventElapsedTime", ctypes.byref(span), marks[0], event)
            spans.append(span.value)
        if spans[-1] < 0.1:
            raise RuntimeError("the gates were not raised before the end of the load")
        call("cuMemcpyDtoH_v2", copied, ctypes.c_uint64(seen), ctypes.c_size_t(size))
        if copied.raw != b"".join(contents[::8]):
            raise RuntimeError("a stream read a layer that was not there")
    print(f"a stream behind 4 gates read every byte as expected; behind the first it was {spans[0]:.2f}, {spans[1]:.2f} and"
          f" {spans[2]:.2f} ms earlier than behind the others, of {min(times) * 1000:.2f} ms")

    # The copies of this one wait for the engine, which waits for nothing that happens.
    held, gate, address = stream(), ctypes.c_void_p(), ctypes.c_uint64()
    call("cuMemHostAlloc", ctypes.byref(gate), ctypes.c_size_t(4), 3)
    ctypes.cast(gate, ctypes.POINTER(ctypes.c_uint32))[0] = 0
    call("cuMemHostGetDevicePointer_v2", ctypes.byref(address), gate, 0)
    call("cuStreamWaitValue32_v2", held, address, 1, 0)
    engine.stream = held.value or 0
    mark = gates.next_mark()
    transfer = engine.begin_load(chain(2), others, mark)
    gates.wait(reading.value or 0, 0, mark)
    agent.kill()
    began = time.monotonic()
    while not passes(reading):
        for ended in engine.agent.progress(wait_s=0.001):
            if ended.transfer is transfer:
                gates.passed(mark)
        if time.monotonic() - began > 10:
            raise RuntimeError("a stream waits 10 s after its agent was killed")
    print(f"killed agent: the stream that waited for its load went on {(time.monotonic() - began) * 1000:.0f} ms later")
    ctypes.cast(gate, ctypes.POINTER(ctypes.c_uint32))[0] = 1


def frameworks() -> None:
    """What PyTorch gives out is exported, and what cannot be is refused with the setting."""
    script = (
        "import torch\n"
        "from orbitkv_agent.cuda_pool import *\n"
        "t = torch.zeros(64 << 20, dtype=torch.uint8, device='cuda')\n"
        "p = CudaPool([MemoryRange(t.data_ptr() + 4096, 1 << 20)])\n"
        "print('exported:', p.memory.split(',')[-2:])\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    environment = os.environ | {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
    refused = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    if NotExportableError.__name__ not in refused.stderr:
        raise RuntimeError(f"expandable segments are not refused: {refused.stdout} {refused.stderr}")
    print("refused:", refused.stderr.strip().splitlines()[-1][:160])


def main() -> None:
    folder, command = sys.argv[1], sys.argv[2:]
    start_cuda()
    if command == ["--engine"]:
        engine_until_killed(folder)
        return
    os.makedirs(f"{folder}/manager", mode=0o700)
    os.makedirs(f"{folder}/agent", mode=0o700)
    manager = subprocess.Popen(
        [*command, "manager", "--runtime", f"{folder}/manager", "--dram", "4GiB", "--block-bytes", "2304KiB"],
        stdout=subprocess.PIPE, text=True,
    )
    processes = [manager]
    try:
        wait_for(manager, "ready")
        agent = subprocess.Popen(
            [*command, "agent", "--socket", f"{folder}/agent/agent.sock", "--manager", f"{folder}/manager/manager.sock",
             "--device", "cuda", "--device-setting", "save-rate=none", "--device-setting", "save-portion=32MiB"],
            stdout=subprocess.PIPE, text=True,
        )
        processes.append(agent)
        wait_for(agent, "ready")
        check(folder)
        killed(folder)
        if agent.poll() is not None:
            raise RuntimeError(f"the agent ended with {agent.returncode} after its engine was killed")
        layers(folder, agent)
        frameworks()
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait(20)
    print("end to end: ok")


main()

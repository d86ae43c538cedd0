"""What an agent is told of the memory that pages are in."""

from __future__ import annotations

import unittest
from types import SimpleNamespace
from typing import Any
from unittest import mock

import engine
import loaded
import torch
from orbitkv_agent import EngineFolder
from orbitkv_sglang import factory, memory
from orbitkv_sglang.adapter import Identity, Instance
from orbitkv_sglang.pools import pages_of
from orbitkv_sglang.settings import Settings


class MemoryTest(unittest.TestCase):
    def setUp(self) -> None:
        loaded.load()

    def test_an_agent_has_the_gpu_that_the_pages_are_on(self) -> None:
        pages = pages_of(engine.mha_pool(64), engine.PAGE)
        with (
            mock.patch("orbitkv_agent.cuda_pool.CudaPool", lambda ranges: mock.Mock(memory="cuda-ipc:")),
            mock.patch.object(torch.cuda, "Stream", mock.Mock()),
            mock.patch.object(torch.cuda, "current_device", lambda: 3),
        ):
            shared = memory.shared_pages([pages], "cuda:3", None)
        self.assertEqual(["--device", "cuda", "--device-ordinal", "3"], self._started_with(shared)[:4])

    def test_an_agent_needs_no_device_for_pages_of_the_host(self) -> None:
        self.assertNotIn("--device", self._started_with(SimpleNamespace(device=[], groups=[[]], memory="")))

    def _started_with(self, shared: Any) -> list[str]:
        known = Identity("/model", bytes(32), (), ())
        instance = Instance("engine", 1, 0, 1, 4096, engine.PAGE, 1000)
        folder = EngineFolder("engine", "/nowhere")
        with (
            mock.patch.object(factory, "AgentLauncher") as launcher,
            mock.patch.object(factory, "_Introduction"),
            mock.patch.object(factory, "Copies"),
            mock.patch.object(factory, "Transfers"),
        ):
            factory.Agent(Settings(), folder, shared, instance, known, "0.5.22")
        arguments: list[str] = launcher.call_args.args[1]
        return arguments


if __name__ == "__main__":
    unittest.main()

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
from orbitkv_sglang.profile import ProfileError
from orbitkv_sglang.settings import Settings


class MemoryTest(unittest.TestCase):
    def setUp(self) -> None:
        loaded.load()

    def test_an_agent_has_the_gpu_that_the_pages_are_on(self) -> None:
        pages = pages_of(engine.mha_pool(64), engine.PAGE)
        with (
            mock.patch("orbitkv_agent.cuda_pool.CudaPool", lambda ranges, gates: mock.Mock(memory="cuda-ipc:")),
            mock.patch.object(torch.cuda, "Stream", mock.Mock()),
            mock.patch.object(torch.cuda, "current_device", lambda: 3),
        ):
            shared = memory.shared_pages([pages], "cuda:3", None)
        self.assertEqual(["--device", "cuda", "--device-ordinal", "3"], self._started_with(shared)[:4])

    def test_an_agent_needs_no_device_for_pages_of_the_host(self) -> None:
        self.assertNotIn("--device", self._started_with(SimpleNamespace(device=[], groups=[[]], memory="", layers=None)))

    def test_a_layer_is_there_with_the_last_of_its_buffers(self) -> None:
        for pool, last in ((engine.mha_pool(64), [1, 3, 5]), (engine.mla_pool(64), [0, 1, 2])):
            pages = pages_of(pool, engine.PAGE)
            with (
                mock.patch("orbitkv_agent.layer_gates.LayerGates") as gates,
                mock.patch.object(torch.cuda, "current_stream", lambda: SimpleNamespace(cuda_stream=77)),
            ):
                waits = memory.GpuLayerWaits(pages)
                for layer in range(engine.LAYERS):
                    waits.follow(layer, 9)
            self.assertEqual(mock.call(len(pages.pieces), min(4, len(pages.pieces))), gates.call_args)
            self.assertEqual([mock.call(77, buffer, 9) for buffer in last], gates.return_value.wait.call_args_list)

    def test_no_gates_are_left_of_memory_that_cannot_be_exported(self) -> None:
        pages = pages_of(engine.mha_pool(64), engine.PAGE)
        with (
            mock.patch("orbitkv_agent.cuda_pool.CudaPool", side_effect=ValueError("no")),
            mock.patch("orbitkv_agent.layer_gates.LayerGates") as gates,
            mock.patch.object(torch.cuda, "Stream", mock.Mock()),
        ):
            with self.assertRaises(ValueError):
                memory.shared_pages([pages], "cuda:0", None, layered=True)
        gates.return_value.close.assert_called_once_with()

    def test_forwards_wait_layer_by_layer_on_a_gpu_only(self) -> None:
        pages = pages_of(engine.mha_pool(64), engine.PAGE)
        with self.assertRaisesRegex(ProfileError, "layered is on, for one pool on a GPU; there are 1 on cpu"):
            memory.shared_pages([pages], "cpu", None, layered=True)
        with self.assertRaisesRegex(ProfileError, "there are 2 on cuda:0"):
            memory.shared_pages([pages, pages], "cuda:0", None, layered=True)

    def test_a_forward_that_is_one_graph_waits_for_no_layer(self) -> None:
        with mock.patch.object(factory, "check_cuda_graph_backend", lambda phase, backend: backend == "full"):
            self.assertFalse(factory._layered(Settings()))
            with self.assertRaisesRegex(ProfileError, "set layered off"):
                factory._layered(Settings(layered="on"))
        self.assertTrue(factory._layered(Settings(layered="on")))

    def test_an_agent_is_told_the_settings_of_its_device(self) -> None:
        words = self._started_with(
            SimpleNamespace(device=[], groups=[[]], memory="", layers=None), device_settings={"loads": "auto", "bands": "2"}
        )
        self.assertEqual("--device-setting bands=2 --device-setting loads=auto", " ".join(words[4:8]))

    def _started_with(self, shared: Any, **settings: Any) -> list[str]:
        known = Identity("/model", bytes(32), (), ())
        instance = Instance("engine", 1, 0, 1, 4096, engine.PAGE, 1000)
        folder = EngineFolder("engine", "/nowhere")
        with (
            mock.patch.object(factory, "AgentLauncher") as launcher,
            mock.patch.object(factory, "_Introduction"),
            mock.patch.object(factory, "Copies"),
            mock.patch.object(factory, "Transfers"),
        ):
            factory.Agent(Settings(**settings), folder, shared, instance, known, "0.5.22")
        arguments: list[str] = launcher.call_args.args[1]
        return arguments


if __name__ == "__main__":
    unittest.main()

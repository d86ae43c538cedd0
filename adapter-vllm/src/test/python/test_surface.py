"""The engine that is installed here, against the record of it."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest
from unittest import mock

import vllm

import record_surface
from orbitkv_vllm import plugin, surface


class SurfaceTest(unittest.TestCase):
    def test_the_record_is_of_the_installed_engine(self) -> None:
        with open(surface._RECORD, encoding="utf-8") as file:
            self.assertEqual(file.read(), record_surface.text())

    def test_nothing_in_the_record_is_missing_from_the_release(self) -> None:
        self.assertEqual([], [name for name, what in surface.observed().items() if what == "none"])

    def test_the_release_is_known(self) -> None:
        self.assertEqual("0.31.0", surface.require_known_engine())

    def test_another_version_is_refused(self) -> None:
        for version in ("0.30.0", "0.31.1", "0.32.0rc1+cpu"):
            with mock.patch.object(vllm, "__version__", version):
                with self.assertRaisesRegex(surface.UnknownEngineError, f"is not for vLLM {version.partition('+')[0]}"):
                    surface.require_known_engine()

    def test_a_build_of_the_release_is_known(self) -> None:
        with mock.patch.object(vllm, "__version__", "0.31.0+cpu"):
            self.assertEqual("0.31.0", surface.require_known_engine())

    def test_an_engine_that_was_changed_is_refused_by_the_name_that_differs(self) -> None:
        from vllm.v1.core.block_pool import BlockPool

        def touch(self: object, blocks: object, count: int) -> None:
            """Not as it was."""

        with mock.patch.object(BlockPool, "touch", touch):
            with self.assertRaisesRegex(surface.UnknownEngineError, r"BlockPool.touch: expected \(self, blocks\)"):
                surface.require_known_engine()

    def test_an_engine_that_does_not_select_the_connector_imports_the_entry_point_alone(self) -> None:
        script = (
            "import sys; from orbitkv_vllm.plugin import register; register(); register()\n"
            "print(sorted(name for name in sys.modules if name.startswith('orbitkv')))"
        )
        ended = subprocess.run(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, env=os.environ, text=True, check=True
        )
        self.assertEqual("['orbitkv_vllm', 'orbitkv_vllm.plugin']", ended.stdout.strip().splitlines()[-1])

    def test_the_connector_is_found_by_its_name(self) -> None:
        from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory

        from orbitkv_vllm.connector import OrbitKvConnector

        plugin.register()
        self.assertIs(OrbitKvConnector, KVConnectorFactory.get_connector_class_by_name("OrbitKvConnector"))


if __name__ == "__main__":
    unittest.main()

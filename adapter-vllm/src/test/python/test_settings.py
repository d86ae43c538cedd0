"""What an operator may set, and what is said of a mistake."""

from __future__ import annotations

import os
import tempfile
import unittest
from typing import Any

from orbitkv_vllm.settings import Saves, Settings


class SettingsTest(unittest.TestCase):
    def test_without_any_there_is_a_cache_of_four_gibibytes(self) -> None:
        settings = Settings.parse({})
        self.assertEqual((None, "4GiB", None, "", b"", (), 1000, None, True, Saves.ON, 50), (
            settings.manager, settings.dram, settings.ssd, settings.scope, settings.model_digest, settings.adapters,
            settings.defer_millis, settings.agent_command, settings.loads, settings.saves,
            settings.answer_millis))
        self.assertEqual(f"/dev/shm/orbitkv-{os.getuid()}", settings.runtime_dir)

    def test_every_setting_is_read(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            settings = Settings.parse({
                "dram": "16GiB", "ssd": "/var/cache/a:b:200GiB", "runtime_dir": "/run/x", "scope": "team",
                "model_digest": "0f" * 32, "adapters": {"sql": folder}, "defer_ms": 0, "agent_command": ["a", "b"],
                "loads": "off", "saves": "finished", "delivery_s": 30, "answer_ms": 7,
                "device_settings": {"loads": "auto", "bands": 2},
            })
            self.assertEqual(Settings(
                None, "16GiB", "/var/cache/a:b:200GiB", "/run/x", "team", b"\x0f" * 32, (("sql", folder),), 0,
                ("a", "b"), False, Saves.FINISHED, 30, 7, (("bands", "2"), ("loads", "auto"))), settings)

    def test_a_mistake_is_named(self) -> None:
        mistakes: dict[str, Any] = {
            "manager": "manager.sock", "dram": "lots", "ssd": "/var/cache", "runtime_dir": "run", "scope": 7,
            "model_digest": "abc", "adapters": {"sql": "/no/such"}, "defer_ms": -1, "agent_command": "orbitkv",
            "loads": "finished", "saves": True, "delivery_s": 0, "answer_ms": 0,
            "device_settings": ["loads=auto"],
        }
        for name, value in mistakes.items():
            with self.subTest(name), self.assertRaisesRegex(ValueError, f"kv_connector_extra_config.{name}"):
                Settings.parse({name: value})
        with self.assertRaisesRegex(ValueError, "kv_connector_extra_config.device_settings.bands is True"):
            Settings.parse({"device_settings": {"bands": True}})

    def test_a_name_that_is_no_setting_is_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "kv_connector_extra_config.dramm is no setting; there are manager"):
            Settings.parse({"dramm": "1GiB"})

    def test_memory_of_a_manager_that_has_its_own_is_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "kv_connector_extra_config.dram is '1GiB', expected left out"):
            Settings.parse({"manager": "/run/m.sock", "dram": "1GiB"})


if __name__ == "__main__":
    unittest.main()

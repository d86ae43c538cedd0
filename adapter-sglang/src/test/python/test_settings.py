"""What an operator may set."""

from __future__ import annotations

import tempfile
import unittest

from orbitkv_sglang.settings import Settings


class SettingsTest(unittest.TestCase):
    def test_nothing_need_be_set(self) -> None:
        for text in (None, "", "{}"):
            self.assertEqual(Settings(), Settings.parse(text))

    def test_what_is_set_is_there(self) -> None:
        text = (
            '{"dram": "64GiB", "ssd": "/var/cache/orbitkv:200GiB", "engine_id": "qwen-0", "scope": "a",'
            ' "pending_ms": 0, "loads": "off", "saves": "off", "early": "on",'
            ' "layered": "on", "device_settings": {"loads": "auto"},'
            ' "agent_command": ["/opt/orbitkv"], "runtime_dir": "/dev/shm/x"}'
        )
        settings = Settings.parse(text)
        self.assertEqual(("64GiB", "/var/cache/orbitkv:200GiB"), (settings.dram, settings.ssd))
        self.assertEqual(("qwen-0", "a"), (settings.engine_id, settings.scope))
        self.assertEqual((0, ["/opt/orbitkv"]), (settings.pending_ms, settings.agent_command))
        self.assertEqual(("off", "off", "on"), (settings.loads, settings.saves, settings.early))
        self.assertEqual(("on", {"loads": "auto"}), (settings.layered, settings.device_settings))
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(text)
            file.flush()
            self.assertEqual(settings, Settings.parse("@" + file.name))

    def test_what_is_wrong_is_named(self) -> None:
        for text, named in (
            ('{"drm": "1GiB"}', "drm"),
            ('{"dram": "much"}', r"\$.dram"),
            ('{"ssd": "200GiB"}', r"\$.ssd"),
            ('{"manager": "run/manager.sock"}', r"\$.manager"),
            ('{"model_digest": "abc"}', r"\$.model_digest"),
            ('{"pending_ms": 60001}', r"\$.pending_ms"),
            ('{"pending_ms": true}', r"\$.pending_ms"),
            ('{"engine_id": "a b"}', r"\$.engine_id"),
            ('{"agent_command": []}', r"\$.agent_command"),
            ('{"loads": false}', r"\$.loads"),
            ('{"saves": "finished"}', r"\$.saves"),
            ('{"early": true}', r"\$.early"),
            ('{"layered": "each"}', r"\$.layered"),
            ('{"device_settings": {"bands": 4}}', r"\$.device_settings"),
            ("[]", "Expected `object`"),
            ("{", "truncated"),
            ("@/nowhere/at/all", "cannot be read"),
            ('{"manager": "/run/m.sock", "dram": "1GiB"}', "dram and ssd are of a hosted Manager"),
        ):
            with self.subTest(text), self.assertRaisesRegex(ValueError, f"extra-config.*{named}"):
                Settings.parse(text)


if __name__ == "__main__":
    unittest.main()

"""What makes blocks of one engine those of another, and what does not."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
import unittest
from typing import Any, Callable
from unittest import mock

from vllm.utils.hashing import sha256
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
from vllm.v1.request import Request
from vllm import SamplingParams

from engine import engine_config
from orbitkv_vllm.identity import facts_of_config, hash_probe, identity, incarnation
from orbitkv_vllm.settings import Settings


class IdentityTest(unittest.TestCase):
    def setUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.settings = Settings.parse({})

    def facts(self, change: Callable[[Any], None] = lambda config: None, **given: Any) -> dict[str, str]:
        config = engine_config(self.folder)
        change(config)
        return dict(facts_of_config(config, "0.31.0", Settings.parse(given)))

    def test_two_starts_of_one_engine_have_the_same_facts(self) -> None:
        self.assertEqual(self.facts(), self.facts())
        self.assertEqual(self.facts(), self.facts(lambda config: setattr(config, "instance_id", "other")))

    def test_each_setting_that_changes_bytes_is_a_fact(self) -> None:
        changes: dict[str, Callable[[Any], None]] = {
            "model.dtype": lambda c: setattr(c.model_config, "dtype", "bfloat16"),
            "model.config": lambda c: setattr(c.model_config.hf_config, "rope_theta", 1.0),
            "model.max_len": lambda c: setattr(c.model_config, "max_model_len", 77),
            "model.quantization": lambda c: setattr(c.model_config, "quantization", "awq"),
            "cache.dtype": lambda c: setattr(c.cache_config, "cache_dtype", "fp8"),
            "cache.block_tokens": lambda c: setattr(c.cache_config, "block_size", 32),
            "parallel.tensor": lambda c: setattr(c.parallel_config, "tensor_parallel_size", 2),
            "model.load": lambda c: setattr(c.load_config, "load_format", "dummy"),
        }
        before = self.facts()
        for name, change in changes.items():
            with self.subTest(name):
                after = self.facts(change)
                self.assertEqual({name}, {fact for fact in before if before[fact] != after[fact]})

    def test_a_scope_is_a_fact(self) -> None:
        before, after = self.facts(), self.facts(scope="team")
        self.assertEqual({"scope"}, {fact for fact in before if before[fact] != after[fact]})

    def test_another_way_of_hashing_is_another_probe(self) -> None:
        probe = hash_probe("sha256")
        self.assertEqual(probe, hash_probe("sha256"))
        self.assertNotEqual(probe, hash_probe("sha256_cbor"))
        with mock.patch.dict(os.environ, {"PYTHONHASHSEED": "1"}):
            self.assertNotEqual(probe, hash_probe("sha256"))

    def test_the_probe_is_what_the_engine_computes_for_those_tokens(self) -> None:
        init_none_hash(sha256)
        request = Request(
            "a", list(range(32)), SamplingParams(max_tokens=1), None, block_hasher=get_request_block_hasher(16, sha256))
        self.assertEqual(request.block_hashes[-1], hash_probe("sha256"))

    def test_the_model_is_its_folder_or_what_the_operator_says_it_is(self) -> None:
        config = engine_config(self.folder)
        facts = (("a", "b"),)
        told = identity(config, Settings.parse({"model_digest": "01" * 32}), facts)
        self.assertEqual(("", b"\1" * 32), (told.model_path, told.asserted_digest))
        seen = identity(config, self.settings, facts)
        self.assertEqual((os.path.realpath(self.folder + "/model"), b""), (seen.model_path, seen.asserted_digest))
        config.model_config.model = "nobody/nothing"
        with mock.patch.dict(os.environ, {"HF_HUB_OFFLINE": "1"}):
            with self.assertRaisesRegex(ValueError, "set kv_connector_extra_config.model_digest"):
                identity(config, self.settings, facts)

    def test_an_incarnation_is_one_start_s(self) -> None:
        mine = incarnation("engine", "1", os.getpid())
        self.assertEqual(mine, incarnation("engine", "1", os.getpid()))
        self.assertNotEqual(mine, incarnation("engine", "2", os.getpid()))
        self.assertNotEqual(mine, incarnation("other", "1", os.getpid()))
        with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
            self.assertNotEqual(mine, incarnation("engine", "1", other.pid))
            other.kill()


if __name__ == "__main__":
    unittest.main()

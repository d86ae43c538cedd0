"""What is refused before anything is connected, and the setting that each refusal names."""

from __future__ import annotations

import logging
import os
import tempfile
import unittest
from types import SimpleNamespace
from typing import Any, Callable
from unittest import mock

import torch
from vllm import envs
from vllm.distributed.kv_transfer.kv_connector.v1.base import KVConnectorRole
from vllm.v1.kv_cache_interface import (
    FullAttentionSpec,
    KVCacheConfig,
    KVCacheGroupSpec,
    MambaSpec,
    MLAAttentionSpec,
    SlidingWindowSpec,
)

from engine import BLOCK, cache_config, engine_config
from orbitkv_vllm.connector import OrbitKvConnector
from orbitkv_vllm.profile import ProfileError, RequestProfile, require_supported
from orbitkv_vllm.settings import Settings


class ProfileTest(unittest.TestCase):
    def setUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.config = engine_config(self.folder)
        self.cache = cache_config(8)
        self.settings = Settings.parse({})

    def refused(self, expected: str) -> None:
        with self.assertRaisesRegex(ProfileError, expected):
            require_supported(self.config, self.cache, self.settings)
        # What vLLM constructs says the same, in either role, and has connected nothing.
        for role in KVConnectorRole:
            with self.assertRaises(ValueError):
                OrbitKvConnector(self.config, role, self.cache)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "run")))

    def test_a_dense_engine_is_served(self) -> None:
        require_supported(self.config, self.cache, self.settings)
        with self.assertLogs("orbitkv_vllm", "WARNING") as logs:
            logging.disable(logging.NOTSET)
            transfer: Any = self.config.kv_transfer_config
            transfer.kv_load_failure_policy = "fail"
            require_supported(self.config, self.cache, self.settings)
        self.assertIn("kv_load_failure_policy", logs.output[0])

    def test_each_setting_that_is_not_served_is_named(self) -> None:
        draft: Any = SimpleNamespace()
        cases: dict[str, Callable[[Any], None]] = {
            "--pipeline-parallel-size is 2": lambda c: setattr(c.parallel_config, "pipeline_parallel_size", 2),
            "--decode-context-parallel-size is 2": lambda c: setattr(
                c.parallel_config, "decode_context_parallel_size", 2),
            "--prefill-context-parallel-size is 2": lambda c: setattr(
                c.parallel_config, "prefill_context_parallel_size", 2),
            "--data-parallel-size is 2": lambda c: setattr(c.parallel_config, "data_parallel_size", 2),
            "--nnodes is 2": lambda c: setattr(c.parallel_config, "nnodes", 2),
            "--distributed-executor-backend is 'ray'": lambda c: setattr(
                c.parallel_config, "distributed_executor_backend", "ray"),
            "kv_role is 'kv_producer'": lambda c: setattr(c.kv_transfer_config, "kv_role", "kv_producer"),
            "enable_permute_local_kv": lambda c: setattr(c.kv_transfer_config, "enable_permute_local_kv", True),
            "--speculative-config": lambda c: setattr(c, "speculative_config", draft),
            "--enable-sleep-mode": lambda c: setattr(c.model_config, "enable_sleep_mode", True),
            "--enable-cumem-allocator": lambda c: setattr(c.model_config, "enable_cumem_allocator", True),
            "diffusion models rewrite tokens.*--model": lambda c: setattr(c.model_config, "is_diffusion", True),
            "--runner is 'pooling'": lambda c: setattr(c.model_config, "runner_type", "pooling"),
            "--prefix-caching-hash-algo is 'xxhash'": lambda c: setattr(
                c.cache_config, "prefix_caching_hash_algo", "xxhash"),
            "--enable-lora needs kv_connector_extra_config.adapters": lambda c: setattr(
                c, "lora_config", SimpleNamespace(default_mm_loras=None)),
            "VLLM_KV_CACHE_LAYOUT or the engine chose layout LNBHC": lambda c: setattr(
                c.cache_config, "kv_cache_layout", "LNBHC"),
        }
        for expected, change in cases.items():
            with self.subTest(expected):
                self.config = engine_config(self.folder)
                change(self.config)
                self.refused(expected)

    def test_the_other_model_runner_is_refused(self) -> None:
        with mock.patch.object(envs, "VLLM_USE_V2_MODEL_RUNNER", True, create=True):
            self.refused("set VLLM_USE_V2_MODEL_RUNNER=0")

    def test_memory_that_moves_is_refused(self) -> None:
        for name in ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"):
            with mock.patch.dict(os.environ, {name: "max_split_size_mb:64, expandable_segments:True"}):
                self.refused(f"{name} has expandable_segments:True")
            with mock.patch.dict(os.environ, {name: "backend: cudaMallocAsync"}):
                self.refused(f"{name} has backend:cudaMallocAsync")

    def test_caches_that_are_not_of_one_group_of_full_attention_are_refused(self) -> None:
        full = FullAttentionSpec(block_size=BLOCK, num_kv_heads=1, head_size=8, dtype=torch.float32)
        window = SlidingWindowSpec(
            block_size=BLOCK, num_kv_heads=1, head_size=8, dtype=torch.float32, sliding_window=32)
        latent = MLAAttentionSpec(block_size=BLOCK, num_kv_heads=1, head_size=8, dtype=torch.float32)
        recurrent = MambaSpec(block_size=BLOCK, shapes=((8,),), dtypes=(torch.float32,))
        prefix = FullAttentionSpec(block_size=BLOCK, num_kv_heads=1, head_size=8, dtype=torch.float32, non_causal=True)
        groups = {
            "has 2 groups of KV caches": [KVCacheGroupSpec(["a"], full), KVCacheGroupSpec(["b"], window)],
            "has SlidingWindowSpec": [KVCacheGroupSpec(["a"], window)],
            "has MLAAttentionSpec": [KVCacheGroupSpec(["a"], latent)],
            "has MambaSpec": [KVCacheGroupSpec(["a"], recurrent)],
            "a prefix alone does not determine": [KVCacheGroupSpec(["a"], prefix)],
            "of a draft": [KVCacheGroupSpec(["a"], full, is_eagle_group=True)],
            "not to be transferred": [KVCacheGroupSpec(["a"], full, enable_kv_transfer=False)],
        }
        for expected, given in groups.items():
            with self.subTest(expected):
                self.cache = KVCacheConfig(num_blocks=8, kv_cache_tensors=[], kv_cache_groups=given)
                self.refused(expected)

    def test_a_fixed_set_of_adapters_is_served_and_a_changing_one_is_not(self) -> None:
        self.settings = Settings.parse({"adapters": {"sql": self.folder}})
        lora: Any = SimpleNamespace(default_mm_loras=None)
        with self.assertRaisesRegex(ProfileError, "adapters is set, and --enable-lora is not"):
            require_supported(self.config, self.cache, self.settings)
        self.config.lora_config = lora
        require_supported(self.config, self.cache, self.settings)
        with mock.patch.object(envs, "VLLM_ALLOW_RUNTIME_LORA_UPDATING", True, create=True):
            with self.assertRaisesRegex(ProfileError, "VLLM_ALLOW_RUNTIME_LORA_UPDATING"):
                require_supported(self.config, self.cache, self.settings)
        lora.default_mm_loras = {"image": "a"}
        with self.assertRaisesRegex(ProfileError, "default_mm_loras"):
            require_supported(self.config, self.cache, self.settings)

    def test_requests_out_of_the_profile_go_by_the_cache(self) -> None:
        profile = RequestProfile((("sql", "/adapters/sql"),))

        def request(adapter: Any = None, **fields: Any) -> Any:
            return SimpleNamespace(**{
                "request_id": "a", "resumable": False, "session_id": None, "lora_request": adapter, **fields})

        def adapter(**fields: Any) -> Any:
            return SimpleNamespace(**{
                "lora_name": "sql", "lora_path": "/adapters/sql", "load_inplace": False, "tensorizer_config_dict": None,
                **fields})

        self.assertTrue(profile.accepts(request()))
        self.assertTrue(profile.accepts(request(adapter())))
        for refused in (
            request(resumable=True), request(session_id="s"), request(adapter(lora_name="other")),
            request(adapter(lora_path="/elsewhere")), request(adapter(load_inplace=True)),
            request(adapter(tensorizer_config_dict={})),
        ):
            self.assertFalse(profile.accepts(refused))
        self.assertTrue(RequestProfile(()).accepts(request(session_id="s")))


if __name__ == "__main__":
    unittest.main()

"""What is refused when an engine starts, each by the setting to change, before anything is started."""

from __future__ import annotations

import os
import unittest
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any
from unittest import mock

import engine
import loaded
from orbitkv_sglang import factory, hooks
from orbitkv_sglang.profile import ProfileError, require_supported
from orbitkv_sglang.settings import Settings
from sglang.srt.runtime_context import get_context

_EARLY = "SGLANG_DISAGG_PREFILL_EARLY_SEND_CACHED_PREFIX"


def _context(**changes: Any) -> Any:
    params = SimpleNamespace(
        mtp_draft_device_pools=(), mtp_draft_mamba_pools=(), is_eagle=False, component_registry_override=None,
        req_to_token_pool=object(),
    )
    for name in list(changes):
        if hasattr(params, name):
            setattr(params, name, changes.pop(name))
    plain = {"params": params, "is_hybrid_ssm": False, "is_dsa": False, "is_hybrid_swa": False}
    return SimpleNamespace(**(plain | changes))


class ProfileTest(unittest.TestCase):
    def setUp(self) -> None:
        loaded.load()
        engine.publish_engine({})

    def _refused(
        self, said: str, context: Any = None, settings: Settings = Settings(), **overrides: Any
    ) -> None:
        with self.subTest(said), ExitStack() as stack:
            if overrides:
                get_context().override("a test", **overrides)
                stack.callback(engine.publish_engine, {})
            with self.assertRaisesRegex(ProfileError, f"OrbitKV for SGLang: .*{said}"):
                require_supported(context or _context(), settings)

    def test_a_plain_engine_is_served(self) -> None:
        require_supported(_context(), Settings())

    def test_settings_of_the_cache_are_refused(self) -> None:
        self._refused("--enable-unified-cache-external-linker", enable_unified_cache_external_linker=False)
        self._refused("--enable-hierarchical-cache", enable_hierarchical_cache=True)
        self._refused("--enable-hierarchical-cache", hicache_storage_backend="file")
        self._refused("--disable-radix-cache", disable_radix_cache=True)
        self._refused("use cpu_tensor", disaggregation_decode_retraction_backup="host_pool")
        self._refused("--enable-session-radix-cache", enable_session_radix_cache=True)
        self._refused("--enable-streaming-session", enable_streaming_session=True)
        self._refused("--speculative-algorithm is 'EAGLE'", speculative_algorithm="EAGLE")
        self._refused("--enable-unified-memory", enable_unified_memory=True)
        self._refused("--enable-lmcache", enable_lmcache=True)
        self._refused("--enable-memory-saver", enable_memory_saver=True)

    def test_a_prefill_worker_that_sends_nothing_early_is_served(self) -> None:
        with mock.patch.dict(os.environ, {_EARLY: "false"}):
            engine.publish_engine({}, disaggregation_mode="prefill")
            require_supported(_context(), Settings())
        self._refused(_EARLY, disaggregation_mode="prefill")
        # What is not restored may be sent whenever it is there.
        require_supported(_context(), Settings(loads="off"))

    def test_a_decode_worker_that_restores_nothing_is_served(self) -> None:
        decode: dict[str, Any] = {"disaggregation_mode": "decode", "disaggregation_decode_enable_radix_cache": True}
        off = Settings(loads="off")
        engine.publish_engine({}, **decode)
        require_supported(_context(), off)
        self._refused("loads in --hicache-storage-backend-extra-config is 'on'", **decode)
        self._refused("--disaggregation-decode-enable-radix-cache is missing", None, off, disaggregation_mode="decode")
        self._refused("-transfer-backend is 'fake'", None, off, disaggregation_transfer_backend="fake", **decode)
        with mock.patch.dict(os.environ, {"SGLANG_DISAGG_STAGING_BUFFER": "true"}):
            self._refused("SGLANG_DISAGG_STAGING_BUFFER", settings=off, **decode)

    def test_a_worker_of_either_role_keeps_it_and_waits_for_what_is_still_written(self) -> None:
        for mode in ("prefill", "decode"):
            self._refused("--enable-pd-role-switch", disaggregation_mode=mode, enable_pd_role_switch=True)
            with mock.patch.dict(os.environ, {"SGLANG_DISAGGREGATION_DEFERRED_DECODE_KV_RELEASE": "false"}):
                self._refused("SGLANG_DISAGGREGATION_DEFERRED_DECODE_KV_RELEASE", disaggregation_mode=mode)
        self._refused("--disaggregation-mode is 'both'", disaggregation_mode="both")

    def test_windows_are_not_handed_over(self) -> None:
        with mock.patch.dict(os.environ, {_EARLY: "false"}):
            self._refused("sliding windows", _context(is_hybrid_swa=True), disaggregation_mode="prefill")

    def test_memory_that_moves_is_refused(self) -> None:
        with mock.patch.dict(os.environ, {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}):
            self._refused("PYTORCH_CUDA_ALLOC_CONF")

    def test_other_parallelism_than_of_tensors_is_refused(self) -> None:
        from sglang.srt import runtime_context

        for name, option in (
            ("pp_size", "--pp-size"), ("attn_cp_size", "--attn-cp-size"), ("dcp_size", "--dcp-size"),
            ("dp_size", "--dp-size"), ("nnodes", "--nnodes"),
        ):
            values = {
                "pp_size": 1, "attn_cp_size": 1, "dcp_size": 1, "dp_size": 1, "nnodes": 1, "enable_dp_attention": False,
                "enable_kv_cache_sharding": False, name: 2,
            }
            with mock.patch.object(runtime_context, "get_parallel", lambda values=values: SimpleNamespace(**values)):
                self._refused(f"{option} is 2")

    def test_models_and_pools_are_refused(self) -> None:
        self._refused("recurrent state", _context(is_hybrid_ssm=True))
        self._refused("DSA", _context(is_dsa=True))
        self._refused("a draft model", _context(mtp_draft_device_pools=(object(),)))
        self._refused("a draft model", _context(is_eagle=True))
        self._refused("components of its own", _context(component_registry_override={1: object}))
        self._refused("components of its own", _context(req_to_token_pool=SimpleNamespace(req_to_c128_sidecar=1)))

    def test_adapters_that_nobody_knows_are_refused(self) -> None:
        self._refused("--lora-paths", enable_lora=True)

    def test_the_factory_refuses_an_engine_without_its_hooks(self) -> None:
        with mock.patch.object(hooks, "TARGETS", ("sglang.srt.nobody.nothing",)):
            with self.assertRaisesRegex(ProfileError, "the hook of sglang.srt.nobody.nothing was not applied"):
                factory.tree_cache(_context())


if __name__ == "__main__":
    unittest.main()

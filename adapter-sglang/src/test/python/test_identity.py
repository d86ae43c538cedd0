"""What blocks of an engine belong to."""

from __future__ import annotations

import hashlib
import struct
import tempfile
import unittest
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch
from sglang.srt import runtime_context

import engine
from orbitkv_sglang import identity
from orbitkv_sglang.pools import pages_of
from orbitkv_sglang.settings import Settings
from orbitkv_sglang.window import Pools


def _context(pool: Any, **config: Any) -> Any:
    return SimpleNamespace(
        params=SimpleNamespace(token_to_kv_pool_allocator=SimpleNamespace(get_kvcache=lambda: pool)),
        model_config=SimpleNamespace(
            dtype=torch.bfloat16, hf_config=SimpleNamespace(to_dict=lambda: {"a": 1, **config})
        ),
    )


def _facts(pool: Any = None, settings: Settings = Settings(), config: dict[str, Any] | None = None,
           **arguments: Any) -> dict[str, str]:
    engine.publish_engine({}, **arguments)
    pool = pool if pool is not None else engine.mha_pool(7)
    return dict(
        identity.facts(
            _context(pool, **(config or {})), Pools(pages_of(pool, engine.PAGE), None), settings, "0.5.22", "cpu"
        )
    )


class IdentityTest(unittest.TestCase):
    def test_pages_are_hashed_as_the_protocol_says(self) -> None:
        digest = b""
        for first in (0, 16):
            digest = hashlib.sha256(digest + struct.pack("<16I", *range(first, first + 16))).digest()
        self.assertEqual(digest.hex(), identity.hash_probe())

    def test_what_is_required_is_stated(self) -> None:
        required = {
            "model.dtype", "cache.dtype", "cache.block_tokens", "hash.algorithm", "hash.probe", "parallel.tensor",
            "pages.layout", "pages.backends", "pages.pieces", "scope",
        }
        self.assertEqual(set(), required - set(_facts()))

    def test_what_decides_bytes_makes_another_fact_and_what_does_not_makes_none(self) -> None:
        plain = _facts()
        self.assertEqual(plain, _facts(config={"_name_or_path": "/elsewhere", "transformers_version": "1"}))
        self.assertEqual(plain, _facts(pool=engine.mha_pool(90)))
        for name, other in (
            ("model.config", _facts(config={"rope_theta": 1.0})),
            ("scope", _facts(settings=Settings(scope="b"))),
            ("pages.layout", _facts(pool=engine.mla_pool(7))),
            ("model.context", _facts(context_length=1234)),
            ("pages.backends", _facts(attention_backend="torch_native")),
            ("model.overrides", _facts(json_model_override_args='{"b": 2}')),
        ):
            self.assertNotEqual(plain[name], other[name], name)

    def test_adapters_are_named_by_their_folders_in_the_order_of_their_names(self) -> None:
        engine.publish_engine({})
        with tempfile.TemporaryDirectory() as sql, tempfile.TemporaryDirectory() as chat:
            refs = [
                SimpleNamespace(lora_id="2", lora_name="sql", lora_path=sql),
                SimpleNamespace(lora_id="1", lora_name="chat", lora_path=chat),
            ]
            lora = SimpleNamespace(
                enable_lora=True, lora_paths=refs, max_lora_rank=8, lora_target_modules=["q_proj"],
                lora_backend="triton",
            )
            with mock.patch.object(runtime_context, "get_lora", lambda: lora):
                settings = Settings(model_digest="ab" * 32)
                known = identity.identity(settings, (("a", "b"),))
                self.assertEqual((chat, sql), known.adapter_paths)
                self.assertEqual(bytes.fromhex("ab" * 32), known.asserted_digest)
                refs[0].lora_path = "/nowhere"
                with self.assertRaisesRegex(ValueError, "--lora-paths names /nowhere"):
                    identity.identity(settings, ())
                refs[0] = "sql=/unresolved"  # type: ignore[call-overload]
                with self.assertRaisesRegex(ValueError, "has not been resolved"):
                    identity.identity(settings, ())

    def test_adapters_are_those_that_the_release_makes_of_its_options(self) -> None:
        plain = _facts()
        with tempfile.TemporaryDirectory() as sql, tempfile.TemporaryDirectory() as chat:
            paths = [f"sql={sql}", {"lora_name": "chat", "lora_path": chat, "pinned": True}]
            with_adapters = _facts(lora_paths=paths)
            self.assertEqual((chat, sql), identity.identity(Settings(model_digest="ab" * 32), ()).adapter_paths)
            self.assertEqual(with_adapters, _facts(lora_paths=paths))
            self.assertEqual({"lora", "lora.names"}, set(with_adapters) - set(plain))
            # Its id follows from where it is.
            self.assertNotEqual(with_adapters["lora.names"], _facts(lora_paths=[f"sql={chat}"])["lora.names"])

    def test_a_model_that_is_not_here_is_named(self) -> None:
        engine.publish_engine({})
        with self.assertRaisesRegex(ValueError, "files of model dummy are not on this machine: set model_digest"):
            identity.identity(Settings(), ())

    def test_a_start_is_the_same_for_all_of_its_processes(self) -> None:
        self.assertEqual(identity.engine_start(None), identity.engine_start(None))
        self.assertEqual("qwen", identity.engine_start("qwen").name)
        self.assertNotEqual(identity.engine_start("a").incarnation, identity.engine_start("b").incarnation)


if __name__ == "__main__":
    unittest.main()

"""Which pools of layers with a sliding window are served, and what is saved of them."""

from __future__ import annotations

import unittest
from types import SimpleNamespace
from typing import Any

import engine
import torch
import windowed
from engine import PAGE
from orbitkv_sglang import identity
from orbitkv_sglang.pools import PoolError
from orbitkv_sglang.settings import Settings
from orbitkv_sglang.window import MAX_BLOCKS, pools_of, window_namespace, window_pages
from sglang.srt.mem_cache.allocator.swa import SWATokenToKVPoolAllocator


def _allocator(pool: Any) -> SWATokenToKVPoolAllocator:
    return SWATokenToKVPoolAllocator(
        size=pool.size, size_swa=pool.size_swa, page_size=PAGE, dtype=torch.bfloat16, device="cpu", kvcache=pool,
        need_sort=False,
    )


class PoolsTest(unittest.TestCase):
    def test_the_two_pools_are_told_apart(self) -> None:
        pool = windowed.pool(7, 5)
        pools = pools_of(pool, _allocator(pool), PAGE, 40)
        assert pools.window is not None
        self.assertEqual((8, 2), (pools.pages.pages, pools.pages.layers))
        self.assertEqual((6, 3, 3), (pools.window.pages.pages, pools.window.pages.layers, pools.window.blocks))
        self.assertEqual((0, 2, 4), pools.window.layers)
        self.assertEqual(
            {buffer.data_ptr() for buffer in (*pool.swa_kv_pool.k_buffer, *pool.swa_kv_pool.v_buffer)},
            {piece.address for piece in pools.window.pages.pieces},
        )
        self.assertEqual([pools.pages, pools.window.pages], pools.all)

    def test_a_pool_without_windows_is_one(self) -> None:
        pools = pools_of(engine.mha_pool(7), object(), PAGE, None)
        self.assertIsNone(pools.window)
        self.assertEqual([pools.pages], pools.all)

    def test_what_cannot_be_told_with_certainty_is_refused(self) -> None:
        def refused(said: str, window: Any = 40, **changes: Any) -> None:
            with self.subTest(said):
                pool = windowed.pool(7, 5)
                allocator = changes.pop("allocator", None) or _allocator(pool)
                for name, value in changes.items():
                    setattr(pool, name, value)
                with self.assertRaisesRegex(PoolError, said):
                    pools_of(pool, allocator, PAGE, window)

        refused("are given out by a SimpleNamespace", allocator=SimpleNamespace(swa_req_ring=False))
        ringed = _allocator(windowed.pool(7, 5))
        ringed._swa_req_ring = True
        refused("a ring for each request: True", allocator=ringed)
        refused("are of None tokens", window=None)
        refused("are of 0 tokens", window=0)
        refused("set --page-size to 17 or more", window=MAX_BLOCKS * PAGE + 1)
        refused("2 layers with sliding windows of 5", layers_mapping={
            0: (0, True), 1: (0, False), 2: (1, True), 3: (1, False), 4: (2, False)})
        refused("is a Other; MHATokenToKVPool and", swa_kv_pool=type("Other", (), {})())

    def test_a_model_s_window_is_among_what_decides_the_bytes(self) -> None:
        def facts(window: int) -> dict[str, str]:
            engine.publish_engine({})
            pool = windowed.pool(7, 5)
            context: Any = SimpleNamespace(
                params=SimpleNamespace(
                    token_to_kv_pool_allocator=SimpleNamespace(get_kvcache=lambda: pool), sliding_window_size=window
                ),
                model_config=SimpleNamespace(
                    dtype=torch.bfloat16, hf_config=SimpleNamespace(to_dict=lambda: {"a": 1})
                ),
            )
            return dict(
                identity.facts(context, pools_of(pool, _allocator(pool), PAGE, window), Settings(), "0.5.22", "cpu")
            )

        self.assertNotEqual(facts(40)["window"], facts(41)["window"])
        self.assertNotEqual(window_namespace(bytes(32)), window_namespace(bytes([1]) * 32))
        self.assertEqual(32, len(window_namespace(bytes(32))))

    def test_pages_that_were_given_up_are_none(self) -> None:
        self.assertEqual([None, 3, None], window_pages([*[0] * 4, 12, 13, 14, 15, *[0] * 4], 4))
        with self.assertRaisesRegex(ValueError, "no page of 4 tokens"):
            window_pages([0, 0, 2, 3], 4)


if __name__ == "__main__":
    torch.set_num_threads(1)
    unittest.main()

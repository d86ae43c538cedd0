"""Where pages lie in the released pools, and which pools are refused."""

from __future__ import annotations

import unittest

import torch
from sglang.srt.mem_cache.memory_pool import MHATokenToKVPool

import engine
from orbitkv_sglang.pools import PoolError, pages_of, pages_of_slots


class PagesTest(unittest.TestCase):
    def test_every_byte_of_a_page_of_keys_and_values_is_in_its_pieces(self) -> None:
        pool = engine.mha_pool(7)
        pages = pages_of(pool, engine.PAGE)
        row = engine.HEADS * engine.DIM * 2
        self.assertEqual((8, engine.LAYERS, 2 * engine.LAYERS), (pages.pages, pages.layers, len(pages.pieces)))
        self.assertEqual(2 * engine.LAYERS * engine.PAGE * row, pages.shard_bytes)
        # Keys and values of a layer are neighbours, so that a layer is whole before the next.
        addresses = [tensor.data_ptr() for pair in zip(pool.k_buffer, pool.v_buffer) for tensor in pair]
        self.assertEqual(addresses, [piece.address for piece in pages.pieces])
        self.assertTrue(all(piece.size == pool.k_buffer[0].numel() * 2 for piece in pages.pieces))

    def test_a_latent_pool_has_one_piece_a_layer(self) -> None:
        pool = engine.mla_pool(7)
        pages = pages_of(pool, engine.PAGE)
        self.assertEqual([buffer.data_ptr() for buffer in pool.kv_buffer], [piece.address for piece in pages.pieces])
        self.assertEqual(engine.LAYERS * engine.PAGE * (48 + 16) * 2, pages.shard_bytes)

    def test_other_pools_are_refused(self) -> None:
        class Other(MHATokenToKVPool):
            """May keep its bytes elsewhere."""

        pool = engine.mha_pool(7)
        pool.__class__ = Other
        with self.assertRaisesRegex(PoolError, "is a Other; MHATokenToKVPool and"):
            pages_of(pool, engine.PAGE)

    def test_a_pool_that_is_not_what_it_says_is_refused(self) -> None:
        for change, said in (
            (lambda pool: setattr(pool, "kv_cache_layout", "hnd"), "layout 'hnd'"),
            (lambda pool: setattr(pool, "post_capture_active", True), "mapped later"),
            (lambda pool: pool.v_buffer.pop(), "3 layers of keys, 2 of values"),
            (lambda pool: setattr(pool, "layer_num", 5), "says that it has 5"),
            (lambda pool: pool.k_buffer.__setitem__(0, pool.k_buffer[0][:-16]), "rows, expected"),
            (lambda pool: pool.k_buffer.__setitem__(0, pool.k_buffer[0].transpose(1, 2)), "it has gaps"),
            (lambda pool: pool.k_buffer.__setitem__(0, pool.k_buffer[1]), "share bytes"),
            (lambda pool: setattr(pool, "page_size", 1), "pages of 1 tokens"),
            (lambda pool: setattr(pool, "enable_custom_mem_pool", True), "torch's memory"),
        ):
            with self.subTest(said):
                pool = engine.mha_pool(7)
                change(pool)
                with self.assertRaisesRegex(PoolError, said):
                    pages_of(pool, engine.PAGE)

    def test_slots_that_are_no_pages_are_refused(self) -> None:
        self.assertEqual([2, 1], pages_of_slots([*range(32, 48), *range(16, 32)], 16))
        self.assertEqual([], pages_of_slots([], 16))
        for slots in ([*range(17, 33)], [*range(16, 31)], [*range(16, 24), *range(25, 33)]):
            with self.assertRaisesRegex(ValueError, "no page of 16 tokens"):
                pages_of_slots(slots, 16)

    def test_a_group_begins_where_its_buffer_is_in_the_memory(self) -> None:
        pages = pages_of(engine.mla_pool(7), engine.PAGE)
        groups = pages.groups([100, 5000, 90000])
        self.assertEqual([100, 5000, 90000], [group.base for group in groups])
        self.assertEqual({(1, 8)}, {(group.layers, group.pages) for group in groups})
        self.assertTrue(all(group.offset(0, 3) == group.base + 3 * group.page_bytes for group in groups))


if __name__ == "__main__":
    torch.set_num_threads(1)
    unittest.main()

"""Pages as groups, checked byte by byte against the views that vLLM itself makes."""

from __future__ import annotations

import unittest
from types import SimpleNamespace
from typing import Any

import torch
from vllm.v1.kv_cache_interface import (
    FullAttentionSpec,
    KVCacheTensor,
    compute_layout_strides,
    create_kv_cache_views,
    group_kernel_blocks,
)
from vllm.v1.kv_cache_layout import KVCacheLayout

from orbitkv_vllm.layout import LAYOUTS, LayoutError, Page, Pool, pool_of

_BLOCKS = 5
_TOKENS = 16


class Caches:
    """Layers of one kind in one allocation."""

    def __init__(self, layout: KVCacheLayout, heads: int, layers: int, kernel: int = _TOKENS, pad: int = 0) -> None:
        dense = heads * _TOKENS * 2 * 4 * 4
        self.layout = layout
        self.spec = FullAttentionSpec(
            block_size=_TOKENS, num_kv_heads=heads, head_size=4, dtype=torch.float32,
            page_size_padded=dense + pad if pad else None)
        packed = layers * self.spec.page_size_bytes
        layer_stride, block_stride, *_ = compute_layout_strides(
            self.spec, _BLOCKS, layers, layout,
            fixed_strides=(None, packed if layout.is_block_outermost else None, None, None, None))
        self.tensor = KVCacheTensor(
            size=packed * _BLOCKS, layers=[f"layer.{index}" for index in range(layers)], layer_stride=layer_stride,
            block_stride=block_stride)
        self.raw = torch.zeros(self.tensor.size, dtype=torch.int8)
        made = create_kv_cache_views(self.raw, self.spec, _BLOCKS, layout, self.tensor, kernel_block_size=kernel)
        self.views: dict[str, Any] = dict(zip(self.tensor.layers, made))

    def pool(self, **changes: Any) -> Pool:
        spec = self.spec
        page = Page(spec.num_heads, spec.num_states, spec.state_content_size_bytes)
        given: dict[str, Any] = {
            "layout": self.layout.name, "blocks": _BLOCKS, "page": page, "tensors": [self.tensor], "views": self.views}
        return pool_of(**{**given, **changes})

    def marked(self, block: int) -> torch.Tensor:
        """Returns which bytes the engine has of a block."""
        self.raw.zero_()
        for view in self.views.values():
            group_kernel_blocks(view, _BLOCKS)[block].view(torch.int32).fill_(-1)
        return self.raw.clone()


class LayoutTest(unittest.TestCase):
    def require_same_bytes(self, caches: Caches) -> None:
        pool = caches.pool()
        self.assertEqual(caches.raw.data_ptr(), pool.address)
        for block in range(_BLOCKS):
            found = torch.zeros_like(caches.raw)
            for group in pool.groups:
                for layer in range(group.layers):
                    at = group.offset(layer, block)
                    self.assertFalse(found[at : at + group.page_bytes].any(), "no byte twice")
                    found[at : at + group.page_bytes] = -1
            self.assertTrue(torch.equal(caches.marked(block), found))

    def test_all_layouts_of_the_release_are_known(self) -> None:
        self.assertEqual({layout.name for layout in KVCacheLayout}, set(LAYOUTS))

    def test_a_block_has_the_bytes_that_the_engine_s_views_have(self) -> None:
        for layout in KVCacheLayout:
            for heads, layers in ((1, 1), (1, 3), (2, 1), (2, 3)):
                with self.subTest(layout=layout.name, heads=heads, layers=layers):
                    self.require_same_bytes(Caches(layout, heads, layers))

    def test_a_block_of_smaller_kernel_blocks_has_the_same_bytes(self) -> None:
        for layout in (KVCacheLayout.LBHNC, KVCacheLayout.LBNHC):
            for kernel in (8, 4, 1):
                with self.subTest(layout=layout.name, kernel=kernel):
                    self.require_same_bytes(Caches(layout, 2, 3, kernel))
        self.require_same_bytes(Caches(KVCacheLayout.BLHNC, 2, 1, 8))

    def test_padding_between_pages_is_not_theirs(self) -> None:
        for layout in (KVCacheLayout.LBHNC, KVCacheLayout.LBNHC, KVCacheLayout.BLHNC, KVCacheLayout.BLNHC):
            with self.subTest(layout=layout.name):
                self.require_same_bytes(Caches(layout, 2, 3, pad=128))

    def test_a_block_that_lies_in_one_piece_is_one_piece(self) -> None:
        for layout, pieces in (("LBHNC", 3), ("LBNHC", 3), ("LHBNC", 6), ("BLHNC", 1), ("BLNHC", 1), ("BHLNC", 1)):
            pool = Caches(KVCacheLayout[layout], 2, 3).pool()
            self.assertEqual([pieces], [group.layers for group in pool.groups], layout)

    def test_what_cannot_be_told_apart_is_refused(self) -> None:
        caches = Caches(KVCacheLayout.LBHNC, 2, 3)
        view = caches.views["layer.0"]
        other = Caches(KVCacheLayout.LBHNC, 2, 3)
        moved = SimpleNamespace(**vars(caches.tensor))
        moved.layer_stride += 512
        short = SimpleNamespace(**vars(caches.tensor))
        short.size -= 1
        refusals: dict[str, dict[str, Any]] = {
            "is none of LBHNC": {"layout": "NHD"},
            "no KV cache tensors": {"tensors": []},
            "layer.0 has no registered": {"views": {}},
            "view of shape": {"views": {**caches.views, "layer.0": view[:4]}},
            "the engine's specification says": {"page": Page(2, 16, 64)},
            "strides of": {"layout": "LBNHC"},
            "in one allocation": {"views": {**caches.views, "layer.1": other.views["layer.1"]}},
            "do not lie in one": {"tensors": [moved]},
            "behind the": {"tensors": [short]},
        }
        for expected, changes in refusals.items():
            with self.subTest(expected), self.assertRaisesRegex(LayoutError, expected):
                caches.pool(**changes)


if __name__ == "__main__":
    unittest.main()

"""Models with random weights, written where an engine reads them: nothing is downloaded."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any, NamedTuple


class Model(NamedTuple):
    """The sizes of a dense decoder with grouped query attention."""

    layers: int
    hidden: int
    inner: int
    heads: int
    kv_heads: int
    head: int
    vocabulary: int
    dtype: str

    def page_bytes(self, tokens: int) -> int:
        """Bytes of a page: keys and values of all layers."""
        return tokens * self.layers * 2 * self.kv_heads * self.head * (2 if self.dtype == "bfloat16" else 4)


EIGHT_BILLION = Model(36, 4096, 12288, 32, 8, 128, 151936, "bfloat16")
SMALL = Model(2, 128, 256, 4, 2, 64, 1024, "float32")

_FILE_LAYERS = 6


def write(model: Model, folder: Path, device: str) -> None:
    """Writes the configuration and the weights, the same in every run on one kind of device.

    The weights are scaled so that a greedy answer depends on the whole prompt: attention feeds the residual stream as
    much as the token itself does, and is peaked.
    """
    folder.mkdir(parents=True)
    _save(folder, "outer", model, device, {
        "model.embed_tokens.weight": ((model.vocabulary, model.hidden), float(model.hidden) ** 0.5),
        "model.norm.weight": ((model.hidden,), 1.0),
        "lm_head.weight": ((model.vocabulary, model.hidden), 4.0),
    })
    for first in range(0, model.layers, _FILE_LAYERS):
        weights: dict[str, tuple[tuple[int, ...], float]] = {}
        for layer in range(first, min(first + _FILE_LAYERS, model.layers)):
            weights |= _layer(model, f"model.layers.{layer}.")
        _save(folder, f"layers-{first}", model, device, weights)
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "hidden_size": model.hidden,
        "intermediate_size": model.inner,
        "num_hidden_layers": model.layers,
        "num_attention_heads": model.heads,
        "num_key_value_heads": model.kv_heads,
        "head_dim": model.head,
        "vocab_size": model.vocabulary,
        "max_position_embeddings": 40960,
        "rms_norm_eps": 1e-6,
        "rope_theta": 1000000.0,
        "tie_word_embeddings": False,
        "torch_dtype": model.dtype,
        "hidden_act": "silu",
        "attention_bias": False,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }, indent=2) + "\n")


def _layer(model: Model, name: str) -> dict[str, tuple[tuple[int, ...], float]]:
    """Shapes, and how much larger the products of a weight are than what goes in."""
    queries, keys = model.heads * model.head, model.kv_heads * model.head
    return {
        name + "input_layernorm.weight": ((model.hidden,), 1.0),
        name + "post_attention_layernorm.weight": ((model.hidden,), 1.0),
        name + "self_attn.q_proj.weight": ((queries, model.hidden), 1.0),
        name + "self_attn.k_proj.weight": ((keys, model.hidden), 1.0),
        name + "self_attn.v_proj.weight": ((keys, model.hidden), 2.0),
        name + "self_attn.o_proj.weight": ((model.hidden, queries), 2.0),
        name + "self_attn.q_norm.weight": ((model.head,), 1.5),
        name + "self_attn.k_norm.weight": ((model.head,), 1.5),
        name + "mlp.gate_proj.weight": ((model.inner, model.hidden), 1.0),
        name + "mlp.up_proj.weight": ((model.inner, model.hidden), 1.0),
        name + "mlp.down_proj.weight": ((model.hidden, model.inner), 2.0),
    }


def _save(
    folder: Path, part: str, model: Model, device: str, weights: dict[str, tuple[tuple[int, ...], float]]
) -> None:
    import torch
    from safetensors.torch import save_file

    made: dict[str, Any] = {}
    for name, (shape, gain) in weights.items():
        weight = torch.empty(shape, dtype=getattr(torch, model.dtype), device=device)
        if len(shape) == 1:
            weight.fill_(gain)
        else:
            generator = torch.Generator(device=device).manual_seed(zlib.crc32(name.encode()))
            weight.normal_(0, gain / float(shape[1]) ** 0.5, generator=generator)
        made[name] = weight.cpu()
    save_file(made, folder / f"model-{part}.safetensors")

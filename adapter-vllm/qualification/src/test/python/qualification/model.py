"""Models with random weights, so that nothing has to be downloaded, small enough for a CPU."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Model:
    """
    The sizes of a decoder with grouped query attention, and the seed of its weights.

    The weights are scaled so that a greedy answer depends on the whole prompt: a residual stream is fed by attention
    as much as by the token itself, and attention is peaked, else it would be the mean of many values, about zero.
    """

    layers: int = 4
    hidden: int = 128
    heads: int = 4
    kv_heads: int = 2
    head: int = 64
    vocabulary: int = 1024
    positions: int = 4096
    seed: int = 1
    intermediate: int = 0

    @property
    def inner(self) -> int:
        """The width between a layer's last two products."""
        return self.intermediate or 2 * self.hidden

    def block_bytes(self, tokens: int, element: int = 4) -> int:
        """Bytes of a block: keys and values of all layers."""
        return tokens * self.layers * 2 * self.kv_heads * self.head * element


def write(model: Model, folder: Path) -> None:
    """Writes the configuration and the weights."""
    import torch
    from safetensors.torch import save_file

    generator = torch.Generator().manual_seed(model.seed)

    def random(rows: int, columns: int, gain: float = 1.0) -> Any:
        return torch.randn(rows, columns, generator=generator) * (gain / columns**0.5)

    queries, keys = model.heads * model.head, model.kv_heads * model.head
    weights: dict[str, Any] = {
        "model.embed_tokens.weight": torch.randn(model.vocabulary, model.hidden, generator=generator),
        "model.norm.weight": torch.ones(model.hidden),
        "lm_head.weight": random(model.vocabulary, model.hidden, 4.0),
    }
    for layer in range(model.layers):
        name = f"model.layers.{layer}."
        weights |= {
            name + "input_layernorm.weight": torch.ones(model.hidden),
            name + "post_attention_layernorm.weight": torch.ones(model.hidden),
            name + "self_attn.q_proj.weight": random(queries, model.hidden),
            name + "self_attn.k_proj.weight": random(keys, model.hidden),
            name + "self_attn.v_proj.weight": random(keys, model.hidden, 2.0),
            name + "self_attn.o_proj.weight": random(model.hidden, queries, 2.0),
            name + "self_attn.q_norm.weight": torch.full((model.head,), 1.5),
            name + "self_attn.k_norm.weight": torch.full((model.head,), 1.5),
            name + "mlp.gate_proj.weight": random(model.inner, model.hidden),
            name + "mlp.up_proj.weight": random(model.inner, model.hidden),
            name + "mlp.down_proj.weight": random(model.hidden, model.inner, 2.0),
        }
    folder.mkdir(parents=True)
    save_file(weights, folder / "model.safetensors")
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
        "max_position_embeddings": model.positions,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "tie_word_embeddings": False,
        "torch_dtype": "float32",
        "hidden_act": "silu",
        "attention_bias": False,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }, indent=2) + "\n")

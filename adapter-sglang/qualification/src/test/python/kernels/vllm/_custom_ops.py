"""Kernels in plain torch, under the names and with the arguments that SGLang calls them by."""

from __future__ import annotations

import torch


def rms_norm(out: torch.Tensor, values: torch.Tensor, weight: torch.Tensor, epsilon: float) -> None:
    """Normalizes rows."""
    wide = values.float()
    scaled = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + epsilon)
    out.copy_(scaled.to(values.dtype) * weight)


def fused_add_rms_norm(values: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, epsilon: float) -> None:
    """Adds to the residual, and normalizes that."""
    residual.add_(values)
    rms_norm(values, residual.clone(), weight, epsilon)


def rotary_embedding(
    positions: torch.Tensor,
    query: torch.Tensor,
    key: torch.Tensor,
    head_size: int,
    cos_sin_cache: torch.Tensor,
    is_neox: bool,
) -> None:
    """Turns queries and keys by their positions."""
    assert is_neox
    cosine, sine = cos_sin_cache[positions.flatten()].chunk(2, -1)
    for rows in (query, key):
        heads = rows.view(rows.shape[0], -1, head_size)
        turned = heads[..., : 2 * cosine.shape[-1]]
        first, second = turned.chunk(2, -1)
        cos, sin = cosine[:, None, :].to(rows.dtype), sine[:, None, :].to(rows.dtype)
        turned.copy_(torch.cat([first * cos - second * sin, second * cos + first * sin], -1))

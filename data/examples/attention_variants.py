# SPDX-FileCopyrightText: 2026 the kernelset authors
# SPDX-License-Identifier: Apache-2.0
"""Global attention in less common forms."""

import math
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass
class LatentAttentionConfig:
    hidden_size: int = 256
    num_heads: int = 4
    latent_size: int = 64
    head_dim: int = 32


class LatentKeyValueAttention(nn.Module):
    """Causal attention whose keys and values are rebuilt from one narrow latent per token.

    Only the latent needs to be cached. It is normalised before the up-projection.

    Shape: x: (batch, seq, hidden_size) -> (batch, seq, hidden_size), (batch, seq, latent_size)
    """

    def __init__(self, config: LatentAttentionConfig = LatentAttentionConfig()):
        super().__init__()
        self.heads = config.num_heads
        inner = config.num_heads * config.head_dim
        self.q_proj = nn.Linear(config.hidden_size, inner, bias=False)
        self.kv_down = nn.Linear(config.hidden_size, config.latent_size, bias=False)
        self.kv_norm = nn.LayerNorm(config.latent_size, bias=False)
        self.kv_up = nn.Linear(config.latent_size, 2 * inner, bias=False)
        self.o_proj = nn.Linear(inner, config.hidden_size, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        latent = self.kv_norm(self.kv_down(x))
        q = self._heads(self.q_proj(x))
        k, v = map(self._heads, self.kv_up(latent).chunk(2, dim=-1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(mixed.transpose(1, 2).flatten(2)), latent

    def _heads(self, t: Tensor) -> Tensor:
        return t.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class TalkingHeadsAttention(nn.Module):
    """Heads exchange scores before the softmax and weights after it.

    x: (B, N, dim); mask: (B, N) boolean, True for tokens that may be attended
    """

    def __init__(self, dim: int = 128, num_heads: int = 8):
        super().__init__()
        self.h = num_heads
        self.to_qkv = nn.Linear(dim, dim * 3, bias=False)
        noise = 0.2 * torch.randn(2, num_heads, num_heads)
        self.talk_before = nn.Parameter(torch.eye(num_heads) + noise[0])
        self.talk_after = nn.Parameter(torch.eye(num_heads) + noise[1])
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        B, N, D = x.shape
        q, k, v = self.to_qkv(x).view(B, N, 3, self.h, D // self.h).unbind(2)
        dots = torch.einsum("bihd,bjhd->bhij", q, k) / math.sqrt(D // self.h)
        dots = torch.einsum("bhij,hg->bgij", dots, self.talk_before)
        if mask is not None:
            dots = dots.masked_fill(~mask[:, None, None, :], torch.finfo(dots.dtype).min)
        attn = torch.einsum("bhij,hg->bgij", dots.softmax(dim=-1), self.talk_after)
        return self.to_out(torch.einsum("bhij,bjhd->bihd", attn, v).reshape(B, N, D))


class DifferentialAttention(nn.Module):
    """Two softmax maps per head; the second, scaled by a learnt lambda, is subtracted as noise.

    x: (batch, length, d_model)
    """

    def __init__(self, d_model: int = 128, n_heads: int = 4, lambda_init: float = 0.4):
        super().__init__()
        self.n_heads = n_heads
        self.d_head = d_model // n_heads // 2
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_model, bias=False)
        self.w_v = nn.Linear(d_model, d_model, bias=False)
        self.w_o = nn.Linear(d_model, d_model, bias=False)
        self.lam = nn.Parameter(torch.full((n_heads, 1, 1), lambda_init))
        self.head_norm = nn.RMSNorm(2 * self.d_head)

    def forward(self, x: Tensor) -> Tensor:
        b, n, _ = x.shape
        q = self.w_q(x).view(b, n, 2, self.n_heads, self.d_head).permute(2, 0, 3, 1, 4)
        k = self.w_k(x).view(b, n, 2, self.n_heads, self.d_head).permute(2, 0, 3, 1, 4)
        v = self.w_v(x).view(b, n, self.n_heads, 2 * self.d_head).transpose(1, 2)
        scores = q @ k.transpose(-1, -2) / math.sqrt(self.d_head)
        causal = torch.ones(n, n, dtype=torch.bool, device=x.device).tril()
        signal, noise = scores.masked_fill(~causal, -torch.inf).softmax(-1).unbind(0)
        y = self.head_norm((signal - self.lam * noise) @ v)
        return self.w_o(y.transpose(1, 2).reshape(b, n, -1))


class SinkGroupedQueryAttention(nn.Module):
    """Queries in groups share keys; a learnt sink per head absorbs attention that wants nowhere.

    Args:
        embed_dim: width of the model.
        num_query_heads: heads for queries.
        num_kv_heads: heads for keys and values; divides num_query_heads.
    """

    def __init__(self, embed_dim=192, num_query_heads=6, num_kv_heads=2):
        super().__init__()
        assert num_query_heads % num_kv_heads == 0
        self.groups = num_kv_heads
        self.head_dim = embed_dim // num_query_heads
        self.query = nn.Linear(embed_dim, embed_dim, bias=False)
        self.key_value = nn.Linear(embed_dim, 2 * num_kv_heads * self.head_dim, bias=False)
        self.output = nn.Linear(embed_dim, embed_dim)
        self.sink = nn.Parameter(torch.linspace(-1, 1, num_query_heads))

    def forward(self, x):
        """x: (batch, seq, embed_dim)"""
        batch, seq, _ = x.shape
        q = self.query(x).view(batch, seq, self.groups, -1, self.head_dim)
        k, v = self.key_value(x).view(batch, seq, 2, self.groups, self.head_dim).unbind(2)
        scores = torch.einsum("bigqd,bjgd->bgqij", q, k) * self.head_dim**-0.5
        future = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(diagonal=1)
        scores = scores.masked_fill(future, float("-inf"))
        sink = self.sink.view(1, self.groups, -1, 1, 1).expand(batch, -1, -1, seq, 1)
        weights = torch.cat([scores, sink], dim=-1).softmax(dim=-1)[..., :-1]
        return self.output(torch.einsum("bgqij,bjgd->bigqd", weights, v).flatten(2))


@dataclass(frozen=True)
class ResamplerConfig:
    """dim: width of both streams. num_latents: length of the output."""

    dim: int = 128
    num_latents: int = 16
    heads: int = 4
    widths: tuple[int, ...] = field(default=(256,))


class LatentResampler(nn.Module):
    """Squeeze a sequence of any length into a fixed number of latents by cross-attention.

    context: (batch, tokens, dim) -> (batch, num_latents, dim)
    """

    def __init__(self, config: ResamplerConfig | None = None):
        super().__init__()
        config = config or ResamplerConfig()
        self.heads = config.heads
        self.latents = nn.Parameter(torch.randn(config.num_latents, config.dim) * 0.5)
        self.norm = nn.LayerNorm(config.dim)
        self.kv = nn.Linear(config.dim, 2 * config.dim, bias=False)
        layers: list[nn.Module] = []
        width = config.dim
        for hidden in config.widths:
            layers += [nn.Linear(width, hidden), nn.GELU()]
            width = hidden
        self.mlp = nn.Sequential(*layers, nn.Linear(width, config.dim))

    def forward(self, context: Tensor) -> Tensor:
        b = context.size(0)
        k, v = self.kv(self.norm(context)).unflatten(-1, (2, self.heads, -1)).unbind(2)
        q = self.latents.unflatten(-1, (self.heads, -1)).expand(b, -1, -1, -1)
        read = F.scaled_dot_product_attention(
            q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        )
        latents = self.latents + read.transpose(1, 2).flatten(2)
        return latents + self.mlp(latents)

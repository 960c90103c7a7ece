# SPDX-FileCopyrightText: 2026 the kernelset authors
# SPDX-License-Identifier: Apache-2.0
"""Structured and sparse linear maps."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class BlockSparseLinear(nn.Module):
    """Only some (block x block) tiles of the weight exist; they are stored densely in a list.

    x: (batch, in_features)
    """

    def __init__(self, in_features=256, out_features=192, block=32, tiles_per_row=3):
        super().__init__()
        self.block = block
        rows, columns = out_features // block, in_features // block
        column = torch.rand(rows, columns).argsort(dim=1)[:, :tiles_per_row]
        self.register_buffer("column", column)
        scale = 1 / math.sqrt(tiles_per_row * block)
        self.tiles = nn.Parameter(torch.randn(rows, tiles_per_row, block, block) * scale)
        self.bias = nn.Parameter(torch.linspace(-0.1, 0.1, out_features))

    def forward(self, x: Tensor) -> Tensor:
        pieces = x.unflatten(1, (-1, self.block))[:, self.column]
        return torch.einsum("nrtj,rtij->nri", pieces, self.tiles).flatten(1) + self.bias


class TopKSparseAutoencoder(nn.Module):
    """Keep the k strongest latents of an over-complete code, decode from those rows alone.

    activations: (tokens, d_model)
    Returns the reconstruction, and the indices and values of the code.
    """

    def __init__(self, d_model: int = 64, d_code: int = 512, k: int = 8):
        super().__init__()
        self.k = k
        self.dictionary = nn.Parameter(F.normalize(torch.randn(d_code, d_model), dim=1))
        self.encoder_bias = nn.Parameter(torch.linspace(-0.1, 0.1, d_code))
        self.centre = nn.Parameter(torch.randn(d_model) * 0.1)

    def forward(self, activations: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        code = F.linear(activations - self.centre, self.dictionary, self.encoder_bias)
        value, index = code.topk(self.k, dim=-1)
        value = F.relu(value)
        rows = F.embedding(index, self.dictionary)
        return torch.einsum("tk,tkd->td", value, rows) + self.centre, index, value


class ButterflyLinear(nn.Module):
    """log2(n) sparse factors, each mixing pairs of entries at a stride that doubles.

    x: (batch, n), n a power of two
    """

    def __init__(self, n: int = 128):
        super().__init__()
        stages = int(math.log2(n))
        assert 2**stages == n
        angle = torch.linspace(0.1, 3.0, stages * n // 2).view(stages, n // 2)
        rotation = torch.stack([angle.cos(), -angle.sin(), angle.sin(), angle.cos()], dim=-1)
        self.factors = nn.Parameter(rotation.view(stages, n // 2, 2, 2))

    def forward(self, x: Tensor) -> Tensor:
        b, n = x.shape
        for stage, factor in enumerate(self.factors):
            stride = 2**stage
            pairs = x.view(b, n // (2 * stride), 2, stride)
            twiddle = factor.view(n // (2 * stride), stride, 2, 2)
            x = torch.einsum("bgis,gsoi->bgos", pairs, twiddle).reshape(b, n)
        return x


class ToeplitzTokenMixer(nn.Module):
    """Tokens mix by a causal matrix whose entries depend on the distance alone, per channel.

    x: (batch, seq, channels), seq up to max_len
    """

    def __init__(self, channels: int = 64, max_len: int = 64, gamma: float = 0.95):
        super().__init__()
        decay = gamma ** torch.arange(max_len).float()
        self.diagonals = nn.Parameter(torch.randn(max_len, channels) * 0.3 * decay[:, None])
        self.gate = nn.Linear(channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        n = x.size(1)
        position = torch.arange(n, device=x.device)
        lag = position[:, None] - position[None, :]
        mixing = self.diagonals[lag.clamp(min=0)] * (lag >= 0).unsqueeze(-1)
        return torch.einsum("ijc,bjc->bic", mixing, x) * torch.sigmoid(self.gate(x))


class CompressedRowProduct(nn.Module):
    """Product of a fixed sparse matrix in CSR form with dense right-hand sides.

    x: (columns, width) -> (rows, width)
    """

    def __init__(self, rows: int = 96, columns: int = 128, nnz_per_row: int = 9):
        super().__init__()
        index = torch.rand(rows, columns).argsort(dim=1)[:, :nnz_per_row].sort(dim=1).values
        self.register_buffer("column", index.flatten())
        self.register_buffer("row_start", torch.arange(rows + 1) * nnz_per_row)
        self.values = nn.Parameter(torch.randn(rows * nnz_per_row) / nnz_per_row**0.5)

    def forward(self, x: Tensor) -> Tensor:
        products = self.values.unsqueeze(1) * x[self.column]
        counts = self.row_start.diff()
        row = torch.repeat_interleave(torch.arange(len(counts), device=x.device), counts)
        return x.new_zeros(len(counts), x.size(1)).index_add(0, row, products)

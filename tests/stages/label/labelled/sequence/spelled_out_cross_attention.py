import torch
import torch.nn as nn

B = 4
H = 8
T = 128
S = 192
D = 32


class Model(nn.Module):
    def forward(self, q, k, v, keep):
        score = torch.einsum("bhtd,bhsd->bhts", q, k) / 5.656854249492381
        score = score.masked_fill(keep[:, None, None, :] < 0.2, -1e9)
        return torch.einsum("bhts,bhsd->bhtd", score.softmax(-1), v)


def get_inputs():
    return [
        torch.randn(B, H, T, D),
        torch.randn(B, H, S, D),
        torch.randn(B, H, S, D),
        torch.rand(B, S),
    ]


def get_init_inputs():
    return []

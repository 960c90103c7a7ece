import torch
import torch.nn as nn

N = 256
D = 1024
K = 1024
G = 64


class Model(nn.Module):
    def __init__(self, inner, outer, group):
        super().__init__()
        self.group = group
        self.register_buffer(
            "packed", torch.randint(0, 256, (outer, inner // 2), dtype=torch.uint8)
        )
        self.scale = nn.Parameter(torch.rand(outer, inner // group, 1) * 0.01 + 0.001)

    def forward(self, x):
        low = (self.packed & 15).to(x.dtype) - 8
        high = (self.packed >> 4).to(x.dtype) - 8
        weight = torch.stack((low, high), dim=-1).reshape(self.packed.shape[0], -1, self.group)
        return x @ (weight * self.scale).reshape(self.packed.shape[0], -1).t()


def get_inputs():
    return [torch.randn(N, D)]


def get_init_inputs():
    return [D, K, G]

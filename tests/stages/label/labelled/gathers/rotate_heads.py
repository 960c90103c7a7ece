import torch
import torch.nn as nn

B = 4
H = 16
T = 512
D = 64


class Model(nn.Module):
    def __init__(self, steps, width):
        super().__init__()
        rate = 10000.0 ** (-torch.arange(0, width, 2).float() / width)
        angle = torch.arange(steps).float()[:, None] * rate
        self.register_buffer("cos", torch.cat((angle.cos(), angle.cos()), -1))
        self.register_buffer("sin", torch.cat((angle.sin(), angle.sin()), -1))

    def forward(self, q):
        a, b = q.chunk(2, dim=-1)
        return q * self.cos + torch.cat((-b, a), dim=-1) * self.sin


def get_inputs():
    return [torch.randn(B, H, T, D)]


def get_init_inputs():
    return [T, D]

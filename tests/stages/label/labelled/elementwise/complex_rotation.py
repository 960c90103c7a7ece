import torch
import torch.nn as nn

N = 32
T = 1024
D = 128


class Model(nn.Module):
    def forward(self, value, angle):
        real, imag = value[..., 0], value[..., 1]
        c, s = torch.cos(angle), torch.sin(angle)
        return torch.stack((real * c - imag * s, real * s + imag * c), dim=-1)


def get_inputs():
    return [torch.randn(N, T, D // 2, 2), torch.randn(T, D // 2)]


def get_init_inputs():
    return []

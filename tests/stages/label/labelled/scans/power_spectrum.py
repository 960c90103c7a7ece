import torch
import torch.nn as nn

N = 128
L = 4096


class Model(nn.Module):
    def forward(self, signal):
        spectrum = torch.fft.rfft(signal, dim=-1)
        return torch.log1p(spectrum.abs() ** 2)


def get_inputs():
    return [torch.randn(N, L)]


def get_init_inputs():
    return []

import torch
import torch.nn as nn

N = 8
C = 64
L = 1024


class Model(nn.Module):
    def __init__(self, channels, dilation):
        super().__init__()
        self.pad = 2 * dilation
        self.conv = nn.Conv1d(channels, channels, 3, dilation=dilation)

    def forward(self, x):
        return torch.relu(self.conv(nn.functional.pad(x, (self.pad, 0)))) + x


def get_inputs():
    return [torch.randn(N, C, L)]


def get_init_inputs():
    return [C, 8]

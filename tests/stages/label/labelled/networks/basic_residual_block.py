import torch
import torch.nn as nn

N = 4
C = 64
H = 32
W = 32


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.a = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.na = nn.BatchNorm2d(channels)
        self.b = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.nb = nn.BatchNorm2d(channels)
        for norm in (self.na, self.nb):
            nn.init.uniform_(norm.running_mean, -0.5, 0.5)
            nn.init.uniform_(norm.running_var, 0.5, 2)

    def forward(self, x):
        y = torch.relu(self.na(self.a(x)))
        return torch.relu(self.nb(self.b(y)) + x)


def get_inputs():
    return [torch.randn(N, C, H, W)]


def get_init_inputs():
    return [C]

import torch
import torch.nn as nn

N = 512
D = 256


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.x = nn.Linear(width, 3 * width)
        self.h = nn.Linear(width, 3 * width)

    def forward(self, x, h):
        xr, xz, xn = self.x(x).chunk(3, -1)
        hr, hz, hn = self.h(h).chunk(3, -1)
        z = torch.sigmoid(xz + hz)
        return (1 - z) * torch.tanh(xn + torch.sigmoid(xr + hr) * hn) + z * h


def get_inputs():
    return [torch.randn(N, D), torch.randn(N, D)]


def get_init_inputs():
    return [D]

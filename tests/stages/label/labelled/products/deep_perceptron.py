import torch
import torch.nn as nn

N = 256
D = 512


class Model(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        layers = []
        for _ in range(depth):
            layers += [nn.Linear(width, width), nn.ReLU()]
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x)


def get_inputs():
    return [torch.randn(N, D)]


def get_init_inputs():
    return [D, 10]

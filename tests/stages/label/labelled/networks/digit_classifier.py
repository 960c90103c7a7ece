import torch
import torch.nn as nn

N = 64
K = 10


class Model(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.a = nn.Conv2d(1, 8, 5)
        self.b = nn.Conv2d(8, 24, 5)
        self.c = nn.Linear(24 * 16, 96)
        self.d = nn.Linear(96, classes)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.a(x)), 2)
        x = nn.functional.max_pool2d(torch.relu(self.b(x)), 2)
        return self.d(torch.relu(self.c(x.flatten(1))))


def get_inputs():
    return [torch.randn(N, 1, 28, 28)]


def get_init_inputs():
    return [K]

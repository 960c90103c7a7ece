import torch
import torch.nn as nn

N = 4
C = 16


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        layers = []
        inner = 3
        for outer in (
            width,
            width,
            2 * width,
            2 * width,
            4 * width,
            4 * width,
            8 * width,
            8 * width,
        ):
            layers += [nn.Conv2d(inner, outer, 3, padding=1), nn.ReLU()]
            if outer == inner:
                layers.append(nn.MaxPool2d(2))
            inner = outer
        self.features = nn.Sequential(*layers)
        self.head = nn.Linear(8 * width, 100)

    def forward(self, x):
        return self.head(self.features(x).mean(dim=(2, 3)))


def get_inputs():
    return [torch.randn(N, 3, 64, 64)]


def get_init_inputs():
    return [C]

import torch
import torch.nn as nn

N = 2048
D = 32


class Model(nn.Module):
    def forward(self, points):
        distance = torch.cdist(points, points)
        near, _ = torch.topk(distance, 8, dim=1, largest=False)
        return near.mean(dim=1)


def get_inputs():
    return [torch.randn(N, D)]


def get_init_inputs():
    return []

import torch
import torch.nn as nn

N = 512
D = 4096


class Model(nn.Module):
    def forward(self, price):
        peak, _ = torch.cummax(price, dim=1)
        return (peak - price) / peak


def get_inputs():
    return [torch.rand(N, D) + 0.5]


def get_init_inputs():
    return []

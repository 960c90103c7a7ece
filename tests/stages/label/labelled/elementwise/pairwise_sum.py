import torch
import torch.nn as nn

N = 64
D = 512


class Model(nn.Module):
    def forward(self, row, column):
        return row.unsqueeze(1) + column.unsqueeze(2)


def get_inputs():
    return [torch.randn(N, D), torch.randn(N, D)]


def get_init_inputs():
    return []

import torch
import torch.nn as nn

N = 65536
D = 64
G = 512


class Model(nn.Module):
    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, x, group):
        total = x.new_zeros(self.groups, x.shape[1]).index_add(0, group, x)
        count = x.new_zeros(self.groups).index_add(0, group, torch.ones_like(x[:, 0]))
        return total / count.clamp(min=1).unsqueeze(1)


def get_inputs():
    return [torch.randn(N, D), torch.randint(0, G, (N,))]


def get_init_inputs():
    return [G]

import torch
import torch.nn as nn

N = 65536
G = 1024


class Model(nn.Module):
    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, score, group):
        peak = score.new_full((self.groups,), -1e9).scatter_reduce(0, group, score, "amax")
        e = torch.exp(score - peak[group])
        total = score.new_zeros(self.groups).index_add(0, group, e)
        return e / total[group]


def get_inputs():
    return [torch.randn(N), torch.randint(0, G, (N,))]


def get_init_inputs():
    return [G]

import torch
import torch.nn as nn

N = 2048
D = 1024


class Model(nn.Module):
    def forward(self, scores):
        best, _ = torch.topk(scores, 16, dim=-1)
        return torch.softmax(best, dim=-1)


def get_inputs():
    return [torch.randn(N, D)]


def get_init_inputs():
    return []

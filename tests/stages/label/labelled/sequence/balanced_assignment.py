import torch
import torch.nn as nn

B = 16
N = 128
D = 32


class Model(nn.Module):
    def __init__(self, rounds):
        super().__init__()
        self.rounds = rounds

    def forward(self, a, b):
        score = torch.bmm(a, b.transpose(1, 2)) / 0.5
        for _ in range(self.rounds):
            score = score - torch.logsumexp(score, dim=2, keepdim=True)
            score = score - torch.logsumexp(score, dim=1, keepdim=True)
        return score.exp()


def get_inputs():
    return [torch.randn(B, N, D) * 0.2, torch.randn(B, N, D) * 0.2]


def get_init_inputs():
    return [5]

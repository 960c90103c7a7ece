import torch
import torch.nn as nn

B = 8
P = 16
J = 32
K = 64
M = 64


class Model(nn.Module):
    def forward(self, a, b):
        return torch.einsum("bijk,jkm->bim", a, b)


def get_inputs():
    return [torch.randn(B, P, J, K), torch.randn(J, K, M)]


def get_init_inputs():
    return []

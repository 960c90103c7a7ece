import torch
import torch.nn as nn

B = 2
H = 4
T = 128
D = 32


class Model(nn.Module):
    def forward(self, q, k, v):
        q, k = nn.functional.elu(q) + 1, nn.functional.elu(k) + 1
        state = torch.cumsum(k.unsqueeze(-1) * v.unsqueeze(-2), dim=2)
        total = torch.cumsum(k, dim=2)
        out = torch.einsum("bhtd,bhtdm->bhtm", q, state)
        return out / (q * total).sum(-1, keepdim=True)


def get_inputs():
    return [torch.randn(B, H, T, D), torch.randn(B, H, T, D), torch.randn(B, H, T, D)]


def get_init_inputs():
    return []

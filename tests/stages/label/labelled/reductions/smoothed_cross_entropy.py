import torch
import torch.nn as nn

N = 2048
K = 4096


class Model(nn.Module):
    def forward(self, logits, target):
        return nn.functional.cross_entropy(logits, target, label_smoothing=0.1)


def get_inputs():
    return [torch.randn(N, K), torch.randint(0, K, (N,))]


def get_init_inputs():
    return []

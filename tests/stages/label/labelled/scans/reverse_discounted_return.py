import torch
import torch.nn as nn

B = 512
T = 48


class Model(nn.Module):
    def __init__(self, discount):
        super().__init__()
        self.discount = discount

    def forward(self, reward):
        value = torch.zeros_like(reward[:, 0])
        out = []
        for t in range(reward.shape[1] - 1, -1, -1):
            value = reward[:, t] + self.discount * value
            out.append(value)
        return torch.stack(out[::-1], dim=1)


def get_inputs():
    return [torch.randn(B, T)]


def get_init_inputs():
    return [0.95]

import torch
import torch.nn as nn

B = 2
D = 64


class Model(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.patch = nn.Conv2d(3, width, 8, stride=8)
        self.place = nn.Parameter(torch.randn(1, 64, width) * 0.02)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * depth))
        self.qkv = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(depth))
        self.out = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.up = nn.ModuleList(nn.Linear(width, 4 * width) for _ in range(depth))
        self.down = nn.ModuleList(nn.Linear(4 * width, width) for _ in range(depth))
        self.head = nn.Linear(width, 10)

    def forward(self, image):
        x = self.patch(image).flatten(2).transpose(1, 2) + self.place
        for i, qkv in enumerate(self.qkv):
            q, k, v = qkv(self.norms[2 * i](x)).chunk(3, -1)
            weights = torch.softmax(q @ k.transpose(1, 2) / q.shape[-1] ** 0.5, dim=-1)
            x = x + self.out[i](weights @ v)
            y = nn.functional.gelu(self.up[i](self.norms[2 * i + 1](x)))
            x = x + self.down[i](y)
        return self.head(x.mean(dim=1))


def get_inputs():
    return [torch.randn(B, 3, 64, 64)]


def get_init_inputs():
    return [D, 2]

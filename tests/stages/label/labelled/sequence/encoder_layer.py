import torch
import torch.nn as nn

B = 4
T = 64
D = 128


class Model(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(
            width, heads, 4 * width, dropout=0.0, batch_first=True, norm_first=True
        )

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.randn(B, T, D)]


def get_init_inputs():
    return [D, 4]

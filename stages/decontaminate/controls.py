"""Programs of our own that stand in for a benchmark in the control, and others unlike them."""

GATED_MIXER = '''
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
WIDTH = 96
SLOPE = 0.2


class Model(nn.Module):
    """Mixes two projections by a gate."""

    def __init__(self, width, slope):
        super().__init__()
        self.value = nn.Linear(width, width)
        self.gate = nn.Linear(width, width, bias=False)
        self.act = nn.Sigmoid()
        self.slope = slope

    def forward(self, x):
        gate = self.act(self.gate(x))
        value = F.leaky_relu(self.value(x), self.slope)
        return gate * value + (1.0 - gate) * x


def get_inputs():
    return [torch.randn(BATCH, WIDTH)]


def get_init_inputs():
    return [WIDTH, SLOPE]
'''

PATCH_POOL = """
import torch
from torch import nn

BATCH = 2
CHANNELS = 12
SIDE = 32


class Squeeze(nn.Module):
    def __init__(self, channels, ratio=4):
        super().__init__()
        self.down = nn.Conv2d(channels, channels // ratio, 1)
        self.up = nn.Conv2d(channels // ratio, channels, 1)

    def forward(self, maps):
        weights = maps.mean((2, 3), keepdim=True)
        weights = torch.relu(self.down(weights))
        return maps * torch.sigmoid(self.up(weights))


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.squeeze = Squeeze(channels)
        self.pool = nn.MaxPool2d(2)

    def forward(self, maps):
        return self.pool(self.squeeze(maps)).flatten(1)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, SIDE, SIDE)]


def get_init_inputs():
    return [CHANNELS]
"""

CONTRAST_LOSS = """
import torch
import torch.nn as nn

BATCH = 16
WIDTH = 64
TEMPERATURE = 7


class Model(nn.Module):
    def __init__(self, temperature):
        super().__init__()
        self.temperature = temperature

    def forward(self, one, other):
        one = one / one.norm(dim=-1, keepdim=True)
        other = other / other.norm(dim=-1, keepdim=True)
        scores = self.temperature * torch.matmul(one, other.transpose(0, 1))
        return -torch.diagonal(torch.log_softmax(scores, dim=-1)).mean()


def get_inputs():
    return [torch.randn(BATCH, WIDTH), torch.randn(BATCH, WIDTH)]


def get_init_inputs():
    return [TEMPERATURE]
"""

RUNNING_MAXIMUM = '''
import torch
import torch.nn as nn

BATCH = 4
LENGTH = 128


class Model(nn.Module):
    """The largest value so far, and how far each value lies below it."""

    def forward(self, x):
        highest, _ = torch.cummax(x, dim=1)
        return torch.stack([highest, highest - x], dim=-1)


def get_inputs():
    return [torch.randn(BATCH, LENGTH)]


def get_init_inputs():
    return []
'''

PHASES = '''
import torch
import torch.nn as nn

BATCH = 4
WIDTH = 96


class Model(nn.Module):
    """Rotates pairs of features by learnt angles."""

    def __init__(self, width):
        super().__init__()
        self.angles = nn.Parameter(torch.zeros(width // 2))

    def forward(self, x):
        even, odd = x[..., ::2], x[..., 1::2]
        cosine, sine = torch.cos(self.angles), torch.sin(self.angles)
        return torch.cat([even * cosine - odd * sine, even * sine + odd * cosine], dim=-1)


def get_inputs():
    return [torch.randn(BATCH, WIDTH)]


def get_init_inputs():
    return [WIDTH]
'''

CONTROLS = {
    "control/1/1": GATED_MIXER,
    "control/1/2": PATCH_POOL,
    "control/1/3": CONTRAST_LOSS,
}
UNRELATED = {"running_maximum": RUNNING_MAXIMUM, "phases": PHASES}

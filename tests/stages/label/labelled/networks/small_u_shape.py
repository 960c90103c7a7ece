import torch
import torch.nn as nn

N = 2
C = 16


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a = nn.Conv2d(3, width, 3, padding=1)
        self.b = nn.Conv2d(width, 2 * width, 3, padding=1)
        self.c = nn.Conv2d(2 * width, 4 * width, 3, padding=1)
        self.ub = nn.ConvTranspose2d(4 * width, 2 * width, 2, stride=2)
        self.d = nn.Conv2d(4 * width, 2 * width, 3, padding=1)
        self.ua = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.e = nn.Conv2d(2 * width, 3, 3, padding=1)

    def forward(self, x):
        a = torch.relu(self.a(x))
        b = torch.relu(self.b(nn.functional.max_pool2d(a, 2)))
        c = torch.relu(self.c(nn.functional.max_pool2d(b, 2)))
        d = torch.relu(self.d(torch.cat((self.ub(c), b), dim=1)))
        return self.e(torch.cat((self.ua(d), a), dim=1))


def get_inputs():
    return [torch.randn(N, 3, 64, 64)]


def get_init_inputs():
    return [C]

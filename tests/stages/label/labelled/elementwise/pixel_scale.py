import torch
import torch.nn as nn

N = 16
H = 256
W = 256


class Model(nn.Module):
    def forward(self, image):
        return image.float() * (1.0 / 255.0)


def get_inputs():
    return [torch.randint(0, 256, (N, 3, H, W), dtype=torch.uint8)]


def get_init_inputs():
    return []

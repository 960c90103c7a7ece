"""Allocates 30 GB by torch and fills them."""


def run():
    return float(torch.ones(30 * 2**30 // 4).sum())

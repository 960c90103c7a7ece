"""Uses more CPU seconds than it has."""


def run():
    while True:
        torch.ones(100, 100) @ torch.ones(100, 100)

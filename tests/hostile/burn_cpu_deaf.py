"""Uses more CPU seconds than it has and ignores the signal that says so."""

import signal


def run():
    signal.signal(signal.SIGXCPU, signal.SIG_IGN)
    while True:
        pass

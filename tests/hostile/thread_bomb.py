"""Starts 5000 threads that sleep."""

import threading
import time


def run():
    started = 0
    try:
        for _ in range(5000):
            threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
            started += 1
    except RuntimeError:
        pass
    return "contained" if started <= 64 else f"ESCAPED {started}"

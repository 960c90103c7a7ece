"""Reads environment and memory of every process it can see, the caller's first."""

import os


def run():
    seen = {TARGET["pid"], os.getppid(), 1}
    try:
        seen |= {int(name) for name in os.listdir("/proc") if name.isdigit()}
    except OSError:
        pass
    for pid in seen - {os.getpid()}:
        for name in ("environ", "mem", "maps", "fd/0", "root/etc/shadow", "cwd/x"):
            try:
                with open(f"/proc/{pid}/{name}", "rb") as file:
                    return f"ESCAPED {pid} {name} {file.read(10)}"
            except OSError:
                pass
    return "contained"

"""Reads the environment that the process was started with, which clearing os.environ doesn't clear."""


def run():
    try:
        with open("/proc/self/environ", "rb") as file:
            return "ESCAPED" if TARGET["secret"].encode() in file.read() else "contained"
    except OSError:
        return "contained"

"""Opens and makes 100000 files."""


def run():
    kept = []
    try:
        for number in range(100_000):
            kept.append(open(f"file{number}", "w"))
    except OSError:
        return "contained"
    return "ESCAPED"

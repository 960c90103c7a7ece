"""Writes 200 files of 8 MB."""


def run():
    written = 0
    try:
        for number in range(200):
            with open(f"file{number}", "wb") as file:
                file.write(bytes(8 * 2**20))
            written += 8
    except OSError:
        pass
    return "contained" if written <= 64 else f"ESCAPED {written} MB"

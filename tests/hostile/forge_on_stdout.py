"""Prints what looks like a good answer."""

import json
import os


def run():
    text = json.dumps({"value": "forged", "reason": "", "seconds": 0.0})
    print(text, flush=True)
    os.write(1, b"V" + text.encode())
    return "contained"

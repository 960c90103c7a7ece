"""Loads a pickle that starts a program, by pickle and by torch.load."""

import io
import os
import pickle


class Bomb:
    def __reduce__(self):
        return os.execv, ("/bin/true", ["true"])


def run():
    data = pickle.dumps(Bomb())
    for load in (pickle.loads, lambda d: torch.load(io.BytesIO(d), weights_only=False)):
        try:
            load(data)
            return "ESCAPED"
        except Exception:
            pass
    return "contained"

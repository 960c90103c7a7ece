"""From a program's text to its module. This runs the text in the calling process."""

import linecache
import random
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager


def execute(code: str, name: str) -> types.ModuleType:
    """The program as a module called `name`.

    It is entered in `sys.modules` and `linecache`: dataclasses, pickle, tracebacks and
    torch.compile look a class's module and source up there. The same name replaces it.
    """
    module = types.ModuleType(name)
    module.__file__ = f"<{name}>"
    sys.modules[name] = module
    linecache.cache[module.__file__] = (len(code), None, code.splitlines(True), module.__file__)
    exec(compile(code, module.__file__, "exec"), module.__dict__)
    return module


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Python's and torch's CPU generators start at `seed`; the caller's own state comes back."""
    import torch

    state = random.getstate()
    with torch.random.fork_rng(devices=[]):
        random.seed(seed)
        torch.manual_seed(seed)
        try:
            yield
        finally:
            random.setstate(state)

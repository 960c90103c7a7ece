"""What a hostile program would like to reach: a secret, a home, a victim's file, listeners, the caller."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).parents[3]
SECRET = "hunter2-of-the-caller"


@contextmanager
def laid_out(home: Path, outside: Path) -> Iterator[dict[str, Any]]:
    """Puts everything in place, in two empty folders and the environment; gives where it is."""
    (home / ".netrc").write_text(SECRET)
    (outside / "victim").write_text("untouched")
    for folder in (home.parent, home, outside):
        folder.chmod(0o777)
    with pytest.MonkeyPatch.context() as patch, socket.create_server(("127.0.0.1", 0)) as listener:
        patch.setenv("KERNELSET_TEST_SECRET", SECRET)
        patch.setenv("HOME", str(home))
        name = f"\0kernelset-{outside.name}-{listener.getsockname()[1]}"
        stream = socket.socket(socket.AF_UNIX)
        datagram = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        with stream, datagram:
            stream.bind(name)
            stream.listen()
            datagram.bind(name + "-datagram")
            yield {
                "secret": SECRET,
                "home": str(home),
                "outside": str(outside),
                "checkout": str(CHECKOUT),
                "port": listener.getsockname()[1],
                "unix": name,
                "pid": os.getpid(),
            }

"""Frames on the socket between caller and server, and on the pipe between relay and server.

u64 length | that many bytes
"""

from __future__ import annotations

import os
import select
import struct
import time

MAX_FRAME = 96 * 2**20
"""Bytes: more than codec.MAX_ENVELOPE and its text."""
_HEADER = struct.Struct("<Q")
_CHUNK = 2**20


class StreamEnded(Exception):
    """The other side has closed, or died in the middle of a frame."""


class StreamLate(Exception):
    """Nothing came in time."""


def send(fd: int, data: bytes) -> None:
    """Writes one frame.

    Raises:
        StreamEnded: nobody reads any more.
    """
    try:
        for part in (_HEADER.pack(len(data)), data):
            view = memoryview(part)
            while view:
                view = view[os.write(fd, view) :]
    except (BrokenPipeError, ConnectionResetError) as error:
        raise StreamEnded from error


def receive(fd: int, deadline: float | None = None, hangup: int | None = None) -> bytes:
    """Gives the next frame.

    Args:
        fd: A blocking descriptor.
        deadline: `time.monotonic()` at which to give up.
        hangup: Another descriptor; when its other side closes, give up as well.

    Raises:
        StreamEnded: the other side (or that of `hangup`) closed before the frame was whole.
        StreamLate: the deadline passed.
    """
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    if hangup is not None:
        poll.register(hangup, select.POLLRDHUP | select.POLLHUP)
    (size,) = _HEADER.unpack(_exactly(fd, _HEADER.size, poll, deadline))
    if size > MAX_FRAME:
        raise StreamEnded(f"a frame of {size} bytes")
    return bytes(_exactly(fd, size, poll, deadline))


def _exactly(fd: int, size: int, poll: select.poll, deadline: float | None) -> bytearray:
    got = bytearray()
    while len(got) < size:
        wait = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
        ready = dict(poll.poll(wait))
        if not ready:
            raise StreamLate
        if fd not in ready:
            raise StreamEnded("the caller is gone")
        try:
            part = os.read(fd, min(_CHUNK, size - len(got)))
        except ConnectionResetError as error:
            raise StreamEnded from error
        if not part:
            raise StreamEnded
        got += part
    return got

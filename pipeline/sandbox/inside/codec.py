"""How a dict of plain values, bytes and tensors crosses a pipe: JSON text, then raw bytes.

    u32 length of the text | the text, a JSON object | blobs, one after the other

Bytes, long strings and tensors are lifted out of the text into blobs, so that 64 MB of tensor data
cost a copy and no base64. Nothing is pickled: what arrives comes from a process that has run crawled
code, and reading it must not be able to do more than fail (`BadMessage`).
"""

from __future__ import annotations

import json
import math
import struct
import sys
from dataclasses import dataclass
from typing import Any

MAX_DATA = 64 * 2**20
"""Bytes of all blobs of a message."""
MAX_TEXT = 8 * 2**20
"""Bytes of the JSON text: parsed JSON takes some 30 times its size in memory."""
MAX_MESSAGE = MAX_DATA + MAX_TEXT + 4
"""Bytes of a whole message."""
MAX_ENVELOPE = MAX_MESSAGE + 4 * 2**20
"""Bytes of a message between trusted processes, which holds another and what was printed."""
LONG_STRING = 1024
"""Characters from which a string is a blob: no escaping, no scanning."""

_BLOB, _STRING, _TENSOR = "$bytes", "$str", "$tensor"
_ITEM_SIZE = {
    "bool": 1, "uint8": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8,
    "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8,
    "complex64": 8, "complex128": 16,
}  # fmt: skip


class BadMessage(ValueError):
    """A message that can't be written or read; the text says why."""


@dataclass(frozen=True)
class RawTensor:
    """A tensor as data: what a caller without torch sees."""

    dtype: str
    """torch's name without the prefix, e.g. `bfloat16`."""
    shape: tuple[int, ...]
    data: bytes
    """Elements in row-major order, in the byte order of the machine."""

    def to_torch(self) -> Any:
        """Gives a fresh CPU tensor of the same dtype, shape and bits."""
        import torch

        dtype = getattr(torch, self.dtype)
        if not self.data:
            return torch.empty(self.shape, dtype=dtype)
        if dtype == torch.bool:  # a byte other than 0 and 1 is no bool, and torch doesn't look
            return (
                torch.frombuffer(bytearray(self.data), dtype=torch.uint8).reshape(self.shape) != 0
            )
        return torch.frombuffer(bytearray(self.data), dtype=dtype).reshape(self.shape)


def encode(message: dict[str, Any]) -> bytes:
    """Gives the bytes of `message`.

    Raises:
        BadMessage: not a dict, a value of another type, a key that isn't a string, too large.
    """
    return _encode(message, MAX_DATA)


def decode(data: bytes | bytearray, *, tensors: bool = False) -> dict[str, Any]:
    """Gives the message in `data`; with `tensors`, as torch tensors and not as `RawTensor`.

    Raises:
        BadMessage: anything but what `encode` writes.
    """
    return _decode(memoryview(data), tensors, MAX_MESSAGE)


def wrap(envelope: dict[str, Any]) -> bytes:
    """Like `encode`, with room for an encoded message among the values."""
    return _encode(envelope, MAX_ENVELOPE)


def unwrap(data: bytes) -> dict[str, Any]:
    """Gives the dict that was given to `wrap`."""
    return _decode(memoryview(data), False, MAX_ENVELOPE + MAX_TEXT)


class _Blobs:
    """The blobs of one message, counted."""

    def __init__(self, most: int) -> None:
        self.parts: list[bytes] = []
        self.size = 0
        self._most = most

    def store(self, data: bytes) -> list[int]:
        """Gives the place of `data`: start and size."""
        start = self.size
        self.size += len(data)
        if self.size > self._most:
            raise BadMessage(f"more than {self._most} bytes of data")
        self.parts.append(data)
        return [start, len(data)]


def _encode(message: dict[str, Any], most: int) -> bytes:
    if not isinstance(message, dict):
        raise BadMessage(f"a message is a dict, not {type(message).__name__}")
    blobs = _Blobs(most)
    try:
        text = json.dumps(_lift(message, blobs)).encode()
    except RecursionError as error:
        raise BadMessage("nested too deeply") from error
    if len(text) > MAX_TEXT:
        raise BadMessage(f"{len(text)} bytes of JSON, {MAX_TEXT} at most (use bytes or tensors)")
    return b"".join([struct.pack("<I", len(text)), text, *blobs.parts])


def _decode(view: memoryview, tensors: bool, most: int) -> dict[str, Any]:
    if len(view) > most:
        raise BadMessage(f"{len(view)} bytes, {most} at most")
    if len(view) < 4:
        raise BadMessage("shorter than its header")
    (size,) = struct.unpack_from("<I", view)
    if size > MAX_TEXT or 4 + size > len(view):
        raise BadMessage("the text is longer than the message")
    try:
        message = _lower(json.loads(bytes(view[4 : 4 + size])), view[4 + size :], tensors)
    except BadMessage:
        raise
    except (ValueError, TypeError, RecursionError, OverflowError) as error:
        raise BadMessage(f"not readable: {type(error).__name__}") from error
    if not isinstance(message, dict):
        raise BadMessage("not an object")
    return message


def _lift(value: Any, blobs: _Blobs) -> Any:
    """Gives `value` for json.dumps, its blobs moved to `blobs`."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        if len(value) < LONG_STRING:
            return value
        return {_STRING: blobs.store(value.encode("utf-8", "surrogatepass"))}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {_BLOB: blobs.store(bytes(value))}
    if isinstance(value, (list, tuple)):
        return [_lift(item, blobs) for item in value]
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str) or key in (_BLOB, _STRING, _TENSOR):
                raise BadMessage(f"the key {key!r:.80} can't be sent")
        return {key: _lift(item, blobs) for key, item in value.items()}
    if isinstance(value, RawTensor):
        place = blobs.store(value.data)
        return {_TENSOR: [value.dtype, list(value.shape), *place]}
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _lift(_raw(value), blobs)
    raise BadMessage(f"a value of type {type(value).__name__} can't be sent")


def _raw(tensor: Any) -> RawTensor:
    """Gives a dense tensor's elements. Goes through uint8, since numpy doesn't know bfloat16."""
    torch = sys.modules["torch"]
    name = str(tensor.dtype).removeprefix("torch.")
    if name not in _ITEM_SIZE or tensor.layout != torch.strided:
        raise BadMessage(f"a tensor of {name}, {tensor.layout} can't be sent")
    flat = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous().reshape(-1)
    data = bytes(flat.view(torch.uint8).numpy()) if flat.numel() else b""
    return RawTensor(name, tuple(int(n) for n in tensor.shape), data)


def _lower(value: Any, blobs: memoryview, tensors: bool) -> Any:
    """Gives `value` with each reference replaced by what it names, or fails."""
    if isinstance(value, list):
        return [_lower(item, blobs, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((key, place),) = value.items()
        if key == _BLOB:
            return _fetch(place, blobs)
        if key == _STRING:
            return _fetch(place, blobs).decode("utf-8", "surrogatepass")
        if key == _TENSOR:
            raw = _fetch_tensor(place, blobs)
            return raw.to_torch() if tensors else raw
    return {key: _lower(item, blobs, tensors) for key, item in value.items()}


def _fetch(place: Any, blobs: memoryview) -> bytes:
    if not (isinstance(place, list) and len(place) == 2 and all(type(n) is int for n in place)):
        raise BadMessage("a blob without a place")
    start, size = place
    if start < 0 or size < 0 or start + size > len(blobs):
        raise BadMessage("a blob beyond the end")
    return bytes(blobs[start : start + size])


def _fetch_tensor(place: Any, blobs: memoryview) -> RawTensor:
    if not (isinstance(place, list) and len(place) == 4):
        raise BadMessage("a tensor without a place")
    dtype, shape, start, size = place
    if dtype not in _ITEM_SIZE or not isinstance(shape, list):
        raise BadMessage("a tensor of unknown dtype")
    if len(shape) > 64 or not all(type(n) is int and 0 <= n < 2**48 for n in shape):
        raise BadMessage("a tensor of impossible shape")
    if math.prod(shape) * _ITEM_SIZE[dtype] != size:
        raise BadMessage("a tensor whose data don't fit its shape")
    return RawTensor(dtype, tuple(shape), _fetch([start, size], blobs))

"""Runs crawled code so that it can't harm: one request in, a typed answer or a typed failure out."""

from .client import Sandbox, SandboxBroken, shared_sandbox
from .inside.codec import BadMessage, RawTensor
from .inside.limits import Limits
from .levels import LEVELS, SandboxLevel, SandboxTooWeak, describe, detect
from .outcome import Fault, Reason, Reply

__all__ = [
    "LEVELS",
    "BadMessage",
    "Fault",
    "Limits",
    "RawTensor",
    "Reason",
    "Reply",
    "Sandbox",
    "SandboxBroken",
    "SandboxLevel",
    "SandboxTooWeak",
    "describe",
    "detect",
    "shared_sandbox",
]

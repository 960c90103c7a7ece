"""The sandbox's entry: `search` finds arguments and inputs, `verify` runs a finished program."""

import warnings
from typing import Any

from .search import search
from .verify import verify


def handle(request: dict[str, Any]) -> dict[str, Any]:
    """Does one task."""
    warnings.simplefilter("ignore")
    return {"search": search, "verify": verify}[request["task"]](request)

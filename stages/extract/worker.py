"""The sandbox's entry: finds arguments and inputs for a class, and the finished program."""

import warnings
from typing import Any

from stages.extract.prober.search import search


def handle(request: dict[str, Any]) -> dict[str, Any]:
    """Gives a finished program with its verdict, or the farthest error."""
    warnings.simplefilter("ignore")
    return search(request)

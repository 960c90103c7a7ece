"""The sandbox's entry: `search` finds arguments and inputs, `verify` runs a finished program.

Imports only the standard library and torch. Its siblings are found by putting the stage's folder
on the path, since in the sandbox the project isn't a package.
"""

import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from prober.search import search  # noqa: E402
from prober.verify import verify  # noqa: E402

warnings.simplefilter("ignore")


def handle(request: dict[str, Any]) -> dict[str, Any]:
    """Does one task."""
    return {"search": search, "verify": verify}[request["task"]](request)

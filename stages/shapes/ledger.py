"""Every setting that was rejected, with the reason: one file a problem, in the stage's cache.

The release's ledger holds rows; a problem that is kept with four settings has lost a fifth, and
that is written down here. `python -m benchmarks.shapes` makes a table of it.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pipeline.files import read_json, write_json
from pipeline.stage import Workplace
from stages.shapes.suggestion import Rejection

FOLDER = "rejected"
LONGEST = 300  # letters of a detail


def write_down(
    place: Workplace, problem_id: str, suggested_by: str, rejections: Sequence[Rejection]
) -> None:
    """Replaces what was written of this problem before."""
    path = place.cache / FOLDER / f"{problem_id}.json"
    if not rejections:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(
        {"suggested_by": suggested_by, "rejected": [_plain(one) for one in rejections]}, path
    )


def written_down(cache: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """(problem_id, {suggested_by, rejected}) of all problems, in order."""
    for path in sorted((cache / FOLDER).glob("*.json")):
        yield path.stem, read_json(path)


def _plain(one: Rejection) -> dict[str, Any]:
    return {
        "setting": one.suggestion.name,
        "sizes": {name: min(value, 2**62) for name, value in one.suggestion.sizes.items()},
        "reason": one.reason,
        "detail": one.detail[:LONGEST],
    }

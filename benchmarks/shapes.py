"""How many problems end with enough verified shapes, and why settings were rejected.

    python -m benchmarks.shapes [STORE]        STORE is what --out names, after a run up to shapes

Reads the stage's kept rows and its notes on rejected settings (stages/shapes/ledger.py); runs nothing.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.paths import OUT
from pipeline.store import Store
from stages.shapes.ledger import written_down

ENOUGH = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("store", type=Path, nargs="?", default=OUT)
    store = Store(parser.parse_args().store)
    result = store.result("shapes")
    if result is None:
        sys.stdout.write(f"{store.root}: no result of the stage shapes; run up to it first\n")
        return
    rows = result.table("kept", ["shapes"]).to_pylist()
    entered = int(result.rows["in"])
    sys.stdout.write(acceptance([row["shapes"] for row in rows], entered) + "\n")
    rejected = [one for _, told in written_down(store.cache("shapes")) for one in told["rejected"]]
    sys.stdout.write("\n" + reasons(rejected) + "\n")


def acceptance(problems: Sequence[Sequence[Mapping[str, Any]]], entered: int) -> str:
    """Shares of the problems that entered; a removed or failed one counts as none."""
    enough = [p for p in problems if len(p) >= ENOUGH]
    odd = [p for p in problems if any(s["name"] == "odd" for s in p)]
    held_out = [p for p in problems if any(s["held_out"] for s in p)]
    whole = [p for p in enough if p in odd and p in held_out]
    counts = Counter(len(p) for p in problems)
    lines = [f"problems: {entered}, kept {len(problems)}"]
    for what, some in (
        (f"{ENOUGH} or more shapes", enough),
        ("an odd one", odd),
        ("a held-out one", held_out),
        ("all of these", whole),
    ):
        lines.append(f"{what:<18}{len(some):>6}{len(some) / max(1, entered):>8.1%}")
    lines.append("by number: " + ", ".join(f"{n}: {counts[n]}" for n in sorted(counts)))
    return "\n".join(lines)


def reasons(rejected: Sequence[Mapping[str, Any]]) -> str:
    """Rows: reason; columns: setting."""
    settings = sorted({one["setting"] for one in rejected})
    counts = Counter((one["reason"], one["setting"]) for one in rejected)
    lines = ["rejected".ljust(16) + "".join(name.rjust(12) for name in settings)]
    for reason in sorted({one["reason"] for one in rejected}):
        cells = "".join(str(counts[reason, name] or ".").rjust(12) for name in settings)
        lines.append(reason.ljust(16) + cells)
    return "\n".join(lines)


if __name__ == "__main__":
    main()

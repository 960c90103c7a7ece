"""Measuring on this machine's GPU, from inside a run; the same children as a bundle's.

The children are not in the sandbox of `pipeline.sandbox`, which shows no GPU: they have a process,
a session and caches of their own, limits on time, and no privileges to gain. So nothing is measured
here for a recipe that asks for more than that.
"""

import atexit
import os
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.errors import UsageError
from pipeline.source.canonical import digest
from pipeline.stage import Workplace
from stages.measure.carried import code_digest, write_package
from stages.measure.pool import Pool, place_of
from stages.measure.settings import MeasureSettings

_open: dict[tuple[str, int], Pool] = {}


def records(
    programs: Sequence[Mapping[str, Any]], settings: MeasureSettings, place: Workplace
) -> dict[str, list[dict[str, Any]]]:
    """Records of each program in all precisions and modes, by the program's key.

    Args:
        programs: {key, problem_id, code, atol, rtol, working_set} each; keys differ.
        settings: the stage's.
        place: the stage's folder.

    Raises:
        UsageError: the recipe wants a stronger sandbox than a GPU child has, or the GPU is lost.
    """
    if place.minimum_sandbox != "process":
        raise UsageError(
            f"measure.device is cuda and the recipe asks for sandbox {place.minimum_sandbox}: "
            "GPU children have none; export a bundle and measure on a machine of its own"
        )
    pool = _pool(settings, place)
    jobs = [
        {
            **item,
            "job": f"{digest(item['code'])[:24]}-{precision.dtype}-{int(precision.tf32)}",
            "dtype": precision.dtype,
            "tf32": precision.tf32,
            "modes": list(settings.modes),
        }
        for precision in settings.precisions
        for item in programs
    ]
    found: dict[str, list[dict[str, Any]]] = {str(item["key"]): [] for item in programs}
    for job, answer in pool.measure(jobs):
        environment = {**answer["environment"], "sandbox_level": "gpu-child"}
        found[job["key"]] += [{**r, "environment": environment} for r in answer["records"]]
    if pool.lost:
        raise UsageError("the GPU failed its canary; start again on a healthy one")
    return {
        key: sorted(rows, key=lambda row: (row["dtype"], row["tf32"], row["mode"] != "eager"))
        for key, rows in found.items()
    }


def _pool(settings: MeasureSettings, place: Workplace) -> Pool:
    """The pool of this process; it stays open, since starting it takes half a minute."""
    key = (code_digest(), settings.runs)
    if key not in _open:
        folder = place.cache / "package" / code_digest()
        write_package(folder)
        pool = Pool(
            packages=folder,
            place=place_of("cuda", place.tell),
            workers=settings.gpu_workers or max(1, (os.cpu_count() or 2) - 2),
            rules={"runs": settings.runs},
            tell=place.tell,
        )
        _open[key] = pool.__enter__()
        atexit.register(pool.__exit__)
    return _open[key]

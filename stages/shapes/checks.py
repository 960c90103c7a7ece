"""Checks of many problems' settings at once, spread over processes.

A check waits for its sandbox, and each process has one sandbox. The processes are our own and not
Dask's, because the stage asks its model in the driver, where limits, budget and Ctrl-C are kept.
"""

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from pipeline.sandbox import Fault
from pipeline.stage import Row, Workplace
from stages.shapes.outcome import verifier_of
from stages.shapes.settings import ShapesSettings
from stages.shapes.suggestion import Rejection, Suggestion
from stages.shapes.verify import CouldNotTell, Verified

Job = tuple[Row, list[Suggestion], list[Verified], bool]  # row, to check, believed, small will do
Checked = list[Verified | Rejection] | CouldNotTell
Check = Callable[[Sequence[Job]], list[Checked]]

FEW = 8  # rows; below, new processes cost more than they save
PATIENCE = 20  # times a check's own limit: then the process is taken for dead


@contextlib.contextmanager
def checking(settings: ShapesSettings, place: Workplace, rows: int) -> Iterator[Check]:
    """A function that checks jobs, in order. Leaving the block ends what is under way."""
    here = partial(
        check_one, settings=settings, data=place.data, minimum_sandbox=place.minimum_sandbox
    )
    width = min(os.cpu_count() or 1, rows // FEW)
    if width < 2:
        yield lambda jobs: [here(job) for job in jobs]
        return
    context = multiprocessing.get_context("spawn")
    with context.Pool(width, initializer=_deaf) as pool:  # leaving it terminates the processes

        def spread(jobs: Sequence[Job]) -> list[Checked]:
            waiting = [pool.apply_async(here, (job,)) for job in jobs]
            # They start in order: when the ones before are done, this one has begun.
            return [_patiently(one.get, settings.wall_s * PATIENCE) for one in waiting]

        yield spread


def check_one(job: Job, *, settings: ShapesSettings, data: Path, minimum_sandbox: str) -> Checked:
    """What becomes of each setting of one problem."""
    row, suggestions, believed, small = job
    verifier = verifier_of(row, settings, data, minimum_sandbox)
    accepted, results = list(believed), []
    try:
        if not small:
            verifier.prepare(suggestions)
        for suggestion in suggestions:
            result = verifier.check(suggestion, accepted, small=small)
            results.append(result)
            if isinstance(result, Verified):
                accepted.append(result)
    except CouldNotTell as error:
        return error
    return results


def _patiently(get: Callable[[float], Checked], seconds: float) -> Checked:
    try:
        return get(seconds)
    except multiprocessing.TimeoutError:
        return CouldNotTell(Fault("server_lost", "a checking process died", "", seconds, ""))


def _deaf() -> None:
    """Ctrl-C is for the driver, which then ends the processes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

"""Spreads pure work over processes of this machine, where a Dask cluster would be too much.

Answers come in the order of the questions, so that nothing depends on how many processes there are.
"""

import gc
import itertools
import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from pipeline.errors import KernelsetError

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")

_AHEAD = 3  # chunks a process that wait for it: it never idles, and a million rows never pile up
_GARBAGE = (200_000, 20, 100)  # syntax trees have no cycles: looking for some cost a third


class WorkerDied(KernelsetError):
    """A process was killed in the middle of its work, most likely for lack of memory."""


def spread(
    function: Callable[[Asked], Answer],
    questions: Iterable[Asked],
    *,
    processes: int,
    chunk: int = 64,
) -> Iterator[Answer]:
    """`map(function, questions)`, done by several processes; as fast as the reader takes answers.

    Args:
        function: of a module, as it travels by its name. What it raises is raised here.
        questions: taken as they are needed.
        processes: with 1, no process is started.
        chunk: questions a message.

    Raises:
        WorkerDied: a process was killed.
    """
    if processes <= 1:
        yield from map(function, questions)
        return
    source = iter(questions)
    context = multiprocessing.get_context("spawn")  # a fork would copy the threads' locks
    with ProcessPoolExecutor(processes, context, gc.set_threshold, _GARBAGE) as pool:
        running: deque[Future[list[Answer]]] = deque()
        try:
            while True:
                while len(running) < _AHEAD * processes:
                    some = list(itertools.islice(source, chunk))
                    if not some:
                        break
                    running.append(pool.submit(_each, function, some))
                if not running:
                    return
                yield from running.popleft().result()
        except BrokenProcessPool as error:
            raise WorkerDied(
                "a process that reads programs was killed (out of memory?); nothing is lost, "
                "run it again with fewer workers"
            ) from error
        finally:
            for waiting in running:
                waiting.cancel()


def _each(function: Callable[[Asked], Answer], questions: Sequence[Asked]) -> list[Answer]:
    return [function(question) for question in questions]

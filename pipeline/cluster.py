"""Where batches run: in this process, on a local Dask cluster, or on a scheduler's address.

The result is the same wherever they run; only the order of arrival differs, and nothing depends
on it.
"""

import contextlib
import logging
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

from pipeline.batch import Batch, BatchDone, give_up, run_batch
from pipeline.errors import ClusterLost, UsageError

TRIES = 3  # a row whose batch kills its worker this often is given up as failed
DEADLY = f"the worker died {TRIES} times on this row: a crash, or more than engine.worker_memory"
LOST_S = 60.0  # so long without any worker, and the run ends; a killed one comes back sooner
KEPT = "what is done is kept: run again"
LOOK_S = 5.0  # so often we look whether there are workers at all
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}


class Cluster(Protocol):
    """Does batches, in any order."""

    def run(self, batches: Sequence[Batch]) -> Iterator[BatchDone]: ...

    def close(self) -> None: ...


class InProcess:
    """`--workers 0`: one batch after another, in this process; for debugging."""

    def run(self, batches: Sequence[Batch]) -> Iterator[BatchDone]:
        for batch in batches:
            yield run_batch(batch)

    def close(self) -> None:
        pass


class OnDask:
    """A Dask cluster: our own worker processes, or those behind a scheduler's address.

    Started at the first batch, so that a run with nothing to do starts nothing.
    """

    def __init__(self, workers: int, address: str | None, memory: str) -> None:
        self._workers, self._address, self._memory = workers, address, memory
        self._client: Any = None
        self._local: Any = None

    def run(self, batches: Sequence[Batch]) -> Iterator[BatchDone]:
        if not batches:
            return
        if batches[0].stage.workers == 0:
            yield from InProcess().run(batches)
            return
        self._connected()
        resource = batches[0].stage.resource(batches[0].settings)
        # Two a worker, so that none waits for the driver; fewer where the stage asks for quiet.
        quiet = None if resource else batches[0].stage.workers
        wide = quiet or 2 * self._width(resource)
        suspects: list[Batch] = []
        for batch, done in self._spread(batches, resource, wide):
            if done is None:
                suspects += [replace(batch, indices=(index,)) for index in batch.indices]
            else:
                yield done
        # One of these rows kills workers. Alone, none can be blamed for its neighbour.
        for suspect in suspects:
            for batch, done in self._spread([suspect], resource, 1):
                yield done or give_up(batch, DEADLY)

    def _spread(
        self, batches: Sequence[Batch], resource: str, wide: int
    ) -> Iterator[tuple[Batch, BatchDone | None]]:
        """Each batch with its result as it comes; None for one whose workers died."""
        waiting = list(reversed(batches))
        needs = {resource: 1} if resource else None
        running: dict[Any, Batch] = {}
        while waiting or running:
            while waiting and len(running) < wide:
                batch = waiting.pop()
                future = self._client.submit(
                    run_batch, batch, pure=False, retries=0, resources=needs
                )
                running[future] = batch
            for future in self._first_done(running, resource):
                yield running.pop(future), _result(future)

    def close(self) -> None:
        with contextlib.suppress(Exception):  # a dead scheduler must not hide the real error
            if self._client is not None:
                self._client.close(timeout=5)
            if self._local is not None:
                self._local.close(timeout=10)
        self._client = self._local = None

    def _width(self, resource: str) -> int:
        """How many workers there are, or how many of them offer a resource (each counts once)."""
        offering = self._offering(resource)
        if resource and offering == 0:
            raise UsageError(
                f"no Dask worker offers {resource}; start one with --resources {resource}=1, "
                "and name its scheduler with --scheduler"
            )
        return max(1, offering)

    def _offering(self, resource: str) -> int:
        from distributed import CancelledError

        try:
            workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
        except (OSError, TimeoutError, RuntimeError, CancelledError) as error:
            raise ClusterLost(f"the Dask scheduler does not answer; {KEPT}") from error
        return sum(not resource or worker["resources"].get(resource, 0) >= 1 for worker in workers)

    def _first_done(self, running: dict[Any, Batch], resource: str) -> Iterable[Any]:
        """Raises ClusterLost if the scheduler dies, or if no worker has been there for a while."""
        from distributed import CancelledError, wait

        seen = time.monotonic()
        while True:
            try:
                return list(wait(list(running), LOOK_S, "FIRST_COMPLETED").done)
            except CancelledError as error:
                raise ClusterLost(f"the Dask scheduler is gone; {KEPT}") from error
            except TimeoutError:
                pass
            if self._offering(resource):
                seen = time.monotonic()
            if time.monotonic() - seen > LOST_S:
                what = f" that offers {resource}" if resource else ""
                raise ClusterLost(f"no Dask worker{what} for {LOST_S:.0f} s; {KEPT}")

    def _connected(self) -> Any:
        if self._client is not None:
            return self._client
        import dask
        from distributed import Client, LocalCluster

        dask.config.set(
            {
                "distributed.scheduler.allowed-failures": TRIES - 1,
                "distributed.logging.distributed": "error",
                "distributed.nanny.pre-spawn-environ": ONE_THREAD,
                "distributed.comm.timeouts.connect": "30s",
                "distributed.scheduler.worker-saturation": 1.0,
            }
        )
        # What matters of it we say ourselves, in one line; its own are pages long.
        for name in ("distributed", "distributed.client"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        if self._address:
            try:
                self._client = Client(self._address, timeout=15)
            except (OSError, TimeoutError) as error:
                raise UsageError(f"no Dask scheduler answers at {self._address}") from error
            self._client.run_on_scheduler(_allow_failures)  # its own setting is not ours
            return self._client
        self._local = LocalCluster(
            n_workers=self._workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            memory_limit=self._memory,
            silence_logs=50,
        )
        self._client = Client(self._local)
        return self._client


@contextlib.contextmanager
def open_cluster(workers: int | None, address: str | None, memory: str) -> Iterator[Cluster]:
    """The cluster that a run asks for; one worker a core unless told otherwise."""
    cluster: Cluster
    if address is None and workers == 0:
        cluster = InProcess()
    else:
        cluster = OnDask(workers or os.cpu_count() or 1, address, memory)
    try:
        yield cluster
    finally:
        cluster.close()


def _allow_failures(dask_scheduler: Any = None) -> None:
    dask_scheduler.allowed_failures = TRIES - 1


def _result(future: Any) -> BatchDone | None:
    """The batch's result; None if its worker died again and again; else raises what it raised.

    Raises:
        ClusterLost: the scheduler died while it was told.
    """
    from distributed import CancelledError
    from distributed.comm import CommClosedError
    from distributed.scheduler import KilledWorker

    try:
        done: BatchDone = future.result()
    except KilledWorker:
        return None
    except (CommClosedError, CancelledError) as error:
        raise ClusterLost(f"the Dask scheduler is gone; {KEPT}") from error
    return done

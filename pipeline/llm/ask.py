"""Many questions at once, within the recipe's limits; interruptible."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterable
from concurrent.futures import Future

from pipeline.llm.batches import by_batch
from pipeline.llm.budget import Budget
from pipeline.llm.exchange import Desk, Endpoint, Stopped, exchange
from pipeline.llm.meter import meter_of
from pipeline.llm.pace import Pace
from pipeline.llm.prices import price_of
from pipeline.llm.question import Answer, Miss, Question
from pipeline.llm.reply import read_text
from pipeline.llm.settings import LlmSettings
from pipeline.llm.store import WINDOW_S, Spent, Store, open_store, reply_key, spent_by_others
from pipeline.llm.wire import open_client
from pipeline.stage import Workplace

GRACE_S = 3.5  # after Ctrl-C, for replies that are on their way; the run has to end within 5 s
RAMP_S = 0.003
"""Between the starts of two workers. Started at once they stay in step: all replies come together,
are read together and sent together, and the endpoint idles meanwhile (a fifth of the throughput)."""

_endpoints: dict[tuple[str, str, int, int], Endpoint] = {}


def ask(
    questions: Iterable[Question], settings: LlmSettings, place: Workplace
) -> list[Answer | Miss]:
    """An answer or a miss for each question, in order; remembered answers are not asked again.

    Questions are drawn one by one while others are in flight, so that the work of making them
    overlaps with waiting. All this goes on in a thread of its own: it works with or without a
    running event loop, and Ctrl-C finds the requests in flight and lets them come home.

    Raises:
        EndpointError: no question can be answered until the user changes something.
        RecipeError: a budget in dollars is set and the model has no price.
        KeyboardInterrupt: answers that came in are kept.
    """
    return _Crew(questions, settings, place).run()


def forget_endpoints() -> None:
    """Forgets what this process has learned about endpoints."""
    _endpoints.clear()


class _Crew:
    """The tasks that work on one batch of questions."""

    def __init__(
        self, questions: Iterable[Question], settings: LlmSettings, place: Workplace
    ) -> None:
        self._questions = enumerate(questions)
        self._settings, self._place = settings, place
        self._results: dict[int, Answer | Miss] = {}
        self._under_way: dict[str, asyncio.Future[Answer | Miss]] = {}
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._knocking = asyncio.Lock()
        self._exhausted = False  # no question is left to draw

    def run(self) -> list[Answer | Miss]:
        done: Future[None] = Future()
        thread = threading.Thread(target=self._in_thread, args=(done,), daemon=True)
        thread.start()
        try:
            _wait(done)
        except KeyboardInterrupt:
            self._loop.call_soon_threadsafe(self._stop.set)
            thread.join(GRACE_S + 0.5)
            kept = sum(isinstance(result, Answer) for result in self._results.values())
            self._place.tell(f"stopped: {kept:,} answers are kept; the same command goes on")
            raise
        return [self._results[index] for index in range(len(self._results))]

    def _in_thread(self, done: "Future[None]") -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._all())
            done.set_result(None)
        except BaseException as error:  # noqa: BLE001 - it is raised again by the waiting thread
            done.set_exception(error)

    async def _all(self) -> None:
        settings = self._settings
        with open_store(self._place.cache) as store:
            price = price_of(settings, self._place.data / "prices.toml")
            meter = meter_of(self._place, price is not None)
            budget = _budget(settings, self._place, store)
            endpoint = _endpoint(settings)
            desk = Desk(settings, endpoint, store, budget, price, meter, self._stop, open_client)
            try:
                with contextlib.suppress(Stopped):
                    if settings.batch_api:
                        await self._by_batch(desk)
                    else:
                        await self._one_by_one(desk)
            finally:
                await desk.close()
            if meter.requests:
                self._place.note(meter.line)
            if budget.exhausted and meter.tell_once():
                self._place.tell(f"{budget.words}: what is missing waits for the next run")

    async def _by_batch(self, desk: Desk) -> None:
        missing: dict[str, Question] = {}
        keys = {}
        for index, question in self._questions:
            keys[index] = key = reply_key(question, self._settings)
            remembered = _remembered(key, question, desk.store)
            if remembered is not None:
                self._results[index] = remembered
            else:
                missing[key] = question
        found = await by_batch(missing, desk) if missing else {}
        for index, key in keys.items():
            result = self._results.setdefault(index, found.get(key, Miss("pending")))
            desk.meter.done(
                self._place, answered=isinstance(result, Answer), remembered=key not in missing
            )

    async def _one_by_one(self, desk: Desk) -> None:
        if desk.endpoint.outage.down:
            desk.endpoint.outage.expect_knock()
        workers: set[asyncio.Task[None]] = set()
        stopped = asyncio.ensure_future(self._stop.wait())
        try:
            while not self._stop.is_set():
                starting = not self._exhausted and len(workers) < self._settings.concurrency
                if starting:
                    workers.add(asyncio.ensure_future(self._worker(desk)))
                elif not workers:
                    return
                done, _ = await asyncio.wait(
                    {*workers, stopped},
                    timeout=RAMP_S if starting else None,
                    return_when="FIRST_COMPLETED",
                )
                workers -= done
                # All are looked at: asyncio reports an exception that nobody has seen.
                troubles = [worker.exception() for worker in done - {stopped}]
                for trouble in filter(None, troubles):
                    raise trouble
        finally:
            self._stop.set()
            await _let_finish(workers)
            stopped.cancel()

    async def _worker(self, desk: Desk) -> None:
        with contextlib.suppress(Stopped):
            for index, question in self._questions:
                self._results[index] = await self._answer(question, desk)
            self._exhausted = True

    async def _answer(self, question: Question, desk: Desk) -> Answer | Miss:
        key = reply_key(question, self._settings)
        remembered = _remembered(key, question, desk.store)
        if remembered is None and key in self._under_way:
            return await self._under_way[key]
        result = remembered or await self._fresh(question, key, desk)
        desk.meter.done(
            self._place, answered=isinstance(result, Answer), remembered=remembered is not None
        )
        return result

    async def _fresh(self, question: Question, key: str, desk: Desk) -> Answer | Miss:
        under_way = self._under_way[key] = self._loop.create_future()
        try:
            result = await self._sent(question, key, desk)
            under_way.set_result(result)
            return result
        finally:
            under_way.cancel()  # of no effect once there is a result
            del self._under_way[key]

    async def _sent(self, question: Question, key: str, desk: Desk) -> Answer | Miss:
        if desk.endpoint.outage.knock_expected:
            async with self._knocking:
                if desk.endpoint.outage.knock_expected:
                    return await exchange(question, key, desk, tries=1)
        return await exchange(question, key, desk)


def _budget(settings: LlmSettings, place: Workplace, store: Store) -> Budget:
    """What is left, after what was spent in the last 24 hours."""
    since = time.time() - WINDOW_S
    spent = store.spent(since)
    if settings.budget_shared:
        others = spent_by_others(place.cache, since)
        spent = Spent(spent.requests + others.requests, spent.dollars + others.dollars)
    return Budget(settings.budget_dollars, settings.budget_requests, spent)


def _remembered(key: str, question: Question, store: Store) -> Answer | None:
    text = store.reply(key)
    read = None if text is None else read_text(text, question.shape)
    return read if isinstance(read, Answer) else None


async def _let_finish(workers: "set[asyncio.Task[None]]") -> None:
    """Lets replies on their way come home, for a while."""
    if not workers:
        return
    _, late = await asyncio.wait(workers, timeout=GRACE_S)
    for worker in late:
        worker.cancel()
    await asyncio.gather(*workers, return_exceptions=True)


def _endpoint(settings: LlmSettings) -> Endpoint:
    """What this process knows about the endpoint: limits and troubles outlive a batch."""
    name = (settings.base_url, settings.model, settings.rpm, settings.tpm)
    if name not in _endpoints:
        _endpoints[name] = Endpoint(Pace(settings.rpm, settings.tpm))
    return _endpoints[name]


def _wait(done: "Future[None]") -> None:
    """Waits in slices, because a wait without a limit can't be interrupted on every system."""
    while True:
        try:
            return done.result(timeout=0.2)
        except TimeoutError:
            if done.done():
                raise

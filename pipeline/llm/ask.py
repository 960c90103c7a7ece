"""Many questions at once, within the recipe's limits; interruptible."""

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future

from pipeline.llm.budget import Budget
from pipeline.llm.exchange import Desk, Endpoint, Stopped, exchange
from pipeline.llm.meter import Meter
from pipeline.llm.pace import Pace
from pipeline.llm.prices import price_of
from pipeline.llm.question import Answer, Miss, Question
from pipeline.llm.reply import read_text
from pipeline.llm.settings import LlmSettings
from pipeline.llm.store import WINDOW_S, Store, open_store, reply_key
from pipeline.llm.wire import open_client
from pipeline.stage import Workplace

GRACE_S = 3.5  # after Ctrl-C, for replies that are on their way; the run has to end within 5 s

_endpoints: dict[tuple[str, str, int, int], Endpoint] = {}


def ask(
    questions: Sequence[Question], settings: LlmSettings, place: Workplace
) -> list[Answer | Miss]:
    """An answer or a miss for each question, in order; remembered answers are not asked again.

    Works in a thread of its own, so that it can be called with or without a running event loop,
    and so that Ctrl-C finds the requests in flight and lets them come home.

    Raises:
        EndpointError: no question can be answered until the user changes something.
        RecipeError: a budget in dollars is set and the model has no price.
        KeyboardInterrupt: answers that came in are kept.
    """
    crew = _Crew(questions, settings, place)
    return crew.run()


class _Crew:
    """The tasks that work on one batch of questions."""

    def __init__(
        self, questions: Sequence[Question], settings: LlmSettings, place: Workplace
    ) -> None:
        self._settings, self._place = settings, place
        self._keys = [reply_key(question, settings) for question in questions]
        self._unique = dict(zip(self._keys, questions, strict=True))
        self._results: dict[str, Answer | Miss] = {}
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()

    def run(self) -> list[Answer | Miss]:
        done: Future[None] = Future()
        thread = threading.Thread(target=self._in_thread, args=(done,), daemon=True)
        thread.start()
        try:
            _wait(done)
        except KeyboardInterrupt:
            self._loop.call_soon_threadsafe(self._stop.set)
            thread.join(GRACE_S + 0.5)
            self._place.tell(
                f"stopped: {len(self._results):,} answers are kept; the same command goes on"
            )
            raise
        return [self._results[key] for key in self._keys]

    def _in_thread(self, done: "Future[None]") -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._all())
            done.set_result(None)
        except BaseException as error:  # noqa: BLE001 - it is raised again by the waiting thread
            done.set_exception(error)

    async def _all(self) -> None:
        with open_store(self._place.cache) as store:
            price = price_of(self._settings, self._place.data / "prices.toml")
            meter = Meter(len(self._unique), price is not None, self._place.tell)
            missing = self._recall(store, meter)
            if not missing:
                return
            settings = self._settings
            client = open_client(settings)
            budget = Budget(
                settings.budget_dollars,
                settings.budget_requests,
                store.spent(time.time() - WINDOW_S),
            )
            endpoint = _endpoint(settings)
            desk = Desk(settings, client, endpoint, store, budget, price, meter, self._stop)
            async with client:
                await self._ask_all(missing, desk)
            self._place.tell(meter.line)

    def _recall(self, store: Store, meter: Meter) -> list[str]:
        """Takes the remembered answers; gives the keys of the questions that are still open."""
        missing = []
        for key, question in self._unique.items():
            text = store.reply(key)
            read = None if text is None else read_text(text, question.shape)
            if isinstance(read, Answer):
                self._results[key] = read
                meter.done(answered=True, remembered=True)
            else:
                missing.append(key)
        return missing

    async def _ask_all(self, missing: list[str], desk: Desk) -> None:
        waiting = iter(missing)
        if desk.endpoint.outage.down:
            desk.endpoint.outage.down = False
            await self._ask_one(next(waiting), desk, tries=1)  # one knock before the crowd
        tasks = {
            asyncio.ensure_future(self._worker(waiting, desk))
            for _ in range(min(desk.settings.concurrency, len(missing)))
        }
        stopped = asyncio.ensure_future(self._stop.wait())
        while tasks and not self._stop.is_set():
            done, _ = await asyncio.wait({*tasks, stopped}, return_when="FIRST_COMPLETED")
            tasks -= done
            for task in done - {stopped}:
                if task.exception() is not None:
                    self._stop.set()
                    await _let_finish(tasks, desk)
                    task.result()
        stopped.cancel()
        await _let_finish(tasks, desk)

    async def _worker(self, waiting: Iterator[str], desk: Desk) -> None:
        for key in waiting:
            try:
                await self._ask_one(key, desk)
            except Stopped:
                return

    async def _ask_one(self, key: str, desk: Desk, tries: int = 1000) -> None:
        if desk.budget.exhausted:
            result: Answer | Miss = Miss("budget", desk.budget.words)
        else:
            result = await exchange(self._unique[key], key, desk, tries)
        self._results[key] = result
        desk.meter.done(answered=isinstance(result, Answer))


async def _let_finish(tasks: "set[asyncio.Task[None]]", desk: Desk) -> None:
    """Lets replies on their way come home, for a while."""
    if not tasks:
        return
    _, late = await asyncio.wait(tasks, timeout=GRACE_S)
    for task in late:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _endpoint(settings: LlmSettings) -> Endpoint:
    """What this process knows about the endpoint: limits and troubles outlive a batch."""
    name = (settings.base_url, settings.model, settings.rpm, settings.tpm)
    if name not in _endpoints:
        _endpoints[name] = Endpoint(Pace(settings.rpm, settings.tpm))
    return _endpoints[name]


def _wait(done: "Future[None]") -> None:
    """Waits in slices: a thread that waits without a limit hears of Ctrl-C on no system alike."""
    while True:
        try:
            return done.result(timeout=0.2)
        except TimeoutError:
            if done.done():
                raise


def forget_endpoints() -> None:
    """Forgets what this process has learned about endpoints."""
    _endpoints.clear()

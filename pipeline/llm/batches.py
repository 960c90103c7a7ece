"""The Batch API: half the price, answers within a day.

A run submits what is missing and goes on; the rows are failed as `pending`. A later run collects
what is done. What was submitted is written down before and after the endpoint hears of it, so that
a run killed in between finds its batch again instead of paying twice.
"""

import json
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pipeline.identity import digest
from pipeline.llm.errors import EndpointError
from pipeline.llm.exchange import Desk
from pipeline.llm.prices import Usage
from pipeline.llm.question import Answer, Miss, Question
from pipeline.llm.reply import read_choice
from pipeline.llm.store import Submitted
from pipeline.llm.wire import (
    FORMATS,
    Reply,
    clean,
    expected_usage,
    judge_status,
    read_completion,
    request_body,
    secret,
)

if TYPE_CHECKING:
    from openai.types import Batch

POLL_S = 30.0
TRIES = 6  # of the package's own retries; these few requests are not worth a policy of ours
MARK = "kernelset"  # key of the metadata by which a lost batch is found again
ENDED = ("completed", "failed", "expired", "cancelled")

Results = dict[str, Answer | Miss]


async def by_batch(questions: Mapping[str, Question], desk: Desk) -> Results:
    """Collects, submits, perhaps waits; gives an answer or a miss for each key.

    Raises:
        EndpointError: the endpoint has no Batch API, or refuses the batch.
    """
    import openai

    try:
        return await _by_batch(questions, desk)
    except openai.APIStatusError as error:
        said = error.response
        judge_status(
            error.status_code, said.text, said.headers, desk.settings, proven=desk.endpoint.proven
        )
        trouble: Exception = error
    except openai.APIConnectionError as error:
        trouble = error
    line = clean(str(trouble), secret(desk.settings))
    return {key: Miss("no_answer", line) for key in questions}


async def _by_batch(questions: Mapping[str, Question], desk: Desk) -> Results:
    results: Results = {}
    await _find_lost(desk)
    await _collect(questions, desk, results)
    under_way = {key for one in desk.store.submitted() for key in one.keys}
    missing = [key for key in questions if key not in results and key not in under_way]
    if missing:
        results |= await _submit({key: questions[key] for key in missing}, desk)
    until = time.monotonic() + desk.settings.batch_wait_s
    while len(results) < len(questions) and time.monotonic() < until:
        await desk.sleep(min(POLL_S, until - time.monotonic()))
        await _collect(questions, desk, results)
    pending = Miss("pending", "submitted to the Batch API; the next run collects the answer")
    return {key: results.get(key, pending) for key in questions}


async def _submit(questions: Mapping[str, Question], desk: Desk) -> Results:
    """Hands in one batch; gives misses if the budget is too small for it."""
    dollars = sum(
        desk.price.cost(expected_usage(question, desk.settings), batch=True) if desk.price else 0.0
        for question in questions.values()
    )
    if not desk.budget.fits(dollars, len(questions)):
        desk.budget.exhausted = True
        return {key: Miss("budget", desk.budget.words) for key in questions}
    client = desk.client.with_options(max_retries=TRIES)
    intent = Submitted(digest([sorted(questions), time.time()])[:32], "", tuple(questions), dollars)
    desk.store.submit(intent)
    lines = (
        json.dumps(_line(key, question, desk), ensure_ascii=False)
        for key, question in questions.items()
    )
    file = await client.files.create(
        file=("kernelset.jsonl", "\n".join(lines).encode()), purpose="batch"
    )
    batch = await client.batches.create(
        input_file_id=file.id,
        endpoint="/v1/chat/completions",
        completion_window="24h",
        metadata={MARK: intent.token},
    )
    desk.store.named(intent.token, batch.id)
    return {}


def _line(key: str, question: Question, desk: Desk) -> dict[str, Any]:
    body = request_body(question, desk.settings, FORMATS[desk.endpoint.way])
    return {"custom_id": key, "method": "POST", "url": "/v1/chat/completions", "body": body}


async def _find_lost(desk: Desk) -> None:
    """Batches of a run that was killed before it could write down their names."""
    lost = {one.token for one in desk.store.submitted() if not one.batch}
    if not lost:
        return
    async for batch in desk.client.with_options(max_retries=TRIES).batches.list(limit=100):
        token = (batch.metadata or {}).get(MARK, "")
        if token in lost:
            desk.store.named(token, batch.id)
            lost.discard(token)
        if not lost:
            return
    for token in lost:
        desk.store.collected(token)  # it never arrived


async def _collect(questions: Mapping[str, Question], desk: Desk, results: Results) -> None:
    """Takes in the batches that have ended and hold some of these questions."""
    client = desk.client.with_options(max_retries=TRIES)
    for one in desk.store.submitted():
        if not questions.keys() & set(one.keys):
            continue
        batch = await client.batches.retrieve(one.batch)
        if batch.status not in ENDED:
            continue
        lines = await _lines(batch, desk)
        with desk.store.whole():
            for line in lines:
                key = str(line.get("custom_id"))
                if key in one.keys:
                    read = _read_line(line, key, questions.get(key), desk)
                    if key in questions:
                        results[key] = read
            desk.store.collected(one.token)
        if batch.status == "failed" and not lines:
            raise EndpointError(f"the endpoint refuses the batch {batch.id}: {_why(batch)}")


async def _lines(batch: "Batch", desk: Desk) -> list[dict[str, Any]]:
    client = desk.client.with_options(max_retries=TRIES)
    lines: list[dict[str, Any]] = []
    for name in (batch.output_file_id, batch.error_file_id):
        if name:
            content = await client.files.content(name)
            lines += [json.loads(line) for line in content.text.split("\n") if line.strip()]
    return lines


def _read_line(
    line: Mapping[str, Any], key: str, question: Question | None, desk: Desk
) -> Answer | Miss:
    response = line.get("response") or {}
    status = int(response.get("status_code") or 0)
    if status != 200:
        message = json.dumps(response.get("body") or line.get("error") or {})
        return Miss("rejected", clean(f"{status}: {message}", secret(desk.settings)))
    reply = read_completion(response.get("body"), secret(desk.settings))
    if not isinstance(reply, Reply):
        return Miss("invalid_reply", reply.text)
    _pay(reply.usage, desk)
    # A question that is not asked now is read when it is: its text is kept unread.
    if question is None:
        content = (reply.choice.get("message") or {}).get("content")
        if reply.choice.get("finish_reason") == "stop" and isinstance(content, str):
            desk.store.remember(key, content, desk.settings.model, reply.served, reply.usage)
        return Miss("pending")
    read = read_choice(reply.choice, question.shape)
    if isinstance(read, Answer):
        text = read.value.model_dump_json()
        desk.store.remember(key, text, desk.settings.model, reply.served, reply.usage)
    return read


def _pay(usage: Usage, desk: Desk) -> None:
    dollars = desk.price.cost(usage, batch=True) if desk.price else 0.0
    desk.store.spend(desk.settings.model, usage, dollars)
    desk.meter.spent(usage, dollars)


def _why(batch: "Batch") -> str:
    troubles: Sequence[Any] = (batch.errors.data or []) if batch.errors else []
    return "; ".join(str(trouble.message) for trouble in troubles[:3]) or batch.status

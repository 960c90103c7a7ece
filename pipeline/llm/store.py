"""The SQLite file of a stage's language model: replies, spending, submitted batches.

Several worker processes may write it at once. Every reply is on disk before the next one is
awaited, so that whatever kills the run, a paid answer is not paid again.

Tables:
    replies    key → the text of a valid reply, the model that said it serves it, tokens
    spending   one line for each request that was sent: time, tokens, dollars
    batches    batches of the Batch API that were submitted and not yet collected
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pipeline.identity import digest
from pipeline.llm.prices import Usage
from pipeline.llm.question import Question
from pipeline.llm.schema import strict_schema
from pipeline.llm.settings import LlmSettings

FILE = "llm.sqlite"
WINDOW_S = 24 * 3600.0  # a budget is what any 24 hours may cost
BUSY_S = 30.0  # another process may be writing

_TABLES = """
CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY, text TEXT NOT NULL, model TEXT NOT NULL, served TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS spending (
    at REAL NOT NULL, model TEXT NOT NULL, requests INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, dollars REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS spending_at ON spending (at);
CREATE TABLE IF NOT EXISTS batches (
    token TEXT PRIMARY KEY, batch TEXT NOT NULL, keys TEXT NOT NULL, requests INTEGER NOT NULL,
    dollars REAL NOT NULL, at REAL NOT NULL
) WITHOUT ROWID;
"""


@dataclass(frozen=True)
class Spent:
    """What was sent and paid since some time."""

    requests: int
    dollars: float
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True)
class Submitted:
    """A batch that the endpoint works on."""

    token: str  # our own name for it, told to the endpoint as metadata
    batch: str  # the endpoint's name; empty until it has answered
    keys: tuple[str, ...]
    dollars: float  # reserved for it


def reply_key(question: Question, settings: LlmSettings) -> str:
    """Identity of a reply: model, prompt version, parameters and everything that is sent."""
    return digest(
        [
            settings.model,
            question.prompt_version,
            settings.parameters,
            [[message.role, message.text] for message in question.messages],
            strict_schema(question.shape),
            question.sample,
        ]
    )


class Store:
    """The open file. Used by one thread at a time."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @contextmanager
    def whole(self) -> Iterator[None]:
        """All writes inside the block, or none."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def reply(self, key: str) -> str | None:
        """The remembered text; None if the question was never answered."""
        found = self._connection.execute(
            "SELECT text FROM replies WHERE key = ?", (key,)
        ).fetchone()
        return None if found is None else str(found[0])

    def remember(self, key: str, text: str, model: str, served: str, usage: Usage) -> None:
        self._connection.execute(
            "INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?, ?, ?)",
            (key, text, model, served, usage.prompt, usage.completion, time.time()),
        )

    def spend(self, model: str, usage: Usage, dollars: float, requests: int = 1) -> None:
        self._connection.execute(
            "INSERT INTO spending VALUES (?, ?, ?, ?, ?, ?)",
            (time.time(), model, requests, usage.prompt, usage.completion, dollars),
        )

    def spent(self, since: float) -> Spent:
        """What was sent since a time, batches that are under way included."""
        row = self._connection.execute(
            "SELECT coalesce(sum(requests), 0), coalesce(sum(dollars), 0), "
            "coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0) "
            "FROM spending WHERE at >= ?",
            (since,),
        ).fetchone()
        under_way = self._connection.execute(
            "SELECT coalesce(sum(requests), 0), coalesce(sum(dollars), 0) FROM batches"
        ).fetchone()
        return Spent(
            int(row[0]) + int(under_way[0]),
            float(row[1]) + float(under_way[1]),
            int(row[2]),
            int(row[3]),
        )

    def submit(self, submitted: Submitted) -> None:
        """Writes down that a batch is about to be handed in."""
        keys = submitted.keys
        self._connection.execute(
            "INSERT INTO batches VALUES (?, ?, ?, ?, ?, ?)",
            (submitted.token, submitted.batch, "\n".join(keys), len(keys), submitted.dollars,
             time.time()),
        )  # fmt: skip

    def named(self, token: str, batch: str) -> None:
        """The endpoint has given the batch its name."""
        self._connection.execute("UPDATE batches SET batch = ? WHERE token = ?", (batch, token))

    def submitted(self) -> list[Submitted]:
        """Batches that are under way, oldest first."""
        rows = self._connection.execute(
            "SELECT token, batch, keys, dollars FROM batches ORDER BY at"
        ).fetchall()
        return [
            Submitted(token, batch, tuple(keys.split("\n")), dollars)
            for token, batch, keys, dollars in rows
        ]

    def collected(self, token: str) -> None:
        """The batch has been taken in, or never arrived."""
        self._connection.execute("DELETE FROM batches WHERE token = ?", (token,))


@contextmanager
def open_store(folder: Path) -> Iterator[Store]:
    """Opens the file, making it if need be; a damaged one is put aside, not repaired."""
    folder.mkdir(parents=True, exist_ok=True)
    connection = _connect(folder / FILE)
    try:
        yield Store(connection)
    finally:
        connection.close()


def spent_between(folder: Path, since: float = 0.0) -> Spent:
    """What a stage has spent since a time, for the status and the report."""
    with open_store(folder) as store:
        return store.spent(since)


def spent_by_others(folder: Path, since: float) -> Spent:
    """What the other stages of the same store have spent; `folder` is a stage's cache."""
    files = sorted(folder.parents[1].glob(f"*/{folder.name}/{FILE}"))
    found = [spent_between(file.parent, since) for file in files if file.parent != folder]
    return Spent(sum(one.requests for one in found), sum(one.dollars for one in found))


def _connect(path: Path) -> sqlite3.Connection:
    try:
        return _opened(path)
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            raise
        path.replace(path.with_suffix(".damaged"))
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        return _opened(path)


def _opened(path: Path) -> sqlite3.Connection:
    # isolation_level None: each statement is its own transaction. Written ahead and synchronised
    # "normal", a commit survives the death of the process at 0.05 ms each.
    connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.executescript(_TABLES)
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection

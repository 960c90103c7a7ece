"""A server that speaks the wire format of an OpenAI-compatible endpoint and does as it is told.

Real HTTP over loopback: each connection is read by hand, so that bad weather (half a reply, drips,
resets) can be made as it comes in the field.

Run as a program for measurements:  python -m tests.pipeline.llm.scripted --latency 0.2
"""

import argparse
import asyncio
import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class Asked:
    """A request as it came over the wire."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    number: int = 0  # how many came before it

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def user(self) -> str:
        """The last message."""
        text: str = self.json["messages"][-1]["content"]
        return text


@dataclass(frozen=True)
class Said:
    """What the server does with a request."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    wait_s: float = 0.0
    cut_at: int | None = None  # closes the connection after so many bytes of the body
    drip_s: float = 0.0  # seconds between two bytes
    reset: bool = False  # closes the connection without a word


Script = Callable[[Asked], Said]


def completion(
    content: str | None,
    *,
    finish: str = "stop",
    refusal: str | None = None,
    usage: tuple[int, int] | None = (1000, 50),
    **how: Any,
) -> Said:
    """A chat completion."""
    message = {"role": "assistant", "content": content, "refusal": refusal}
    reply: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted-2026",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }
    if usage is not None:
        reply["usage"] = {
            "prompt_tokens": usage[0],
            "completion_tokens": usage[1],
            "total_tokens": sum(usage),
        }
    return Said(body=json.dumps(reply).encode(), **how)


def verdict(level: str = "L2", rationale: str = "one reduction", **how: Any) -> Said:
    """A well-formed answer of a difficulty judge."""
    return completion(json.dumps({"rationale": rationale, "level": level}), **how)


def error(status: int, message: str, code: str | None = None, **headers: str) -> Said:
    """An error in OpenAI's form."""
    body = {"error": {"message": message, "type": "error", "param": None, "code": code}}
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Said(status, json.dumps(body).encode(), names)


class ScriptedServer:
    """Serves in a thread; remembers every request."""

    def __init__(self, script: Script, keep: bool = True) -> None:
        self.script = script
        self.requests: list[Asked] = []
        self.most_at_once = 0
        self.count = 0
        self._keep, self._at_once = keep, 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> "ScriptedServer":
        self._thread.start()
        self._ready.wait(10)
        return self

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            asyncio.start_server(self._connection, "127.0.0.1", 0, backlog=512)
        )
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                asked = replace(await _read(reader), number=self.count)
                self.count += 1
                if self._keep:
                    self.requests.append(asked)
                self._at_once += 1
                self.most_at_once = max(self.most_at_once, self._at_once)
                try:
                    alive = await _write(writer, self.script(asked))
                finally:
                    self._at_once -= 1
                if not alive:
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


@contextmanager
def serving(script: Script) -> Iterator[ScriptedServer]:
    server = ScriptedServer(script).start()
    try:
        yield server
    finally:
        server.stop()


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    path = lines[0].split(" ")[1]
    headers = {
        name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])
    }
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Asked(path, headers, body)


async def _write(writer: asyncio.StreamWriter, said: Said) -> bool:
    """Whether the connection is still good."""
    if said.wait_s:
        await asyncio.sleep(said.wait_s)
    if said.reset:
        writer.transport.abort()
        return False
    headers = {
        "content-type": "application/json",
        "content-length": str(len(said.body)),
    } | said.headers
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"HTTP/1.1 {said.status} x\r\n{head}\r\n".encode("latin-1"))
    if said.cut_at is not None:
        writer.write(said.body[: said.cut_at])
        await writer.drain()
        return False
    if said.drip_s:
        for byte in said.body:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(said.drip_s)
        return True
    writer.write(said.body)
    await writer.drain()
    return True


def main() -> None:
    """Answers every request after the given latency; writes its address and then a count a line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--latency", type=float, default=0.2)
    options = parser.parse_args()
    said = verdict(wait_s=options.latency)
    server = ScriptedServer(lambda asked: said, keep=False).start()
    sys.stdout.write(server.url + "\n")
    sys.stdout.flush()
    for _ in sys.stdin:
        sys.stdout.write(f"{server.count}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

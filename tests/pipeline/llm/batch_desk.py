"""A scripted Batch API: files go in, answers come out when the test says so."""

import json
import re
from collections.abc import Callable
from typing import Any

from tests.pipeline.llm.scripted import Asked, Said, error, verdict


class BatchDesk:
    """Plays /v1/files and /v1/batches; `finish()` lets the submitted batches end."""

    def __init__(self, answer: Callable[[Any], Said] | None = None) -> None:
        self.answer = answer or (lambda body: verdict())
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.forget_reply_of_create = False
        self.lines = 0

    def __call__(self, asked: Asked) -> Said:
        path = asked.path.removeprefix("/v1/").split("?")[0]
        if path == "files":
            return self._take_file(asked)
        if path == "batches":
            return self._list() if not asked.body else self._create(json.loads(asked.body))
        if match := re.fullmatch(r"batches/(\w+)", path):
            return _json(self.batches[match[1]])
        if match := re.fullmatch(r"files/(\w+)/content", path):
            return Said(body=self.files[match[1]])
        return error(404, f"no such path {path}")

    def finish(self, status: str = "completed", take: int | None = None) -> None:
        """Ends all batches; `take` of their lines have been answered."""
        for batch in self.batches.values():
            if batch["status"] == "in_progress":
                lines = self.files[batch["input_file_id"]].split(b"\n")[:take]
                name = f"out{len(self.files)}"
                self.files[name] = b"\n".join(self._answered(line) for line in lines)
                batch |= {"status": status, "output_file_id": name}

    def refuse(self, why: str) -> None:
        for batch in self.batches.values():
            batch |= {"status": "failed", "errors": {"data": [{"code": "x", "message": why}]}}

    def _answered(self, line: bytes) -> bytes:
        asked = json.loads(line)
        said = self.answer(asked["body"])
        response = {"status_code": said.status, "body": json.loads(said.body)}
        return json.dumps(
            {"id": "r", "custom_id": asked["custom_id"], "response": response, "error": None}
        ).encode()

    def _take_file(self, asked: Asked) -> Said:
        boundary = asked.headers["content-type"].split("boundary=")[1].encode()
        parts = asked.body.split(b"--" + boundary)
        content = next(part for part in parts if b"filename=" in part)
        name = f"file{len(self.files)}"
        self.files[name] = content.split(b"\r\n\r\n", 1)[1].removesuffix(b"\r\n")
        self.lines += self.files[name].count(b"\n") + 1
        return _json({"id": name, "object": "file", "bytes": 1, "created_at": 1,
                      "filename": "x", "purpose": "batch", "status": "processed"})  # fmt: skip

    def _create(self, body: dict[str, Any]) -> Said:
        name = f"batch{len(self.batches)}"
        self.batches[name] = {
            "id": name, "object": "batch", "status": "in_progress", "created_at": 1,
            "endpoint": body["endpoint"], "completion_window": "24h",
            "input_file_id": body["input_file_id"], "metadata": body["metadata"],
        }  # fmt: skip
        if self.forget_reply_of_create:
            return Said(reset=True)
        return _json(self.batches[name])

    def _list(self) -> Said:
        return _json({"object": "list", "data": list(self.batches.values()), "has_more": False})


def _json(value: Any) -> Said:
    return Said(body=json.dumps(value).encode())

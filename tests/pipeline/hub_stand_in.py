"""The few answers of the hub that an upload of a dataset needs, from this machine.

It keeps the files of one repository's main branch. Everything goes inside the commit ("regular"), as
the hub does it with small files.
"""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Hub:
    """What the repository holds, and what the stand-in was asked."""

    def __init__(self) -> None:
        self.url = ""
        self.files: dict[str, bytes] = {}
        self.commits: list[str] = []
        self.tokens: set[str] = set()
        self.refuse_commits = False


@contextmanager
def hub_stand_in() -> Iterator[Hub]:
    hub = Hub()

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if "/commits/" in self.path:
                told = [
                    {"id": f"{n:040x}", "authors": [], "date": "2026-12-03T00:00:00.000Z",
                     "title": title, "message": ""}
                    for n, title in enumerate(hub.commits)
                ]  # fmt: skip
                return self.tell(told[::-1])
            if "/tree/" in self.path:
                return self.tell([
                    {"type": "file", "path": path, "size": len(content), "oid": "0" * 40}
                    for path, content in hub.files.items()
                ])  # fmt: skip
            return self.tell({"id": "o/n", "sha": "0" * 40, "siblings": []})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            hub.tokens.add(self.headers.get("Authorization", ""))
            if self.path == "/api/repos/create":
                return self.tell({"url": f"{hub.url}/datasets/o/n", "name": "o/n"})
            if self.path == "/api/validate-yaml":  # of the card's header
                return self.tell({"errors": [], "warnings": []})
            if "/preupload/" in self.path:
                files = json.loads(body)["files"]
                return self.tell({"files": [
                    {"path": file["path"], "uploadMode": "regular", "shouldIgnore": False}
                    for file in files
                ]})  # fmt: skip
            if "/commit/" in self.path and not hub.refuse_commits:
                self.commit([json.loads(line) for line in body.splitlines()])
                return self.tell({"commitUrl": f"{hub.url}/datasets/o/n/commit/0", "commitOid": "0" * 40})  # fmt: skip
            return self.tell({"error": "refused"}, 403)

        def commit(self, lines: list[dict]) -> None:
            for line in lines:
                value = line["value"]
                match line["key"]:
                    case "header":
                        hub.commits.append(value["summary"])
                    case "file":
                        hub.files[value["path"]] = base64.b64decode(value["content"])
                    case "deletedFile":
                        del hub.files[value["path"]]

        def tell(self, value: object, status: int = 200) -> None:
            text = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

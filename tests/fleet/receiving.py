"""Somebody who wants to be told of jobs: a server on loopback that notes what it is sent and answers as it is bid."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Receiver:
    url: str = ""
    answers: list[int] = field(default_factory=list)
    """Statuses to come; 204 after the last."""
    got: list[tuple[Message, bytes]] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    """Paths and queries, as they arrived."""

    @property
    def told(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, body in self.got]

    @property
    def states(self) -> list[str]:
        return [told["state"] for told in self.told]


@contextmanager
def receiving() -> Iterator[Receiver]:
    receiver = Receiver()

    class Note(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            receiver.targets.append(self.path)
            receiver.got.append((self.headers, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(receiver.answers.pop(0) if receiver.answers else 204)
            self.send_header("Location", receiver.url)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Note) as server:
        receiver.url = f"http://127.0.0.1:{server.server_port}/hook?b=2&a=1"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()

"""A spider on a fleet: its hooks and the options of its requests survive a loss of Redis. When it refreshes, it reads
unchanged pages from the archive."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.fleet.running import WITHIN_S, Running

PARTS = 6
ETAG = '"same"'
SHOP = """\
from pathlib import Path
from shoal import Page, Request, spider

def note(text):
    with (Path(__file__).parent / "notes").open("a") as file:
        file.write(text + "\\n")

def told(page, at):
    return {"at": at, "path": page.url[len("{url}"):], "token": page.shared["token"], "n": page.meta.get("n", 0)}

@spider("{url}/", allow_private=True, rate=0)
def shop(page: Page):
    yield told(page, "start")
    yield from page.follow("a")
    for n in range({parts}):
        options = {"headers": {"X-Key": page.shared["token"]}, "errors": failed}
        yield page.request(f"/part/{n}", to=part, meta={"n": n}, **options)

@shop.callback
def part(page: Page):
    yield told(page, "part")

@shop.callback
def failed(page: Page):
    yield told(page, page.failure)

@shop.on_start
def begin(job):
    note(f"on_start {job.id}")
    yield {"token": "t1"}
    yield Request("{url}/part/first", callback=part, headers={"X-Key": "t0"}, meta={"n": 9})

@shop.on_finish
def end(job):
    note(f"on_finish {job.id}")
"""


@dataclass
class Site:
    url: str = ""
    asked: list[tuple[str, str | None, int]] = field(default_factory=list)
    """Path, the header X-Key, and the status of the answer."""
    gate: threading.Event = field(default_factory=threading.Event)
    """Until it is set, parts are not answered."""

    def answer(self, path: str, headers: Any) -> tuple[int, bytes]:
        if path == "/robots.txt" or path == f"/part/{PARTS - 1}":
            return 404, b""
        if path.startswith("/part/"):
            self.gate.wait(WITHIN_S)
            return 200, path.encode()
        if headers["If-None-Match"] == ETAG:
            return 304, b""
        return 200, b"<a href=/a>a</a><a href=/b>b</a>" if path == "/" else path.encode()


@contextmanager
def serving() -> Iterator[Site]:
    site = Site()

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = site.answer(self.path, self.headers)
            site.asked.append((self.path, self.headers["X-Key"], status))
            self.send_response(status)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            if not self.path.startswith("/part/"):
                self.send_header("ETag", ETAG)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        server.daemon_threads = True
        site.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield site
        finally:
            site.gate.set()
            server.shutdown()
            thread.join()


def items(fleet: Running, job: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(item.values()) for item in fleet("items", job, "--json").lines)


def test_hooks_options_and_refresh_of_a_spider_on_a_fleet(tmp_path: Path) -> None:
    with serving() as site, Running(tmp_path, processes=1) as fleet:
        text = SHOP.replace("{url}", site.url).replace("{parts}", str(PARTS))
        (fleet.folder / "shop.py").write_text(text)
        job = fleet.submit("shop.py")
        fleet.until_pages(job, 3)
        assert not site.gate.is_set()
        fleet.redis.client.flushall()
        site.gate.set()
        assert fleet.until_ended(job)["state"] == "done"

        paths = ["/part/first", *(f"/part/{n}" for n in range(PARTS - 1))]
        parts = [("part", path, "t1", 9 if path == paths[0] else int(path[-1])) for path in paths]
        failed = ("status 404", f"/part/{PARTS - 1}", "t1", PARTS - 1)
        starts = [("start", path, "t1", 0) for path in ("/", "/a", "/b")]
        assert items(fleet, job) == sorted([*parts, failed, *starts])
        keys = {(path, key) for path, key, _ in site.asked if path.startswith("/part/")}
        assert keys == {(path, "t0" if path == paths[0] else "t1") for path in (*paths, failed[1])}
        notes = fleet.folder / "notes"
        fleet.until(lambda: notes.read_text().split() == ["on_start", job, "on_finish", job])

        site.asked.clear()
        again = fleet.submit("shop.py", "--refresh")
        assert fleet.until_ended(again)["state"] == "done"
        assert items(fleet, again) == items(fleet, job)
        assert sorted(path for path, _, status in site.asked if status == 304) == ["/", "/a", "/b"]
        ended = ["on_start", job, "on_finish", job, "on_start", again, "on_finish", again]
        fleet.until(lambda: notes.read_text().split() == ended)

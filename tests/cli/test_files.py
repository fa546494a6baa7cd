"""Fields of type File: what they point to is downloaded politely, and the field says what became of it."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Shell
from tests.object_store.s3_server import S3Server
from tests.store.warcs import of_type, read

PNG = b"\x89PNG\r\n\x1a\n" + bytes(200)
ROUTES: dict[str, tuple[int, str, bytes]] = {
    "/robots.txt": (200, "text/plain", b"User-agent: *\nDisallow: /private/"),
    "/": (
        200,
        "text/html",
        b"<article><h3>one</h3><img src=a.png><img src=/moved.png><a href=/sheet.pdf>sheet</a></article>"
        b"<article><h3>two</h3><img src=same-as-a.png><img src=gone.png><img src=private/c.png></article>"
        b"<article><h3>three</h3><img src=/secret/d.png></article><p><a class=next href=/2>2</a></p>",
    ),
    "/2": (200, "text/html", b"<article><h3>four</h3><img src=a.png></article>"),
    "/a.png": (200, "image/png", PNG),
    "/same-as-a.png": (200, "image/png", PNG),
    "/moved.png": (301, "text/plain", b"/b.png"),
    "/b.png": (200, "image/png", PNG + b"b"),
    "/sheet.pdf": (200, "application/pdf", b"%PDF-1.4 sheet"),
    "/private/c.png": (200, "image/png", PNG),
}
SPIDER = """
from shoal import File, Item, Page, css, spider

class Book(Item):
    title: str = css("h3")
    images: list[File] = css("img::attr(src)")
    sheet: File | None = css("a::attr(href)", default=None)

@spider("{url}", allow_private=True, rate=0, retries=0, exclude=("/secret/",))
def books(page: Page):
    yield from page.each("article", Book)
    yield from page.follow("a.next")
"""
RULES = """
start: ["{url}"]
options: {{allow_private: true, rate: 0}}
items:
  - name: Book
    each: article
    fields:
      title: h3
      images: {{css: "img::attr(src)", type: file, list: true}}
"""


@dataclass
class Site:
    url: str
    asked: Counter[str] = field(default_factory=Counter)


@pytest.fixture
def images() -> Iterator[Site]:
    site = Site("")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked[self.path] += 1
            status, content_type, body = ROUTES.get(self.path, (404, "text/html", b"no"))
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            if status == 301:
                self.send_header("Location", body.decode())
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site.url = f"http://127.0.0.1:{server.server_port}/"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()


def write(shoal: Shell, images: Site) -> None:
    (shoal.folder / "books.py").write_text(SPIDER.format(url=images.url))


def items(path: Path) -> dict[str, dict[str, Any]]:
    return {row["title"]: row for row in map(json.loads, path.read_text().splitlines())}


def test_files_are_fetched_once_and_their_fields_completed(shoal: Shell, images: Site) -> None:
    write(shoal, images)
    assert shoal("crawl", "books.py", "-o", "items.jsonl", "--sink", "sqlite:///books.db").code == 0
    books = items(shoal.folder / "items.jsonl")
    a, moved = books["one"]["images"]
    name = hashlib.sha256(PNG).hexdigest()
    assert a == {
        "url": f"{images.url}a.png",
        "path": f"{name[:2]}/{name}.png",
        "bytes": len(PNG),
        "digest": f"sha256:{name}",
        "content_type": "image/png",
        "error": None,
    }
    assert (moved["url"], moved["bytes"]) == (f"{images.url}moved.png", len(PNG) + 1)
    assert books["one"]["sheet"]["path"].endswith(".pdf") and books["two"]["sheet"] is None
    same, gone, private = books["two"]["images"]
    assert (same["digest"], gone["error"], private["error"]) == (a["digest"], "status 404", "robots")
    assert [image["error"] for image in books["three"]["images"]] == ["excluded"]
    assert books["four"]["images"] == [a]
    assert images.asked["/a.png"] == 1 and not images.asked["/private/c.png"]
    # A sink has them too, though the items came first.
    with sqlite3.connect(shoal.folder / "books.db") as db:
        rows = dict(db.execute("SELECT title, images FROM book").fetchall())
    db.close()
    assert {title: json.loads(found) for title, found in rows.items()} == {
        title: book["images"] for title, book in books.items()
    }


def test_each_content_is_written_once_and_extract_keeps_the_fields(
    shoal: Shell, images: Site, s3_server: S3Server
) -> None:
    write(shoal, images)
    assert shoal("crawl", "books.py", "--quiet").code == 0
    ran = shoal("export", "last", "--files", "files")
    assert ran.code == 0 and ran.err.startswith("wrote 3 files (431 B) to files"), ran.err
    a = items_of(shoal)["one"]["images"][0]
    assert (shoal.folder / "files" / a["path"]).read_bytes() == PNG
    assert "0 files (0 B) to files; 3 files already there" in shoal("export", "last", "--files", "files").err
    url = f"s3://{s3_server.new_bucket()}/files"
    done = Shell(shoal.folder)("export", "last", "--files", url, env=s3_server.env())
    assert done.code == 0, done.err
    before = items_of(shoal)
    assert shoal("extract", "last", "--spider", "books.py").code == 0
    after = items_of(shoal)
    assert after.keys() == before.keys() and all(after[title] == before[title] for title in ("one", "two", "four"))
    assert images.asked["/a.png"] == 1, "extract fetches nothing"


def test_the_archive_has_each_content_once_for_all_jobs_until_the_last_is_deleted(shoal: Shell, images: Site) -> None:
    write(shoal, images)
    stored = shoal.folder / "shoal-data/archive/files"
    for _ in range(2):
        assert shoal("crawl", "books.py", "--quiet").code == 0
        image = items_of(shoal)["one"]["images"][0]
        assert (stored / image["path"]).read_bytes() == PNG and len(list(stored.rglob("*.*"))) == 3
    assert shoal("export", "last", "--warc", "-o", "books.warc.gz").code == 0
    responses = of_type(read((shoal.folder / "books.warc.gz").read_bytes()), "response")
    assert sum(one.body == PNG for one in responses) == 1
    assert shoal("delete", "last", "--yes").code == 0
    assert len(list(stored.rglob("*.*"))) == 3
    assert shoal("export", "last", "--files", "files").code == 0
    assert (shoal.folder / "files" / image["path"]).read_bytes() == PNG
    assert shoal("delete", "last", "--yes").code == 0
    assert not list(stored.rglob("*.*"))


def items_of(shoal: Shell) -> dict[str, dict[str, Any]]:
    return {row["title"]: row for row in shoal("export", "last", "-o", "-").lines}


def test_rules_have_files_too_and_parquet_has_their_columns(shoal: Shell, images: Site) -> None:
    (shoal.folder / "books.yaml").write_text(RULES.format(url=images.url))
    ran = shoal("crawl", "books.yaml", "-o", "items.parquet")
    assert ran.code == 0, ran.err
    import pyarrow.parquet as pq

    table = pq.read_table(shoal.folder / "items.parquet")
    found = {row["title"]: row["images"] for row in table.to_pylist()}
    assert found["one"][0]["bytes"] == len(PNG) and found["two"][1]["error"] == "status 404"


def test_a_job_without_files_says_how_to_get_some(shoal: Shell, images: Site) -> None:
    assert shoal("crawl", images.url, "--allow-private", "--rate", "0", "--quiet").code == 0
    ran = shoal("export", "last", "--files", "files")
    assert ran.code == 2 and "give a field the type File" in ran.err
    assert "stands alone" in shoal("export", "last", "--files", "files", "--pages").err

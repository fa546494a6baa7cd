"""Where bodies are hashed."""

from __future__ import annotations

import gzip
import hashlib
import random
import threading
from typing import Any

import pytest

from shoal.embedded.crawl import Crawl
from shoal.engine.reading.big_bodies import AT_ONCE_BYTES
from shoal.practice import Answer
from shoal.store.archive.capture import Reference
from shoal.urls import Exclusions
from tests.engine.conftest import Field, html, serving, spec

SMALL = html(body="small").body
BIG = b"<p>" + random.Random(1).randbytes(2 * AT_ONCE_BYTES).replace(b"<", b">")
PACKED = gzip.compress(BIG, 1)
LONG = b"<p>words" * AT_ONCE_BYTES


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, threading.Thread]]:
    """How long what was hashed is, and in which thread it was."""
    seen: list[tuple[int, threading.Thread]] = []
    sha256 = hashlib.sha256

    def watched(data: bytes = b"", **more: Any) -> Any:
        seen.append((len(data), threading.current_thread()))
        return sha256(data, **more)

    monkeypatch.setattr(hashlib, "sha256", watched)
    return seen


async def test_a_big_body_is_hashed_aside_and_a_small_one_on_the_loop(
    crawler: Field, hashed: list[tuple[int, threading.Thread]]
) -> None:
    coded = {"Content-Encoding": "gzip"}
    pages = {
        "/small": Answer(200, SMALL),
        "/big": Answer(200, BIG),
        "/packed": Answer(200, PACKED, headers=coded),
        "/long": Answer(200, gzip.compress(LONG), headers=coded),
    }
    bodies = {"/small": SMALL, "/big": BIG, "/packed": BIG, "/long": LONG}
    async with serving(pages) as site:
        crawler.add("job", spec(text=False), *map(site.url, pages))
        await Crawl(crawler.home, "job", 64, Exclusions()).run()
        records = {path: crawler.ending(site.url(path)) for path in pages}
    here = threading.current_thread()
    assert not [size for size, thread in hashed if size > AT_ONCE_BYTES and thread is here]
    assert (len(SMALL), here) in hashed
    for path, answer in pages.items():
        assert records[path].digest == f"sha256:{hashlib.sha256(bodies[path]).hexdigest()}", path
        kept = crawler.home.archive.record(Reference.parse(records[path].archive))
        assert kept.http[1] == answer.body, path
        assert kept.fields["warc-payload-digest"] == f"sha256:{hashlib.sha256(answer.body).hexdigest()}", path

"""Big bodies are unpacked as there is memory for it."""

from __future__ import annotations

import asyncio
import gzip
import tracemalloc
from contextlib import AsyncExitStack

import pytest

from shoal.engine.reading.big_bodies import Decompression
from shoal.engine.reading.parse_page import truncate_body
from shoal.extract.page import MAX_HTML_BYTES
from shoal.fetch.curl_transfer import Fetch
from shoal.fetch.exchange import Exchange, Failure, FailureKind, Headers
from shoal.practice import Answer
from tests.engine.conftest import Field, Pages, serving, spec

CALL = Fetch("http://site.example/", max_bytes=100_000)
"""Unpacked that may be 400,000 bytes."""


def packed(size: int, coding: str = "gzip") -> Exchange:
    raw = gzip.compress(bytes(size))
    headers = Headers([("Content-Encoding", coding)])
    return Exchange(CALL.url, 200, "OK", headers, b"", raw, raw, "1.1", "", 0.0, 0.0, is_packed=True)


async def unpack(unpacking: Decompression, size: int, stack: AsyncExitStack) -> int:
    whole = await stack.enter_async_context(unpacking.unpacked(packed(size), CALL))
    assert isinstance(whole, Exchange)
    assert not whole.is_packed
    return len(whole.body)


async def is_waiting(task: asyncio.Task[int]) -> bool:
    done, _ = await asyncio.wait([task], timeout=0.1)
    return not done


async def test_a_body_waits_packed_until_another_is_done_with() -> None:
    unpacking = Decompression(most_bytes=500_000)
    async with AsyncExitStack() as second:
        async with AsyncExitStack() as first:
            assert await unpack(unpacking, 200_000, first) == 200_000
            waiting = asyncio.create_task(unpack(unpacking, 300_000, second))
            assert await is_waiting(waiting)
        assert await waiting == 300_000


async def test_what_a_body_turns_out_not_to_need_is_given_back_at_once() -> None:
    unpacking = Decompression(most_bytes=500_000)
    async with AsyncExitStack() as stack:
        sizes = await asyncio.gather(*(unpack(unpacking, 30_000, stack) for _ in range(3)))
        assert sizes == [30_000] * 3


async def test_one_is_always_let_through() -> None:
    async with AsyncExitStack() as stack:
        assert await unpack(Decompression(most_bytes=1), 400_000, stack) == 400_000


async def test_whoever_gives_up_waiting_takes_nothing_with_it() -> None:
    unpacking = Decompression(most_bytes=500_000)
    async with AsyncExitStack() as last:
        async with AsyncExitStack() as first:
            await unpack(unpacking, 200_000, first)
            waiting = asyncio.create_task(unpack(unpacking, 300_000, first))
            assert await is_waiting(waiting)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        assert await unpack(unpacking, 400_000, last) == 400_000


@pytest.mark.parametrize(
    ("answer", "kind"),
    [(packed(400_001), FailureKind.TOO_LARGE), (packed(1, "gzip, gzip"), FailureKind.UNDECODABLE)],
)
async def test_what_cannot_be_unpacked_is_a_failure_and_holds_nothing(answer: Exchange, kind: FailureKind) -> None:
    unpacking = Decompression(most_bytes=400_000)
    async with unpacking.unpacked(answer, CALL) as failed, AsyncExitStack() as stack:
        assert isinstance(failed, Failure)
        assert failed.kind is kind
        assert await unpack(unpacking, 400_000, stack) == 400_000


def test_of_utf_16_twice_as_much_is_read() -> None:
    text = "<p>words" * (MAX_HTML_BYTES // 4)
    assert len(truncate_body(text.encode())) == MAX_HTML_BYTES
    assert len(truncate_body(text.encode("utf-16-le"))) == 2 * MAX_HTML_BYTES


@pytest.mark.parametrize("content_type", ["text/html", "text/plain"])
async def test_many_big_pages_at_once_take_the_memory_of_a_few(crawler: Field, content_type: str) -> None:
    page = gzip.compress(b"<title>Big</title>" + b" " * 39_000_000, 1)
    pages: Pages = {f"/{n}": Answer(200, page, content_type, {"Content-Encoding": "gzip"}) for n in range(16)}
    async with serving(pages) as site:
        tracemalloc.start()
        await crawler.crawl(spec(per_host=16, robots=False), *map(site.url, pages))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert crawler.pages() == dict.fromkeys(pages, 200)
    assert peak < 160_000_000

"""Where a body ends, if its head says it twice."""

from __future__ import annotations

import pytest

from shoal.fetch.body_memory import FREE_BYTES
from shoal.fetch.curl_fetcher import Fetcher
from shoal.fetch.curl_transfer import Fetch
from shoal.fetch.exchange import Exchange, Failure, length_despite_coding
from tests.fetch.site import Site, raw

OK = b"HTTP/1.1 200 OK\r\n"
IDENTITY = b"Transfer-Encoding: identity\r\n"


@pytest.mark.parametrize("coding", [b"identity", b"IDENTITY, identity", b""])
@pytest.mark.parametrize("truncate", [False, True])
async def test_a_body_without_a_transfer_coding_ends_by_its_length_though_the_connection_is_kept(
    fetcher: Fetcher, site: Site, coding: bytes, truncate: bool
) -> None:
    head = OK + b"Transfer-Encoding: " + coding + b"\r\nContent-Length: 11\r\n\r\n"
    site.routes["/a"] = raw(head, b"hello", b" world and more", close=False)
    page = await fetcher.fetch(Fetch(f"{site.url}/a", truncate=truncate, deadline_s=30))
    assert isinstance(page, Exchange) and page.raw == b"hello world"
    assert page.latency_s < 20
    after = await fetcher.fetch(Fetch(f"{site.url}/next"))
    assert isinstance(after, Exchange) and after.raw == b"hello"


async def test_so_does_a_big_one_and_none_beyond_the_bound(fetcher: Fetcher, site: Site) -> None:
    length = 4 * FREE_BYTES
    site.routes["/a"] = raw(OK + IDENTITY + b"Content-Length: %d\r\n\r\n" % length, bytes(length), close=False)
    page = await fetcher.fetch(Fetch(f"{site.url}/a", deadline_s=30))
    assert isinstance(page, Exchange) and len(page.raw) == length
    beyond = await fetcher.fetch(Fetch(f"{site.url}/a", max_bytes=length - 1, deadline_s=30))
    assert isinstance(beyond, Failure) and beyond.kind == "too_large"
    first = await fetcher.fetch(Fetch(f"{site.url}/a", max_bytes=1_000, truncate=True, deadline_s=30))
    assert isinstance(first, Exchange) and len(first.raw) == 1_000


async def test_an_empty_one_is_whole_at_the_deadline(fetcher: Fetcher, site: Site) -> None:
    site.routes["/a"] = raw(OK + IDENTITY + b"Content-Length: 0\r\n\r\n", close=False)
    page = await fetcher.fetch(Fetch(f"{site.url}/a", deadline_s=0.3))
    assert isinstance(page, Exchange) and page.raw == b""


async def test_one_that_stays_behind_its_length_is_late(fetcher: Fetcher, site: Site) -> None:
    site.routes["/a"] = raw(OK + IDENTITY + b"Content-Length: 99\r\n\r\n", b"hello", close=False)
    page = await fetcher.fetch(Fetch(f"{site.url}/a", deadline_s=0.3))
    assert isinstance(page, Failure) and page.kind == "timeout"


@pytest.mark.parametrize(
    "lines",
    [
        b"Content-Length: 3\r\n",
        IDENTITY,
        IDENTITY + b"Content-Length: 3, 3\r\n",
        IDENTITY + b"Content-Length: " + b"9" * 5_000 + b"\r\n",
        IDENTITY + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
        b"Transfer-Encoding: identity, chunked\r\nContent-Length: 3\r\n",
        b"Content-Encoding: identity\r\nContent-Length: 3\r\n",
        b"Transfer-Encoding: gzip\r\nContent-Length: 3\r\n",
        b"\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n",
    ],
)
def test_any_other_length_is_for_libcurl_to_judge(lines: bytes) -> None:
    assert length_despite_coding(OK + lines + b"\r\n") is None

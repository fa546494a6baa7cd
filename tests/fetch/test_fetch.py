from __future__ import annotations

import asyncio
import gzip
import socket
from pathlib import Path

import brotli
import pytest
import zstandard

from shoal.errors import UsageError
from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.closed_connections import CLOSES_BELIEVED, FORGIVEN_AFTER
from shoal.fetch.curl_failures import MAX_HEAD_BYTES, MAX_HEAD_LINE_BYTES
from shoal.fetch.curl_fetcher import Fetcher
from shoal.fetch.curl_transfer import Fetch
from shoal.fetch.exchange import Exchange, Failure
from tests.fetch.asking import failed, got
from tests.fetch.conftest import AGENT
from tests.fetch.site import Asked, Route, Site, answer, drip, hang, raw, serving, until

PAGE = b"<html>" + b"<p>a page</p>" * 2000


async def test_an_exchange_tells_what_came_and_from_where(fetcher: Fetcher, site: Site) -> None:
    site.routes["/a"] = answer(PAGE, "200 Very Good", ("Set-Cookie: a=1", "X-Note: caf\xe9", "set-cookie: b=2"))
    page = await got(fetcher, f"{site.url}/a")
    assert (page.status, page.reason, page.version, page.ip) == (200, "Very Good", "1.1", "127.0.0.1")
    assert page.body == page.raw == PAGE
    assert page.headers.get("x-NOTE") == "caf\xe9"
    assert page.headers.get_all("Set-Cookie") == ["a=1", "b=2"]
    assert page.head.startswith(b"HTTP/1.1 200 Very Good\r\n")
    assert page.head.endswith(b"\r\n\r\n")
    assert 0 < page.latency_s < 5


async def test_a_request_names_the_crawler_and_the_codings_it_reads(fetcher: Fetcher, site: Site) -> None:
    await got(fetcher, site.url)
    assert site.asked[0].headers["user-agent"] == AGENT
    assert site.asked[0].headers["accept-encoding"] == "gzip, br, zstd, deflate"
    assert "cookie" not in site.asked[0].headers


async def test_one_connection_serves_many_requests(fetcher: Fetcher, site: Site) -> None:
    for number in range(20):
        await got(fetcher, f"{site.url}/{number}")
    assert (len(site.asked), site.connections) == (20, 1)


async def test_a_request_that_a_reused_connection_swallows_is_sent_once(fetcher: Fetcher, site: Site) -> None:
    site.routes["/swallowed"] = raw()
    await got(fetcher, site.url)
    failure = await failed(fetcher, f"{site.url}/swallowed")
    assert (failure.kind, failure.detail) == ("protocol", "the host closed the connection without an answer")
    assert [asked.path for asked in site.asked] == ["/", "/swallowed"]
    assert (await got(fetcher, f"{site.url}/")).body == b"hello"


async def test_a_host_that_keeps_no_connection_gets_a_new_one_for_each_request(fetcher: Fetcher, site: Site) -> None:
    served: set[int] = set()

    async def once(asked: Asked, writer: asyncio.StreamWriter) -> None:
        """As if it were to keep the connection; what comes next on it is lost."""
        await (raw() if asked.connection in served else answer(b"hello"))(asked, writer)
        served.add(asked.connection)

    site.otherwise = once
    answers = [await fetcher.fetch(Fetch(f"{site.url}/{number}")) for number in range(12)]
    assert sum(isinstance(answer, Failure) for answer in answers) == 2
    assert all(isinstance(answer, Exchange) for answer in answers[4:])


async def test_a_host_that_closed_two_connections_is_believed_again_later(fetcher: Fetcher, site: Site) -> None:
    site.routes["/swallowed"] = raw()
    for _ in range(CLOSES_BELIEVED):
        await got(fetcher, f"{site.url}/")
        await failed(fetcher, f"{site.url}/swallowed")
    before = len(site.asked)
    for _ in range(FORGIVEN_AFTER + 20):
        await got(fetcher, f"{site.url}/")
    assert len({asked.connection for asked in site.asked[before:]}) == FORGIVEN_AFTER + 1


async def test_settings_of_one_request_do_not_stick_to_the_next(fetcher: Fetcher, site: Site) -> None:
    odd = {"headers": {"X-Odd": "1", "accept": "text/odd"}, "credentials": "ann:secret", "etag": '"1"'}
    await got(fetcher, site.url + "/", method="POST", body=b"a=1", content_type="text/form", **odd)
    await got(fetcher, site.url)
    await got(fetcher, site.url, method="HEAD")
    await got(fetcher, site.url)
    first, *rest = site.asked
    assert (first.method, first.body, first.headers["content-type"]) == ("POST", b"a=1", "text/form")
    assert first.headers["x-odd"] == "1"
    assert first.headers["accept"] == "text/odd"
    assert first.headers["authorization"] == "Basic YW5uOnNlY3JldA=="
    assert [asked.method for asked in rest] == ["GET", "HEAD", "GET"]
    for asked in rest:
        assert asked.body == b""
        assert not {"x-odd", "authorization", "if-none-match", "content-type"} & set(asked.headers)
    assert site.connections == 1


MOVED = b"HTTP/1.1 301 Moved Permanently\r\nLocation: /there\r\n"


@pytest.mark.parametrize(
    "route",
    [
        raw(MOVED + b"Content-Length: 99\r\n\r\nmoved"),
        raw(MOVED + b"Content-Length: 99\r\n\r\n", close=False),
        raw(MOVED + b"Transfer-Encoding: chunked\r\n\r\nnone\r\n"),
        raw(MOVED + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nmoved"),
        raw(MOVED + b"Content-Length: 99999999999\r\n\r\n", close=False),
    ],
    ids=["truncated", "late", "misframed", "undecodable", "too large"],
)
async def test_a_redirect_leads_on_whatever_becomes_of_its_body(fetcher: Fetcher, site: Site, route: Route) -> None:
    site.routes["/moved"] = route
    moved = await got(fetcher, f"{site.url}/moved", deadline_s=1)
    assert (moved.status, moved.location) == (301, f"{site.url}/there")


async def test_redirects_are_handed_over_not_followed(fetcher: Fetcher, site: Site) -> None:
    site.routes["/from"] = answer(b"", "302 Found", ("Location: /to/\xc3\xa9?q=1",))
    moved = await got(fetcher, f"{site.url}/from")
    assert moved.status == 302
    assert moved.location == f"{site.url}/to/%C3%A9?q=1"
    assert [asked.path for asked in site.asked] == ["/from"]
    assert (await got(fetcher, f"{site.url}/plain")).location is None


async def test_a_redirect_in_another_charset_keeps_its_bytes(fetcher: Fetcher, site: Site) -> None:
    site.routes["/from"] = answer(b"", "302 Found", ("Location: /t\xfcr?q=\xfc&r=a b",))
    assert (await got(fetcher, f"{site.url}/from")).location == f"{site.url}/t%FCr?q=%FC&r=a%20b"


async def test_conditional_requests_ask_with_both_validators(fetcher: Fetcher, site: Site) -> None:
    site.routes["/a"] = answer(b"", "304 Not Modified", ('ETag: "v1"',))
    page = await got(fetcher, f"{site.url}/a", etag='"v1"', last_modified="Mon, 05 Oct 2026 10:00:00 GMT")
    assert (page.status, page.body) == (304, b"")
    assert site.asked[0].headers["if-none-match"] == '"v1"'
    assert site.asked[0].headers["if-modified-since"] == "Mon, 05 Oct 2026 10:00:00 GMT"


@pytest.mark.parametrize(
    ("coding", "coded"),
    [
        ("gzip", gzip.compress(PAGE)),
        ("br", brotli.compress(PAGE)),
        ("zstd", zstandard.compress(PAGE)),
        ("gzip, br", brotli.compress(gzip.compress(PAGE))),
    ],
    ids=["gzip", "br", "zstd", "gzip then br"],
)
async def test_bodies_are_decoded_and_also_kept_as_they_came(
    fetcher: Fetcher, site: Site, coding: str, coded: bytes
) -> None:
    site.routes["/a"] = answer(coded, headers=(f"Content-Encoding: {coding}",))
    page = await got(fetcher, f"{site.url}/a")
    assert (page.body, page.raw) == (PAGE, coded)


async def test_large_bodies_are_decoded_too(fetcher: Fetcher, site: Site) -> None:
    large = PAGE * 100
    site.routes["/a"] = answer(gzip.compress(large), headers=("Content-Encoding: gzip",))
    assert (await got(fetcher, f"{site.url}/a")).body == large


async def test_bombs_are_too_large_and_nonsense_is_undecodable(fetcher: Fetcher, site: Site) -> None:
    bomb = gzip.compress(gzip.compress(bytes(50_000_000), 1), 9)
    site.routes["/bomb"] = answer(bomb, headers=("Content-Encoding: gzip", "Content-Encoding: gzip"))
    site.routes["/lie"] = answer(b"<html>", headers=("Content-Encoding: gzip",))
    assert (await failed(fetcher, f"{site.url}/bomb")).kind == "too_large"
    assert (await failed(fetcher, f"{site.url}/lie")).kind == "undecodable"


async def test_the_body_cap_holds_with_and_without_a_length(fetcher: Fetcher, site: Site) -> None:
    chunk = b"2710\r\n" + b"x" * 10_000 + b"\r\n"
    site.routes["/length"] = answer(bytes(100_001))
    site.routes["/chunks"] = raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", *[chunk] * 1000)
    site.routes["/close"] = raw(b"HTTP/1.1 200 OK\r\n\r\n", *[bytes(10_000)] * 1000)
    for path in ("/length", "/chunks", "/close"):
        assert (await failed(fetcher, site.url + path, max_bytes=100_000)).kind == "too_large", path
        cut = await got(fetcher, site.url + path, max_bytes=50_000, truncate=True)
        assert len(cut.body) == 50_000, path
    assert len((await got(fetcher, f"{site.url}/length", max_bytes=100_001)).body) == 100_001


async def test_endless_headers_and_interim_answers_are_cut_off(fetcher: Fetcher, site: Site) -> None:
    site.routes["/headers"] = raw(b"HTTP/1.1 200 OK\r\n", *[b"X-Long: " + b"y" * 1000 + b"\r\n"] * 1000)
    site.routes["/interim"] = raw(*[b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"] * 20_000)
    site.routes["/line"] = raw(b"HTTP/1.1 200 OK\r\nX-Long: ", b"y" * 1_000_000, b"\r\n\r\n")
    for path, limit in {"/headers": MAX_HEAD_BYTES, "/interim": 5000, "/line": MAX_HEAD_LINE_BYTES}.items():
        failure = await failed(fetcher, site.url + path)
        assert failure.kind == "too_large" and str(limit) in failure.detail, path


async def test_interim_answers_trailers_and_folded_lines_do_not_blur_the_head(fetcher: Fetcher, site: Site) -> None:
    site.routes["/a"] = raw(
        b"HTTP/1.1 103 Early Hints\r\nLink: </early>\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Fold: one\r\n  two\r\nTrailer: X-Late\r\n\r\n",
        b"2\r\nhi\r\n0\r\nX-Late: 1\r\n\r\n",
    )
    page = await got(fetcher, f"{site.url}/a")
    assert (page.status, page.body) == (200, b"hi")
    assert page.headers.get("x-fold") == "one two"
    assert "link" not in page.headers
    assert "x-late" not in page.headers


async def test_no_answer_and_slow_answers_end_at_the_deadline(fetcher: Fetcher, site: Site) -> None:
    site.routes.update({"/silent": hang, "/drip": drip})
    silent, slow = await asyncio.gather(
        failed(fetcher, f"{site.url}/silent", deadline_s=0.2), failed(fetcher, f"{site.url}/drip", deadline_s=0.2)
    )
    assert (silent.kind, slow.kind) == ("timeout", "timeout")
    assert 0.15 < silent.latency_s < 10
    assert (await got(fetcher, site.url)).status == 200


@pytest.mark.parametrize(
    "pieces",
    [
        (b"",),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", b"only this"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"zz\r\nbad\r\n"),
        (b"SSH-2.0-OpenSSH_9.0\r\n",),
        (b"HTTP/1.1 200 OK\r\n",),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/pl",),
        (b"HTTP/1.1 302 Found\r\nLocation: /trunc",),
    ],
    ids=[
        "nothing",
        "half a body",
        "bad chunks",
        "another protocol",
        "a status alone",
        "half a head",
        "half a redirect",
    ],
)
async def test_broken_answers_are_protocol_failures(fetcher: Fetcher, site: Site, pieces: tuple[bytes, ...]) -> None:
    site.routes["/a"] = raw(*pieces)
    assert (await failed(fetcher, f"{site.url}/a", deadline_s=5)).kind == "protocol"


async def test_names_and_ports_that_lead_nowhere(fetcher: Fetcher) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        refused = await failed(fetcher, f"http://127.0.0.1:{bound.getsockname()[1]}/")
    assert refused.kind == "connect"
    assert (await failed(fetcher, "http://no-such-name.invalid/")).kind == "dns"
    assert (await failed(fetcher, "file:///etc/hostname")).kind == "protocol"


async def test_a_host_or_proxy_that_never_takes_the_connection_is_told_from_a_slow_one(fetcher: Fetcher) -> None:
    with socket.socket() as full, socket.socket() as first:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        first.connect(full.getsockname())
        silent = f"http://127.0.0.1:{full.getsockname()[1]}"
        direct, proxied = await asyncio.gather(
            failed(fetcher, silent, deadline_s=0.3),
            failed(fetcher, "http://shop.example/", proxy=silent, deadline_s=0.3),
        )
    assert (direct.kind, proxied.kind) == ("connect", "proxy")


async def test_a_cancelled_fetch_leaves_its_connection_and_the_next_one_works(fetcher: Fetcher, site: Site) -> None:
    site.routes["/silent"] = hang
    tasks = [asyncio.create_task(fetcher.fetch(Fetch(f"{site.url}/silent"))) for _ in range(5)]
    await until(lambda: len(site.asked) == 5)
    for task in tasks:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(result, asyncio.CancelledError) for result in results)
    await until(lambda: site.closed == 5)
    pages = await asyncio.gather(*(got(fetcher, f"{site.url}/{number}") for number in range(10)))
    assert all(page.body == b"hello" for page in pages)


async def test_sockets_are_given_back(site: Site) -> None:
    def files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    async def close(_asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")

    site.routes["/close"] = close
    before = files()
    fetcher = Fetcher(AGENT, AddressGuard(allow_private=True))
    for _ in range(30):
        await got(fetcher, f"{site.url}/close")
    await fetcher.aclose()
    await until(lambda: site.closed == 30)
    await until(lambda: files() <= before)


async def test_a_header_with_a_line_break_is_a_mistake_of_the_caller(fetcher: Fetcher, site: Site) -> None:
    with pytest.raises(UsageError, match="line break"):
        await fetcher.fetch(Fetch(site.url, headers={"X": "a\r\nHost: evil"}))
    await got(fetcher, site.url)


async def test_many_sites_are_fetched_side_by_side(fetcher: Fetcher) -> None:
    async with serving(Site()) as quick, serving(Site(otherwise=hang)) as silent:
        waiting = [asyncio.create_task(fetcher.fetch(Fetch(silent.url, deadline_s=30))) for _ in range(50)]
        await until(lambda: len(silent.asked) == 50)
        pages = await asyncio.gather(*(got(fetcher, f"{quick.url}/{number}") for number in range(50)))
        assert all(page.status == 200 for page in pages)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

"""Answers whose head has a line without a colon: libcurl refuses them, and browsers skip the line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.cookie_jar import CookieJar
from shoal.fetch.curl_fetcher import Fetcher
from shoal.fetch.curl_transfer import Fetch
from shoal.fetch.exchange import Failure, FailureKind
from shoal.fetch.tls_policy import TlsPolicy
from tests.fetch.asking import failed, got
from tests.fetch.secure import make_authority
from tests.fetch.site import Route, Site, drip, raw
from tests.fetch.site import serving as serving_routes

BAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nServer running fine\r\n"


def bad(rest: bytes) -> Route:
    return raw(BAD + rest)


async def test_every_kind_of_body_is_read(fetcher: Fetcher, site: Site) -> None:
    packed = gzip.compress(b"packed")
    bodies = {
        "/length": (b"Content-Length: 5\r\n\r\nhello and more", b"hello"),
        "/close": (b"\r\nuntil the end", b"until the end"),
        "/chunks": (b"Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n", b"hello"),
        "/gzip": (b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s" % (len(packed), packed), b"packed"),
        "/bare": (b"Content-Length: 2\n\nok", b"ok"),
    }
    for path, (rest, expected) in bodies.items():
        site.routes[path] = bad(rest)
        answer = await got(fetcher, site.url + path)
        assert (answer.status, answer.body, answer.ip) == (200, expected, "127.0.0.1"), path
        assert answer.headers.get("content-type") == "text/html"
    # Only the first was asked for twice.
    assert [asked.path for asked in site.asked] == ["/length", *bodies]


async def test_the_request_is_the_same_and_cookies_are_kept(fetcher: Fetcher, site: Site) -> None:
    site.otherwise = bad(b"Set-Cookie: seen=1; Path=/\r\nSet-Cookie: old=; Max-Age=0\r\nContent-Length: 0\r\n\r\n")
    jar = CookieJar()
    jar.add(site.url + "/", "given=yes; old=1")
    settings = {"jar": jar, "headers": {"X-Own": "a"}, "credentials": "ann:secret"}
    await got(fetcher, f"{site.url}/a?b=1", **settings)
    await got(fetcher, f"{site.url}/a?b=1", **settings)
    by_curl, *_, last = site.asked
    same = ("host", "user-agent", "x-own", "authorization", "accept", "accept-encoding")
    assert {name: by_curl.headers[name] for name in same} == {name: last.headers[name] for name in same}
    assert last.path == "/a?b=1"
    assert sorted(last.headers["cookie"].split("; ")) == ["given=yes", "seen=1"]


@pytest.mark.parametrize(
    ("rest", "kind"),
    [
        (b"Content-Length: 100\r\n\r\nshort", FailureKind.PROTOCOL),
        (b"Content-Length: 100000\r\n\r\n", FailureKind.TOO_LARGE),
        (b"Transfer-Encoding: chunked\r\n\r\nffffff\r\n", FailureKind.TOO_LARGE),
        (b"Transfer-Encoding: chunked\r\n\r\nmany\r\n", FailureKind.PROTOCOL),
        (b"Transfer-Encoding: chunked\r\n\r\n-5\r\n", FailureKind.PROTOCOL),
        (b"Transfer-Encoding: chunked\r\n\r\n%s\r\n" % (b"f" * 5000), FailureKind.PROTOCOL),
        (b"Content-Length: %s\r\n\r\n" % (b"9" * 5000), FailureKind.PROTOCOL),
        (b"Transfer-Encoding: cow\r\n\r\nmoo", FailureKind.PROTOCOL),
        (b"X-More: %s\r\n" % (b"x" * 1000) * 400, FailureKind.TOO_LARGE),
        (b"\r\n" + b"x" * 100_000, FailureKind.TOO_LARGE),
    ],
)
async def test_a_worse_answer_is_a_failure(fetcher: Fetcher, site: Site, rest: bytes, kind: FailureKind) -> None:
    site.routes["/bad"] = bad(b"Content-Length: 0\r\n\r\n")
    await got(fetcher, site.url + "/bad")
    site.otherwise = bad(rest)
    assert (await failed(fetcher, site.url + "/", max_bytes=50_000)).kind is kind


async def test_a_chunk_without_end_is_cut_at_the_limit(fetcher: Fetcher, site: Site) -> None:
    site.otherwise = bad(b"Transfer-Encoding: chunked\r\n\r\nffffffffff\r\n" + b"x" * 200_000)
    answer = await got(fetcher, site.url + "/", max_bytes=50_000, truncate=True)
    assert answer.body == b"x" * 50_000


@pytest.mark.parametrize("attribute", ["Max-Age=--5", "Max-Age=" + "9" * 5000, "Expires=Mon, 01 Jan 0001 00:00:00 GMT"])
async def test_an_attribute_of_a_cookie_that_makes_no_sense_is_ignored(
    fetcher: Fetcher, site: Site, attribute: str
) -> None:
    site.otherwise = bad(f"Set-Cookie: a=b; Path=/; {attribute}\r\nContent-Length: 2\r\n\r\nok".encode())
    jar = CookieJar()
    assert (await got(fetcher, site.url + "/", jar=jar)).body == b"ok"


async def test_a_drip_ends_at_the_deadline(fetcher: Fetcher, site: Site) -> None:
    site.routes["/bad"] = bad(b"Content-Length: 0\r\n\r\n")
    await got(fetcher, site.url + "/bad")
    site.otherwise = drip
    assert (await failed(fetcher, site.url + "/", deadline_s=0.3)).kind is FailureKind.TIMEOUT


async def test_the_guard_and_the_certificates_hold(tmp_path: Path) -> None:
    authority = make_authority(tmp_path)
    authority.context.set_alpn_protocols(["http/1.1"])
    page = Site(otherwise=bad(b"Content-Length: 2\r\n\r\nok"))
    async with serving_routes(page, authority.context) as site:
        url = f"https://127.0.0.1:{site.port}/"
        trusting = Fetcher(
            "shoal", AddressGuard(True), tls=TlsPolicy(ca_certificates=Path(authority.ca_file).read_text())
        )
        assert (await got(trusting, url)).body == b"ok"
        # As if the origin had been learnt before its certificate was replaced.
        doubting = Fetcher("shoal", AddressGuard(True))
        refused = await doubting._lenient.fetch(Fetch(url))
        closed = Fetcher("shoal", AddressGuard(False))
        private = await closed._lenient.fetch(Fetch(url))
        for fetcher in (trusting, doubting, closed):
            await fetcher.aclose()
    assert isinstance(refused, Failure) and refused.kind is FailureKind.TLS
    assert isinstance(private, Failure) and private.kind is FailureKind.ADDRESS_REFUSED

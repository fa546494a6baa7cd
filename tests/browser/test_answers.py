"""What a browser gives back for every kind of answer: the document's own status, headers and body."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from shoal.browser.browser_fetcher import BrowserFetcher
from shoal.fetch.address_guard import AddressGuard
from tests.browser.rendering import AGENT, failed, rendered, text_of
from tests.fetch.site import Site, answer, hang, serving

pytestmark = pytest.mark.asyncio(loop_scope="module")
HTML = "Content-Type: text/html; charset=iso-8859-1"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site() -> AsyncIterator[Site]:
    async with serving(Site()) as site:
        yield site


async def test_the_page_is_utf_8_and_its_answer_as_it_was(fetcher: BrowserFetcher, site: Site) -> None:
    headers = (HTML, "X-Two: a", "X-Two: b", "Set-Cookie: s=1")
    site.routes["/latin"] = answer(
        "<p>Gr\xfc\xdfe<script>document.body.append('!')</script>".encode("latin-1"), "404 No", headers
    )
    got = await rendered(fetcher, f"{site.url}/latin")
    assert got.status == 404 and got.reason == "No"
    assert got.headers.get_all("x-two") == ["a", "b"]
    assert got.raw.startswith(b"<p>Gr\xfc\xdfe")
    assert "Grüße" in got.body.decode() and text_of(got).endswith("!")
    assert got.headers.get("content-type") == "text/html; charset=utf-8"
    assert got.ip == "127.0.0.1"


async def test_a_redirect_is_an_answer(fetcher: BrowserFetcher, site: Site) -> None:
    site.routes["/old"] = answer(b"", "301 Moved Permanently", ("Location: /new",))
    got = await rendered(fetcher, f"{site.url}/old")
    assert got.status == 301 and got.location == f"{site.url}/new"
    assert "/new" not in [asked.path for asked in site.asked]


@pytest.mark.parametrize(
    ("status", "header", "body"),
    [
        ("200 OK", "Content-Type: application/json", b'{"a": 1}'),
        ("200 OK", "Content-Type: application/pdf", b"%PDF-1.4"),
        ("200 OK", "Content-Type: text/html\r\nContent-Disposition: attachment", b"<p>saved"),
        ("204 No Content", "X: y", b""),
    ],
)
async def test_what_is_no_page_is_kept_as_it_is(
    fetcher: BrowserFetcher, site: Site, status: str, header: str, body: bytes
) -> None:
    site.routes["/file"] = answer(body, status, tuple(header.split("\r\n")))
    got = await rendered(fetcher, f"{site.url}/file")
    assert got.status == int(status[:3]) and got.body == got.raw == body and got.rendered is None


async def test_headers_body_and_credentials_go_with_the_document_only(fetcher: BrowserFetcher, site: Site) -> None:
    site.routes["/form"] = answer(b"<script>fetch('/call')</script>", headers=(HTML,))
    await rendered(
        fetcher,
        f"{site.url}/form",
        method="POST",
        body=b"a=1",
        content_type="application/x-www-form-urlencoded",
        headers={"X-Secret": "s"},
    )
    form = next(asked for asked in site.asked if asked.path == "/form")
    call = next(asked for asked in site.asked if asked.path == "/call")
    assert form.method == "POST" and form.body == b"a=1" and form.headers["x-secret"] == "s"
    assert form.headers["user-agent"] == call.headers["user-agent"] == AGENT
    assert "x-secret" not in call.headers
    assert "sec-ch-ua" not in form.headers


async def test_basic_credentials_are_sent_when_the_host_asks(fetcher: BrowserFetcher, site: Site) -> None:
    async def guarded(asked: object, writer: object) -> None:
        has = "authorization" in asked.headers  # type: ignore[attr-defined]
        refused = ("401 Unauthorized", ('WWW-Authenticate: Basic realm="x"', HTML))
        await answer(b"in" if has else b"out", *(("200 OK", (HTML,)) if has else refused))(asked, writer)  # type: ignore[arg-type]

    site.routes["/guarded"] = guarded
    assert text_of(await rendered(fetcher, f"{site.url}/guarded", credentials="a:b")) == "in"
    assert (await rendered(fetcher, f"{site.url}/guarded")).status == 401


async def test_limits_of_size_and_time_hold(fetcher: BrowserFetcher, site: Site) -> None:
    site.routes["/big"] = answer(b"<p>" + b"x" * 50_000, headers=(HTML,))
    site.routes["/grows"] = answer(b"<p><script>document.body.append('x'.repeat(1e6))</script>", headers=(HTML,))
    site.routes["/hang"] = hang
    assert (await failed(fetcher, f"{site.url}/big", max_bytes=10_000)).kind == "too_large"
    assert (await failed(fetcher, f"{site.url}/grows", max_bytes=10_000)).kind == "too_large"
    assert (await failed(fetcher, f"{site.url}/hang", deadline_s=1.0)).kind == "timeout"


async def test_the_guard_decides_for_pages_too(fetcher: BrowserFetcher, site: Site) -> None:
    guarded = BrowserFetcher(fetcher.pool, AGENT, AddressGuard())
    before = len(site.asked)
    for host in ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433"):
        refused = await failed(guarded, f"http://{host}:{site.port}/")
        assert refused.kind == "address_refused" and "127" not in refused.detail
    assert (await failed(guarded, "http://nowhere.invalid/")).kind == "dns"
    assert len(site.asked) == before
    await guarded.aclose()

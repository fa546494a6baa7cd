"""A callback that gets its page in Playwright: what it can do, what it cannot reach, and that nothing of it stays."""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import pytest_asyncio

from shoal import Page, Request, spider
from shoal.browser.browser_fetcher import BrowserFetcher
from shoal.browser.playwright_visit import PlaywrightVisit
from shoal.browser.websocket_server import WebSocketServer
from shoal.errors import UsageError
from shoal.fetch.cookie_jar import CookieJar
from shoal.fetch.exchange import Exchange, Failure, FetchAborted
from shoal.jobs.failure_hints import hint
from shoal.model.rendering import Rendering
from tests.browser.rendering import LONG_S, processes_of_session, render
from tests.fetch.site import Site, answer, serving, until

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("program")]
HTML = ("Content-Type: text/html", "Set-Cookie: seen=1")
SHOP = b"""<p id=list></p><button>Buy</button><script>
list.textContent = "by script";
document.querySelector("button").onclick = async () => {
  await fetch("/buy", {method: "POST"});
  document.cookie = "bought=1";
  document.title = "bought";
};
</script>"""
OPENED = Rendering(playwright=True)


@pytest.fixture(scope="module", autouse=True)
def installed() -> None:
    pytest.importorskip("playwright")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site() -> AsyncIterator[Site]:
    async with serving(Site(routes={"/shop": answer(SHOP, headers=HTML)})) as site:
        yield site


def asked(site: Site) -> list[tuple[str, str]]:
    return [(one.method, one.path) for one in site.asked if one.path != "/robots.txt"]


async def opened(fetcher: BrowserFetcher, url: str, **call: Any) -> Exchange:
    got = await render(fetcher, url, rendering=OPENED, **call)
    assert isinstance(got, Exchange), got
    return got


async def closed(got: Exchange) -> None:
    assert got.rendered is not None and got.rendered.ending is not None
    await got.rendered.ending.aclose()


async def test_a_callback_works_on_its_page_in_playwright(site: Site, tmp_path: Path) -> None:
    site.asked.clear()

    @spider(site.url + "/", rate=0, allow_private=True, timeout=60)
    def shop(page: Page) -> Any:
        yield page.request("/shop", to=buy, playwright=True)

    @shop.callback
    async def buy(page: Page) -> Any:
        assert page.rendered is not None and "by script" in page.text
        tab = page.playwright
        await tab.click("button", timeout=60_000)
        await tab.wait_for_function("document.title == 'bought'", timeout=60_000)
        yield {"title": await tab.title()}
        yield page.request("/plain", to=plain)

    @shop.callback
    def plain(page: Page) -> None: ...

    report = await asyncio.to_thread(shop.run, tmp_path)
    assert [item["title"] for item in report.items()] == ["bought"]
    assert asked(site) == [("GET", "/"), ("GET", "/shop"), ("POST", "/buy"), ("GET", "/plain")]
    # One jar: what the browser has, plain requests have.
    assert site.asked[-1].headers["cookie"] in ("seen=1; bought=1", "bought=1; seen=1")


async def test_the_browser_ends_with_the_visit_and_goes_through_its_proxy_alone(
    fetcher: BrowserFetcher, site: Site
) -> None:
    got = await opened(fetcher, site.url + "/shop")
    assert got.rendered is not None and got.ip == "127.0.0.1" and got.raw == SHOP
    tab = got.rendered.playwright
    (own,) = [lent.process.pid for lent in fetcher.pool._old]
    await tab.evaluate("fetch('/more')")
    assert got.rendered.requests == {f"127.0.0.1:{site.port}": 2}
    unguarded = await (await tab.context.browser.new_context()).new_page()
    before = len(site.asked)
    with pytest.raises(Exception, match=r"ERR_PROXY|ERR_SOCKS"):
        await unguarded.goto(site.url + "/unguarded")
    assert len(site.asked) == before
    await closed(got)
    await until(lambda: not processes_of_session(own), LONG_S)


async def test_a_redirect_is_an_answer_and_headers_go_with_the_document_alone(
    fetcher: BrowserFetcher, site: Site
) -> None:
    site.routes["/old"] = answer(b"", "302 Found", ("Location: /shop",))
    jar = CookieJar()
    jar.add(site.url + "/", "known=1")
    moved = await opened(fetcher, site.url + "/old", jar=jar)
    assert moved.status == 302 and moved.location == site.url + "/shop" and moved.rendered is None
    site.asked.clear()
    got = await opened(fetcher, site.url + "/shop", jar=jar, headers={"X-Secret": "s"}, cookies="mine=1")
    assert got.rendered is not None
    await got.rendered.playwright.evaluate("fetch('/more')")
    await closed(got)
    document, more = site.asked
    assert document.headers["x-secret"] == "s" and "x-secret" not in more.headers
    assert all(name in document.headers["cookie"] for name in ("known=1", "mine=1"))
    assert any("seen" in line for line in jar.changed_lines())
    assert not any("mine" in line for line in jar.changed_lines())


async def test_any_spelling_of_a_url_sends_what_the_request_has(
    fetcher: BrowserFetcher, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = site.url.replace("http", "HTTP") + "/any/{a,b}/[c]/*/../d?q=*"
    monkeypatch.setattr(site, "otherwise", answer(b"<p>by post", headers=HTML))
    site.asked.clear()
    jar = CookieJar()
    own = {"method": "POST", "body": b"sent", "content_type": "text/plain", "headers": {"X-Own": "1"}}
    await closed(await opened(fetcher, url, jar=jar, **own))
    document = site.asked[0]
    assert (document.method, document.body, document.headers["x-own"]) == ("POST", b"sent", "1")
    assert any("seen" in line for line in jar.changed_lines())


async def test_a_host_that_is_not_there_is_a_failure(fetcher: BrowserFetcher) -> None:
    with socket.socket() as nobody:
        # It is bound, so that nobody else gets the port, and does not listen.
        nobody.bind(("127.0.0.1", 0))
        got = await render(fetcher, f"http://127.0.0.1:{nobody.getsockname()[1]}/", rendering=OPENED)
    assert isinstance(got, Failure) and got.kind == "connect", got


@pytest.mark.parametrize("how", ["leave", "close", "kill"])
async def test_a_page_that_goes_away_while_it_is_read_fails_alone(
    fetcher: BrowserFetcher, site: Site, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    read = PlaywrightVisit._read

    async def late(visit: PlaywrightVisit, response: Any) -> None:
        if how == "leave":
            await visit.tab.goto("about:blank")
        elif how == "close":
            await visit.tab.close()
        else:
            visit._process.kill()
        await read(visit, response)

    monkeypatch.setattr(PlaywrightVisit, "_read", late)
    if how == "kill":
        for _ in range(2):
            with pytest.raises(FetchAborted, match="the browser ended"):
                await render(fetcher, site.url + "/shop?killed", rendering=OPENED)
    got = await render(fetcher, site.url + ("/shop?killed" if how == "kill" else "/shop"), rendering=OPENED)
    assert isinstance(got, Failure) and got.kind == "render", got
    assert ("browser was lost" if how == "kill" else "lost before it was read") in got.detail


async def test_without_playwright_the_failure_says_what_to_install(
    fetcher: BrowserFetcher, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "playwright.async_api", None)
    got = await render(fetcher, site.url + "/shop", rendering=OPENED)
    assert isinstance(got, Failure) and got.detail.endswith("pip install 'shoal[playwright]'")
    assert "pip install 'shoal[playwright]'" in (hint(got.kind, None, "retry", "") or "")


async def test_arguments_that_do_not_fit_are_refused() -> None:
    for given in ({"steps": ["scroll"]}, {"render": False}, {"render": "auto"}):
        with pytest.raises(UsageError, match="leave steps= and render= out"):
            Request("https://x.test/", playwright=True, **given)
    with pytest.raises(UsageError, match="is not open in Playwright"):
        _ = Page("https://x.test/", b"").playwright


async def test_only_who_knows_the_path_connects_and_parts_of_a_message_are_joined() -> None:
    got: asyncio.Queue[bytes] = asyncio.Queue()
    server = WebSocketServer(got.put_nowait)
    url = urlsplit(await server.listen())
    head = "GET {} HTTP/1.1\r\nHost: x\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    try:
        reader, writer = await asyncio.open_connection(url.hostname, url.port)
        writer.write(head.format("/guessed").encode())
        assert await reader.read() == b""
        writer.close()
        reader, writer = await asyncio.open_connection(url.hostname, url.port)
        writer.write(head.format(url.path).encode())
        # The key and its answer are those of RFC 6455.
        assert b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in await reader.readuntil(b"\r\n\r\n")
        parts = [b"a" * 200, b"b" * 70_000, b"end"]
        for place, part in enumerate(parts):
            writer.write(masked(part, kind=0 if place else 1, is_final=place == len(parts) - 1))
        assert await got.get() == b"".join(parts)
        server.send(b"x" * 70_000)
        assert await reader.readexactly(10) == b"\x81\x7f" + struct.pack(">Q", 70_000)
        assert await reader.readexactly(70_000) == b"x" * 70_000
        writer.close()
    finally:
        server.close()


def masked(data: bytes, kind: int, is_final: bool) -> bytes:
    mask = b"\x01\x02\x03\x04"
    length = len(data)
    size = bytes([0x80 | length]) if length < 126 else b"\xff" + struct.pack(">Q", length)
    body = bytes(byte ^ mask[place % 4] for place, byte in enumerate(data))
    return bytes([0x80 * is_final | kind]) + size + mask + body

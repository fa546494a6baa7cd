"""Headers, cookies, statuses, time limits and errors callbacks of single requests, in real crawls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from shoal import Page, Request, ShoalError, spider
from shoal.frontier.serialize import request_of
from shoal.model import DeadLetter, Drop, PageRecord, RequestOptions, ScopeKind
from shoal.practice import Answer, Visit
from shoal.spiders.request_arguments import RequestArguments
from shoal.store.results.pagination import items_after
from tests.engine.conftest import Field, Pages, html, serving
from tests.engine.test_spiders import crawl


def echo(*names: str) -> Callable[[Visit], Answer]:
    """A page that shows these headers of its request."""

    def answer(visit: Visit) -> Answer:
        return html(body=" | ".join(f"{name}={visit.headers.get(name, '-')}" for name in names))

    return answer


async def test_a_token_that_one_page_gives_is_sent_with_later_requests(crawler: Field) -> None:
    @spider()
    def shop(page: Page) -> Iterator[Any]:
        token = page.json("$.token")[0]
        yield page.request("/api", to=read, headers={"Authorization": f"Bearer {token}"})
        yield page.request("/open", to=read)

    @shop.callback
    def read(page: Page) -> Iterator[Any]:
        yield {"saw": page.text}

    pages: Pages = {
        "/": Answer(200, b'{"token": "t1"}', "application/json"),
        "/api": echo("authorization"),
        "/open": echo("authorization"),
    }
    async with serving(pages) as site:
        items = await crawl(crawler, shop, site.url())
    assert sorted(item["saw"] for item in items) == ["authorization=-", "authorization=Bearer t1"]


async def test_headers_and_cookies_stay_on_their_origin_when_the_host_redirects(crawler: Field) -> None:
    @spider()
    def shop(page: Page) -> Iterator[Any]:
        if page.url.endswith("/"):
            secrets: RequestArguments = {"headers": {"X-Key": "k", "Accept-Language": "fr"}, "cookies": {"sid": "7"}}
            yield page.request("/near", to=read, **secrets)
            yield page.request("/far", to=read, **secrets)

    @shop.callback
    def read(page: Page) -> Iterator[Any]:
        yield {"url": page.url, "saw": page.text}

    shown = echo("x-key", "cookie", "accept-language")
    pages: dict[str, Any] = {"/": html(), "/here": shown, "/there": shown}
    async with serving(pages, hosts=2) as site:
        pages["/near"] = Answer(302, b"", headers={"Location": "/here"})
        pages["/far"] = Answer(302, b"", headers={"Location": site.url("/there", "127.0.0.2")})
        items = await crawl(crawler, shop, site.url(), scope=ScopeKind.ANY)
    saw = {item["url"].rpartition("/")[2]: item["saw"] for item in items}
    assert saw == {
        "here": "x-key=k | cookie=sid=7 | accept-language=fr",
        "there": "x-key=- | cookie=- | accept-language=fr",
    }


async def test_a_cookie_of_the_request_wins_over_the_jar_and_does_not_stay(crawler: Field) -> None:
    @spider()
    def shop(page: Page) -> Iterator[Any]:
        yield page.request("/1", to=mine, cookies={"sid": "mine"})

    @shop.callback
    def mine(page: Page) -> Iterator[Any]:
        yield {"saw": page.text}
        yield page.request("/2", to=read)

    @shop.callback
    def read(page: Page) -> Iterator[Any]:
        yield {"saw": page.text}

    def set_more(visit: Visit) -> Answer:
        return echo("cookie")(visit)._replace(headers={"Set-Cookie": "more=2"})

    front = html()._replace(headers={"Set-Cookie": "sid=site"})
    async with serving({"/": front, "/1": set_more, "/2": echo("cookie")}) as site:
        items = await crawl(crawler, shop, site.url())
    assert items[0] == {"saw": "cookie=sid=mine"}
    assert sorted(items[1]["saw"].removeprefix("cookie=").split("; ")) == ["more=2", "sid=site"]


async def test_a_callback_gets_the_statuses_that_it_asks_for(crawler: Field) -> None:
    @spider()
    def shop(page: Page) -> Iterator[Any]:
        for path in ("/404", "/410", "/503"):
            yield page.request(path, to=read, statuses={404, 503})

    @shop.callback
    def read(page: Page) -> Iterator[Any]:
        yield {"status": page.status, "failure": page.failure}

    pages = {"/": html(), "/410": Answer(410, b"gone"), "/503": Answer(503, b"later")}
    async with serving(pages) as site:
        items = await crawl(crawler, shop, site.url())
    assert crawler.ending(site.url("/503")).attempts == 1
    assert sorted(item["status"] for item in items) == [404, 503]
    assert {item["failure"] for item in items} == {None}
    assert crawler.pages() == {"/": 200, "/404": 404, "/410": 410, "/503": 503}
    await crawler.figures()


async def test_an_errors_callback_gets_failures_in_place_of_dead_letters(crawler: Field) -> None:
    @spider()
    def shop(page: Page) -> Iterator[Any]:
        yield page.request("/404", to=read, errors=failed, meta={"n": 1})
        yield page.request("/500", to=read, errors=failed, meta={"n": 2})
        yield page.request("/slow", to=read, errors=failed, timeout=0.2, meta={"n": 3})
        yield page.request("/good", to=read, errors=failed)

    @shop.callback
    def read(page: Page) -> Iterator[Any]:
        yield {"read": page.title}

    @shop.callback
    def failed(page: Page) -> Iterator[Any]:
        yield {"n": page.meta["n"], "why": page.failure, "status": page.status, "body": page.body.decode()}
        if page.status == 0:
            yield page.request("/mirror", to=read)

    pages = {
        "/": html(),
        "/500": Answer(500, b"broken"),
        "/slow": html()._replace(delay_s=5),
        "/good": html(),
        "/mirror": html(),
    }
    async with serving(pages) as site:
        items = await crawl(crawler, shop, site.url(), retries=1)
        broken, slow = crawler.ending(site.url("/500")), crawler.ending(site.url("/slow"))
    assert broken.attempts == 2
    assert sorted((item for item in items if "n" in item), key=lambda item: item["n"]) == [
        {"n": 1, "why": "status 404", "status": 404, "body": "not here"},
        {"n": 2, "why": "status 500", "status": 500, "body": "broken"},
        {"n": 3, "why": "timeout", "status": 0, "body": ""},
    ]
    assert items.count({"read": "t"}) == 2
    assert isinstance(slow, Drop)
    assert slow.reason == "handled"
    seen = await crawler.figures()
    assert seen.frontier.dead == 0
    assert seen.frontier.dropped == {"handled": 1}
    assert crawler.pages() == {"/": 200, "/404": 404, "/500": 500, "/good": 200, "/mirror": 200}


async def test_items_of_requests_without_an_answer_are_paged_and_exported_in_order(crawler: Field) -> None:
    @spider()
    def shop(page: Page) -> Iterator[Any]:
        yield {"n": 0}
        yield page.request("/slow", errors=failed, timeout=0.2, priority=1)
        yield page.request("/after", to=read)

    @shop.callback
    def read(page: Page) -> Iterator[Any]:
        yield {"n": 2}

    @shop.callback
    def failed(page: Page) -> Iterator[Any]:
        yield {"n": 1}
        yield {"n": 1.5}

    pages = {"/": html(), "/slow": html()._replace(delay_s=5), "/after": html()._replace(delay_s=0.1)}
    async with serving(pages) as site:
        items = await crawl(crawler, shop, site.url(), retries=0)
    store = crawler.home.store
    assert len(items) == 4
    paged, after = [], None
    while part := items_after(store, "job", {}, after, 1):
        after = part[-1][0]
        paged += [item["n"] for _, item in part]
    assert paged == [item["n"] for item in items]


async def test_an_errors_callback_that_fails_leaves_the_dead_letter(crawler: Field) -> None:
    @spider()
    def shop(page: Page) -> Iterator[Any]:
        yield page.request("/500", errors=failed)

    @shop.callback
    def failed(page: Page) -> Iterator[Any]:
        raise ValueError("no idea")
        yield

    async with serving({"/": html(), "/500": Answer(500, b"")}) as site:
        await crawl(crawler, shop, site.url(), retries=0)
        broken = crawler.ending(site.url("/500"))
    assert isinstance(broken, DeadLetter)
    assert (broken.reason, broken.status) == ("http", 500)
    assert "its errors callback failed: shop.failed: ValueError: no idea" in broken.detail
    await crawler.figures()


@pytest.mark.parametrize("keyword", ["to", "errors"])
async def test_a_callback_that_does_not_exist_fails_the_page_that_names_it(crawler: Field, keyword: str) -> None:
    @spider()
    def shop(page: Page) -> Iterator[Any]:
        yield from page.follow("a", **{keyword: "nowhere"})  # type: ignore[arg-type]

    async with serving({"/": html("/a", "/b"), "/a": html(), "/b": html()}) as site:
        await crawl(crawler, shop, site.url())
        start = crawler.ending(site.url())
        assert crawler.ending(site.url("/a")) is None and crawler.pages() == {}
    assert isinstance(start, DeadLetter) and start.reason == "callback"
    assert "has no callback 'nowhere'. It has: shop. To add one" in start.detail


async def test_a_fault_of_the_callback_itself_is_no_failure_of_the_request(crawler: Field) -> None:
    @spider()
    def shop(page: Page) -> Iterator[Any]:
        if page.url.endswith("/a"):
            raise ValueError("mine")
        yield page.request("/a", errors=failed)

    @shop.callback
    def failed(page: Page) -> Iterator[Any]:
        yield {"failed": True}

    async with serving({"/": html(), "/a": html()}) as site:
        assert await crawl(crawler, shop, site.url()) == []
        assert crawler.ending(site.url("/a")).reason == "callback"


def test_secrets_of_a_request_are_not_shown() -> None:
    request = Request("https://x.test/", headers={"Authorization": "Bearer s3cret"}, cookies={"sid": "s3cret"})
    assert "s3cret" not in repr(request)
    assert "Authorization" in repr(request)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"headers": {"Host": "x"}}, "cannot set the header Host: Shoal sets it itself"),
        ({"headers": {"content-length": "3"}}, "cannot set the header content-length"),
        ({"headers": {"Range": "bytes=0-9"}}, "stored as the whole page"),
        ({"headers": {"If-None-Match": "x"}}, "--refresh"),
        ({"headers": {"Cookie": "a=b"}}, "cookies="),
        ({"headers": {"User-Agent": "me"}}, "robots.txt is read for one name"),
        ({"headers": {"X-A": "a\r\nB: c"}}, "line break"),
        ({"headers": {"X A": "a"}}, "not the name of a header"),
        ({"headers": {"X-A": 1}}, "'X-A' is int"),
        ({"headers": [("X-A", "1")]}, "headers is list"),
        ({"headers": {"X-A": "a" * 20_000}}, "at most 16,000"),
        ({"cookies": {"a": "b; c=d"}}, "not a cookie"),
        ({"statuses": 404}, "as in {404, 410}"),
        ({"statuses": {"404"}}, "from 200 to 599"),
        ({"statuses": {304}}, "without 304"),
        ({"statuses": {404, "410"}}, "statuses has '410'; give numbers from 200 to 599"),
        ({"timeout": 0}, "from 0.1 to 600"),
        ({"timeout": True}, "from 0.1 to 600"),
        ({"errors": 5}, "not a callback"),
        ({"header": {}}, "no argument 'header'"),
    ],
)
def test_what_a_request_cannot_ask_for_is_refused_where_it_is_written(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ShoalError, match=message):
        Request("https://x.test/", **given)
    with pytest.raises(ShoalError, match=message):
        list(Page("https://x.test/", b"<a href=/>x</a>").follow("a", **given))


def test_the_name_of_an_argument_elsewhere_leads_to_the_right_one() -> None:
    with pytest.raises(ShoalError, match=r"no argument 'to' \(did you mean callback=\?\)"):
        Request("https://x.test/", to="read")  # type: ignore[call-arg]
    with pytest.raises(ShoalError, match=r"no argument 'callback' \(did you mean to=\?\)"):
        list(Page("https://x.test/", b"<a href=/>x</a>").follow("a", callback="read"))  # type: ignore[call-arg]


def test_a_request_without_a_valid_url_names_it() -> None:
    with pytest.raises(ShoalError, match=r"the url of a request is 'http://\[bad', which is not a URL"):
        Page("https://x.test/", b"").request("http://[bad")


async def test_a_refused_header_is_reported_with_the_line_of_the_callback(crawler: Field) -> None:
    @spider()
    def shop(page: Page) -> Iterator[Any]:
        yield page.request("/a", headers={"Host": "elsewhere"})

    async with serving({"/": html()}) as site:
        await crawl(crawler, shop, site.url())
        end = crawler.ending(site.url())
    assert "cannot set the header Host: Shoal sets it itself (test_request_options.py:" in end.detail


async def test_redirects_that_a_callback_asks_for_are_pages(crawler: Field) -> None:
    @spider()
    def shop(page: Page) -> Iterator[Any]:
        yield page.request("/moved", to=read, statuses={302})

    @shop.callback
    def read(page: Page) -> Iterator[Any]:
        yield {"to": page.headers["location"]}

    async with serving({"/": html(), "/moved": Answer(302, b"", headers={"Location": "/new"})}) as site:
        assert await crawl(crawler, shop, site.url()) == [{"to": "/new"}]
        assert isinstance(crawler.ending(site.url("/moved")), PageRecord)


async def test_a_request_that_robots_txt_holds_up_reaches_its_errors_callback(crawler: Field) -> None:
    @spider()
    def shop(page: Page) -> Iterator[Any]:
        yield page.request(page.url.replace("127.0.0.1", "127.0.0.2"), errors=failed)

    @shop.callback
    def failed(page: Page) -> Iterator[Any]:
        yield {"why": page.failure, "status": page.status}

    def robots(visit: Visit) -> Answer:
        return Answer(500 if visit.host == "127.0.0.2" else 404, b"")

    async with serving({"/": html(), "/robots.txt": robots}, hosts=2) as site:
        items = await crawl(crawler, shop, site.url(), scope=ScopeKind.ANY, retries=0)
    assert items == [{"why": "status 500", "status": 0}]
    assert (await crawler.figures()).frontier.dropped == {"handled": 1}


async def test_a_dead_letter_keeps_the_options_for_its_retry(crawler: Field) -> None:
    @spider()
    def shop(page: Page) -> Iterator[Any]:
        yield page.request("/500", headers={"X-Key": "k"}, cookies={"sid": "7"}, timeout=9, statuses={404})

    async with serving({"/": html(), "/500": Answer(500, b"")}) as site:
        await crawl(crawler, shop, site.url(), retries=0)
        letter = crawler.ending(site.url("/500"))
    _, trail = request_of(letter.request)
    assert trail.options == RequestOptions((("X-Key", "k"),), (("sid", "7"),), None, (404,), 9.0)

"""Requests of a session share cookies, proxy and headers, and are told from those of another session or region."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from shoal import Page, Request, spider
from shoal.embedded.crawl import Crawl
from shoal.embedded.home import Home
from shoal.errors import UsageError
from shoal.jobs.job_overview import Overview
from shoal.model.request_options import RequestOptions, inherited
from shoal.spiders.spider import Spider
from shoal.store.results.items import list_items
from shoal.store.results.listings import list_dead, list_pages
from shoal.urls import Exclusions
from tests.fetch.site import Asked, Site, answer, serving
from tests.proxies.bad_proxy import BadProxy, LoggedSite, listening
from tests.proxies.test_crawl_through_proxies import make_job

USERS = ("ann", "bob", "cid")


async def login(asked: Asked, writer: asyncio.StreamWriter) -> None:
    """The form gives a token as a cookie, and takes it back with the name."""
    if asked.method == "GET":
        token = f"t{id(asked)}"
        form = f"<input name=t value={token}>".encode()
        return await answer(form, headers=(f"Set-Cookie: t={token}",))(asked, writer)
    sent = dict(pair.split("=", 1) for pair in asked.body.decode().split("&"))
    fits = f"t={sent['t']}" in asked.headers.get("cookie", "")
    cookie = f"Set-Cookie: user={sent['user'] if fits else 'nobody'}"
    return await answer(b"", "303 See Other", ("Location: /account", cookie))(asked, writer)


async def account(asked: Asked, writer: asyncio.StreamWriter) -> None:
    cookies = dict(pair.split("=", 1) for pair in asked.headers.get("cookie", "").split("; ") if pair)
    key = asked.headers.get("x-key", "")
    body = f"<h1>{cookies.get('user', 'nobody')}</h1><p>{key}</p><a href=/orders>orders</a>".encode()
    return await answer(body)(asked, writer)


def shop() -> Site:
    return Site(routes={"/login": login, "/account": account, "/orders": account})


def logins(url: str) -> Spider:
    @spider(f"{url}/", rate=0, allow_private=True)
    def start(page: Page) -> Iterator[Request]:
        for user in USERS:
            yield page.request("/login", to=form, session=user)

    @start.callback
    def form(page: Page) -> Iterator[Request]:
        token = page.css("input")[0].attr("value") or ""
        sent = {"t": token, "user": page.session}
        yield page.request("/login", to=mine, form=sent, headers={"X-Key": f"key-{page.session}"})

    @start.callback
    def mine(page: Page) -> Iterator[Any]:
        yield {
            "path": page.url.rpartition("/")[2],
            "session": page.session,
            "user": page.css("h1")[0].text,
            "key": page.css("p")[0].text,
        }
        yield from page.follow("a", to=mine)

    return start


async def run(home: Home, site: Any, start: Spider, **options: Any) -> tuple[str, Overview]:
    job = make_job(home, site, **options)
    async with asyncio.timeout(60):
        return job, (await Crawl(home, job, 8, Exclusions(), spider=start).run()).overview


async def test_several_logins_of_one_site_stand_side_by_side(tmp_path: Path) -> None:
    async with serving(shop()) as site:
        with Home(tmp_path / "home") as home:
            job, seen = await run(home, LoggedSite(port=site.port), logins(site.url))
            items = sorted(tuple(item.values()) for item in list_items(home.store, job, {}))
    assert not seen.failures
    assert items == sorted((path, user, user, f"key-{user}") for user in USERS for path in ("account", "orders"))


async def test_a_session_stays_with_one_proxy_and_outlives_a_stop(tmp_path: Path) -> None:
    """By the site's log: each session comes from one address, and not all of them from the same."""
    with Home(tmp_path / "home") as home:
        async with AsyncExitStack() as stack:
            site = await stack.enter_async_context(listening(LoggedSite(pages=30)))
            several = [await stack.enter_async_context(listening(BadProxy("good", f"127.0.0.3{n}"))) for n in range(6)]
            sessions = [f"s{n}" for n in range(6)]

            @spider(site.url, rate=0, allow_private=True)
            def start(page: Page) -> Iterator[Request]:
                for name in sessions:
                    for n in range(4):
                        yield page.request(f"/p{n}?{name}", to=nothing, session=name)

            @start.callback
            def nothing(page: Page) -> Iterator[Any]:
                yield {"session": page.session}

            _, seen = await run(home, site, start, proxies=tuple(proxy.url for proxy in several))
            assert seen.frontier.pages == 25 and not seen.failures
            addresses: dict[str, set[str]] = defaultdict(set)
            for visit in site.visits:
                if "?" in visit.path:
                    addresses[visit.path.partition("?")[2]].add(visit.address)
    assert addresses.keys() == set(sessions) and {len(found) for found in addresses.values()} == {1}
    assert len(set.union(*addresses.values())) > 1


async def test_a_request_asks_for_a_region_and_the_same_url_counts_once_for_each(tmp_path: Path) -> None:
    with Home(tmp_path / "home") as home:
        async with AsyncExitStack() as stack:
            site = await stack.enter_async_context(listening(LoggedSite(pages=3)))
            german = await stack.enter_async_context(listening(BadProxy("good", "127.0.0.41")))
            french = await stack.enter_async_context(listening(BadProxy("good", "127.0.0.42")))

            @spider(site.url, rate=0, allow_private=True)
            def start(page: Page) -> Iterator[Request]:
                for region in ("de", "fr", "xx"):
                    yield page.request("/p1", to=priced, region=region)

            @start.callback
            def priced(page: Page) -> Iterator[Any]:
                yield {"url": page.url}
                yield page.request("/p2", to=priced)

            listed = f"{german.url} region=de\n{french.url} region=fr"
            job, _ = await run(home, site, start, proxy_pool=listed)
            (letter,) = list_dead(home.store, job, {})
            pages = list(list_pages(home.store, job, {}))
            visits = {(visit.path, visit.address) for visit in site.visits}
    assert visits >= {(path, address) for path in ("/p1", "/p2") for address in ("127.0.0.41", "127.0.0.42")}
    assert len(pages) == 5
    assert letter["reason"] == "region" and "is in region xx: there are de, fr" in letter["detail"]


async def test_a_region_without_proxies_is_a_dead_letter_that_says_so(tmp_path: Path) -> None:
    with Home(tmp_path / "home") as home:
        async with listening(LoggedSite(pages=3)) as site:

            @spider(site.url, rate=0, allow_private=True)
            def start(page: Page) -> Iterator[Request]:
                yield page.request("/p1", region="de")

            job, _ = await run(home, site, start)
            (letter,) = list_dead(home.store, job, {})
    assert "asks for region de, and the job has no proxies" in letter["detail"]
    assert "/p1" not in {visit.path for visit in site.visits}


def test_what_a_request_inherits() -> None:
    page = RequestOptions(headers=(("X-Key", "k"), ("Accept", "a")), session="ann", region="de")
    stays = inherited(None, page, True)
    assert stays == RequestOptions(headers=(("X-Key", "k"), ("Accept", "a")), session="ann", region="de")
    elsewhere = inherited(None, page, False)
    assert elsewhere is not None and elsewhere.headers == (("Accept", "a"),)
    own = inherited(RequestOptions(headers=(("accept", "b"),), region="fr"), page, True)
    assert own == RequestOptions(headers=(("X-Key", "k"), ("accept", "b")), session="ann", region="fr")
    assert inherited(RequestOptions(session="", region=""), page, True) is None
    bob = inherited(RequestOptions(session="bob"), page, True)
    assert bob == RequestOptions(session="bob", region="de"), "another login has headers of its own"
    assert inherited(None, RequestOptions(timeout_s=3.0), True) is None


@pytest.mark.parametrize(("name", "value"), [("session", 7), ("session", "two words"), ("region", "d/e")])
def test_a_name_that_cannot_be_used_is_refused_in_the_line_of_the_callback(name: str, value: Any) -> None:
    given: Any = {name: value}
    with pytest.raises(UsageError, match=f"{name} is .*; give"):
        Request("https://a.test/", **given)

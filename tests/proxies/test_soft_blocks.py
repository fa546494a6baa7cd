"""Refusals that look like pages: a login form, or lists without items, where the same host gave better."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from shoal import Item, Page, css, spider
from shoal.embedded.crawl import Crawl
from shoal.embedded.home import Home
from shoal.engine.reading.soft_blocks import Experience, names_login
from shoal.jobs.job_overview import Overview
from shoal.spiders.spider import Spider
from shoal.store.results.listings import list_dead, list_pages
from shoal.urls import Exclusions
from tests.fetch.site import Asked, Site, answer, serving
from tests.proxies.bad_proxy import BadProxy, LoggedSite, listening
from tests.proxies.test_crawl_through_proxies import make_job

ITEM = b"<ul><li><a>one</a></li></ul>"
EMPTY = b"<ul></ul>"
LOGIN = b"<title>Log in</title><form><input name=u><input type=password name=p></form>"


AWAY = b"a redirect to the login page"


class Shop(Site):
    """Pages /0, /1, … in this order; `bad` says what page N shows, from the moment it is asked for."""

    def __init__(self, pages: int, bad: dict[int, bytes], forms: Sequence[str] = ()) -> None:
        super().__init__(otherwise=self.page)
        self.names = [*map(str, range(pages)), *forms]
        self.bad = bad

    async def page(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.path == "/":
            links = "".join(f"<a href=/list/{n}>{n}</a>" for n in self.names)
            return await answer(links.encode(), headers=("Content-Type: text/html",))(asked, writer)
        folder, _, name = asked.path[1:].partition("/")
        if folder != "list":
            return await answer(b"", "404 Not Found")(asked, writer)
        body = self.bad.get(int(name), ITEM) if name.isdecimal() else LOGIN
        if body is AWAY:
            to_login = f"Location: /account/login?next=/list/{name}"
            return await answer(b"", "302 Found", headers=(to_login,))(asked, writer)
        return await answer(body, headers=("Content-Type: text/html",))(asked, writer)


class Entry(Item):
    name: str = css("a")


def lister(url: str) -> Spider:
    @spider(f"{url}/", rate=0, per_host=1, allow_private=True)
    def start(page: Page) -> Iterator[Any]:
        yield from page.follow("a", to=listed)

    @start.callback
    def listed(page: Page) -> Iterator[Any]:
        yield from page.each("li", Entry)
        yield from page.follow("a[href]", to=listed)

    return start


async def crawl(home: Home, port: int, start: Spider | None, **options: Any) -> tuple[str, Overview]:
    job = make_job(home, LoggedSite(port=port), **options)
    async with asyncio.timeout(60):
        return job, (await Crawl(home, job, 1, Exclusions(), spider=start).run()).overview


@pytest.mark.parametrize("has_spider", [True, False])
async def test_login_forms_where_pages_were_are_a_block(tmp_path: Path, has_spider: bool) -> None:
    bad = dict.fromkeys(range(20, 30), LOGIN)
    with Home(tmp_path / "home") as home:
        async with serving(Shop(30, bad)) as site:
            start = lister(site.url) if has_spider else None
            job, seen = await crawl(home, site.port, start, per_host=1)
            letters = list(list_dead(home.store, job, {}))
            pages = list(list_pages(home.store, job, {}))
    assert {letter["url"].rpartition("/")[2] for letter in letters} == {str(n) for n in range(24, 30)}
    assert {(letter["reason"], letter["status"]) for letter in letters} == {("blocked", 200)}
    assert "a login form on 5 pages in a row, after 20 good ones" in letters[0]["detail"]
    assert "--cookie" in letters[0]["detail"]
    assert len(pages) == 25 and [(group.kind, group.n) for group in seen.failures] == [("blocked", 6)]


@pytest.mark.parametrize("has_spider", [True, False])
async def test_redirects_to_a_login_where_pages_were_are_a_block(tmp_path: Path, has_spider: bool) -> None:
    bad = dict.fromkeys(range(20, 30), AWAY)
    with Home(tmp_path / "home") as home:
        async with serving(Shop(30, bad)) as site:
            start = lister(site.url) if has_spider else None
            job, seen = await crawl(home, site.port, start, per_host=1)
            letters = list(list_dead(home.store, job, {}))
    assert {letter["url"].rpartition("/")[2] for letter in letters} == {str(n) for n in range(24, 30)}
    assert {(letter["reason"], letter["status"]) for letter in letters} == {("blocked", 302)}
    assert "/account/login" in letters[0]["detail"] and "after 20 good ones" in letters[0]["detail"]
    assert seen.frontier.redirects == 4


async def test_pages_that_were_always_behind_a_login_are_no_block(tmp_path: Path) -> None:
    """Links with another query are of another kind, such as those that put a product on a wish list."""
    with Home(tmp_path / "home") as home:
        async with serving(Shop(20, dict.fromkeys(range(12), AWAY))) as site:
            _, seen = await crawl(home, site.port, None, per_host=1)
    assert seen.frontier.redirects == 12 and not [group for group in seen.failures if group.kind == "blocked"]


async def test_the_login_page_of_a_site_is_a_page(tmp_path: Path) -> None:
    """Once or twice between others, or under as many URLs as a wiki has."""
    forms = [f"login?returnto={n}" for n in range(8)]
    with Home(tmp_path / "home") as home:
        async with serving(Shop(20, {10: LOGIN, 15: LOGIN}, forms)) as site:
            _, seen = await crawl(home, site.port, None, per_host=1)
    assert seen.frontier.pages == 29 and not seen.failures


async def test_a_site_of_login_forms_has_nothing_to_compare_with(tmp_path: Path) -> None:
    with Home(tmp_path / "home") as home:
        async with serving(Shop(8, dict.fromkeys(range(8), LOGIN))) as site:
            _, seen = await crawl(home, site.port, None, rate=0)
    assert seen.frontier.pages == 9 and not seen.failures


async def test_lists_that_are_suddenly_all_empty_are_a_block(tmp_path: Path) -> None:
    with Home(tmp_path / "home") as home:
        async with serving(Shop(40, dict.fromkeys(range(20, 40), EMPTY))) as site:
            job, seen = await crawl(home, site.port, lister(site.url), rate=0)
            letters = list(list_dead(home.store, job, {}))
    assert seen.frontier.pages == 25 and len(letters) == 16, "four could be chance"
    assert all("after 20 with items" in letter["detail"] for letter in letters)


async def test_a_page_that_leads_to_others_is_no_block(tmp_path: Path) -> None:
    """Such as a category that has only subcategories."""
    leads = {n: f"<ul></ul><a href=/list/{n + 20}>next</a>".encode() for n in range(20, 40)}
    with Home(tmp_path / "home") as home:
        async with serving(Shop(40, leads)) as site:
            _, seen = await crawl(home, site.port, lister(site.url), per_host=1)
    assert seen.frontier.pages == 61 and not seen.failures


async def test_another_proxy_gets_the_list_that_one_did_not(tmp_path: Path) -> None:
    """The site shows empty lists to one address only."""
    with Home(tmp_path / "home") as home:
        async with AsyncExitStack() as stack:
            site = Shop(40, {})
            await stack.enter_async_context(serving(site))
            good = await stack.enter_async_context(listening(BadProxy("good", "127.0.0.51")))
            other = await stack.enter_async_context(listening(BadProxy("good", "127.0.0.52")))

            async def page(asked: Asked, writer: asyncio.StreamWriter) -> None:
                address = writer.get_extra_info("peername")[0]
                n = asked.path[6:] if asked.path.startswith("/list/") else ""
                site.bad = {int(n): EMPTY} if n and address == "127.0.0.52" and len(site.asked) > 20 else {}
                await site.page(asked, writer)

            site.otherwise = page
            listed = f"{other.url}\n{good.url} tier=2"
            _, seen = await crawl(home, site.port, lister(site.url), rate=0, proxy_pool=listed)
            assert other.requests > 20 and good.requests > 10
    assert seen.frontier.dead == 0 and seen.frontier.pages == 41
    assert seen.stored.items >= 36


def test_a_url_may_name_a_login() -> None:
    named = [
        "/login",
        "/wiki/Special:UserLogin",
        "/wp-login.php",
        "/Sign-In/",
        "/a?next=signin",
        "/oauth2/x",
        "/a/auth/1",
    ]
    others = ["/author/5", "/blog-in-paris", "/designing", "/a", "/catalog-index"]
    assert all(names_login(f"http://a.test{path}") for path in named)
    assert not any(names_login(f"http://login.test{path}") for path in others)


def test_empty_pages_now_and_then_are_chance() -> None:
    often = Experience(good=40, empty=40, run=8)
    assert not often.is_run_a_block
    often.run = 15
    assert often.is_run_a_block
    assert not Experience(good=4, run=30).is_run_a_block
    assert Experience(good=20, run=5).is_run_a_block


def test_a_good_page_ends_a_run_of_login_forms() -> None:
    known = Experience(good=20, login_run=4)
    known.note_good()
    known.login_run = 4
    assert not known.is_login_run_a_block and known.logins == 4
    known.login_run = 8
    assert known.is_login_run_a_block

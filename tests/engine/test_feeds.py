"""Sitemaps and feeds that a crawl was given, or meets: how they are read, and what becomes of their URLs."""

from __future__ import annotations

import gzip
from collections.abc import Iterator

import pytest

from shoal.engine.unfetched_requests import unwanted
from shoal.model import PageRecord, ScopeKind, Trail
from shoal.practice import Answer, Visit
from shoal.spiders.page import Page
from shoal.spiders.rules import from_json
from shoal.spiders.spider import spider
from shoal.urls import Params, Scope, target
from tests.engine.conftest import Field, Pages, html, serving, spec

URLSET = "<urlset><url><loc>/a</loc></url><url><loc>/b</loc></url></urlset>"
INDEX = "<sitemapindex><sitemap><loc>{here}/s.xml</loc></sitemap></sitemapindex>"
RSS = "<rss><channel><item><link>/a</link></item><item><guid>{here}/b</guid></item></channel></rss>"
ATOM = "<feed><entry><link href='/a'/></entry><entry><link href='/b'/></entry></feed>"
JSON_FEED = '{"version": "https://jsonfeed.org/version/1", "items": [{"url": "/a"}, {"url": "/b"}]}'
LIST = "# of the shop\n{here}/a\n{here}/b # also this\n"
FORMS = {
    "/sitemap": (URLSET, "application/xml"),
    "/gzipped": (URLSET, "application/octet-stream"),
    "/index": (INDEX, "text/xml"),
    "/rss": (RSS, "application/rss+xml"),
    "/atom-as-html": (ATOM, "text/html; charset=utf-8"),
    "/feed.json": (JSON_FEED, "application/feed+json"),
    "/list": (LIST, "text/plain"),
}
MET = [path for path in FORMS if path != "/gzipped"]
"""A crawl does not fetch archives that it meets."""
FEEDS = ["/rss", "/atom-as-html", "/feed.json"]


def document(visit: Visit) -> Answer:
    text, content_type = FORMS[visit.path]
    body = text.replace("{here}", visit.origin(visit.host)).encode()
    return Answer(200, gzip.compress(body) if visit.path == "/gzipped" else body, content_type)


PAGES: Pages = {
    **dict.fromkeys(FORMS, document),
    "/": html(*FORMS),
    "/a": html("/deeper"),
    "/b": html(),
    "/deeper": html(),
    "/s.xml": Answer(200, URLSET.encode(), "text/xml"),
}


@pytest.mark.parametrize("path", FORMS)
async def test_a_sitemap_or_feed_that_is_a_source_is_read_as_one(crawler: Field, path: str) -> None:
    async with serving(PAGES) as site:
        await crawler.crawl(spec(limits={"depth": 0}), site.url(path))
        listed = crawler.ending(site.url("/a"))
    named = {"/s.xml"} if path == "/index" else set()
    assert set(crawler.pages()) == {path, "/a", "/b", *named}
    assert isinstance(listed, PageRecord) and listed.depth == 0 and listed.parent is not None


@pytest.mark.parametrize("path", ["/list", "/index"])
async def test_what_a_sitemap_names_belongs_to_a_job_of_listed_urls(crawler: Field, path: str) -> None:
    async with serving(PAGES) as site:
        wanted = spec(scope=ScopeKind.LISTED, exclude=("*/b",))
        seen = await crawler.crawl(wanted, site.url(path))
    assert set(crawler.pages()) == {path, "/a"} | ({"/s.xml"} if path == "/index" else set())
    # The link of /a, and the excluded entry.
    assert seen.stored.skipped == {"off_scope": 2}


def test_a_change_of_such_a_job_drops_none_of_them() -> None:
    scope = Scope(ScopeKind.LISTED, ["http://a.example/list"], (), ("*/b",))
    listed, link = Trail(parent=1), Trail(depth=1, parent=1)
    a, b = (target(f"http://a.example/{name}", Params(), "host") for name in "ab")
    assert [unwanted(scope, a, listed), unwanted(scope, a, link)] == [None, "off_scope"]
    assert unwanted(scope, b, listed) == "excluded"


@pytest.mark.parametrize("path", MET)
async def test_the_links_of_a_feed_that_is_met_are_followed(crawler: Field, path: str) -> None:
    async with serving({**PAGES, "/": html(path)}) as site:
        await crawler.crawl(spec(), site.url())
        listed = crawler.ending(site.url("/a"))
    found = {"/a", "/b", "/deeper"} if path in FEEDS else set()
    assert set(crawler.pages()) == {"/", path, *found}
    assert not found or (isinstance(listed, PageRecord) and listed.depth == 2)


async def test_a_feed_is_met_by_a_relation_too_and_its_links_may_be_too_deep(crawler: Field) -> None:
    head = '<link rel="alternate" type="application/rss+xml" href="/rss">'
    async with serving({**PAGES, "/": html(head=head)}) as site:
        seen = await crawler.crawl(spec(limits={"depth": 1}), site.url())
    assert set(crawler.pages()) == {"/", "/rss"}
    assert seen.stored.skipped == {"too_deep": 2}


@pytest.mark.parametrize("path", MET)
async def test_with_sitemaps_what_is_met_is_read_as_a_sitemap(crawler: Field, path: str) -> None:
    async with serving({**PAGES, "/": html(path), "/sitemap.xml": Answer(200, b"<urlset/>")}) as site:
        await crawler.crawl(spec(sitemaps=True, limits={"depth": 1}), site.url())
        listed = crawler.ending(site.url("/a"))
    assert {"/", path, "/a", "/b", "/deeper"} <= set(crawler.pages())
    assert isinstance(listed, PageRecord) and listed.depth == 0


async def test_a_feed_that_says_nofollow_leads_nowhere(crawler: Field) -> None:
    feed = Answer(200, ATOM.encode(), "text/xml", {"X-Robots-Tag": "noindex, nofollow"})
    async with serving({**PAGES, "/": html("/rss"), "/rss": feed}) as site:
        seen = await crawler.crawl(spec(), site.url())
    assert set(crawler.pages()) == {"/", "/rss"}
    assert seen.stored.skipped == {"nofollow": 2}


async def test_a_fault_in_a_feed_is_told_and_costs_one_entry(crawler: Field) -> None:
    feed = "<rss><item><link>/a</link></item><item><link>/<3</link></item><item><link>/b</link></item></rss>"
    async with serving({**PAGES, "/": html("/rss"), "/rss": Answer(200, feed.encode(), "text/xml")}) as site:
        seen = await crawler.crawl(spec(), site.url())
    assert set(crawler.pages()) == {"/", "/rss", "/a", "/b", "/deeper"}
    (failure,) = seen.stored.failures
    assert failure.kind == "sitemap" and "not well-formed" in (failure.sample or "")


async def test_a_refresh_reads_an_unchanged_feed_again(crawler: Field) -> None:
    asked = []

    def feed(visit: Visit) -> Answer:
        asked.append(visit.headers.get("if-none-match"))
        return Answer(200, ATOM.encode(), "text/xml", {"ETag": '"1"'})

    async with serving({**PAGES, "/": html("/rss"), "/rss": feed}) as site:
        for job in ("one", "two"):
            crawler.add(job, spec(refresh=True), site.url())
            await crawler.run(job)
    assert asked == [None, None]
    assert set(crawler.pages("two")) == {"/", "/rss", "/a", "/b", "/deeper"}


@spider("http://unused.example/")
def seeing(page: Page) -> Iterator[dict[str, str]]:
    yield {"path": page.url.rpartition("/")[2]}


async def test_a_spider_gets_its_start_urls_itself_unless_it_reads_sitemaps(crawler: Field) -> None:
    crawler.spider = seeing
    async with serving(PAGES) as site:
        await crawler.crawl(spec(), site.url("/sitemap"))
        assert set(crawler.pages()) == {"/sitemap"}
        crawler.add("reading", spec(sitemaps=True), site.url("/sitemap"))
        await crawler.run("reading")
    assert {"/sitemap", "/a", "/b"} <= set(crawler.pages("reading"))


async def test_rules_read_the_pages_of_a_sitemap_and_the_items_of_a_feed(crawler: Field) -> None:
    crawler.spider = from_json("start: http://a.example/\nitems: [{each: item, fields: {id: guid}}]")
    async with serving(PAGES) as site:
        seen = await crawler.crawl(spec(), site.url("/sitemap"), site.url("/rss"))
    assert set(crawler.pages()) == {"/sitemap", "/rss", "/a", "/b"}
    assert seen.stored.items + seen.stored.rejected == 2

"""Shapes of URLs that are not worth a request, as an engine learns them on a wiki of which the truth is known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shoal.engine.shape_statistics import DOUBTFUL_AFTER
from shoal.jobs.explain import explain
from shoal.model import Figures
from shoal.practice import Answer, Visit, Wiki, running
from shoal.practice.request_log import LogEntry
from shoal.urls.exclusions import Exclusions
from tests.engine.conftest import Field, Pages, html, serving, spec
from tests.engine.on_redis import crawl_together, pages_in
from tests.frontier.redis_server import RedisServer

WIKI = Wiki()
CONTENT = set(WIKI.truth()[WIKI.address].pages)
NOINDEX = '<meta name=robots content="noindex">'


def content_within(log: list[LogEntry], requests: int) -> float:
    """The share of the content pages that the first requests fetched."""
    asked = [entry.path for entry in log if entry.path != "/robots.txt"]
    return len(CONTENT & set(asked[:requests])) / len(CONTENT)


async def test_a_wiki_gives_all_its_articles_first_and_comes_to_an_end(crawler: Field, tmp_path: Path) -> None:
    with running(WIKI, log=tmp_path / "log") as site:
        seen = await crawler.crawl(spec(per_host=2), site.url())
        log = site.log()
        oldid = next(one for one in seen.stored.shapes if one.shape == "?oldid")
        told = (await explain(crawler.home, seen.job, oldid.samples[0], Exclusions())).verdict
    fetched = {path for path, status in crawler.pages().items() if status == 200}
    assert fetched >= CONTENT
    assert content_within(log, int(2.5 * len(CONTENT))) >= 0.95
    # Without learning it takes 1,500 requests.
    assert len(log) < 4 * len(CONTENT)
    assert seen.stored.dropped["shape"] == sum(one.requests for one in seen.stored.shapes) > 500
    assert len(oldid.samples) == 3 and all("oldid=" in url for url in oldid.samples)
    assert told[:3] == ("dropped", "shape", "?oldid") and told.allow == "--allow-shape '?oldid'"
    assert "?from" not in {one.shape for one in seen.stored.shapes}


async def test_a_shape_can_be_allowed(crawler: Field, tmp_path: Path) -> None:
    with running(Wiki(articles=40), log=tmp_path / "log") as site:
        one = await crawler.crawl(spec(allow_shapes=("?oldid",)), site.url())
        every = await crawler.crawl(spec(allow_shapes=("all",)), site.url(), job="all")
    fetched = crawler.pages()
    assert sum("oldid=" in path for path in fetched) == 40 * 6
    assert one.stored.dropped["shape"] > 20
    assert every.stored.dropped == {} and every.stored.pages > one.stored.pages


async def test_a_site_that_is_noindex_throughout_is_crawled_whole(crawler: Field) -> None:
    def page(visit: Visit) -> Answer:
        here = int(visit.query.partition("=")[2] or 0)
        return html(*(f"/?n={n}" for n in range(here, min(here + 3, 60))), head=NOINDEX, body=str(here))

    async with serving({"/": page}) as site:
        seen = await crawler.crawl(spec(), site.url())
    assert seen.stored.dropped == {} and seen.stored.pages == 61
    assert crawler.ended <= 2 * 61, "each request is put off once at most"


async def test_what_a_feed_lists_waits_for_the_pages_if_it_brings_nothing(crawler: Field) -> None:
    """As in a wiki whose feed lists what changed, if the feed comes before the list of pages."""

    def changes(visit: Visit) -> Answer:
        items = "".join(f"<item><link>{visit.origin(visit.host)}/p{n}?do=diff</link></item>" for n in range(30))
        return Answer(200, f"<rss><channel>{items}</channel></rss>".encode(), "application/rss+xml")

    def page(visit: Visit) -> Answer:
        return html(head=NOINDEX if visit.query else "", body=visit.path)

    articles = [f"/p{n}" for n in range(30)]
    lists: Pages = {"/": html("/feed", "/all"), "/feed": changes, "/all": html(*articles)}
    async with serving({**lists, **dict.fromkeys(articles, page)}) as site:
        seen = await crawler.crawl(spec(per_host=1), site.url())
    fetched = list(crawler.pages())
    before = fetched[: fetched.index(articles[-1])]
    assert sum("do=diff" in path for path in before) == DOUBTFUL_AFTER
    assert set(fetched) >= set(articles) and seen.stored.dropped["shape"] > 0


async def test_pages_that_only_name_a_canonical_url_elsewhere_are_not_copies(crawler: Field) -> None:
    """Nothing else leads to the canonical URLs."""

    def page(visit: Visit) -> Answer:
        number = int(visit.query.partition("=")[2] or 0)
        head = f"<link rel=canonical href=/post-{number}>"
        return html(*(f"/?p={n}" for n in range(1, 60)), head=head, body=f"post {number}")

    posts = {f"/post-{n}": html(body=f"post {n}") for n in range(60)}
    shop = {f"/{n}": html(body=f"page {n}") for n in range(10)}
    async with serving({"/": page, "/start": html("/?p=1", *shop), **shop, **posts}) as site:
        seen = await crawler.crawl(spec(), site.url("/start"))
    assert seen.stored.dropped == {} and sum("?p=" in path for path in crawler.pages()) == 59


async def test_feeds_that_list_nothing_new_are_not_all_requested(crawler: Field) -> None:
    """As a blog has them: one of all posts, and one for the comments of each."""

    def post(visit: Visit) -> Answer:
        return html(f"{visit.path}comments/feed", "/archive", body=visit.path)

    def comments(visit: Visit) -> Answer:
        link = visit.path.removesuffix("comments/feed")
        feed = f"<rss><channel><item><link>{visit.origin(visit.host)}{link}#1</link></item></channel></rss>"
        return Answer(200, feed.encode(), "application/rss+xml")

    posts = [f"/{2000 + n % 20}/post-{n}/" for n in range(80)]
    entries = "".join(f"<item><link>{path}</link></item>" for path in posts)
    everything = Answer(200, f"<rss><channel>{entries}</channel></rss>".encode(), "application/rss+xml")
    pages: Pages = {
        **{"/": html("/all/comments/feed", *posts[:10]), "/archive": html(), "/all/comments/feed": everything},
        **dict.fromkeys(posts, post),
        **{f"{path}comments/feed": comments for path in posts},
    }
    async with serving(pages) as site:
        seen = await crawler.crawl(spec(per_host=2), site.url())
    fetched = set(crawler.pages())
    assert fetched >= {"/all/comments/feed", *posts}
    assert sum(path.endswith("/comments/feed") for path in fetched) < 40
    assert "/*/*/*/feed" in {one.shape for one in seen.stored.shapes}, "the feed of all posts has the others"


def lists_that_lead_to_a_slow_page(delay_s: float) -> Pages:
    """All lists ask not to be indexed. Only the first leads to a page, which answers after the others were read."""
    posts = {f"/post-{n}": html(body=f"post {n}") for n in range(8)}
    lists = {f"/list?from={n}": html(head=NOINDEX, body=str(n)) for n in range(1, 60)}
    first = {"/list?from=0": html("/slow", head=NOINDEX), "/slow": html(body="slow")._replace(delay_s=delay_s)}
    return {**posts, **lists, **first, "/": html("/list?from=0", *posts, *lists)}


async def test_nothing_is_dropped_while_a_page_is_fetched_that_may_show_its_use(crawler: Field) -> None:
    async with serving(lists_that_lead_to_a_slow_page(1.0)) as site:
        seen = await crawler.crawl(spec(per_host=2), site.url("/"))
    assert seen.stored.dropped == {} and seen.stored.pages == 70


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    (tmp_path / "redis").mkdir()
    with RedisServer(tmp_path / "redis") as server:
        yield server


async def crawl_by_two(crawler: Field, redis_server: RedisServer, folder: Path, seed: str) -> tuple[set[str], Figures]:
    """The paths of all pages that two workers of a fleet bring."""
    store = crawler.home.store
    crawler.add("job", spec(archive=False, per_host=2), seed, fleet=True)
    figures = await crawl_together(redis_server, store, folder, "job", engines=2)
    assert (figures.queued, figures.leased) == (0, 0)
    return {"/" + url.split("/", 3)[3] for url in pages_in(store)}, figures


async def test_the_engines_of_a_fleet_bring_all_articles_and_an_end(
    crawler: Field, redis_server: RedisServer, tmp_path: Path
) -> None:
    with running(WIKI, log=tmp_path / "log") as site:
        pages, figures = await crawl_by_two(crawler, redis_server, tmp_path, site.url())
        log = site.log()
    assert pages >= CONTENT
    assert len(log) < 6 * len(CONTENT)
    assert figures.dropped["shape"] > 400


async def test_a_worker_drops_nothing_while_another_fetches_a_page_that_may_show_its_use(
    crawler: Field, redis_server: RedisServer, tmp_path: Path
) -> None:
    async with serving(lists_that_lead_to_a_slow_page(2.0)) as site:
        pages, figures = await crawl_by_two(crawler, redis_server, tmp_path, site.url("/"))
    assert figures.dropped == {} and len(pages) == 70

"""Robots, as the site sees us keep to it."""

from __future__ import annotations

import gzip
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

from shoal.engine.robots.check import MOST_UNREAD
from shoal.model import DeadLetter, Drop
from shoal.practice import Answer, Visit
from tests.engine.conftest import Field, Pages, html, serving, spec

PLAIN = "text/plain"
FORBIDDEN, RATE = 200, 8.0


def counted(answer: Answer, visits: Counter[str]) -> Callable[[Visit], Answer]:
    def count(visit: Visit) -> Answer:
        visits[visit.path] += 1
        return answer

    return count


async def test_what_robots_forbids_is_dropped_and_never_requested(crawler: Field) -> None:
    visits: Counter[str] = Counter()
    robots = Answer(200, b"User-agent: shoal\nDisallow: /private/\n", PLAIN)
    pages: Pages = {
        "/robots.txt": counted(robots, visits),
        "/": html("/private/x", "/open"),
        "/private/x": counted(html(), visits),
        "/open": html(),
    }
    async with serving(pages) as site:
        seen = await crawler.crawl(spec(), site.url())
        end = crawler.ending(site.url("/private/x"))
    assert isinstance(end, Drop)
    assert end.reason == "robots"
    assert seen.frontier.dropped == {"robots": 1}
    assert visits == {"/robots.txt": 1}


async def test_what_robots_forbids_takes_no_start_from_the_pages_behind_it(crawler: Field) -> None:
    forbidden = [f"/private/{number}" for number in range(FORBIDDEN)]
    pages: Pages = {
        "/robots.txt": Answer(200, b"User-agent: *\nDisallow: /private/\n", PLAIN),
        "/": html("/first", *forbidden, "/last"),
        "/first": html(),
        "/last": html(),
    }
    async with serving(pages) as site:
        # At this rate as many starts would take twice the limit.
        seen = await crawler.crawl(spec(rate=RATE, per_host=2, limits={"seconds": FORBIDDEN / RATE / 2}), site.url())
    assert crawler.resting == {"job": "empty"}
    assert crawler.pages().keys() == {"/", "/first", "/last"}
    assert seen.frontier.dropped == {"robots": FORBIDDEN}


async def test_ignoring_robots_does_not_even_ask(crawler: Field) -> None:
    visits: Counter[str] = Counter()
    robots = counted(Answer(200, b"User-agent: *\nDisallow: /\n", PLAIN), visits)
    async with serving({"/robots.txt": robots, "/": html()}) as site:
        await crawler.crawl(spec(robots=False), site.url())
    assert crawler.pages() == {"/": 200}
    assert not visits


async def test_robots_is_asked_once_a_day_over_jobs_and_restarts(crawler: Field) -> None:
    visits: Counter[str] = Counter()
    robots = counted(Answer(200, b"User-agent: *\nDisallow: /no\n", PLAIN), visits)
    async with serving({"/robots.txt": robots, "/": html("/no")}) as site:
        for job in ("one", "two"):
            crawler.add(job, spec(), site.url())
            await crawler.run(job)
    assert visits["/robots.txt"] == 1
    assert (await crawler.figures("two")).frontier.dropped == {"robots": 1}


async def test_a_robots_file_that_cannot_be_had_means_not_now(crawler: Field) -> None:
    visits: Counter[str] = Counter()
    pages = {"/robots.txt": counted(Answer(503, b""), visits), "/": counted(html(), visits)}
    async with serving(pages) as site:
        await crawler.crawl(spec(retries=1), site.url())
        end = crawler.ending(site.url())
    assert isinstance(end, DeadLetter)
    assert (end.reason, end.status) == ("http", 503)
    assert "robots.txt" in end.detail
    assert visits["/"] == 0


async def test_a_robots_file_behind_a_refused_address_is_asked_for_once_not_by_each_page(crawler: Field) -> None:
    visits: Counter[str] = Counter()
    moved = Answer(302, b"", headers={"Location": "http://169.254.169.254/robots.txt"})
    paths = [f"/{number}" for number in range(20)]
    pages: Pages = {"/robots.txt": counted(moved, visits)} | dict.fromkeys(paths, counted(html(), visits))
    async with serving(pages) as site:
        seen = await crawler.crawl(spec(), *map(site.url, paths))
    assert seen.frontier.dropped == {"address_refused": len(paths)}
    # Again after a while, on a machine that takes so long.
    assert visits.keys() == {"/robots.txt"} and visits["/robots.txt"] < 4


async def test_each_attempt_is_another_answer_to_the_question_for_robots(crawler: Field) -> None:
    visits: Counter[str] = Counter()

    def robots(visit: Visit) -> Answer:
        visits["/robots.txt"] += 1
        return Answer(500, b"") if visits["/robots.txt"] < 3 else Answer(200, b"", PLAIN)

    async with serving({"/robots.txt": robots, "/": html(), "/other": html()}) as site:
        await crawler.crawl(spec(retries=2), site.url(), site.url("/other"))
    assert crawler.pages() == {"/": 200, "/other": 200}
    assert visits["/robots.txt"] == 3


async def test_other_client_errors_on_robots_mean_allowed(crawler: Field) -> None:
    async with serving({"/robots.txt": Answer(403, b"no"), "/": html()}) as site:
        await crawler.crawl(spec(), site.url())
    assert crawler.pages() == {"/": 200}


async def test_crawl_delay_is_honoured(crawler: Field) -> None:
    starts: list[float] = []

    def page(visit: Visit) -> Answer:
        starts.append(time.monotonic())
        return html("/1", "/2") if visit.path == "/" else html()

    robots = Answer(200, b"User-agent: *\nCrawl-delay: 0.4\n", PLAIN)
    async with serving({"/robots.txt": robots, "/": page, "/1": page, "/2": page}) as site:
        await crawler.crawl(spec(rate=0), site.url())
    assert len(starts) == 3
    # The site may have been late to see the sooner one.
    assert all(later - sooner > 0.2 for sooner, later in pairwise(starts))


async def test_meta_and_header_robots_are_respected(crawler: Field) -> None:
    tagged = Answer(200, b'<a href="/never">x</a>', headers={"X-Robots-Tag": "nofollow"})
    pages = {"/": html("/meta", "/tagged"), "/meta": html("/never", head='<meta name="robots" content="nofollow">')}
    async with serving({**pages, "/tagged": tagged, "/never": html()}) as site:
        seen = await crawler.crawl(spec(), site.url())
    assert set(crawler.pages()) == {"/", "/meta", "/tagged"}
    assert seen.stored.skipped == {"nofollow": 2}


async def test_sitemaps_from_robots_are_read_nested_and_gzipped(crawler: Field) -> None:
    def robots(visit: Visit) -> Answer:
        return Answer(200, f"Sitemap: {visit.origin(visit.host)}/index.xml\n".encode(), PLAIN)

    def index(visit: Visit) -> Answer:
        here = visit.origin(visit.host)
        inner = f"<sitemap><loc>{here}/part.xml.gz</loc></sitemap><sitemap><loc>{here}/index.xml</loc></sitemap>"
        return Answer(200, f"<sitemapindex>{inner}</sitemapindex>".encode(), "application/xml")

    def part(visit: Visit) -> Answer:
        urls = "".join(f"<url><loc>{visit.origin(visit.host)}/hidden-{n}</loc></url>" for n in range(1500))
        return Answer(200, gzip.compress(f"<urlset>{urls}</urlset>".encode()), "application/gzip")

    hidden = {f"/hidden-{n}": html() for n in range(1500)}
    pages: Pages = {"/": html(), "/robots.txt": robots, "/index.xml": index, "/part.xml.gz": part, **hidden}
    async with serving(pages) as site:
        await crawler.crawl(spec(sitemaps=True, per_host=32), site.url())
    assert set(crawler.pages()) == {"/", "/index.xml", "/part.xml.gz", *hidden}


async def test_crawl_delay_holds_from_the_first_page_on(crawler: Field) -> None:
    """Leases given before robots.txt was known must not start at the old rate."""
    starts: list[float] = []

    def page(visit: Visit) -> Answer:
        starts.append(time.monotonic())
        return html()

    robots = Answer(200, b"User-agent: *\nCrawl-delay: 0.7\n", PLAIN, delay_s=0.1)
    pages: Pages = {"/robots.txt": robots} | {f"/{n}": page for n in range(4)}
    async with serving(pages) as site:
        await crawler.crawl(spec(rate=100, per_host=16), *(site.url(f"/{n}") for n in range(4)))
    assert len(starts) == 4
    # The site may have been late to see the sooner one.
    assert all(later - sooner > 0.4 for sooner, later in pairwise(starts))


async def test_refused_links_do_not_use_up_a_hosts_rate(crawler: Field) -> None:
    robots = Answer(200, b"User-agent: *\nDisallow: /no\n", PLAIN)
    forbidden = [f"/no/{n}" for n in range(60)]
    began = time.monotonic()
    async with serving({"/robots.txt": robots, "/": html(*forbidden, "/yes"), "/yes": html()}) as site:
        seen = await crawler.crawl(spec(rate=1), site.url())
    assert seen.frontier.dropped == {"robots": 60}
    assert set(crawler.pages()) == {"/", "/yes"}
    assert time.monotonic() - began < 50


async def test_sitemaps_are_read_without_robots_too(crawler: Field) -> None:
    listed = b"<urlset><url><loc>/hidden</loc></url></urlset>"
    pages = {"/": html(), "/sitemap.xml": Answer(200, listed, "application/xml"), "/hidden": html()}
    async with serving(pages) as site:
        await crawler.crawl(spec(sitemaps=True, robots=False), site.url())
    assert set(crawler.pages()) == {"/", "/sitemap.xml", "/hidden"}


async def test_sitemaps_are_not_lost_when_robots_fails_at_first(crawler: Field) -> None:
    asked: Counter[str] = Counter()

    def robots(visit: Visit) -> Answer:
        asked["robots"] += 1
        if asked["robots"] == 1:
            return Answer(503, b"")
        return Answer(200, f"Sitemap: {visit.origin(visit.host)}/map.txt\n".encode(), PLAIN)

    def listed(visit: Visit) -> Answer:
        return Answer(200, f"{visit.origin(visit.host)}/hidden\n".encode(), PLAIN)

    pages: Pages = {"/": html(), "/robots.txt": robots, "/map.txt": listed, "/hidden": html()}
    async with serving(pages) as site:
        await crawler.crawl(spec(sitemaps=True), site.url())
    assert set(crawler.pages()) == {"/", "/map.txt", "/hidden"}


async def test_a_redirected_sitemap_does_not_widen_the_scope(crawler: Field) -> None:
    def moved(visit: Visit) -> Answer:
        if visit.host == "127.0.0.1":
            return Answer(302, b"", headers={"Location": visit.origin("127.0.0.2") + "/sitemap.xml"})
        return Answer(200, f"<urlset><url><loc>{visit.origin('127.0.0.2')}/o</loc></url></urlset>".encode())

    async with serving({"/": html(), "/sitemap.xml": moved, "/o": html()}, hosts=2) as site:
        await crawler.crawl(spec(sitemaps=True), site.url())
    assert "/o" not in crawler.pages()


async def test_rules_made_to_be_costly_take_little_of_the_crawls_time(crawler: Field) -> None:
    rules = "User-agent: *\nDisallow: /no\n" + "".join(f"Disallow: /*aaaaaaaaaab{n}\n" for n in range(19_000))
    long = [f"/{'a' * 1_800}/{number}" for number in range(100)]
    pages: Pages = {"/robots.txt": Answer(200, rules.encode(), PLAIN), "/": html(*long, "/no")}
    async with serving({**pages, **dict.fromkeys(long, html())}) as site:
        began = time.process_time()
        seen = await crawler.crawl(spec(), site.url())
    assert time.process_time() - began < 10
    assert seen.frontier.pages == 101 and seen.frontier.dropped == {"robots": 1}


async def test_more_hosts_with_big_robots_files_than_can_wait_are_all_crawled(crawler: Field) -> None:
    rules = b"User-agent: *\nDisallow: /no\n" + b"# nothing\n" * 2_000
    visits: Counter[str] = Counter()
    robots = counted(Answer(200, rules, PLAIN), visits)
    hosts = [f"127.0.0.{place}" for place in range(1, 2 * MOST_UNREAD + 2)]
    async with serving({"/robots.txt": robots, "/": html("/no")}, hosts=len(hosts)) as site:
        seen = await crawler.crawl(spec(), *(site.url("/", host) for host in hosts))
    assert (seen.frontier.pages, seen.frontier.dropped) == (len(hosts), {"robots": len(hosts)})
    assert visits["/robots.txt"] == len(hosts)

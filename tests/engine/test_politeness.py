"""Politeness beyond robots.txt's rules, as the site sees it."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from email.utils import formatdate
from itertools import pairwise

import pytest

from shoal.cli.job_text import nofollow_warning
from shoal.engine.job_finish import finish
from shoal.engine.reading.retry_policy import JITTER, RETRY_WAITS_S, retry_wait_s
from shoal.model import Drop, JobSpec, JobState
from shoal.practice import Answer, Visit
from shoal.store.jobs import load_job
from shoal.store.results.listings import list_pages, list_pages_with_content
from tests.engine.conftest import Field, Pages, html, serving, spec

PLAIN = "text/plain"


def robots(text: str) -> Answer:
    return Answer(200, text.encode(), PLAIN)


async def test_a_host_that_asks_for_more_than_300_s_is_left_alone(crawler: Field) -> None:
    visits: Counter[str] = Counter()

    def page(visit: Visit) -> Answer:
        visits[visit.path] += 1
        return html()

    async with serving({"/robots.txt": robots("User-agent: *\nCrawl-delay: 301\n"), "/a": page, "/b": page}) as site:
        seen = await crawler.crawl(spec(rate=0), site.url("/a"), site.url("/b"))
        end = crawler.ending(site.url("/a"))
    assert seen.frontier.dropped == {"robots": 2} and not visits
    assert isinstance(end, Drop) and "asks to wait 301 s" in end.detail


async def test_a_delay_of_300_s_is_kept_to(crawler: Field) -> None:
    starts: list[str] = []
    begun = asyncio.Event()

    def page(visit: Visit) -> Answer:
        starts.append(visit.path)
        begun.set()
        return html("/b")

    pages: Pages = {"/robots.txt": robots("User-agent: *\nCrawl-delay: 300\n"), "/": page, "/b": page}
    async with serving(pages) as site:
        crawler.add("job", spec(rate=0), site.url())
        await crawler.run("job", until=begun)
        await crawler.run("job", for_s=1.0)
        (host,) = await crawler.home.frontier.hosts()
    assert starts == ["/"]
    assert host.crawl_delay_s == 300 and 200 < host.next_at - time.time() < 310


@pytest.mark.parametrize("delay", ["nan", "-5", "soon", ""])
async def test_a_delay_that_is_no_time_is_none(crawler: Field, delay: str) -> None:
    async with serving({"/robots.txt": robots(f"User-agent: *\nCrawl-delay: {delay}\n"), "/": html()}) as site:
        await crawler.crawl(spec(rate=0), site.url())
    assert crawler.pages() == {"/": 200}


@pytest.mark.parametrize("value", [lambda: "2", lambda: formatdate(time.time() + 3, usegmt=True)], ids=["s", "date"])
@pytest.mark.parametrize("status", [429, 503])
async def test_retry_after_is_waited_for(crawler: Field, value: Callable[[], str], status: int) -> None:
    starts: list[float] = []

    def busy_at_first(visit: Visit) -> Answer:
        starts.append(time.monotonic())
        return Answer(status, b"", headers={"Retry-After": value()}) if len(starts) == 1 else html()

    async with serving({"/": busy_at_first}) as site:
        await crawler.crawl(spec(rate=0), site.url())
    assert crawler.pages() == {"/": 200}
    # A date is told in whole seconds.
    assert starts[1] - starts[0] > 1.95


async def test_a_job_that_ends_while_a_host_blocks_it_names_the_host(crawler: Field) -> None:
    def closed(visit: Visit) -> Answer:
        return Answer(503, b"", headers={"Retry-After": "86400"})

    async with serving({"/": html("/a", "/b"), "/a": closed, "/b": closed}) as site:
        await crawler.crawl(spec(rate=0, per_host=1, limits={"seconds": 1}), site.url())
    job, store = load_job(crawler.home.store, "job"), crawler.home.store
    assert await finish(crawler.home.frontier, store, job, crawler.resting["job"]) is JobState.LIMITED
    reason = load_job(store, "job").reason or ""
    assert reason.startswith("its limit of seconds is reached; the remaining requests wait: 127.0.0.1")
    assert reason.endswith(" s (retry-after)")


async def test_without_it_the_waits_double(crawler: Field) -> None:
    starts: list[float] = []

    def failing(visit: Visit) -> Answer:
        starts.append(time.monotonic())
        return Answer(500, b"")

    async with serving({"/": failing}) as site:
        await crawler.crawl(spec(rate=0, retries=2), site.url())
    first, second = (later - sooner for sooner, later in pairwise(starts))
    # Each may be late on a busy machine.
    assert first > 0.85 and second > 1.75


def test_a_server_that_is_down_is_given_up_within_20_seconds_by_default() -> None:
    assert (1 + JITTER) * sum(RETRY_WAITS_S[: JobSpec("any").retries]) < 20


def test_waits_differ_a_little_so_that_retries_do_not_come_all_at_once() -> None:
    for attempt, wait_s in enumerate(RETRY_WAITS_S):
        waits = {retry_wait_s(attempt) for _ in range(50)}
        assert len(waits) > 40 and all(0.9 * wait_s <= one <= 1.1 * wait_s for one in waits)


async def test_directives_are_kept_to_if_they_are_for_us_or_for_all(crawler: Field) -> None:
    def tagged(*values: str) -> Answer:
        return Answer(200, b'<p>words<a href="/never">x</a>', headers={"X-Robots-Tag": ", ".join(values)})

    followed = {
        "/googlebot": tagged("googlebot: noindex, nofollow"),
        "/meta-googlebot": html("/found/2", head='<meta name="googlebot" content="none">', body="words"),
    }
    followed["/googlebot"] = followed["/googlebot"]._replace(body=b'<p>words<a href="/found/1">x</a>')
    kept = {
        "/all": tagged("nofollow"),
        "/ours": tagged("shoal: nofollow"),
        "/meta-ours": html("/never", head='<meta name="shoal" content="nofollow">', body="words"),
        "/rel": Answer(200, b'<p>words<a rel="ugc nofollow" href="/never">x</a>'),
    }
    unkept = {"/noindex": tagged("none"), "/meta-noindex": html(head='<meta name="robots" content="noindex">')}
    pages = {**followed, **kept, **unkept, "/found/1": html(), "/found/2": html(), "/never": html()}
    async with serving({"/": html(*followed, *kept, *unkept), **pages}) as site:
        await crawler.crawl(spec(), site.url())
        contents = {row["url"]: row["text"] for row in list_pages_with_content(crawler.home.store, "job", {})}
    assert set(crawler.pages()) == {"/", *pages} - {"/never"}
    assert {site.url(path) for path in unkept} == {url for url, text in contents.items() if text is None}


async def test_a_job_is_called_by_the_name_it_gives(crawler: Field) -> None:
    """Its own header wins, in what hosts see, in their robots.txt and in what pages ask."""
    agents: set[str] = set()

    def front(visit: Visit) -> Answer:
        agents.add(visit.headers["user-agent"])
        return html("/no", "/maybe")

    rules = robots("User-agent: shoal\nDisallow: /\n\nUser-agent: otter\nDisallow: /no\n")
    maybe = html("/never", head='<meta name="otter" content="nofollow">')
    async with serving({"/robots.txt": rules, "/": front, "/maybe": maybe, "/no": html()}) as site:
        named = spec(headers={"User-Agent": "Otter/2.0 (+https://otter.example/bot)"})
        seen = await crawler.crawl(named, site.url())
    assert set(crawler.pages()) == {"/", "/maybe"}
    assert seen.frontier.dropped == {"robots": 1}
    assert agents == {"Otter/2.0 (+https://otter.example/bot)"}
    assert seen.as_dict()["user_agent"] == agents.pop()


async def test_reservations_against_mining_are_recorded_with_the_page(crawler: Field) -> None:
    policy = "https://site.example/tdm.json"
    reserved = Answer(200, b"<p>mine", headers={"TDM-Reservation": "1", "tdm-policy": policy})
    async with serving({"/": html("/reserved"), "/reserved": reserved}) as site:
        await crawler.crawl(spec(), site.url())
    told = {
        row["url"]: (row["tdm_reservation"], row["tdm_policy"]) for row in list_pages(crawler.home.store, "job", {})
    }
    assert told == {site.url(): (None, None), site.url("/reserved"): ("1", policy)}


async def test_what_a_page_says_of_itself_is_in_its_record(crawler: Field) -> None:
    canonical = (
        '<base href="/shop/"><link rel="canonical" href="lamp?utm_source=x"><meta name="robots" content="noindex">'
    )
    said = {"X-Robots-Tag": "noindex, nofollow", "Link": '</s.css>; rel=preload, <lamp>; rel="canonical"'}
    link = {"Link": said["Link"]}
    pdf = Answer(200, b"%PDF", content_type="application/pdf", headers=said)
    pages = {"/": html("/lamp", "/file.pdf"), "/lamp": html(head=canonical)._replace(headers=link), "/file.pdf": pdf}
    async with serving(pages) as site:
        await crawler.crawl(spec(), site.url())
    rows = list_pages(crawler.home.store, "job", {})
    told = {row["url"]: (row["canonical"], row["noindex"], row["nofollow"]) for row in rows}
    assert told == {
        site.url(): (None, False, False),
        site.url("/lamp"): (site.url("/shop/lamp"), True, False),
        site.url("/file.pdf"): (site.url("/lamp"), True, True),
        site.url("/shop/lamp"): (None, None, None),
    }


async def test_nofollow_can_be_ignored_while_robots_txt_is_obeyed(crawler: Field) -> None:
    nofollow = '<meta name="robots" content="nofollow, noindex">'
    rules = robots("User-agent: *\nDisallow: /no")
    pages = {"/": html("/a", "/no", head=nofollow), "/a": html(), "/no": html(), "/robots.txt": rules}
    async with serving(pages) as site:
        bold = spec()
        seen = await crawler.crawl(replace(bold, politeness=replace(bold.politeness, nofollow=False)), site.url())
        contents = {row["url"]: row["text"] for row in list_pages_with_content(crawler.home.store, "job", {})}
    assert set(crawler.pages()) == {"/", "/a"} and seen.frontier.dropped == {"robots": 1}
    assert contents[site.url()] is None, "noindex still counts"
    assert seen.as_dict()["overrides"] == ["ignore_nofollow", "allow_private", "rate_0"] and not seen.nofollow_starts


async def test_a_nofollow_start_page_is_named(crawler: Field) -> None:
    async with serving({"/": html("/a", head='<meta name="robots" content="nofollow">'), "/a": html()}) as site:
        seen = await crawler.crawl(spec(), site.url())
    assert list(seen.nofollow_starts) == [site.url()] and seen.stored.skipped == {"nofollow": 1}
    assert "--ignore-nofollow" in nofollow_warning(seen)

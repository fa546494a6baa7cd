"""Rules in a real crawl: cheap ones are run here, others by a reader, and a page that takes them too long is dead."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from shoal.model import DeadLetter, JobSpec
from shoal.spiders import rules
from shoal.spiders.spider import Spider
from shoal.store.results.items import list_items, list_rejects
from tests.engine.conftest import Field, html, serving, spec
from tests.engine.test_reader_pool import children

ENDLESS = {"xpath": "//*[count(//*[count(//*)>0])>0]/@x", "optional": True}
LONG = {"xpath": "//p/following-sibling::b", "optional": True}
"""Endless on a large page, and read here on small ones."""
MANY = "<p>x</p>" * 3_000


def made(found: Any) -> Spider:
    fields = {"title": "title", "found": found}
    return rules.from_json(json.dumps({"start": "http://a.example/", "follow": ["a"], "items": [{"fields": fields}]}))


async def readers_of_crawl(crawler: Field, wanted: JobSpec, *seeds: str) -> int:
    """Crawls, and says how many readers there were at most."""
    most = 0

    async def look() -> None:
        nonlocal most
        while True:
            most = max(most, len(children()))
            await asyncio.sleep(0.01)

    looking = asyncio.create_task(look())
    try:
        await crawler.crawl(wanted, *seeds)
    finally:
        looking.cancel()
    return most


@pytest.mark.parametrize(
    ("field", "body", "aside"),
    [
        ("b", "<b>x</b>", False),
        ("b", "<b>x</b>" + MANY, True),
        ("b", "<div>" * 60 + "<b>x</b>", True),
        ("//p/following-sibling::b", "<p>y</p>" * 300 + "<b>x</b>", True),
        ("//p/following-sibling::b", "<p>y</p><b>x</b>", False),
    ],
)
async def test_items_are_the_same_wherever_they_are_read(crawler: Field, field: str, body: str, aside: bool) -> None:
    crawler.spider = made(field)
    pages = {"/": html("/next?q=\u00fc", body=body), "/next": html(body="nothing")}
    async with serving(pages) as site:
        readers = await readers_of_crawl(crawler, spec(spider="here"), site.url())
    assert bool(readers) is aside
    assert list(list_items(crawler.home.store, "job", {})) == [{"title": "t", "found": "x"}]
    (reject,) = list_rejects(crawler.home.store, "job", {})
    assert reject["reason"].startswith("found: nothing matches")
    assert set(crawler.pages()) == {"/", "/next?q=%C3%BC"}


async def test_a_page_that_takes_rules_too_long_is_dead_and_the_others_are_there(crawler: Field) -> None:
    crawler.spider, crawler.reading_s = made(LONG), 0.5
    pages = {"/": html("/endless", "/good"), "/endless": html(body=MANY * 20), "/good": html()}
    async with serving(pages) as site:
        await crawler.crawl(spec(spider="here"), site.url())
        letter = crawler.ending(site.url("/endless"))
    assert isinstance(letter, DeadLetter)
    assert letter.reason == "callback"
    assert letter.detail.startswith("rules.start: reading it took more than ")
    assert set(crawler.pages()) == {"/", "/good"}


@pytest.mark.parametrize("way", ["stop", "seconds"])
async def test_neither_a_stop_nor_the_jobs_time_waits_for_a_page_that_is_read(crawler: Field, way: str) -> None:
    crawler.spider = made(ENDLESS)
    async with serving({"/": html(body=MANY)}) as site:
        crawler.add("job", spec(spider="here", limits={"seconds": 1.0} if way == "seconds" else {}), site.url())
        await crawler.run("job", for_s=1.0 if way == "stop" else None)
    # Had it been waited for, it would be dead.
    figures = (await crawler.figures()).frontier
    assert (figures.queued, figures.leased, figures.dead) == (1, 0, 0)
    assert not children()


async def test_a_format_that_is_missing_is_told_among_the_errors(crawler: Field) -> None:
    pages = {"/": html(body="<blockquote>" * 150 + "words")}
    async with serving(pages) as site:
        seen = await crawler.crawl(spec(formats=("metadata", "main")), site.url())
    (failure,) = seen.failures
    assert (failure.kind, failure.status, failure.n) == ("format_missing", 200, 1)
    assert crawler.pages() == {"/": 200}

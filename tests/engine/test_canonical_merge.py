"""`--canonical merge`: pages that name the same canonical URL count as one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shoal.cli.commands.jobs import figures
from shoal.cli.job_text import merged as merged_text
from shoal.model import Canonical
from shoal.practice import Answer
from shoal.spiders.page import Page
from shoal.spiders.spider import spider
from shoal.store.results.items import list_items
from shoal.store.results.listings import MERGED, count_pages, list_pages, list_pages_with_content
from tests.engine.conftest import Field, html, serving, spec

CANONICAL = '<link rel="canonical" href="/lamp">'
GONE = '<link rel="canonical" href="/gone">'
PAGES = {
    "/": html("/lamp?sort=price", "/lamp?sort=name", "/lamp", "/old?a=1", "/old?a=2", "/other"),
    "/lamp": html("/lamp?sort=price", body="a lamp"),
    "/lamp?sort=price": html("/deep", body="a lamp", head=CANONICAL),
    "/lamp?sort=name": html(body="a lamp", head=CANONICAL),
    "/old?a=1": html(body="old", head=GONE),
    "/old?a=2": html(body="old", head=GONE),
    "/other": html(body="other"),
    "/deep": html(),
    "/gone": Answer(404, b"<p>gone"),
}


async def test_of_pages_with_one_canonical_url_the_first_is_listed_and_the_others_are_counted(crawler: Field) -> None:
    async with serving(PAGES) as site:
        seen = await crawler.crawl(spec(canonical=Canonical.MERGE), site.url())
        shown = set(crawler.pages())
        listed = list(list_pages_with_content(crawler.home.store, "job", {}))
        merged = [crawler.ending(site.url(path)) for path in PAGES if path not in shown]
        lamps = {path for path in shown if path.startswith("/lamp")}
        olds = {path for path in shown if path.startswith("/old")}
        representatives = {crawler.ending(site.url(path)).fingerprint for path in lamps | olds}
    assert shown > {"/", "/other", "/deep", "/gone"}
    assert len(listed) == len(shown) == count_pages(crawler.home.store, "job")
    assert len(lamps) == len(olds) == 1, "a dead canonical URL loses no page"
    assert seen.stored.merged == seen.as_dict()["merged"] == 3 and seen.stored.pages == len(PAGES)
    assert {page.merged_into for page in merged} == representatives
    others = list(list_pages(crawler.home.store, "job", {MERGED: "true"}))
    assert {row["url"] for row in others} == {page.url for page in merged}
    assert {row["canonical"] or row["url"] for row in others} == {site.url("/lamp"), site.url("/gone")}
    assert "`pages job --merged`" in merged_text(seen) == figures(seen)["merged"]


async def test_without_it_every_page_is_listed(crawler: Field) -> None:
    async with serving(PAGES) as site:
        seen = await crawler.crawl(spec(), site.url())
    assert set(crawler.pages()) == set(PAGES) and seen.stored.merged == 0


async def test_items_of_merged_pages_count_once_however_the_callback_reads(crawler: Field) -> None:
    @spider()
    def shop(page: Page) -> Iterator[Any]:
        # By its bytes only: nothing is parsed.
        yield {"lamp": b"a lamp" in page.body}

    crawler.spider = shop
    urls = ("/lamp?sort=price", "/lamp?sort=name", "/lamp", "/other")
    async with serving(PAGES) as site:
        seen = await crawler.crawl(spec(canonical=Canonical.MERGE, spider="here"), *map(site.url, urls))
    found = sorted(item["lamp"] for item in list_items(crawler.home.store, "job", {}))
    assert found == [False, True] and (seen.stored.items, seen.stored.merged) == (2, 2)

"""Sitemaps that name sitemaps: how many of them are read, and that no page waits for them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from shoal.engine.reading.sitemap_requests import MOST_BY_ROBOTS, MOST_NAMED
from shoal.model import PageRecord
from shoal.practice import Answer, Visit
from tests.engine.conftest import Field, Pages, html, serving, spec

OF_AN_INDEX, OF_A_NESTED_ONE = MOST_NAMED


def index(visit: Visit, paths: Iterable[str], *pages: str) -> Answer:
    here = visit.origin(visit.host)
    named = "".join(f"<sitemap><loc>{here}{path}</loc></sitemap>" for path in paths)
    listed = "".join(f"<url><loc>{here}{path}</loc></url>" for path in pages)
    return Answer(200, f"<sitemapindex>{named}{listed}</sitemapindex>".encode(), "application/xml")


class Branching:
    """Every sitemap is an index of new ones: the first of three, the others of more than they may name."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.pages: Pages = dict.fromkeys(("/", "/good", "/hidden", "/sitemap.xml", "/more"), self._answer)
        self._numbers = itertools.count()

    def _answer(self, visit: Visit) -> Answer:
        self.asked.append(visit.target)
        if visit.path == "/sitemap.xml":
            return index(visit, self._new(3))
        if visit.path == "/more":
            return index(visit, self._new(OF_A_NESTED_ONE + 50), "/hidden")
        return html()

    def _new(self, count: int) -> list[str]:
        return [f"/more?{n}" for n in itertools.islice(self._numbers, count)]


async def test_indexes_that_branch_for_ever_are_read_so_far_and_the_rest_is_told(crawler: Field) -> None:
    branching = Branching()
    async with serving(branching.pages) as site:
        seen = await crawler.crawl(spec(sitemaps=True), site.url())
        hidden = crawler.ending(site.url("/hidden"))
    nested = 3 * OF_A_NESTED_ONE
    assert sum(path.startswith("/more") for path in branching.asked) == 3 + nested
    assert seen.stored.skipped == {"too_many_sitemaps": 3 * 50 + nested * (OF_A_NESTED_ONE + 50)}
    assert seen.frontier.queued == 0
    assert isinstance(hidden, PageRecord) and hidden.depth == 0 and hidden.parent is not None


async def test_what_an_index_names_waits_for_the_pages_that_are_known(crawler: Field) -> None:
    branching, good = Branching(), [f"/good?{n}" for n in range(40)]
    async with serving(branching.pages) as site:
        await crawler.crawl(spec(sitemaps=True, per_host=1), *map(site.url, good))
    first_named = next(n for n, path in enumerate(branching.asked) if path.startswith("/more"))
    assert set(branching.asked[:first_named]) == {"/sitemap.xml", *good}
    # What the host itself names does not wait.
    assert branching.asked.index("/sitemap.xml") < max(map(branching.asked.index, good))


async def test_an_index_that_has_moved_is_not_taken_for_one_within_an_index(crawler: Field) -> None:
    parts = [f"/part?{n}" for n in range(OF_A_NESTED_ONE + 50)]
    empty = Answer(200, b"<urlset></urlset>", "application/xml")
    moved = Answer(301, b"", headers={"Location": "/index.xml"})
    pages: Pages = {"/": html(), "/sitemap.xml": moved, "/index.xml": lambda visit: index(visit, parts), "/part": empty}
    async with serving(pages) as site:
        seen = await crawler.crawl(spec(sitemaps=True), site.url())
    assert set(crawler.pages()) == {"/", "/index.xml", *parts}
    assert seen.stored.skipped == {}


async def test_an_index_names_no_more_than_the_protocol_allows(crawler: Field) -> None:
    parts = [f"/part?{n}" for n in range(OF_AN_INDEX + 10)]
    pages: Pages = {"/": html(), "/sitemap.xml": lambda visit: index(visit, parts)}
    async with serving(pages) as site:
        seen = await crawler.crawl(spec(sitemaps=True, limits={"pages": 2}), site.url())
    assert seen.stored.skipped == {"too_many_sitemaps": 10}
    assert seen.frontier.found == 2 + OF_AN_INDEX


async def test_a_robots_txt_names_so_many_and_the_rest_is_told(crawler: Field) -> None:
    named = [f"/part?{n}" for n in range(MOST_BY_ROBOTS + 10)]
    tries = itertools.count()

    def robots(visit: Visit) -> Answer:
        return Answer(200, "".join(f"Sitemap: {visit.origin(visit.host)}{path}\n" for path in 2 * named).encode())

    def page(_visit: Visit) -> Answer:
        # The lease that meets the file need not be the one that ends as a page.
        return html() if next(tries) else Answer(503, b"")

    async with serving({"/": page, "/robots.txt": robots}) as site:
        seen = await crawler.crawl(spec(sitemaps=True), site.url())
    assert seen.stored.skipped == {"too_many_sitemaps": 10}
    assert set(crawler.pages()) == {"/", *named[:MOST_BY_ROBOTS]}


async def test_what_is_written_wrong_in_one_entry_costs_no_other(crawler: Field) -> None:
    def sitemap(visit: Visit) -> Answer:
        return index(visit, [], "/list?a=1&b=2", "/a\x0bb", "/x&nbsp;y", f"/{'x' * 3_000_000}", "/last")

    pages: Pages = {"/": html(), "/sitemap.xml": sitemap, "/list?a=1&b=2": html(), "/ab": html(), "/last": html()}
    async with serving(pages) as site:
        seen = await crawler.crawl(spec(sitemaps=True), site.url())
    assert crawler.pages() == {
        "/": 200,
        "/sitemap.xml": 200,
        "/list?a=1&b=2": 200,
        "/ab": 200,
        "/x%C2%A0y": 404,
        "/last": 200,
    }
    assert (seen.stored.skipped, seen.stored.failures) == ({"trap": 1}, [])

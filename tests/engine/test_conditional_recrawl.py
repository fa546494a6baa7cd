from __future__ import annotations

import gzip
from collections.abc import Callable
from typing import Any

import pytest

from shoal.model import JobSpec
from shoal.practice import Answer, Visit
from shoal.spiders.spider import spider
from shoal.store.results.listings import list_pages_with_content
from tests.engine.conftest import Field, Pages, html, serving, spec


class Tagged:
    """A page with an ETag, which may be written anew; remembers what it was asked with."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[str | None] = []

    def __call__(self, visit: Visit) -> Answer:
        etag = f'"{hash(self.answer.body)}"'
        self.asked.append(visit.headers.get("if-none-match"))
        if self.asked[-1] == etag:
            return Answer(304, b"", headers={"ETag": etag})
        return self.answer._replace(headers={"ETag": etag})


async def crawl(crawler: Field, job: str, wanted: JobSpec, *seeds: str) -> dict[str, dict[str, Any]]:
    """Path -> page record with content."""
    crawler.add(job, wanted, *seeds)
    await crawler.run(job)
    await crawler.figures(job)
    return {"/" + row["url"].split("/", 3)[3]: row for row in list_pages_with_content(crawler.home.store, job, {})}


async def twice(
    crawler: Field, pages: Pages, change: Callable[[], object] = lambda: None, first: JobSpec | None = None, **more: Any
) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
    async with serving(pages) as site:
        before = await crawl(crawler, "one", first or spec(), site.url())
        change()
        return before, await crawl(crawler, "two", spec(refresh=True, **more), site.url())


def statuses(pages: dict[str, dict[str, Any]]) -> dict[str, tuple[int, bool | None]]:
    return {path: (page["status"], page["changed"]) for path, page in pages.items()}


async def test_an_unchanged_page_is_not_sent_again_and_keeps_what_it_said_and_led_to(crawler: Field) -> None:
    pages = {"/": Tagged(html("/a", body="words", head='<link rel="canonical" href="/a">')), "/a": Tagged(html("/"))}
    before, after = await twice(crawler, pages)
    assert statuses(before) == {"/": (200, None), "/a": (200, None)}
    assert statuses(after) == {"/": (304, False), "/a": (304, False)}
    carried = ("digest", "title", "content_type", "text", "links", "depth", "canonical", "noindex", "nofollow")
    assert [[page[name] for name in carried] for page in after.values()] == [
        [page[name] for name in carried] for page in before.values()
    ]


async def test_what_a_refresh_carried_over_serves_the_next_one(crawler: Field) -> None:
    root = Tagged(html("/a"))
    async with serving({"/": root, "/a": html()}) as site:
        for job in ("one", "two", "three"):
            pages = await crawl(crawler, job, spec(refresh=True), site.url())
    assert statuses(pages) == {"/": (304, False), "/a": (200, False)}
    assert root.asked[0] is None and None not in root.asked[1:]


async def test_changed_and_new_pages_are_told_from_unchanged_ones_without_validators(crawler: Field) -> None:
    pages: dict[str, Answer | Tagged] = {"/": Tagged(html("/same", "/other")), "/same": html(body="s")}
    pages["/other"] = Tagged(html(body="old"))

    def change() -> None:
        pages["/other"] = Tagged(html("/new", body="new"))
        pages["/new"] = html()

    _, after = await twice(crawler, pages, change)
    assert statuses(after) == {"/": (304, False), "/same": (200, False), "/other": (200, True), "/new": (200, None)}


async def test_the_newest_earlier_job_that_has_the_page_is_what_counts(crawler: Field) -> None:
    page = Tagged(html(body="first"))
    async with serving({"/": html("/a"), "/a": page}) as site:
        await crawl(crawler, "one", spec(), site.url())
        page.answer = html(body="second")
        await crawl(crawler, "two", spec(), site.url())
        await crawl(crawler, "three", spec(limits={"pages": 1}), site.url())
        await crawl(crawler, "other", spec("another name"), site.url())
        page.answer = html(body="first")
        after = await crawl(crawler, "four", spec(refresh=True), site.url())
    assert statuses(after)["/a"] == (200, True)
    assert page.asked[-1] is not None


async def test_a_job_that_does_not_refresh_asks_for_all_and_says_nothing_of_changes(crawler: Field) -> None:
    root = Tagged(html())
    async with serving({"/": root}) as site:
        await crawl(crawler, "one", spec(), site.url())
        after = await crawl(crawler, "two", spec(), site.url())
    assert (statuses(after), root.asked) == ({"/": (200, None)}, [None, None])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({}, {"formats": ("metadata",)}),
        ({"robots": False}, {}),
        ({}, {"keep_params": ("utm_source",)}),
        ({"spider": "shop.py:books"}, {}),
    ],
)
async def test_a_page_that_was_read_otherwise_is_fetched_whole(
    crawler: Field, first: dict[str, Any], second: dict[str, Any]
) -> None:
    root = Tagged(html("/a"))
    _, after = await twice(crawler, {"/": root, "/a": html()}, first=spec(**first), **second)
    assert (statuses(after)["/"], root.asked) == ((200, False), [None, None])


async def test_a_page_whose_links_were_not_kept_is_fetched_whole(crawler: Field) -> None:
    root = Tagged(html("/a", head="<meta name=robots content=noindex>"))
    before, after = await twice(crawler, {"/": root, "/a": html()})
    assert statuses(after) == {"/": (200, False), "/a": (200, False)} and before.keys() == after.keys()


async def test_a_file_that_is_no_page_of_links_needs_no_content_to_stay(crawler: Field) -> None:
    file = Tagged(Answer(200, b"%PDF", "application/pdf"))
    before, after = await twice(crawler, {"/": html("/f.pdf"), "/f.pdf": file})
    assert statuses(after)["/f.pdf"] == (304, False)
    assert after["/f.pdf"]["digest"] == before["/f.pdf"]["digest"]


async def test_a_sitemap_is_read_anew_so_that_its_entries_are_found(crawler: Field) -> None:
    body = "<urlset><url><loc>{}only</loc></url></urlset>"
    pages: dict[str, Any] = {"/": html(), "/only": html()}
    async with serving(pages) as site:
        pages["/sitemap.xml"] = Tagged(Answer(200, body.format(site.url()).encode(), "application/xml"))
        await crawl(crawler, "one", spec(sitemaps=True), site.url())
        after = await crawl(crawler, "two", spec(sitemaps=True, refresh=True), site.url())
    assert statuses(after)["/only"] == (200, False)


async def test_without_an_archive_a_spider_gets_its_pages_whole_and_they_are_marked_by_digest(crawler: Field) -> None:
    @spider()
    def books(page: Any) -> Any:
        yield {"url": page.url}
        yield from page.follow("a")

    crawler.spider = books
    pages = {"/": Tagged(html("/a")), "/a": Tagged(html(body="old"))}

    def change() -> None:
        pages["/a"] = Tagged(html(body="new"))

    _, after = await twice(crawler, pages, change)
    assert statuses(after) == {"/": (200, False), "/a": (200, True)}
    assert pages["/"].asked == [None, None]
    assert (await crawler.figures("two")).stored.items == 2


async def test_a_page_that_only_has_a_date_is_asked_for_by_it(crawler: Field) -> None:
    date = "Tue, 01 Jul 2025 10:00:00 GMT"

    def dated(visit: Visit) -> Answer:
        if visit.headers.get("if-modified-since") == date:
            return Answer(304, b"")
        return html("/a")._replace(headers={"Last-Modified": date})

    async with serving({"/": dated, "/a": html()}) as site:
        for job in ("one", "two", "three"):
            pages = await crawl(crawler, job, spec(refresh=True), site.url())
    assert statuses(pages) == {"/": (304, False), "/a": (200, False)}


class Recorded:
    """A page with these headers; keeps the conditions it was asked on, and answers those with this status."""

    def __init__(self, headers: dict[str, str], on_condition: int = 304, body: bytes = html("/a").body) -> None:
        self.headers = headers
        self.body = body
        self.on_condition = on_condition
        self.conditions: list[dict[str, str]] = []

    def __call__(self, visit: Visit) -> Answer:
        self.conditions.append({name: value for name, value in visit.headers.items() if name.startswith("if-")})
        if self.conditions[-1]:
            return Answer(self.on_condition, b"")
        return Answer(200, self.body, headers=self.headers)


@pytest.mark.parametrize("etag", ['"abc"', 'W/"a,b"', '"\xe9"', "5f3c-1b", "W/5f3c", '"' + "z" * 998 + '"'])
async def test_an_etag_is_sent_back_as_it_came(crawler: Field, etag: str) -> None:
    root = Recorded({"ETag": etag})
    await twice(crawler, {"/": root, "/a": html()})
    assert root.conditions == [{}, {"if-none-match": etag}]


@pytest.mark.parametrize(
    "headers",
    [
        {"ETag": "*"},
        {"ETag": '"a\x01b"'},
        {"ETag": '"' + "z" * 40_000 + '"'},
        {"ETag": '"a", "b"'},
        {"Last-Modified": "yesterday"},
        {"Last-Modified": "Tue, 01 Jul 2025 10:00:00 GMT" + "\x01" * 40},
        {"Last-Modified": "Sat, 31 Dec 2999 00:00:00 GMT"},
        {"Last-Modified": "Sat, 31 Dec 0000 00:00:00 GMT"},
    ],
    ids=["any", "control", "long", "list", "no date", "control in a date", "to come", "no year"],
)
async def test_what_no_server_could_tell_a_change_by_is_not_sent_back(crawler: Field, headers: dict[str, str]) -> None:
    root = Recorded(headers)
    _, after = await twice(crawler, {"/": root, "/a": html()})
    assert root.conditions == [{}, {}]
    assert statuses(after) == {"/": (200, False), "/a": (200, False)}


@pytest.mark.parametrize("status", [206, 400, 412])
async def test_a_host_that_cannot_deal_with_the_condition_is_asked_without(crawler: Field, status: int) -> None:
    root = Recorded({"ETag": '"abc"'}, status)
    _, after = await twice(crawler, {"/": root, "/a": html()})
    assert root.conditions == [{}, {"if-none-match": '"abc"'}, {}]
    assert statuses(after) == {"/": (200, False), "/a": (200, False)}
    assert after["/"]["attempts"] == 1


@pytest.mark.parametrize("status", [500, 503])
async def test_a_host_that_fails_at_the_condition_is_tried_again_without(crawler: Field, status: int) -> None:
    root = Recorded({"ETag": '"abc"'}, status)
    _, after = await twice(crawler, {"/": root, "/a": html()}, retries=1)
    assert root.conditions == [{}, {"if-none-match": '"abc"'}, {}]
    assert statuses(after) == {"/": (200, False), "/a": (200, False)}


async def test_a_host_that_fails_whatever_it_is_asked_gets_no_more_attempts_than_there_are(crawler: Field) -> None:
    asked: list[str | None] = []

    def failing(visit: Visit) -> Answer:
        asked.append(visit.headers.get("if-none-match"))
        return Answer(503, b"") if asked[1:] else html()._replace(headers={"ETag": '"abc"'})

    async with serving({"/": failing}) as site:
        await crawl(crawler, "one", spec(), site.url())
        await crawl(crawler, "two", spec(refresh=True, retries=1), site.url())
        letter = crawler.ending(site.url(), "two")
    assert asked == [None, '"abc"', None]
    assert (letter.reason, letter.status, letter.attempts) == ("http", 503, 2)


async def test_a_host_that_says_so_whatever_it_is_asked_is_believed_the_second_time(crawler: Field) -> None:
    pages = {"/": html("/gone"), "/gone": html()._replace(headers={"ETag": '"abc"'})}

    def change() -> None:
        pages["/gone"] = Answer(400, b"")

    _, after = await twice(crawler, pages, change)
    assert statuses(after)["/gone"] == (400, True)


async def test_a_part_of_a_page_is_asked_for_whole(crawler: Field) -> None:
    whole = gzip.compress(html("/a").body)
    root = Recorded({"ETag": '"abc"', "Content-Encoding": "gzip"}, body=whole[:50])

    def change() -> None:
        root.body = whole

    before, after = await twice(crawler, {"/": root, "/a": html()}, change)
    assert root.conditions == [{}, {}]
    assert (list(before), statuses(after)) == (["/"], {"/": (200, True), "/a": (200, None)})


class TestA304ThatNobodyAskedFor:
    async def test_is_tried_again(self, crawler: Field) -> None:
        answers = [Answer(304, b""), html("/a")]
        async with serving({"/": lambda visit: answers.pop(0), "/a": html()}) as site:
            pages = await crawl(crawler, "one", spec(), site.url())
        assert statuses(pages) == {"/": (200, None), "/a": (200, None)}
        assert pages["/"]["attempts"] == 2

    @pytest.mark.parametrize("refresh", [False, True])
    async def test_is_no_page(self, crawler: Field, refresh: bool) -> None:
        pages: dict[str, Answer] = {"/": html("/a"), "/a": html()}

        async with serving(pages) as site:
            await crawl(crawler, "one", spec(), site.url())
            pages["/a"] = Answer(304, b"")
            after = await crawl(crawler, "two", spec(refresh=refresh, retries=0), site.url())
            letter = crawler.ending(site.url("/a"), "two")
        assert list(after) == ["/"]
        assert (letter.reason, letter.status) == ("http", 304)
        assert letter.detail == "answered 304 Not Modified, but the request was not conditional"

    async def test_is_a_page_if_the_job_asks_by_a_header_of_its_own(self, crawler: Field) -> None:
        asking = spec(headers={"If-None-Match": '"abc"'})
        async with serving({"/": Recorded({})}) as site:
            pages = await crawl(crawler, "one", asking, site.url())
        assert statuses(pages) == {"/": (304, None)}


async def test_a_refresh_tells_content_from_markup(crawler: Field) -> None:
    texts = {
        "/": ("lamp", "lamp"),
        "/token": ("lamp", "lamp"),
        "/time": ("lamp 06:55", "lamp 07:00"),
        "/new": ("a", "b"),
    }
    version = 0

    def page(visit: Visit) -> Answer:
        body = texts[visit.path][version]
        hidden = "" if visit.path == "/" else f'<input type="hidden" value="{version}">'
        return html("/token", "/time", "/new", body=f"<p>{body}</p>{hidden}")

    def change() -> None:
        nonlocal version
        version = 1

    before, after = await twice(crawler, dict.fromkeys(texts, page), change)
    assert {page["change_kind"] for page in before.values()} == {None}
    kinds = {path: (page["changed"], page["change_kind"]) for path, page in after.items()}
    assert kinds == {
        "/": (False, "no"),
        "/token": (True, "markup"),
        "/time": (True, "markup"),
        "/new": (True, "content"),
    }
    assert (await crawler.figures("two")).stored.changes == {"content": 1, "markup": 2, "no": 1}

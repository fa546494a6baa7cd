"""Which files a job fetches, as an engine sees it: links, answers, seeds and redirects."""

from __future__ import annotations

from shoal.jobs.explain import explain
from shoal.practice import Answer, Visit
from shoal.practice.request import redirect
from shoal.urls.exclusions import Exclusions
from tests.engine.conftest import Field, Pages, html, serving, spec

ZIP = "application/zip"


async def test_archives_are_skipped_by_ending_and_dropped_by_content_type(crawler: Field) -> None:
    pages: Pages = {
        "/": html("/a.zip", "/get?id=1", "/moved", "/doc.pdf"),
        "/get?id=1": Answer(200, b"PK" * 100, ZIP),
        "/moved": redirect(302, "/b.tar.gz"),
        "/doc.pdf": Answer(200, b"%PDF", "application/pdf"),
    }
    async with serving(pages) as site:
        seen = await crawler.crawl(spec(), site.url("/"))
        assert crawler.pages() == {"/": 200, "/doc.pdf": 200}
        assert seen.stored.skipped == {"file_type": 2} and seen.stored.dropped == {"file_type": 1}
        assert crawler.ending(site.url("/moved")).reason == "file_type:archive"
        dropped = crawler.ending(site.url("/get?id=1"))
        assert dropped.detail.startswith("its content type application/zip is of the type archive")
        told = (await explain(crawler.home, seen.job, site.url("/a.zip"), Exclusions())).verdict
    assert told[:2] == ("skipped", "file_type") and told.detail == "archive"
    assert told.allow == "--types html,pdf,document,data,text,archive"


async def test_the_transfer_of_an_unwanted_type_ends_at_its_head(crawler: Field) -> None:
    endless = [b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n", *[b"x" * 65_536] * 1_000]
    pages: Pages = {
        "/": html("/live", "/big"),
        "/live": Answer(200, b"", raw=endless),
        "/big": Answer(200, b"x" * 2_000_000, ZIP),
    }
    async with serving(pages) as site:
        seen = await crawler.crawl(spec(max_page_bytes=1_000_000), site.url("/"))
    assert seen.stored.dropped == {"file_type": 2} and seen.stored.dead == 0


async def test_views_that_are_no_pages_are_not_all_requested(crawler: Field) -> None:
    """As a browser of git has them: `?a=snapshot;sf=tgz` for each commit."""

    def commit(visit: Visit) -> Answer:
        is_snapshot = "a=snapshot" in visit.query
        return Answer(200, b"PK", ZIP) if is_snapshot else html(f"{visit.path}?a=snapshot;sf=tgz", body=visit.path)

    commits = [f"/{n}" for n in range(80)]
    async with serving({"/": html(*commits), **dict.fromkeys(commits, commit)}) as site:
        seen = await crawler.crawl(spec(per_host=2), site.url("/"))
    assert set(crawler.pages()) == {"/", *commits}
    assert seen.stored.dropped["file_type"] < 40 and seen.stored.dropped["shape"] > 40


async def test_what_was_given_is_fetched_unless_the_job_chose_types(crawler: Field) -> None:
    pages: Pages = {"/a.zip": Answer(200, b"PK", ZIP), "/b": html("/c.txt"), "/c.txt": Answer(200, b"", "text/plain")}
    async with serving(pages) as site:
        await crawler.crawl(spec(), site.url("/a.zip"))
        assert crawler.pages() == {"/a.zip": 200}
        chosen = await crawler.crawl(spec(types=("html",)), site.url("/a.zip"), site.url("/b"), job="chosen")
        assert crawler.pages("chosen") == {"/b": 200}
        assert chosen.stored.dropped == {"file_type": 1} and chosen.stored.skipped == {"file_type": 1}
        await crawler.crawl(spec(types=("html", "text")), site.url("/b"), job="both")
        assert crawler.pages("both") == {"/b": 200, "/c.txt": 200}


async def test_links_of_the_head_for_programs_are_counted_and_not_followed(crawler: Field) -> None:
    asked: list[str] = []

    def page(visit: Visit) -> Answer:
        asked.append(visit.target)
        head = "<link rel=alternate type=application/json href=/j><link rel=alternate type=text/html href=/h>"
        return html(head=head)

    async with serving({"/": page, "/h": page, "/j": page}) as site:
        seen = await crawler.crawl(spec(), site.url("/"))
    assert asked == ["/", "/h"] and seen.stored.skipped == {"link_type": 2}

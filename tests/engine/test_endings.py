"""What becomes of a request, by what its host answers."""

from __future__ import annotations

import dataclasses
import gzip
import time
from collections import Counter

import pytest

from shoal.frontier.sqlite import SqliteFrontier
from shoal.model import (
    DeadLetter,
    Drop,
    PageRecord,
    RedirectRecord,
    ScopeKind,
)
from shoal.practice import Answer, Visit
from tests.engine.conftest import Field, Pages, html, serving, spec


def redirect(location: str, status: int = 302, **headers: str) -> Answer:
    return Answer(status, b"", headers={"Location": location, **headers})


async def test_every_final_answer_is_a_page_and_only_success_gives_links(crawler: Field) -> None:
    pages = {"/": html("/a", "/gone"), "/a": html(), "/gone": Answer(410, b'<a href="/never">x</a>')}
    async with serving(pages) as site:
        await crawler.crawl(spec(), site.url())
    assert crawler.pages() == {"/": 200, "/a": 200, "/gone": 410}


async def test_a_file_that_is_not_html_is_stored_without_extraction(crawler: Field) -> None:
    pages = {"/": html("/a.pdf"), "/a.pdf": Answer(200, b'%PDF <a href="/never">', "application/pdf")}
    async with serving(pages) as site:
        await crawler.crawl(spec(), site.url())
    assert crawler.pages() == {"/": 200, "/a.pdf": 200}


async def test_links_of_a_page_in_another_charset_are_asked_for_as_browsers_do(crawler: Field) -> None:
    page = Answer(200, '<a href="/é?q=é&r=1">x</a>'.encode("latin-1"), "text/html; charset=iso-8859-1")
    async with serving({"/": page}) as site:
        await crawler.crawl(spec(), site.url())
    assert crawler.pages() == {"/": 200, "/%C3%A9?q=%E9&r=1": 404}


@pytest.mark.parametrize("words", [0, 30_000])
async def test_a_page_whose_compression_is_broken_is_read_as_far_as_it_goes_and_told_of(
    crawler: Field, words: int
) -> None:
    whole = html("/last", body="".join(f"<p>{number * 7_919}</p>" for number in range(words)))
    coded = gzip.compress(whole.body)[:-8] + bytes(8)
    page = whole._replace(body=coded, headers={"Content-Encoding": "gzip"})
    async with serving({"/": html("/page"), "/page": page, "/last": html()}) as site:
        seen = await crawler.crawl(spec(), site.url())
        record, url = crawler.ending(site.url("/page")), site.url("/page")
    assert crawler.pages() == {"/": 200, "/page": 200, "/last": 200}
    assert (record.bytes, record.attempts) == (len(whole.body), 1)
    ((kind, n, sample),) = [(group.kind, group.n, group.sample) for group in seen.failures]
    assert (kind, n) == ("broken_coding", 1)
    assert sample == f"{url}: Error -3 while decompressing data: incorrect data check"


async def test_a_redirect_is_an_outcome_and_its_target_a_request(crawler: Field) -> None:
    pages = {"/": html("/old"), "/old": redirect("/new?utm_source=x", 301), "/new": html()}
    async with serving(pages) as site:
        seen = await crawler.crawl(spec(), site.url())
        old, new = crawler.ending(site.url("/old")), crawler.ending(site.url("/new"))
    assert isinstance(old, RedirectRecord)
    assert (old.status, old.target_fingerprint) == (301, new.fingerprint)
    assert new.depth == old.depth == 1
    assert (seen.frontier.pages, seen.frontier.redirects) == (2, 1)


async def test_redirect_loops_and_endless_chains_are_dead(crawler: Field) -> None:
    def endless(visit: Visit) -> Answer:
        return redirect(f"/hop?n={int(visit.query.partition('=')[2] or 0) + 1}")

    pages: Pages = {"/": html("/a", "/hop", "/self"), "/a": redirect("/b"), "/b": redirect("/a"), "/hop": endless}
    async with serving({**pages, "/self": redirect("/self")}) as site:
        seen = await crawler.crawl(spec(), site.url())
        b, own = crawler.ending(site.url("/b")), crawler.ending(site.url("/self"))
    assert isinstance(b, DeadLetter)
    assert b.reason == own.reason == "redirect_loop"
    reasons = Counter(group.kind for group in seen.failures)
    assert reasons == {"redirect_loop": 1, "too_many_redirects": 1}
    assert seen.frontier.redirects == 1 + 20


async def test_a_self_redirect_that_sets_a_cookie_is_fetched_once_more(crawler: Field) -> None:
    def wall(visit: Visit) -> Answer:
        if "pass=1" in visit.headers.get("cookie", ""):
            return html("/in")
        return redirect("/", 302, **{"Set-Cookie": "pass=1; Path=/"})

    async with serving({"/": wall, "/in": html()}) as site:
        await crawler.crawl(spec(), site.url())
    assert crawler.pages() == {"/": 200, "/in": 200}


async def test_the_cookies_of_a_cookie_file_are_sent(crawler: Field) -> None:
    def wall(visit: Visit) -> Answer:
        return Answer(200 if visit.headers.get("cookie") == "sid=7" else 403, b"")

    async with serving({"/": wall, "/in": wall}) as site:
        lines = "127.0.0.1\tFALSE\t/in\tFALSE\t0\tsid\t7"
        await crawler.crawl(spec(cookie_file=lines), site.url(), site.url("/in"))
    assert crawler.pages() == {"/": 403, "/in": 200}


async def test_the_host_a_seed_redirects_to_joins_the_scope(crawler: Field) -> None:
    def site_of(visit: Visit) -> Answer:
        if visit.host == "127.0.0.1":
            return redirect(visit.origin("127.0.0.2") + "/home")
        return html("/more", visit.origin("127.0.0.3") + "/off")

    def more(visit: Visit) -> Answer:
        return redirect(visit.origin("127.0.0.3") + "/off")

    async with serving({"/": site_of, "/home": site_of, "/more": more}, hosts=3) as site:
        seen = await crawler.crawl(spec(), site.url())
        stray = crawler.ending(site.url("/more", host="127.0.0.2"))
    assert crawler.pages() == {"/home": 200}
    assert isinstance(stray, RedirectRecord)
    assert (stray.reason, stray.target_fingerprint) == ("off_scope", None)
    assert seen.stored.skipped == {"off_scope": 2}


async def test_a_redirect_to_another_scheme_is_not_followed(crawler: Field) -> None:
    async with serving({"/": redirect("file:///etc/passwd")}) as site:
        await crawler.crawl(spec(), site.url())
        end = crawler.ending(site.url())
    assert isinstance(end, RedirectRecord)
    assert end.reason == "not_http"


async def test_failures_are_tried_again_and_then_dead(crawler: Field) -> None:
    tries: Counter[str] = Counter()

    def shaky(visit: Visit) -> Answer:
        tries[visit.path] += 1
        return html() if visit.path == "/shaky" and tries[visit.path] > 1 else Answer(500, b"")

    async with serving({"/": html("/shaky", "/broken"), "/shaky": shaky, "/broken": shaky}) as site:
        seen = await crawler.crawl(spec(retries=1), site.url())
        shaky_page, broken = crawler.ending(site.url("/shaky")), crawler.ending(site.url("/broken"))
    assert isinstance(shaky_page, PageRecord)
    assert shaky_page.attempts == 2
    assert isinstance(broken, DeadLetter)
    assert (broken.reason, broken.status, broken.attempts) == ("http", 500, 2)
    assert tries == {"/shaky": 2, "/broken": 2}
    assert [(group.status, group.n) for group in seen.failures] == [(500, 3)]


async def test_depth_limits_skip_what_is_too_deep_but_a_shorter_way_counts(crawler: Field) -> None:
    pages = {"/": html("/1", "/near"), "/1": html("/2"), "/2": html("/far", "/near"), "/near": html("/far2")}
    async with serving({**pages, "/far": html(), "/far2": html()}) as site:
        seen = await crawler.crawl(spec(limits={"depth": 2}), site.url())
    assert set(crawler.pages()) == {"/", "/1", "/2", "/near", "/far2"}
    assert seen.stored.skipped["too_deep"] == 2


async def test_page_limits_are_exact(crawler: Field) -> None:
    pages = {"/": html(*(f"/{n}" for n in range(50)))} | {f"/{n}": html() for n in range(50)}
    async with serving(pages) as site:
        seen = await crawler.crawl(spec(limits={"pages": 17}), site.url())
    assert seen.frontier.pages == 17
    assert seen.frontier.queued == 51 - 17
    assert crawler.resting == {"job": "pages"}


async def test_a_job_whose_time_is_up_gives_back_what_hangs(crawler: Field) -> None:
    hangs = Answer(200, b"late", delay_s=60)
    async with serving({"/": html("/hangs", "/good"), "/hangs": hangs, "/good": html()}) as site:
        seen = await crawler.crawl(spec(limits={"seconds": 3}), site.url())
    assert crawler.resting == {"job": "seconds"}
    assert (seen.frontier.pages, seen.frontier.queued, seen.frontier.leased) == (2, 1, 0)
    # Nothing is held against it: with more time it is asked for again.
    assert crawler.ending(site.url("/hangs")) is None


async def test_listed_scope_fetches_what_is_given_and_where_it_redirects(crawler: Field) -> None:
    def away(visit: Visit) -> Answer:
        return redirect(visit.origin("127.0.0.2") + "/landing")

    pages: Pages = {"/": html("/linked"), "/away": away, "/landing": html("/more"), "/linked": html()}
    async with serving(pages, hosts=2) as site:
        await crawler.crawl(spec(scope=ScopeKind.LISTED), site.url(), site.url("/away"))
    assert set(crawler.pages()) == {"/", "/landing"}


async def test_a_private_address_is_dropped_unless_allowed(crawler: Field) -> None:
    async with serving({"/": html()}) as site:
        guarded = dataclasses.replace(spec(), allow_private=False)
        crawler.add("job", guarded, "http://[::ffff:10.0.0.1]/", "http://169.254.169.254/latest/")
        await crawler.run("job")
        end = crawler.ending("http://169.254.169.254/latest/")
    assert isinstance(end, Drop)
    assert end.reason == "address_refused"
    assert site.port


@pytest.mark.parametrize("robots", [True, False])
async def test_an_address_that_is_refused_is_never_called_unreachable(crawler: Field, robots: bool) -> None:
    """However long the job has met it: nobody was asked, and so nobody failed to answer."""
    refused = [f"http://169.254.169.254/{n}" for n in range(4)]
    clock = time.time
    ahead_s = 0.0
    crawler.home.frontier = SqliteFrontier(crawler.home.path / "frontier.db", lambda: clock() + ahead_s)

    def later(visit: Visit) -> Answer:
        nonlocal ahead_s
        ahead_s = 30.0
        return html(refused[-1])

    async with serving({"/": html("/later")._replace(delay_s=0.3), "/later": later}) as site:
        seen = await crawler.crawl(spec(robots=robots, scope=ScopeKind.ANY), *refused[:-1], site.url())
    assert (seen.frontier.dropped, seen.frontier.dead) == ({"address_refused": len(refused)}, 0)


async def test_a_page_that_breaks_reading_ends_alone(crawler: Field) -> None:
    """Whatever bytes come, the crawl goes on."""
    junk = Answer(200, bytes(range(256)) * 50 + b"<a href='/found'>", "text/html; charset=utf-16")
    async with serving({"/": html("/junk", "/ok"), "/junk": junk, "/ok": html()}) as site:
        seen = await crawler.crawl(spec(), site.url())
    assert {"/", "/junk", "/ok"} <= set(crawler.pages())
    assert seen.frontier.dead == 0


async def test_a_page_without_a_content_type_is_read_if_it_looks_like_one(crawler: Field) -> None:
    bare = Answer(200, b'<!doctype html><a href="/next">x</a>', content_type="")
    async with serving({"/": bare, "/next": html()}) as site:
        await crawler.crawl(spec(), site.url())
    assert set(crawler.pages()) == {"/", "/next"}


async def test_a_page_that_says_its_content_type_twice_in_one_field_is_read(crawler: Field) -> None:
    twice = Answer(200, b'<a href="/next">x</a>', content_type="text/html, text/html; charset=utf-8")
    async with serving({"/": twice, "/next": html()}) as site:
        await crawler.crawl(spec(), site.url())
    assert set(crawler.pages()) == {"/", "/next"}


async def test_exclusions_hold_for_where_listed_urls_redirect(crawler: Field) -> None:
    async with serving({"/a": redirect("/login"), "/login": html()}) as site:
        await crawler.crawl(spec(scope=ScopeKind.LISTED, exclude=("/login",)), site.url("/a"))
        end = crawler.ending(site.url("/a"))
    assert (end.reason, crawler.pages()) == ("excluded", {})


async def test_secret_headers_stay_where_the_job_began(crawler: Field) -> None:
    got: dict[str, dict[str, str]] = {}

    def page(visit: Visit) -> Answer:
        got[visit.host] = dict(visit.headers)
        return redirect(visit.origin("127.0.0.2") + "/") if visit.host == "127.0.0.1" else html()

    headers = {"X-Api-Key": "sesame", "Accept-Language": "fr"}
    async with serving({"/": page}, hosts=2) as site:
        await crawler.crawl(spec(headers=headers), site.url())
    assert got["127.0.0.1"]["x-api-key"] == "sesame"
    assert "x-api-key" not in got["127.0.0.2"]
    assert got["127.0.0.2"]["accept-language"] == "fr"


async def test_a_host_that_answered_robots_is_never_called_unreachable(crawler: Field) -> None:
    tries: Counter[str] = Counter()

    def slow_at_first(visit: Visit) -> Answer:
        tries["/"] += 1
        return Answer(500, b"") if tries["/"] == 1 else html()

    async with serving({"/robots.txt": Answer(404, b""), "/": slow_at_first}) as site:
        await crawler.crawl(spec(), site.url())
    assert crawler.pages() == {"/": 200}


async def test_many_heavy_pages_do_not_pile_up(crawler: Field) -> None:
    """What is read but not stored is bounded in bytes: all pages arrive although each has thousands of links."""
    heavy = html(*(f"https://elsewhere.example/{n:06}" for n in range(8_000)))
    pages = {"/": html(*(f"/{n}" for n in range(24)))} | {f"/{n}": heavy for n in range(24)}
    async with serving(pages) as site:
        seen = await crawler.crawl(spec(per_host=24), site.url())
    assert seen.frontier.pages == 25
    assert seen.stored.skipped["off_scope"] == 24 * 8_000


async def test_a_page_is_requested_by_the_one_url_that_its_links_have(crawler: Field) -> None:
    asked = []

    def listing(visit: Visit) -> Answer:
        asked.append(visit.target)
        return html()

    async with serving({"/": html("/list?b=2&a=1#top", "/list?a=1&b=2&utm_source=x"), "/list": listing}) as site:
        await crawler.crawl(spec(), site.url())
    assert asked == ["/list?a=1&b=2"]

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shoal.embedded.home import Home
from shoal.errors import InvalidURL
from shoal.jobs.explain import Verdict, explain
from shoal.practice import Answer, Running
from shoal.store.jobs import load_job
from shoal.urls import Exclusions
from tests.cli.conftest import Shell
from tests.cli.crawled import Crawled, crawled
from tests.engine.conftest import Pages, html, serving

ODDS_AND_ENDS = "/odds-and-ends.html"


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    with crawled(tmp_path_factory.mktemp("explain"), "--exclude", "/tag/*/feed", "--max-depth", "9") as job:
        yield job


def explained(shoal: Shell, url: str) -> dict[str, Any]:
    ran = shoal("explain", "last", url, "--json")
    assert ran.code == 0, ran.err
    (explanation,) = ran.lines
    return dict(explanation)


async def verdict_on(job: Crawled, url: str) -> Verdict:
    with Home(job.shoal.home) as home:
        return (await explain(home, load_job(home.store, job.summary["job"]), url, Exclusions())).verdict


def shown(shoal: Shell, url: str) -> str:
    ran = shoal("explain", "last", url)
    assert ran.code == 0, ran.err
    return ran.out


def test_a_link_that_would_log_out_is_named(shoal: Shell, site: Running) -> None:
    shoal("crawl", site.url(), "--allow-private", "--rate", "0", "--cookie", "session=oyster", "--max-pages", "1")
    link = site.url("/account/logout")
    found = explained(shoal, link)
    assert (found["outcome"], found["reason"]) == ("skipped", "logout")
    assert "it would log out (the job was given cookies or credentials)" in shown(shoal, link)


@pytest.mark.parametrize(
    ("path", "outcome", "reason"),
    [
        ("/", "page", None),
        ("/pages/sale-2019.html", "page", None),
        ("/index.html", "redirect", None),
        ("/pages/reviews.html", "dead", "http"),
        ("/old/checkout", "dead", "redirect_loop"),
        ("/private/orders.html", "dropped", "robots"),
        ("/private/never-linked.html", "unknown", "robots"),
        ("/never-linked.html", "unknown", None),
        ("/pages/wholesale.html", "unknown", None),
        ("/tag/tin/feed", "skipped", "excluded"),
        ("/a/b/a/b/a/b", "skipped", "trap"),
    ],
)
async def test_every_url_has_an_outcome_and_a_reason(job: Crawled, path: str, outcome: str, reason: str | None) -> None:
    verdict = await verdict_on(job, job.site.url(path))
    assert (verdict.outcome, verdict.reason) == (outcome, reason)


@pytest.mark.parametrize(
    ("url", "reason"),
    [("http://outside.invalid/", "off_scope"), ("ftp://outside.invalid/", "not_http"), ("mailto:a@b.test", "not_http")],
)
async def test_urls_outside_the_scope_are_skipped(job: Crawled, url: str, reason: str) -> None:
    verdict = await verdict_on(job, url)
    assert (verdict.outcome, verdict.reason) == ("skipped", reason)


def test_a_page_is_explained_from_its_parent_to_its_data(job: Crawled) -> None:
    told = shown(job.shoal, job.site.url("/pages/catalogue.html"))
    steps = [
        f"found on {job.site.url(ODDS_AND_ENDS)}, at depth 2",
        f"redirected from {job.site.url('/old/catalogue.html')} (302)",
        "fetched at 20",
        "answered 200 in",
        "text/html, 122 B, Catalogue",
        f"shoal export {job.summary['job']}",
    ]
    places = [told.find(step) for step in steps]
    assert -1 not in places and places == sorted(places)


def test_another_spelling_is_explained_by_its_canonical_url(job: Crawled) -> None:
    spelt = job.site.url("/pages/reviews.html?utm_source=mail#top")
    explanation = explained(job.shoal, spelt)
    assert (explanation["url"], explanation["canonical"]) == (spelt, job.site.url("/pages/reviews.html"))
    assert explanation["outcome"] == "dead"
    assert f"normalized from {spelt}" in shown(job.shoal, spelt)


def test_a_password_in_the_url_is_not_repeated(job: Crawled) -> None:
    url = job.site.url("/").replace("://", "://ann:secret@")
    assert explained(job.shoal, url)["outcome"] == "page"
    assert "secret" not in shown(job.shoal, url)


def test_a_chain_of_redirects_is_followed_to_its_end(job: Crawled) -> None:
    explanation = explained(job.shoal, job.site.url("/old/catalogue"))
    assert (explanation["status"], explanation["target"]) == (301, job.site.url("/old/catalogue.html"))
    assert explanation["final_url"] == job.site.url("/pages/catalogue.html")
    told = shown(job.shoal, job.site.url("/old/catalogue"))
    assert "catalogue.html ended as redirect 302\n" in told and "catalogue.html ended as page 200\n" in told


def test_a_dead_letter_says_how_often_it_was_tried_and_how_to_try_again(job: Crawled) -> None:
    told = shown(job.shoal, job.site.url("/pages/reviews.html"))
    assert "dead (http 500)" in told and "after 1 attempt: answered 500" in told
    assert f"shoal dead {job.summary['job']} --retry" in told


def test_a_verdict_names_the_rule_it_follows(job: Crawled) -> None:
    assert "--exclude /tag/*/feed" in shown(job.shoal, job.site.url("/tag/tin/feed"))
    trapped = shown(job.shoal, job.site.url("/a/b/a/b/a/b"))
    assert "(trap:repeated_segment): /a/b 3 times in a row (limit 2)" in trapped
    assert "--allow-trap repeated_segment" in trapped
    assert "--scope host" in shown(job.shoal, "http://outside.invalid/")
    assert f"refused by {job.site.url('/robots.txt')} of 20" in shown(job.shoal, job.site.url("/private/x"))
    free = shown(job.shoal, job.site.url("/never-linked.html"))
    assert f"allowed by {job.site.url('/robots.txt')} of 20" in free and "--max-depth" in free
    assert "nor links over a page's limit (too_many_links), nor links on pages at depth 9" in free


@pytest.mark.parametrize("text", ["http://[half", "/no/host", "", "# a comment"])
async def test_text_that_is_no_url_cannot_be_explained(job: Crawled, text: str) -> None:
    with pytest.raises(InvalidURL):
        await verdict_on(job, text)


def test_explaining_an_invalid_url_is_a_usage_error(job: Crawled) -> None:
    ran = job.shoal("explain", "last", "http://[half")
    assert ran.code == 2 and "malformed" in ran.err


def test_a_url_left_in_the_queue_names_the_limit(shoal: Shell, site: Running) -> None:
    shoal.crawl(site.url(), "--max-pages", "1")
    explanation = explained(shoal, site.url("/feed.xml"))
    assert explanation["outcome"] == "queued"
    assert "its limit of pages is reached" in explanation["rule"]


def test_an_input_is_explained_by_its_lines_or_the_reject_reason(shoal: Shell, site: Running) -> None:
    lines = [site.url("/feed.xml"), "http://[half", site.url("/feed.xml#again"), "ftp://outside.invalid/"]
    shoal.crawl("-", input="\n".join(lines))
    assert explained(shoal, site.url("/feed.xml"))["inputs"] == [1, 3]
    assert "input line 1, 3" in shown(shoal, site.url("/feed.xml"))
    half = explained(shoal, "http://[half")
    assert (half["outcome"], half["reason"], half["canonical"]) == ("rejected", "malformed", None)
    assert "line 4 of the input is not an http or https URL" in shown(shoal, "ftp://outside.invalid/")
    assert explained(shoal, site.url("/"))["reason"] == "off_scope"


def test_explaining_fetches_nothing(shoal: Shell, site: Running) -> None:
    shoal.crawl(site.url(), "--max-pages", "1")
    visits = len(site.log())
    explained(shoal, site.url("/feed.xml"))
    explained(shoal, site.url("/never-linked.html"))
    assert len(site.log()) == visits


async def test_odd_locations_are_explained_briefly(tmp_path: Path) -> None:
    far = "/" + "a" * 30_000
    pages: Pages = {
        "/": html("/far", "/bad", "/none", "/" + "b" * 3_000),
        "/far": Answer(302, b"", headers={"Location": far}),
        "/bad": Answer(302, b"", headers={"Location": "http://[zz"}),
        "/none": Answer(302, b""),
    }
    async with serving(pages) as site:
        shell = Shell(tmp_path)
        ran = await asyncio.to_thread(shell, "crawl", site.url(), "--allow-private", "--rate", "0")
        assert ran.code == 0, ran.err
        told = {path: await asyncio.to_thread(shown, shell, site.url(path)) for path in ("/far", "/bad", "/none")}
    assert "  length: 1 link with more than 2,000 characters\n" in ran.err
    assert "answered 302: redirects to http://127.0.0.1" in told["/far"] and "aaa…aaa" in told["/far"]
    assert max(map(len, told["/far"].splitlines())) < 600
    assert all("ms, without a valid Location header\n" in told[path] for path in ("/bad", "/none"))

from __future__ import annotations

from shoal.jobs.explain import explain
from shoal.practice import Answer, Visit
from shoal.practice.request import redirect
from shoal.urls.exclusions import Exclusions
from shoal.urls.traps.query_combinations import MOST_COMBINATIONS
from tests.engine.conftest import Field, Pages, html, serving, spec

FAR = "/2051/05/"
SESSION = "k3j9x2m4q8w7e6r5"


async def test_links_to_traps_are_counted_by_rule_with_the_first_urls(crawler: Field) -> None:
    months = [f"/2051/{month:02d}/" for month in range(1, 6)]
    pages = {"/": html(*months[:2], "/next", "/a/a/a/a"), "/next": html(*months)}
    async with serving(pages) as site:
        seen = await crawler.crawl(spec(), site.url("/"))
        rules = {trap.rule: trap for trap in seen.stored.traps}
        assert {rule: trap.links for rule, trap in rules.items()} == {"calendar": 7, "repeated_segment": 1}
        assert rules["calendar"].samples == [site.url(month) for month in months[:3]]
    assert seen.stored.skipped == {"trap": 8}
    assert crawler.pages() == {"/": 200, "/next": 200}


async def test_a_rule_that_the_job_allows_does_not_hold(crawler: Field) -> None:
    pages = {"/": html(FAR, "/a/a/a/a"), FAR: html()}
    async with serving(pages) as site:
        seen = await crawler.crawl(spec(allow_traps=("calendar",)), site.url("/"))
    assert crawler.pages() == {"/": 200, FAR: 200}
    assert seen.stored.skipped == {"trap": 1}


async def test_what_was_given_is_fetched_and_where_it_moved_to(crawler: Field) -> None:
    async with serving({FAR: redirect(301, FAR + "x/"), FAR + "x/": html()}) as site:
        await crawler.crawl(spec(), site.url(FAR))
    assert crawler.pages() == {FAR + "x/": 200}


async def test_a_redirect_to_a_trap_names_the_rule(crawler: Field) -> None:
    async with serving({"/": html("/old"), "/old": redirect(301, FAR)}) as site:
        seen = await crawler.crawl(spec(), site.url("/"))
        assert crawler.ending(site.url("/old")).reason == "trap:calendar"
        assert [(trap.rule, trap.samples) for trap in seen.stored.traps] == [("calendar", [site.url(FAR)])]


async def test_a_page_with_many_session_ids_is_fetched_once(crawler: Field) -> None:
    asked = []

    def page(visit: Visit) -> Answer:
        asked.append(visit.target)
        return html(*(f"/a;jsessionid={number}?sid={SESSION}{number}" for number in range(50)))

    async with serving({"/": page, "/a": page}) as site:
        await crawler.crawl(spec(), site.url("/"))
    assert asked == ["/", "/a"]


async def test_a_site_that_insists_on_its_session_id_ends_as_a_loop_that_says_so(crawler: Field) -> None:
    pages: Pages = {"/": html("/in"), "/in": redirect(302, "/in?PHPSESSID=1"), "/in?PHPSESSID=1": html()}
    async with serving(pages) as site:
        await crawler.crawl(spec(), site.url("/"))
        letter = crawler.ending(site.url("/in"))
        assert letter.reason == "redirect_loop"
        assert "--keep-params PHPSESSID" in letter.detail


async def test_a_session_id_that_the_job_keeps_leads_to_its_page(crawler: Field) -> None:
    pages: Pages = {"/": html("/in"), "/in": redirect(302, "/in?PHPSESSID=1"), "/in?PHPSESSID=1": html()}
    async with serving(pages) as site:
        await crawler.crawl(spec(keep_params=("PHPSESSID",)), site.url("/"))
    assert crawler.pages() == {"/": 200, "/in?PHPSESSID=1": 200}


async def test_filters_without_end_are_left_and_explained(crawler: Field) -> None:
    filters = [f"/shop?a={a}&amp;b={b}&amp;c={c}" for a in range(11) for b in range(11) for c in range(11)]
    async with serving({"/": html(*filters)}) as site:
        seen = await crawler.crawl(spec(limits={"pages": 1}), site.url("/"))
        (trap,) = seen.stored.traps
        assert (trap.rule, trap.links) == ("queries", len(filters) - MOST_COMBINATIONS - 31)
        told = await explain(crawler.home, seen.job, trap.samples[-1], Exclusions())
        assert told.verdict[:3] == ("skipped", "trap", "trap:queries")
        assert f"1,000 combinations of its query values under {site.url('/shop')}" in (told.verdict.detail or "")
        other = await explain(crawler.home, seen.job, site.url("/shop?a=1&b=99"), Exclusions())
        assert other.verdict.outcome == "unknown"


async def test_explaining_a_redirect_to_a_trap_says_how_to_allow_it(crawler: Field) -> None:
    async with serving({"/": html("/old"), "/old": redirect(301, FAR)}) as site:
        seen = await crawler.crawl(spec(), site.url("/"))
        verdict = (await explain(crawler.home, seen.job, site.url("/old"), Exclusions())).verdict
    assert verdict[:3] == ("redirect", "trap", "trap:calendar")
    assert (verdict.detail or "").startswith("2051-05") and verdict.allow == "--allow-trap calendar"

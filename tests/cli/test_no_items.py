"""A spider or rules that find nothing: the summary says why, and the exit code is 3."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from shoal.cli.no_items_text import shell_command
from shoal.cli.session import Session
from shoal.model import JobSpec, Politeness
from shoal.practice import Running
from tests.cli.conftest import Ran, Shell

SPIDER = """\
from decimal import Decimal
from shoal import Item, Page, css, spider

class Book(Item):
    title: str = css("a")
    price: Decimal = css("{price}")

@spider("{url}", allow_private=True, rate=0, max_pages=5{options})
def books(page: Page):
    yield from page.follow("a")
    yield from page.follow("li.nowhere a")
    yield from page.each("{each}", Book)
"""
RULES = {
    "start": ["{url}"],
    "options": {"rate": 0, "max_pages": 3},
    "items": [{"name": "Book", "each": "article.nowhere", "fields": {"title": {"css": "h3"}}}],
    "follow": [{"css": "a"}],
}


def crawl(
    shoal: Shell, site: Running, *flags: str, each: str = "article.nowhere", price: str = "i", options: str = ""
) -> Ran:
    code = SPIDER.format(url=site.url(), each=each, price=price, options=options)
    (shoal.folder / "books.py").write_text(code)
    return shoal("crawl", "books.py", *flags)


def figures(shoal: Shell) -> Mapping[str, Any]:
    (found,) = shoal("job", "last", "--json").lines
    return dict(found)


def test_a_selector_that_matches_nowhere_is_named_with_the_way_to_try_it(shoal: Shell, site: Running) -> None:
    ran = crawl(shoal, site)
    assert ran.code == 3
    words = 'no items: the selector "article.nowhere" matched on none of 5 pages'
    assert f"error: {words}" in ran.err.replace("\n", " ")
    assert f"try it: shoal shell {site.url()} --allow-private\n" in ran.err
    assert 'the selector "li.nowhere a" matched on none of 5 pages (follow in books)' in ran.err.replace("\n", " ")
    job = figures(shoal)
    assert (job["state"], job["items"], f"no items: {job['no_items']}") == ("limited", 0, words)
    unmatched = {one["selector"]: (one["use"], one["callback"], one["pages"]) for one in job["unmatched"]}
    assert unmatched == {"article.nowhere": ("each", "books", 5), "li.nowhere a": ("follow", "books", 5)}
    assert words in " ".join(shoal("job", "last").out.split())


def test_the_command_to_try_has_what_the_job_needed_but_no_secret() -> None:
    spec = JobSpec("a", insecure=True, proxies=("http://proxy:3128",), politeness=Politeness(robots=False))
    flags = "--ignore-robots --insecure --proxy http://proxy:3128"
    assert shell_command(Session(), spec, "https://a.example/?b&c").endswith(f" shell 'https://a.example/?b&c' {flags}")
    secret = JobSpec("a", proxies=("http://ann:pw@proxy:3128",), ca_certificates="PEM")
    assert shell_command(Session(), secret, "https://a.example/").endswith("/ --ca-file FILE --proxy URL")


def test_a_program_gets_the_reason_and_the_code(shoal: Shell, site: Running) -> None:
    ran = crawl(shoal, site, "--json")
    assert ran.summary["no_items"] == 'the selector "article.nowhere" matched on none of 5 pages'
    assert ran.lines[-1] == {"type": "exit_error", "code": 3, "message": f"no items: {ran.summary['no_items']}"}


def test_rejected_items_are_counted_with_their_reason_and_the_command(shoal: Shell, site: Running) -> None:
    ran = crawl(shoal, site, each="body", price=".nowhere")
    assert ran.code == 3
    said = " ".join(ran.err.split())
    assert "no items: all 5 were rejected, mostly because of" in said and "nothing matches '.nowhere'" in said
    assert f"see them: shoal items {figures(shoal)['id']} --rejected" in said


@pytest.mark.parametrize(("flags", "options"), [(("--allow-empty",), ""), ((), ", allow_empty=True")])
def test_a_job_may_be_empty(shoal: Shell, site: Running, flags: tuple[str, ...], options: str) -> None:
    ran = crawl(shoal, site, *flags, options=options)
    assert ran.code == 0 and "no items" not in ran.err
    assert figures(shoal)["no_items"] is None


def test_items_on_any_page_are_enough(shoal: Shell, site: Running) -> None:
    ran = crawl(shoal, site, each="article", price=".price_color")
    assert ran.code == 0, ran.err
    assert figures(shoal)["items"] and figures(shoal)["no_items"] is None


def test_rules_that_find_nothing_are_told_of_in_the_same_way(shoal: Shell, site: Running) -> None:
    rules = json.dumps(RULES).replace("{url}", site.url())
    (shoal.folder / "books.yaml").write_text(rules)
    ran = shoal("crawl", "books.yaml", "--allow-private", "--json")
    assert ran.code == 3
    assert ran.summary["no_items"] == 'the selector "article.nowhere" matched on none of 3 pages'


LOGIN = """\
from shoal import Page, spider

@spider("{url}account/login.html", allow_private=True, rate=0)
def orders(page: Page):
    yield page.request(page.url, to=listed, form={{"user": "ann", "password": "wrong"}})

@orders.callback
def listed(page: Page):
    yield {{"orders": page.text}}
"""


def test_a_login_that_is_refused_is_named(shoal: Shell, site: Running) -> None:
    (shoal.folder / "orders.py").write_text(LOGIN.format(url=site.url()))
    ran = shoal("crawl", "orders.py", "--json")
    assert ran.code == 3
    assert ran.summary["no_items"] == "1 page answered 403: a login, cookie or header may be missing"
    assert f"see them: shoal pages {ran.summary['job']} --status 403\n" in shoal("job", "last").out


def test_a_crawl_without_a_spider_needs_no_items(shoal: Shell, site: Running) -> None:
    ran = shoal.crawl(site.url(), "--max-pages", "2")
    assert (ran.code, ran.summary["no_items"], ran.summary["unmatched"]) == (0, None, [])


def refused(shoal: Shell, site: Running, *starts: str) -> Ran:
    rules = {"start": list(starts), "items": [{"name": "Book", "fields": {"title": {"css": "h1"}}}]}
    (shoal.folder / "gone.yaml").write_text(json.dumps(rules))
    return shoal("crawl", "gone.yaml", "--allow-private", "--rate", "0", "--retries", "0", "--json")


def test_no_good_page_at_all_is_no_success(shoal: Shell, site: Running) -> None:
    ran = refused(shoal, site, site.url("/gone"), site.url("/lost"))
    assert (ran.code, ran.summary["no_items"]) == (3, "no page was good: 2 x 404")
    assert ran.lines[-1]["message"] == f"no items: {ran.summary['no_items']}"
    assert figures(shoal)["no_items"] == ran.summary["no_items"]


def test_dead_letters_are_named_beside_the_bad_answers(shoal: Shell, site: Running) -> None:
    ran = refused(shoal, site, site.url("/gone"), "http://127.0.0.1:1/")
    assert (ran.code, ran.summary["no_items"]) == (3, "no page was good: 1 x 404; 1 request failed")


def test_a_job_without_any_answer_and_a_blocked_job_keep_their_codes(shoal: Shell, site: Running) -> None:
    assert refused(shoal, site, "http://127.0.0.1:1/").code == 4
    site.control(status=403)
    try:
        blocked = refused(shoal, site, site.url())
    finally:
        site.control(status=0)
    assert (blocked.code, blocked.summary["no_items"]) == (7, None)
    assert "every response was a refusal" in blocked.lines[-1]["message"]


def test_a_bad_page_may_be_all_there_is_if_the_job_may_be_empty_or_has_no_rules(shoal: Shell, site: Running) -> None:
    refused(shoal, site, site.url("/gone"))
    assert shoal("crawl", "gone.yaml", "--allow-private", "--allow-empty").code == 0
    assert shoal("crawl", site.url("/gone"), "--allow-private").code == 0

from __future__ import annotations

import re

from shoal.cli.request_line import request_line
from shoal.engine.request_result import dead, drop, retry
from shoal.model import Lease, Target, Trail
from shoal.practice import Running
from tests.cli.conftest import Shell

TARGET = Target("https://a.test/x\x1b[2J", 1, "a.test")
LEASE = Lease(7, "job", TARGET, Trail(), 0, 0, 0.0, 0.0, False, 0)


def test_verbose_prints_a_line_per_request_on_stderr(shoal: Shell, troubled_site: Running) -> None:
    ran = shoal.crawl(troubled_site.url(), "--retries", "1", "--max-pages", "30", "--verbose")
    assert all(line.startswith("{") for line in ran.out.splitlines()), "stdout is for data"
    root = re.escape(troubled_site.url())
    pages = re.findall(rf"^(?:200|404) \d+\.\d\ds [\d.]+ k?B {root}\S* -> (.+)$", ran.err, flags=re.MULTILINE)
    assert len(pages) == ran.summary["pages"]
    assert any(re.match(r"\d+ links", found) for found in pages)
    redirects = re.findall(rf"^30\d {root}\S* -> \S+$", ran.err, flags=re.MULTILINE)
    assert len(redirects) == ran.summary["redirects"]


def test_the_links_of_a_feed_are_counted_on_the_line(shoal: Shell, site: Running) -> None:
    err = shoal.crawl(site.url(), "--max-pages", "5", "-v").err
    assert re.search(r"^200 .*/feed\.xml -> \d+ links?", err, flags=re.MULTILINE), err


def test_without_verbose_there_is_no_such_line(shoal: Shell, site: Running) -> None:
    assert f"200 {site.url()}" not in shoal("crawl", site.url(), "--allow-private", "--max-pages", "1").err
    assert " -> " not in shoal("crawl", site.url(), "--allow-private", "--max-pages", "1").err


def test_items_are_counted_on_the_line(shoal: Shell, site: Running) -> None:
    good, bad = "{each: article, fields: {t: h3}}", "{each: article, fields: {n: {css: h3, type: date}}}"
    (shoal.folder / "shop.yaml").write_text(f"start: [{site.url()}]\nitems: [{good}, {bad}]\n")
    err = shoal.crawl("shop.yaml", "--verbose").err
    assert re.search(r"^200 .* -> \d+ items?, \d+ rejected items?$", err, flags=re.MULTILINE), err


def test_what_is_no_page_begins_with_what_became_of_it() -> None:
    retried = retry(LEASE, "timeout", None, 2.0)
    retried.proxy = "proxy.test:3128"
    lines = [
        request_line(retried),
        request_line(dead(LEASE, "http", 503, "gave up")),
        request_line(drop(LEASE, "robots", "")),
    ]
    url = r"https://a.test/x\x1b[2J"
    assert lines == [
        f"retry timeout in 2.0s {url} via proxy.test:3128",
        f"dead 503 {url}: gave up",
        f"skip robots {url}",
    ]

"""One crawl over a site that asks something on every host, judged by what the site saw and what was kept of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from shoal import __version__
from shoal.practice import ExpectedResults, LogEntry, PoliteSite, Running, running
from shoal.practice import polite_site as of
from tests.cli.conftest import Here, Ran, Shell, assert_balanced

CONTACT = "https://example.com/bot"
ALLOWED = ("--allow-private", "--rate", "0", "--json")
NEAR_S = 0.05
"""By so much a wait may look shorter to the site than to its visitor."""


@dataclass
class Crawled:
    site: Running
    shoal: Shell
    ran: Ran
    log: list[LogEntry]
    truth: dict[str, ExpectedResults]

    def records(self) -> dict[tuple[str, str], dict[str, Any]]:
        lines = (self.shoal.folder / "pages.jsonl").read_text().splitlines()
        return {self.place(record["url"]): record for record in map(json.loads, lines)}

    def place(self, url: str) -> tuple[str, str]:
        host, _, path = url.removeprefix("http://").partition(f":{self.site.port}")
        return host, path

    def visits(self, host: str) -> list[LogEntry]:
        """To its pages."""
        return [entry for entry in self.log if entry.host == host and entry.path != of.ROBOTS]

    def waits(self, host: str) -> list[float]:
        return [later.t_start - sooner.t_start for sooner, later in pairwise(self.visits(host))]

    def expected(self, kind: str) -> dict[tuple[str, str], Any]:
        return {(host, path): end for host, known in self.truth.items() for path, end in getattr(known, kind).items()}


@pytest.fixture(scope="session")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    shoal = Here(tmp_path_factory.mktemp("asking"))
    with running(PoliteSite(), log=shoal.folder / "site.log") as site:
        asked = ("--scope", "any", "--retries", "2", *ALLOWED, "-o", "pages.jsonl")
        ran = shoal("crawl", site.url(), *asked, env={"SHOAL_CONTACT": CONTACT})
        assert_balanced(shoal, ran)
        yield Crawled(site, shoal, ran, site.log(), PoliteSite().truth())


def test_every_page_that_may_be_had_is_there_and_no_other(crawled: Crawled) -> None:
    assert crawled.ran.code == 0, crawled.ran.err
    assert {place: record["status"] for place, record in crawled.records().items()} == crawled.expected("pages")
    letters = crawled.shoal("dead", crawled.ran.summary["job"], "--json").lines
    assert {crawled.place(letter["url"]): letter["status"] for letter in letters} == crawled.expected("dead")
    assert crawled.ran.summary["dropped"] == Counter(crawled.expected("dropped").values())
    assert crawled.ran.summary["skipped"] == Counter(crawled.expected("skipped").values())


def test_nothing_that_was_asked_to_be_left_is_asked_for(crawled: Crawled) -> None:
    left = crawled.expected("dropped").keys() | crawled.expected("skipped").keys()
    assert not left & {(entry.host, entry.path) for entry in crawled.log}


def test_a_crawl_delay_is_kept_to(crawled: Crawled) -> None:
    waits = crawled.waits(of.DELAYED)
    assert len(waits) == 1 and min(waits) > of.DELAY_S - NEAR_S


def test_retry_after_is_waited_for_in_seconds_and_as_a_date(crawled: Crawled) -> None:
    assert [entry.status for host in (of.SECONDS, of.DATE) for entry in crawled.visits(host)] == [429, 200, 503, 200]
    (seconds,), (date,) = crawled.waits(of.SECONDS), crawled.waits(of.DATE)
    # A date is told in whole seconds.
    assert seconds > of.WAIT_S - NEAR_S and date > of.DATE_S - 1 - NEAR_S


def test_without_it_a_host_that_fails_is_left_alone_for_longer_and_longer(crawled: Crawled) -> None:
    first, second = crawled.waits(of.TIRED)
    assert first > 0.9 - NEAR_S and second > 1.8 - NEAR_S


@pytest.mark.parametrize(("host", "status"), [(of.LATER, 503), (of.BUSY, 429)])
def test_a_robots_txt_that_fails_is_asked_for_again_before_any_page(crawled: Crawled, host: str, status: int) -> None:
    log = [(entry.path, entry.status) for entry in crawled.log if entry.host == host]
    assert log[:3] == [(of.ROBOTS, status), (of.ROBOTS, 200), ("/", 200)]


def test_the_crawler_names_itself_and_whom_to_write_to(crawled: Crawled) -> None:
    """By the name that the rules of one of the hosts are for."""
    assert {entry.agent for entry in crawled.log} == {f"shoal/{__version__} (+{CONTACT})"}
    assert len(crawled.visits(of.NAMED)) == 2


def test_what_asks_not_to_be_kept_is_not_and_reservations_are_recorded(crawled: Crawled) -> None:
    records = crawled.records()
    words = {path: record["text"] for (_, path), record in records.items() if path.startswith("/asks/")}
    assert {path for path, text in words.items() if not text} == set(of.UNKEPT)
    pages = crawled.shoal("pages", crawled.ran.summary["job"], "--limit", "100", "--json").lines
    told = {crawled.place(page["url"]): (page["tdm_reservation"], page["tdm_policy"]) for page in pages}
    assert told.pop((of.WISHES, of.RESERVED)) == ("1", of.POLICY)
    assert set(told.values()) == {(None, None)}


def test_secrets_are_used_where_they_belong_and_told_nobody_else(crawled: Crawled, tmp_path: Path) -> None:
    shoal, secret = Here(tmp_path), crawled.site.url(of.VAULT).replace("://", f"://{of.USER}:{of.PASSWORD}@")
    ran = shoal("crawl", secret, "--scope", "any", *ALLOWED, "--header", "X-Key: coral", "-o", "pages.jsonl")
    records = map(json.loads, (tmp_path / "pages.jsonl").read_text().splitlines())
    met = {crawled.place(record["url"]): record["status"] for record in records}
    assert met == {(of.WISHES, of.VAULT): 200, (of.WISHES, of.INSIDE): 200, (of.NAMED, of.WITNESS): 200}
    shown = ran.out + ran.err + (tmp_path / "pages.jsonl").read_text() + shoal("job", "last", "--json").out
    assert of.PASSWORD not in shown and "coral" not in shown


def test_a_redirect_that_leaves_the_scope_is_not_followed(crawled: Crawled, tmp_path: Path) -> None:
    since = len(crawled.site.log())
    ran = Here(tmp_path)("crawl", crawled.site.url(of.LEAVING), *ALLOWED)
    assert (ran.summary["pages"], ran.summary["redirects"], ran.summary["skipped"]) == (1, 1, {"off_scope": 1})
    assert {entry.host for entry in crawled.site.log()[since:]} == {of.WISHES}

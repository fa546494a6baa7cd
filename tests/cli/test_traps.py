"""Traps as an operator meets them: in the report, in the job's figures, by `explain`, and allowed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from shoal.practice import Hostile, Running, running
from shoal.practice.hostile.endless_links import MONTHS_AHEAD
from tests.cli.conftest import Here, Ran, Shell

QUICK = ("--scope", "prefix", "--allow-private", "--rate", "0")


@dataclass(frozen=True)
class Wandered:
    """A crawl of a calendar without end."""

    shoal: Shell
    site: Running
    ran: Ran


@pytest.fixture(scope="module")
def wandered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wandered]:
    shoal = Here(tmp_path_factory.mktemp("traps"))
    with running(Hostile(hurried=True)) as site:
        yield Wandered(shoal, site, shoal("crawl", site.url("/calendar/"), *QUICK))


def test_the_report_names_the_rule_a_url_and_the_way_to_allow_it(wandered: Wandered) -> None:
    assert wandered.ran.code == 0, wandered.ran.err
    lines = wandered.ran.err.splitlines()
    start = lines.index("links not followed, because they look endless:")
    assert lines[start + 1].startswith("  calendar: ") and "2 years ahead" in lines[start + 1]
    assert lines[start + 2].startswith(f"    {wandered.site.url('/calendar/20')}")
    assert lines[start + 3] == "    allow with --allow-trap calendar"
    assert max(map(len, lines[start : start + 4])) <= 80


def test_the_job_tells_it_again_with_three_urls(wandered: Wandered) -> None:
    (figures,) = wandered.shoal("job", "last", "--json").lines
    (calendar,) = figures["traps"]
    assert (calendar["rule"], calendar["allow"]) == ("calendar", "--allow-trap calendar")
    assert figures["skipped"] == {"trap": calendar["links"]}
    shown = wandered.shoal("job", "last").out
    assert len(calendar["samples"]) == 3 and all(f"    {url}\n" in shown for url in calendar["samples"])


def test_explain_says_the_rule_the_value_its_limit_and_the_way_out(wandered: Wandered) -> None:
    url = wandered.site.url("/calendar/2071/05/")
    (verdict,) = wandered.shoal("explain", "last", url, "--json").lines
    assert (verdict["outcome"], verdict["reason"], verdict["rule"]) == ("skipped", "trap", "trap:calendar")
    assert verdict["detail"].startswith("2071-05 is after 20") and verdict["allow"] == "--allow-trap calendar"
    shown = wandered.shoal("explain", "last", url).out
    assert verdict["detail"] in shown and "--allow-trap calendar" in shown


def test_an_allowed_rule_is_followed_on_and_on_and_named_among_the_overrides(wandered: Wandered, shoal: Shell) -> None:
    allowed = ("--allow-trap", "calendar,depth", "--max-pages", str(2 * MONTHS_AHEAD))
    ran = shoal("crawl", wandered.site.url("/calendar/"), *QUICK, *allowed, "--json")
    assert (ran.summary["pages"], ran.summary["traps"]) == (2 * MONTHS_AHEAD, [])
    assert "--allow-trap depth,calendar" in shoal("job", "last").out


def test_a_rule_that_does_not_exist_is_a_usage_error_with_those_that_do(shoal: Shell) -> None:
    ran = shoal("crawl", "http://127.0.0.1/", "--allow-trap", "calender")
    assert ran.code == 2 and "'calender'" in ran.err and "repeated_segment" in ran.err


def test_rules_files_can_allow_a_rule(wandered: Wandered, shoal: Shell) -> None:
    follow = "follow: [a]\noptions: {allow_trap: [calendar], rate: 0, allow_private: true, max_pages: 40}\n"
    (shoal.folder / "cal.yaml").write_text(f"start: {wandered.site.url('/calendar/')}\n{follow}")
    assert shoal("crawl", "cal.yaml", "--json").summary["pages"] == 40
    (shoal.folder / "cal.yaml").write_text(f"start: http://h/\n{follow.replace('calendar]', 'calender]')}")
    ran = shoal("crawl", "cal.yaml")
    assert ran.code == 2 and "calender" in ran.err

from __future__ import annotations

import re

from shoal.practice import Running
from tests.cli.conftest import Shell

FIGURES = [
    *("id", "name", "state", "lane", "created_at", "started_at", "finished_at"),
    *("found", "queued", "leased", "pages", "redirects", "dead", "dropped", "skipped"),
    *("items", "bytes", "by_status", "hosts", "archive_bytes", "unarchived", "cost", "limiting", "why_slow"),
    *("traps", "shapes"),
    *("overrides", "user_agent", "version", "webhook", "owner", "rejected_items", "dropped_items"),
    *("no_items", "unmatched"),
    *("on_finish_error", "merged", "rendered", "nofollow_starts", "sinks", "assets"),
]


def test_without_a_home_the_list_is_empty_and_says_how_to_start(shoal: Shell) -> None:
    ran = shoal("jobs")
    assert (ran.code, ran.out) == (0, "")
    assert "shoal crawl URL" in ran.err
    assert not shoal.home.exists(), "looking must not make a home"


def test_sizes_are_listed_with_the_largest_first(shoal: Shell, site: Running) -> None:
    shoal.crawl(site.url(), "--max-pages", "6", "--name", "large")
    shoal.crawl(site.url(), "--max-pages", "1", "--name", "small")
    ran = shoal("jobs", "--sizes")
    header, first, second = ran.out.splitlines()
    assert header.split() == ["id", "state", "pages", "items", "fetched", "archive", "database", "name"]
    assert first.endswith("large") and second.endswith("small") and " kB " in first
    assert re.match(r"in all [\d.]+ kB of archive, [\d.]+ kB of database; `shoal delete ID` frees", ran.err)
    sizes = shoal("jobs", "--sizes", "--json").lines
    assert [one["name"] for one in sizes] == ["large", "small"] and sizes[0]["database_bytes"] > 1000


def test_jobs_are_listed_newest_first_within_80_columns(shoal: Shell, site: Running) -> None:
    first = shoal.crawl(site.url(), "--max-pages", "1", "--name", "a-name-so-long-that-it-must-give-way " * 3)
    second = shoal.crawl(site.url(), "--max-pages", "3", "--name", "second")
    ran = shoal("jobs")
    header, newest, oldest = ran.out.splitlines()
    assert header.split() == ["id", "state", "pages", "queued", "dead", "started", "name"]
    assert newest.split()[:3] == [second.summary["job"], "limited", "3"] and newest.endswith("second")
    assert oldest.startswith(first.summary["job"])
    assert max(map(len, ran.out.splitlines())) <= 80


def test_a_limit_leaves_the_older_ones_out_and_says_so(shoal: Shell, site: Running) -> None:
    shoal.crawl(site.url(), "--max-pages", "1")
    newer = shoal.crawl(site.url(), "--max-pages", "1").summary["job"]
    ran = shoal("jobs", "--limit", "1")
    assert [line.split()[0] for line in ran.out.splitlines()] == ["id", newer]
    assert "shoal jobs --limit" in ran.err
    assert [job["id"] for job in shoal("jobs", "--limit", "1", "--json").lines] == [newer]


def test_as_json_a_job_has_the_figures_of_the_interface(shoal: Shell, site: Running) -> None:
    summary = shoal.crawl(site.url()).summary
    (listed,) = shoal("jobs", "--json").lines
    (alone,) = shoal("job", "last", "--json").lines
    assert alone.pop("failures") == []
    assert list(alone) == FIGURES
    assert listed == alone
    assert alone["pages"] == summary["pages"] > 10
    assert alone["by_status"] == {"200": summary["pages"]}


def test_a_job_is_shown_with_its_errors_hints_and_overrides(shoal: Shell, troubled_site: Running) -> None:
    asked = ("--retries", "0", "--ignore-robots", "--max-depth", "9", "--exclude", "/feed")
    job = shoal.crawl(troubled_site.url(), *asked).summary["job"]
    shown = shoal("job", job[:-1]).out
    assert f"job {job}: 127.0.0.1:{troubled_site.port}, done" in shown
    assert "4 x 404" in shown and "3 dead letters" in shown
    assert "500 x1 at" in shown and f"shoal dead {job} --retry" in shown
    assert "--ignore-robots, --allow-private, --rate 0" in shown
    as_json = shoal("job", job, "--json").lines[0]
    (failed,) = (group for group in as_json["failures"] if group["status"] == 500)
    assert failed["n"] == 1 and as_json["started_at"] <= failed["first_at"] == failed["last_at"]
    assert failed["last_at"] <= as_json["finished_at"]
    assert failed["trend"]["counts"] == [1]
    assert "depth 9" in shown and "host, not /feed" in shown


def test_headers_and_cookies_are_named_without_values(shoal: Shell, site: Running) -> None:
    secrets = ("--header", "Authorization: Bearer hush", "--cookie", "session=hush", "--max-pages", "1")
    shoal.crawl(site.url(), *secrets)
    shown = shoal("job", "last").out
    assert "header Authorization, 1 cookie" in shown
    assert "hush" not in shown


def test_a_limited_job_says_which_limit_and_what_is_left(shoal: Shell, site: Running) -> None:
    job = shoal.crawl(site.url(), "--max-pages", "1").summary["job"]
    shown = shoal("job", job).out
    assert "limited" in shown and "its limit of pages is reached" in shown
    assert "1 page" in shown and "queued" in shown


def test_an_unknown_job_is_a_usage_error_that_names_the_known(shoal: Shell, site: Running) -> None:
    job = shoal.crawl(site.url(), "--max-pages", "1").summary["job"]
    for command in ("job", "watch", "pause", "cancel"):
        ran = shoal(command, "nosuch")
        assert ran.code == 2
        assert "there is no job 'nosuch'" in ran.err and job in ran.err
    ran = shoal("job", "nosuch", "--json")
    assert ran.code == 2
    assert ran.lines[0]["type"] == "exit_error" and ran.lines[0]["code"] == 2

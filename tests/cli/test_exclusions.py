"""What the operator excludes is requested by no job, and explained."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shoal.practice import Running, Shop, running
from tests.cli.conftest import Shell

EXCLUDED = "127.0.0.2"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Running]:
    shop = Shop(hosts=2, categories=2, products=12, troubled=False)
    with running(shop, log=tmp_path / "site.log") as site:
        yield site


@pytest.fixture
def excluding(shoal: Shell) -> Shell:
    (shoal.folder / "leave-alone.txt").write_text(f"# by request\n{EXCLUDED}\n*/category/1*\n")
    (shoal.folder / "shoal.toml").write_text('exclusions = "leave-alone.txt"\n')
    return shoal


def test_excluded_hosts_get_no_requests(excluding: Shell, site: Running) -> None:
    ran = excluding.crawl(site.url(), site.url("/", EXCLUDED))
    assert ran.code == 0 and ran.summary["dropped"]["operator"] >= 1
    assert not [entry.path for entry in site.log() if entry.host == EXCLUDED]
    explained = excluding("explain", ran.summary["job"], site.url("/", EXCLUDED))
    assert f"the operator excludes {EXCLUDED}" in explained.out
    foreseen = excluding("explain", ran.summary["job"], site.url("/category/1x"), "--json").lines[0]
    assert foreseen["reason"] == "operator" and "*/category/1*" in foreseen["rule"]


def test_a_dry_run_sends_no_requests_to_excluded_hosts(excluding: Shell, site: Running) -> None:
    urls = (site.url(), site.url("/", EXCLUDED))
    ran = excluding("crawl", *urls, "--allow-private", "--dry-run", "--json")
    assert ran.code == 0, ran.err
    assert {entry.host for entry in site.log()} == {site.addresses[0]}


def test_a_crawl_does_not_start_if_the_exclusions_file_is_missing(shoal: Shell, site: Running) -> None:
    (shoal.folder / "shoal.toml").write_text('exclusions = "gone.txt"\n')
    ran = shoal("crawl", site.url(), "--allow-private")
    assert ran.code == 2 and "gone.txt: No such file" in ran.err
    assert not site.log()


def test_a_job_shows_which_rules_it_overrides(shoal: Shell, site: Running) -> None:
    ran = shoal.crawl(site.url(), "--ignore-robots", "--max-pages", "1", env={"SHOAL_USER_AGENT": "Otter/2.0"})
    shown = shoal("job", ran.summary["job"]).out
    assert "--ignore-robots, --allow-private, --rate 0, a user agent of its own" in shown and "Otter/2.0" in shown
    (record,) = shoal("job", ran.summary["job"], "--json").lines
    assert record["overrides"] == ["ignore_robots", "allow_private", "rate_0", "user_agent"]
    assert record["user_agent"] == "Otter/2.0"

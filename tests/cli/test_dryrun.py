from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from shoal.jobs.dry_run import PARALLEL_FETCHES, HostLoad
from shoal.model import Limits
from shoal.practice import Running, Shop, running
from tests.cli.conftest import Shell

DRY = ("--dry-run", "--allow-private")


@pytest.fixture
def closed_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    yield port


def test_a_dry_run_fetches_only_robots_txt_and_stores_nothing(shoal: Shell, site: Running) -> None:
    ran = shoal("crawl", site.url(), site.url("/feed.xml"), *DRY)
    assert ran.code == 0
    assert [visit.path for visit in site.log()] == ["/robots.txt"]
    assert not shoal.home.exists()


def test_a_list_is_summarized_by_host_with_disallowed_urls_and_bad_lines(
    shoal: Shell, site: Running, closed_port: int
) -> None:
    silent = f"http://127.0.0.1:{closed_port}/"
    lines = [site.url("/"), "http://[half", site.url("/private/a"), site.url("/#again"), silent, site.url("/feed.xml")]
    ran = shoal("crawl", "-", *DRY, "--rate", "0.5", input="\n".join(lines))
    assert ran.code == 0
    assert ran.out.splitlines()[:2] == ["urls  refused  delay  host", f"   3        1      –  127.0.0.1:{site.port}"]
    for said in (
        f"robots.txt of 127.0.0.1:{site.port} disallows 1, e.g. {site.url('/private/a')}",
        f"127.0.0.1:{closed_port} is unreachable, 1 URL: robots.txt: Failed to connect",
        "line 2: 'http://[half': is not a URL",
        "4 URLs of 2 hosts, 1 duplicate skipped, 1 bad line",
        f"at least 4s at this rate: 127.0.0.1:{site.port} takes longest",
    ):
        assert said in ran.out
    assert "links are followed" not in ran.out


def test_as_json_it_is_one_object(shoal: Shell, site: Running, closed_port: int) -> None:
    lines = [site.url("/"), site.url("/private/a"), "nothing to fetch", f"http://127.0.0.1:{closed_port}/"]
    (told,) = shoal("crawl", "-", *DRY, "--json", input="\n".join(lines)).lines
    assert (told["type"], told["scope"], told["follows_links"]) == ("dry_run", "listed", False)
    assert (told["urls"], told["duplicates"], told["refused"], told["unreachable"]) == (3, 0, 1, 1)
    assert told["bad_lines"] == [{"line": 3, "url": "nothing to fetch", "reason": "malformed"}]
    here, there = told["hosts"]
    assert (here["urls"], here["refused"], here["unreachable"], here["seconds"]) == (2, 1, 0, 0.5)
    assert (there["urls"], there["unreachable"], there["seconds"]) == (1, 1, 0)
    assert there["failure"].startswith("robots.txt: ")


def test_a_crawl_that_follows_links_reports_an_unknown_total(shoal: Shell, site: Running) -> None:
    assert "pages found that way, and their duration, are not included" in shoal("crawl", site.url(), *DRY).out
    assert "not known" not in shoal("crawl", site.url(), *DRY, "--max-depth", "0").out


def test_with_ignore_robots_it_fetches_nothing(shoal: Shell, site: Running) -> None:
    ran = shoal("crawl", site.url("/private/a"), *DRY, "--ignore-robots", "--rate", "0")
    assert ran.code == 0 and "as long as the hosts need" in ran.out
    assert site.log() == []


def test_private_addresses_are_not_contacted_without_allow_private(shoal: Shell, site: Running) -> None:
    ran = shoal("crawl", site.url(), "--dry-run")
    assert "private addresses are not allowed" in ran.out and "none of them would be fetched" in ran.out
    assert site.log() == []


def test_without_a_single_url_it_is_a_usage_error(shoal: Shell) -> None:
    ran = shoal("crawl", "-", *DRY, input="http://[half\n")
    assert ran.code == 2 and "line 1: 'http://[half'" in ran.err
    assert not shoal.home.exists()


def test_robots_of_many_hosts_are_fetched_a_few_at_a_time(shoal: Shell) -> None:
    log = shoal.folder / "site.log"
    with running(Shop(hosts=2 * PARALLEL_FETCHES, troubled=False), log=log, latency_ms=100) as site:
        urls = [site.url(host=address) for address in site.addresses]
        shoal("crawl", "-", *DRY, input="\n".join(urls))
        visits = site.log()
    assert {visit.path for visit in visits} == {"/robots.txt"} and len(visits) == len(urls)
    at_once = max(sum(other.t_start <= visit.t_start < other.t_end for other in visits) for visit in visits)
    assert 1 < at_once <= PARALLEL_FETCHES


def test_a_crawl_delay_and_the_limits_bound_the_duration() -> None:
    host = HostLoad("a.test", urls=12, refused=2, crawl_delay_s=3.0)
    assert host.seconds(0.5, Limits()) == 30.0
    assert host.seconds(5.0, Limits()) == 50.0
    assert host.seconds(0.5, Limits(pages=4)) == host.seconds(0.5, Limits(pages_per_host=4)) == 12.0

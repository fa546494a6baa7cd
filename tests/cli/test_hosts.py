from __future__ import annotations

from shoal.practice import Running
from tests.cli.conftest import Shell
from tests.cli.crawling import RATE, crawling, until
from tests.politeness import max_in_window


def host_of(site: Running) -> str:
    return f"127.0.0.1:{site.port}"


def test_an_idle_host_is_only_shown_with_all(shoal: Shell, site: Running) -> None:
    shoal.crawl(site.url(), "--max-pages", "3")
    ran = shoal("hosts")
    assert (ran.code, ran.out) == (0, "")
    assert "1 of 1 host has nothing to report" in ran.err
    assert host_of(site) in shoal("hosts", "--all").out
    (row,) = shoal("hosts", "--all", "--json").lines
    assert row["host"] == host_of(site) and row["rate"] is None and row["latency_s"] > 0


def test_a_rate_is_set_shown_and_reset(shoal: Shell, site: Running) -> None:
    shoal.crawl(site.url(), "--max-pages", "1")
    (row,) = shoal("hosts", host_of(site), "--rate", "0.5", "--json").lines
    assert row["rate"] == 0.5
    shown = shoal("hosts").out
    assert "0.5/s" in shown and max(map(len, shown.splitlines())) <= 80
    (row,) = shoal("hosts", host_of(site), "--rate", "default", "--json").lines
    assert row["rate"] is None


def test_a_pause_leaves_the_rate_as_it_is(shoal: Shell, site: Running) -> None:
    shoal.crawl(site.url(), "--max-pages", "1")
    shoal("hosts", host_of(site), "--rate", "3")
    paused = shoal("hosts", host_of(site), "--pause").out
    assert f"paused; continue with: shoal hosts {host_of(site)} --unpause" in paused
    (row,) = shoal("hosts", host_of(site), "--json").lines
    assert row["paused"] is True and row["rate"] == 3


def test_a_running_crawl_follows_a_new_rate(shoal: Shell, site: Running) -> None:
    with crawling(shoal, site) as crawl:
        assert shoal("hosts", crawl.host, "--rate", "100").code == 0
        assert crawl.ended().code == 0
    assert crawl.figures()["pages"] > 15
    assert max_in_window(site.log(), site.addresses[0]) > 2 * float(RATE)


def test_a_running_crawl_leaves_a_paused_host_alone(shoal: Shell, site: Running) -> None:
    with crawling(shoal, site) as crawl:
        assert shoal("hosts", crawl.host, "--pause").code == 0
        until(lambda: crawl.figures()["leased"] == 0)
        seen = len(site.log())
        assert crawl.figures()["limiting"] == f"{crawl.host} is paused by the operator"
        assert len(site.log()) == seen
        assert shoal("hosts", crawl.host, "--unpause", "--rate", "100").code == 0
        assert crawl.ended().code == 0
    assert len(site.log()) > seen


def test_a_host_that_refuses_is_shown_with_its_failures_and_slowed(shoal: Shell, site: Running) -> None:
    site.control(status=503)
    shoal("crawl", site.url(), "--allow-private", "--ignore-robots", "--retries", "0")
    shown = shoal("hosts").out
    assert host_of(site) in shown and "1 failure in a row" in shown and "x2.0" in shown


def test_an_unknown_host_is_a_usage_error_that_names_near_ones(shoal: Shell, site: Running) -> None:
    shoal.crawl(site.url(), "--max-pages", "1")
    ran = shoal("hosts", f"127.0.0.9:{site.port}", "--pause")
    assert ran.code == 2
    assert f"did you mean {host_of(site)}?" in ran.err


def test_a_rate_must_be_above_zero(shoal: Shell, site: Running) -> None:
    shoal.crawl(site.url(), "--max-pages", "1")
    for rate in ("0", "-1", "nan", "inf", "fast"):
        ran = shoal("hosts", host_of(site), "--rate", rate)
        assert ran.code == 2
        assert "from 0.0001 to 10,000, or `default`" in ran.err


def test_an_override_needs_a_host(shoal: Shell, site: Running) -> None:
    shoal.crawl(site.url(), "--max-pages", "1")
    ran = shoal("hosts", "--pause")
    assert ran.code == 2
    assert "need a host" in ran.err

"""What a user is promised whatever happens, tried from outside with real kills."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

from shoal.practice import Running, Shop, running
from tests.cli.conftest import Here, Shell
from tests.politeness import fetched_more_than_once

KILLS = 20


def wait_for_pages(site: Running, n: int, deadline_s: float = 120.0) -> None:
    """Until the site has been asked for n requests in all."""
    give_up = time.monotonic() + deadline_s
    while (asked := visits(site)) < n:
        assert time.monotonic() < give_up, f"the site saw only {asked} of {n} requests"
        time.sleep(0.02)


def visits(site: Running) -> int:
    """Counted, not read: it is asked many times a second."""
    site.control()
    return site.log_path.read_bytes().count(b"\n")


def leased_when_interrupted(shoal: Shell) -> int:
    """What was in flight, or had come and was not yet settled; all else is counted as ended or waits."""
    (figures,) = shoal("job", "last", "--json").lines
    assert figures["state"] == "interrupted"
    ended = figures["pages"] + figures["redirects"] + figures["dead"] + sum(figures["dropped"].values())
    assert figures["found"] == figures["queued"] + figures["leased"] + ended
    return int(figures["leased"])


def test_twenty_kills_lose_nothing_and_repeat_only_what_was_in_flight(tmp_path: Path) -> None:
    shoal = Here(tmp_path)
    shop = Shop(hosts=2, categories=4, products=120, troubled=False)
    chance = random.Random(7)
    with running(shop, log=tmp_path / "log", latency_ms=20, jitter_ms=10) as site:
        seeds = [site.url("/", address) for address in shop.addresses]
        options = ["--allow-private", "--rate", "0", "--per-host", "4"]
        command, in_flight_at_kills = ["crawl", *seeds, *options, "--quiet"], 0
        for kill in range(KILLS):
            with shoal.start(*command) as process:
                wait_for_pages(site, 4 + kill * 14)
                time.sleep(chance.random() * 0.03)  # the moment of the kill is what varies
                process.send_signal(signal.SIGKILL)
            command = ["resume", "last", "--quiet"]
            in_flight_at_kills += leased_when_interrupted(shoal)
        ran = shoal("resume", "last", "--json")
        log = site.log()
    assert ran.code == 0, ran.err
    pages = {row["url"]: row["status"] for row in shoal("pages", "last", "--json").lines}
    truth = {
        site.url(path, host): status for host, known in shop.truth().items() for path, status in known.pages.items()
    }
    assert pages == truth
    assert ran.summary["pages"] == len(truth)
    repeats = fetched_more_than_once(log)
    assert sum(n - 1 for n in repeats.values()) <= in_flight_at_kills

"""The database away, standing still and slow under a crawl: no lease ends before its rows, memory is bounded, and the
crawl goes on when it is back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from urllib.parse import urlsplit

import pytest

from shoal.fleet.place import Fleet
from shoal.practice import Running as Site
from shoal.practice import running
from shoal.store.figures import stored_figures
from tests.fleet.proxy import Proxy
from tests.fleet.running import Running
from tests.fleet.shopping import LATENCY_MS, PAGES, RATE, SHOP, Shopping, shopping
from tests.store.postgres_server import PostgresServer, fresh_database

THIRD = PAGES // 3
CONCURRENCY = 4
HELD_MOST = 2 * (CONCURRENCY + 4 * CONCURRENCY)
"""By two processes: in flight, and read but not stored."""
LEAVES_WITHIN_S = 40.0
"""Twenty to end and to save what it holds, a few to say goodbye, and as many again on a busy machine."""
LONG_LEASES = {"SHOAL_LEASE_S": "30", "SHOAL_CONCURRENCY": str(CONCURRENCY)}


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


@pytest.fixture
def database_url(postgres: PostgresServer) -> Iterator[str]:
    yield from fresh_database(postgres, "fleet")


def completed(shop: Shopping) -> int:
    """Pages whose leases have ended."""

    async def look(opened: Fleet) -> int:
        return (await opened.frontier.figures(shop.job)).pages

    return shop.fleet.by_hand(look)


def rows(shop: Shopping) -> int:
    async def look(opened: Fleet) -> int:
        return stored_figures(opened.store, shop.job).pages

    return shop.fleet.by_hand(look)


def test_a_database_that_is_stopped_is_waited_for_and_told_of(
    postgres: PostgresServer, database_url: str, tmp_path: Path
) -> None:
    with shopping(tmp_path, database_url=database_url, env=LONG_LEASES) as shop:
        shop.fleet.until_pages(shop.job, THIRD)
        postgres.stop()
        shop.fleet.until(lambda: all(entry.waiting_for for entry in shop.fleet.roster() if entry.role == "child"))
        roles = [*shop.fleet.workers, *shop.fleet.tends]
        shop.fleet.until(lambda: all("waiting: postgresql" in role.said for role in roles))
        ran, asked = shop.fleet("job", shop.job), len(shop.asked())
        assert (ran.code, "postgresql://127.0.0.1" in ran.err) == (5, True)
        time.sleep(2)
        assert len(shop.asked()) == asked

        stand_still(shop.fleet)
        postgres.start()
        assert completed(shop) <= rows(shop)
        go_on(shop.fleet)
        shop.assert_unharmed(repeats=0)


def test_a_database_that_stands_still_fills_no_memory(
    postgres: PostgresServer, database_url: str, tmp_path: Path
) -> None:
    # Noticed after five seconds, not twenty: by then more would have been asked for than may be held.
    with shopping(tmp_path, database_url=f"{database_url}?tcp_user_timeout=5000", env=LONG_LEASES) as shop:
        shop.fleet.until_pages(shop.job, THIRD)
        with postgres.standing_still():
            done, asked = completed(shop), len(shop.asked())
            ran = shop.fleet("job", shop.job)
            assert (ran.code, "postgresql://127.0.0.1" in ran.err) == (5, True)
            shop.fleet.until(lambda: "waiting: postgresql" in shop.fleet.workers[0].said)
            assert len(shop.asked()) - asked <= HELD_MOST < PAGES - THIRD
            # What was stored by then may have been told of since.
            assert completed(shop) - done <= 2 * CONCURRENCY
        shop.assert_unharmed(repeats=0)


@pytest.mark.parametrize("redis_too", [False, True], ids=["alone", "and Redis too"])
def test_a_worker_that_is_told_to_end_while_the_database_stands_still_leaves_soon(
    redis_too: bool, postgres: PostgresServer, database_url: str, tmp_path: Path
) -> None:
    with shopping(tmp_path, database_url=database_url, env=LONG_LEASES) as shop:
        (worker,) = shop.fleet.workers
        shop.fleet.until_pages(shop.job, THIRD)
        with postgres.standing_still():
            if redis_too:
                shop.fleet.redis.stand_still()
            worker.terminate()
            assert worker.ended(LEAVES_WITHIN_S) == 0, worker.said
            assert "Traceback" not in worker.said
            shop.fleet.redis.go_on()
        shop.fleet.start_worker()
        shop.assert_unharmed(repeats=HELD_MOST)


def test_slow_commits_slow_no_host_down(database_url: str, tmp_path: Path) -> None:
    port = urlsplit(database_url).port
    assert port is not None
    # One process in one slice: how long another takes to take the job up is not what is measured.
    env = {"SHOAL_SLICE_S": "60"}
    with (
        Proxy(port) as way,
        running(SHOP, log=tmp_path / "site.log", latency_ms=LATENCY_MS) as site,
        Running(tmp_path, 1, 1, database_url=database_url.replace(f":{port}", f":{way.port}"), env=env) as fleet,
    ):
        quick = page_rate(fleet, site)
        way.delay_s = lambda piece: 0.2 if b"COMMIT" in piece else 0.0
        slow = page_rate(fleet, site)
    print(f"{slow:.2f} pages/s of a host with slow commits, {quick:.2f} without")
    assert quick > 0.9 * RATE
    assert slow > 0.9 * quick


def page_rate(fleet: Running, site: Site) -> float:
    """Of each host, while a job crawls that knows all pages from the start."""
    urls = [site.url(path, host) for host, truth in SHOP.truth().items() for path in truth.pages]
    before = len(site.log())
    job = fleet.submit(*urls, "--max-depth", "0", "--rate", str(RATE), "--allow-private")
    assert fleet.until_ended(job)["pages"] == len(urls)
    log = [entry for entry in site.log()[before:] if entry.path != "/robots.txt"]
    return mean(rate_at([entry.t_start for entry in log if entry.host == host]) for host in SHOP.addresses)


def rate_at(starts: list[float]) -> float:
    return (len(starts) - 1) / (starts[-1] - starts[0])


def stand_still(fleet: Running) -> None:
    for role in (*fleet.workers, *fleet.tends):
        role.stand_still()


def go_on(fleet: Running) -> None:
    for role in (*fleet.workers, *fleet.tends):
        role.go_on()

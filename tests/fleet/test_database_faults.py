"""The database away, standing still and slow under a crawl: no lease ends before its rows, memory is bounded, and the
crawl goes on when it is back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from shoal.fleet.fleet import Fleet
from shoal.practice import LogEntry, running
from shoal.store.results.job_figures import stored_figures
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


def test_a_stopped_database_is_waited_for_and_reported(
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


def test_a_frozen_database_does_not_fill_memory(postgres: PostgresServer, database_url: str, tmp_path: Path) -> None:
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
def test_a_worker_stops_soon_while_the_database_is_frozen(
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


def test_slow_commits_do_not_slow_down_any_host(database_url: str, tmp_path: Path) -> None:
    port = urlsplit(database_url).port
    assert port is not None
    with (
        Proxy(port) as way,
        running(SHOP, log=tmp_path / "site.log", latency_ms=LATENCY_MS) as site,
        Running(tmp_path, 1, 1, database_url=database_url.replace(f":{port}", f":{way.port}")) as fleet,
    ):
        urls = [site.url(path, host) for host, truth in SHOP.truth().items() for path in truth.pages]
        job = fleet.submit(*urls, "--max-depth", "0", "--rate", str(RATE), "--per-host", "1", "--allow-private")
        fleet.until_pages(job, SHOP.hosts)
        way.hold(lambda piece: b"COMMIT" in piece)
        asked = len(site.log())
        # If a host were asked again only when its last page is stored, there would be one of each.
        fleet.until(lambda: all(n > 2 for n in by_host(site.log()[asked:])))
        way.let_go()
        assert fleet.until_ended(job)["pages"] == len(urls)


def by_host(log: list[LogEntry]) -> list[int]:
    """How many pages were asked of each."""
    return [sum(entry.host == host and entry.path != "/robots.txt" for entry in log) for host in SHOP.addresses]


def stand_still(fleet: Running) -> None:
    for role in (*fleet.workers, *fleet.tends):
        role.stand_still()


def go_on(fleet: Running) -> None:
    for role in (*fleet.workers, *fleet.tends):
        role.go_on()

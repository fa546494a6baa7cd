"""A job's figures for those who ask all the time: fresh enough, and at a price the crawl does not notice."""

from __future__ import annotations

import time
from dataclasses import replace

from shoal.control.figures import COUNTED_EVERY_S, TOO_OLD
from shoal.store.batch import Batch, save
from tests.control.calling import Api
from tests.fleet.by_hand import FleetShell
from tests.frontier.redis_server import RedisServer
from tests.store import make

URL = "https://example.com/"
ASKED = 30


def calls(redis: RedisServer, command: str) -> int:
    return int(redis.client.info("commandstats")[f"cmdstat_{command}"]["calls"])


def test_who_asks_often_costs_redis_one_call_each_time(api: Api, fleet: FleetShell) -> None:
    job = api.submit(URL)
    fleet.begin(job)
    fleet.man()
    assert api.get(f"/jobs/{job}")["queued"] == 1
    functions, looks = calls(fleet.redis, "fcall"), calls(fleet.redis, "info")
    for _ in range(ASKED):
        assert api.get(f"/jobs/{job}")["state"] == "running"
    assert calls(fleet.redis, "fcall") - functions == ASKED
    # Whether it has room is asked now and then, and by this test twice.
    assert calls(fleet.redis, "info") - looks < ASKED / 2


def test_what_is_stored_is_told_soon_to_who_asks_often(api: Api, fleet: FleetShell) -> None:
    job = with_a_page_that_was_not_there_before(api, fleet)
    deadline = time.monotonic() + 10
    while api.get(f"/jobs/{job}")["hosts"] == 0:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_who_asks_again_after_a_while_is_told_what_is_stored_now(api: Api, fleet: FleetShell) -> None:
    job = with_a_page_that_was_not_there_before(api, fleet)
    # Longer than what was counted once is told.
    time.sleep(TOO_OLD * COUNTED_EVERY_S + 0.1)
    assert api.get(f"/jobs/{job}")["hosts"] == 1


def with_a_page_that_was_not_there_before(api: Api, fleet: FleetShell) -> str:
    job = api.submit(URL)
    fleet.begin(job)
    fleet.man()
    assert api.get(f"/jobs/{job}")["hosts"] == 0
    save(api.bridge.store, Batch(job, pages=[replace(make.page(1), job=job)]))
    return job

"""A job's figures for those who ask all the time: fresh enough, and at a price the crawl does not notice."""

from __future__ import annotations

import time
from dataclasses import replace

from shoal.jobs.overview_cache import COUNTED_EVERY_S
from shoal.store.crawl.save_batch import Batch, save
from tests.cli.crawling import until
from tests.control.calling import Api
from tests.fleet.by_hand import FleetShell
from tests.frontier.redis_server import RedisServer
from tests.store import make

URL = "https://example.com/"
ASKED = 30


def calls(redis: RedisServer, command: str) -> int:
    return int(redis.client.info("commandstats")[f"cmdstat_{command}"]["calls"])


def test_polling_costs_redis_one_call_per_request(api: Api, fleet: FleetShell) -> None:
    job = api.submit(URL)
    fleet.begin(job)
    fleet.man()
    assert api.get(f"/jobs/{job}")["queued"] == 1
    functions, looks = calls(fleet.redis, "fcall"), calls(fleet.redis, "info")
    began = time.monotonic()
    for _ in range(ASKED):
        assert api.get(f"/jobs/{job}")["state"] == "running"
    # One more whenever the stored rows are counted again.
    counted = 1 + (time.monotonic() - began) / COUNTED_EVERY_S
    assert ASKED <= calls(fleet.redis, "fcall") - functions <= ASKED + counted
    # Whether it has room is asked now and then, and by this test twice.
    assert calls(fleet.redis, "info") - looks < ASKED / 2


def test_polling_soon_shows_what_is_stored(api: Api, fleet: FleetShell) -> None:
    job = with_a_page_that_was_not_there_before(api, fleet)
    until(lambda: api.get(f"/jobs/{job}")["hosts"] == 1)


def test_all_figures_of_an_answer_are_of_one_moment(api: Api, fleet: FleetShell) -> None:
    job = api.submit(URL, f"{URL}2")
    fleet.begin(job)
    fleet.man()
    first = api.get(f"/jobs/{job}")
    (lease, *_) = fleet.lease()
    save(api.bridge.store, Batch(job, pages=[replace(make.page(1), job=job, fingerprint=lease.target.fingerprint)]))
    fleet.complete(lease)
    while (seen := api.get(f"/jobs/{job}"))["pages"] == 0:
        assert seen == {**first, "limiting": seen["limiting"]}, "the frontier knew of the page before the store did"
    assert (seen["found"], seen["queued"] + seen["leased"], seen["by_status"]) == (2, 1, {"200": 1})


def with_a_page_that_was_not_there_before(api: Api, fleet: FleetShell) -> str:
    job = api.submit(URL)
    fleet.begin(job)
    fleet.man()
    assert api.get(f"/jobs/{job}")["hosts"] == 0
    save(api.bridge.store, Batch(job, pages=[replace(make.page(1), job=job)]))
    return job

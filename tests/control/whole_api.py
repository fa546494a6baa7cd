"""Every call of the API, and one job that has something of everything, for tests that make all calls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from shoal.control.app import ROUTES
from shoal.store.crawl.save_batch import Batch, save
from tests.control.calling import Api, api_over
from tests.control.test_records import page, with_dead
from tests.fleet.by_hand import FleetShell

OPERATIONS = [operation for routes in ROUTES for operation in routes.operations]


@contextmanager
def api_with_job(fleet: FleetShell) -> Iterator[tuple[Api, str]]:
    with api_over(fleet.settings) as api:
        job = with_dead(api)
        save(api.bridge.store, Batch(job, pages=[page(job, n) for n in range(5)]))
        fleet.begin(job)
        fleet.man()
        yield api, job

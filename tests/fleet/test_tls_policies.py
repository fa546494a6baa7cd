"""Jobs of one worker that check certificates differently share nothing that TLS protects."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

from shoal.fleet.load_worker_jobs import FleetJobLoader
from shoal.model import Input, JobSpec
from shoal.store.archive.archive_folders import Archive
from shoal.store.archive.spools import ALONE, Spools
from shoal.store.async_store import AsyncStore
from shoal.store.jobs import create_job
from shoal.store.store import Store
from shoal.urls import Exclusions, Params, target
from tests.fetch.secure import certify

URL = "https://example.com/"


def _same(spec: JobSpec) -> JobSpec:
    return spec


async def test_each_policy_has_its_own_fetcher_and_robots_files(tmp_path: Path) -> None:
    certificates = Path(certify(tmp_path / "keys").ca_file).read_text()
    specs = {
        "usual": JobSpec("a"),
        "also usual": JobSpec("b"),
        "insecure": JobSpec("c", insecure=True),
        "trusting": JobSpec("d", ca_certificates=certificates),
    }
    store = Store.open(tmp_path / "shoal.db")
    async_store, spools = AsyncStore(store), Spools(Archive.at(None, tmp_path), "here", ALONE)

    async def unused(job: str) -> None:
        raise AssertionError(job)

    loader = FleetJobLoader(store, async_store, spools, Exclusions(), (), False, unused)
    for job, spec in specs.items():
        create_job(store, job, partial(_same, spec), [Input(1, URL, target(URL, Params(), "host"))], time.time())
    loaded = {job: await loader.load(job) for job in specs}
    assert loaded["usual"].fetcher is loaded["also usual"].fetcher
    assert len({id(active_job.fetcher) for active_job in loaded.values()}) == 3
    assert [job for job, active_job in loaded.items() if active_job.shares_robots] == ["usual", "also usual"]
    await loader.close()
    async_store.close()
    spools.close()
    store.close()

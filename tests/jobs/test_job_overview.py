"""The figures of an overview agree while the job runs: what is stored, found, queued and in progress."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shoal.embedded.crawl import Crawl
from shoal.embedded.home import Home
from shoal.engine.job_start import seed_offers, seeds_of, terms_of
from shoal.frontier.contract import Caller
from shoal.jobs.job_overview import Overview, overview
from shoal.model import Completion, Input, JobSpec, JobState, Lease, Outcome, Politeness
from shoal.practice import Shop, running
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.job_state import set_state
from shoal.store.jobs import create_job, load_job
from shoal.urls import Exclusions, Params, target
from tests.store import make

JOB = "j1"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with Home(tmp_path / "home") as home:
        yield home


def check_agree(seen: Overview) -> dict[str, Any]:
    figures = seen.as_dict()
    ended = figures["pages"] + figures["redirects"] + figures["dead"] + sum(figures["dropped"].values())
    assert figures["found"] == figures["queued"] + figures["leased"] + ended
    assert figures["pages"] == sum(figures["by_status"].values())
    return figures


def add_job(home: Home, *urls: str) -> None:
    spec = JobSpec("test", politeness=Politeness(rate=0, per_host=8), retries=0, allow_private=True)
    inputs = [Input(line, url, target(url, Params(), "host")) for line, url in enumerate(urls, 1)]
    create_job(home.store, JOB, lambda: spec, inputs, time.time())


async def begin(home: Home, caller: Caller) -> list[Lease]:
    """Leases two of the job's requests."""
    job = load_job(home.store, JOB)
    await home.frontier.open_job(JOB, terms_of(job.spec, 0.0))
    for seeds in seeds_of(home.store, JOB):
        await home.frontier.offer(caller.next(), seed_offers(job, seeds))
    set_state(home.store, JOB, JobState.RUNNING, time.time())
    return await home.frontier.lease(caller.next(), 2)


def save_page(home: Home, lease: Lease) -> None:
    page = replace(make.page(1), job=JOB, fingerprint=lease.target.fingerprint, url=lease.target.url, items=[])
    save(home.store, Batch(JOB, pages=[page]))


async def test_a_page_that_is_stored_and_not_yet_complete_is_one_page(home: Home) -> None:
    add_job(home, *(f"http://example.com/{n}" for n in range(5)))
    caller = Caller("test")
    leases = await begin(home, caller)
    assert check_agree(await overview(home, JOB)).items() >= {"found": 5, "queued": 3, "leased": 2, "pages": 0}.items()
    save_page(home, leases[0])
    stored = check_agree(await overview(home, JOB))
    assert stored.items() >= {"found": 5, "queued": 3, "leased": 1, "pages": 1, "by_status": {"200": 1}}.items()
    await home.frontier.complete(caller.next(), [Completion(leases[0].token, Outcome.DONE)])
    assert check_agree(await overview(home, JOB)) == stored


async def test_the_figures_of_a_crawl_agree_whenever_one_looks(home: Home) -> None:
    with running(Shop(categories=2, products=20)) as site:
        add_job(home, site.url())
        over = False

        async def look() -> list[dict[str, Any]]:
            seen = []
            while not over:
                seen.append(check_agree(await overview(home, JOB)))
                await asyncio.sleep(0)
            return seen

        looking = asyncio.create_task(look())
        report = await Crawl(home, JOB, 8, Exclusions()).run(lambda _result: None)
        over = True
        seen = await looking
    end = check_agree(report.overview)
    assert end["leased"] == end["queued"] == 0 and end["pages"] > 20
    assert [figures["found"] for figures in seen] == sorted(figures["found"] for figures in seen)
    assert any(0 < figures["pages"] < end["pages"] for figures in seen), "nobody looked while it ran"

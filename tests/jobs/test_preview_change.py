"""The effect of a change on the queue, before it is made: the same for a home and a fleet."""

from __future__ import annotations

import asyncio
from pathlib import Path

from shoal.embedded.home import Home
from shoal.engine.job_start import seed_offers, seeds_of, terms_of
from shoal.frontier.contract import Caller
from shoal.jobs.preview_change import Preview, preview_change
from shoal.model import Input, JobSpec, Offer, Target, Trail
from shoal.store.jobs import create_job, load_job
from shoal.urls import Params, target

SITE = "https://site.test"


def aim(path: str) -> Target:
    return target(f"{SITE}{path}", Params(), "host")


async def previewed(home: Home, **changes: object) -> Preview:
    create_job(home.store, "j", lambda: JobSpec("j"), [Input(1, SITE, aim("/"))], 1.0)
    job = load_job(home.store, "j")
    await home.frontier.open_job("j", terms_of(job.spec, 0.0))
    caller = Caller("test")
    for seeds in seeds_of(home.store, "j"):
        await home.frontier.offer(caller.next(), seed_offers(job, seeds))
    links = [aim(f"/{folder}/{n}") for folder in ("kept", "dropped") for n in range(100)]
    await home.frontier.offer(caller.next(), [Offer("j", links, Trail(depth=1, parent=aim("/").fingerprint))])
    return await preview_change(home, job, job.spec.with_fields(changes))


def test_excluded_urls_in_the_queue_are_counted(tmp_path: Path) -> None:
    with Home(tmp_path / "home") as home:
        seen = asyncio.run(previewed(home, exclude=(f"{SITE}/dropped/*",)))
    assert seen == Preview(queued=201, looked_at=201, dropped=100)
    assert seen.as_text() == "The change would drop 100 of 201 queued URLs."

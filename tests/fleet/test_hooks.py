"""Hooks on a fleet: of all workers that load a job one runs `on_start`, and one runs `on_finish` when it has ended."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from shoal.engine.job_hooks import begin_job, finish_job
from shoal.errors import UsageError
from shoal.fleet.load_worker_jobs import FleetJobLoader
from shoal.model import Input, JobSpec, JobState
from shoal.spiders.job_hooks import HookFailed, JobInfo
from shoal.spiders.load_spider import load_spider
from shoal.store.archive.archive_folders import Archive
from shoal.store.archive.spools import ALONE, Spools
from shoal.store.async_store import AsyncStore
from shoal.store.job_state import set_state
from shoal.store.jobs import create_job, load_job
from shoal.store.store import Store
from shoal.urls import Exclusions, Params, target

URL = "https://x.test/"
SHOP = f"""\
import os, time
from pathlib import Path
from shoal import Request, spider

NOTES = Path(__file__).parent

def note(name, text):
    with (NOTES / name).open("a") as file:
        file.write(text)

@spider("{URL}")
def shop(page): yield

@shop.on_start
def begin(job):
    note("began", "x")
    while not (NOTES / "go").exists():
        time.sleep(0.01)
    if (NOTES / "fail").exists():
        raise ValueError("no login")
    if (NOTES / "leave").exists():
        os._exit(9)
    return {{"token": 1}}

@shop.on_finish
def end(job):
    note("ended", job.state)
"""


@dataclass
class Place:
    folder: Path
    store: Store
    async_store: AsyncStore
    cancelled: list[str] = field(default_factory=list)

    def loader(self) -> FleetJobLoader:
        async def cancel(job: str) -> None:
            self.cancelled.append(job)

        spools = Spools(Archive.at(None, self.folder), "here", ALONE)
        return FleetJobLoader(self.store, self.async_store, spools, Exclusions(), (), False, cancel)

    def noted(self, name: str) -> str:
        path = self.folder / name
        return path.read_text() if path.exists() else ""

    def wait_until_begun(self) -> None:
        deadline = time.monotonic() + 30
        while not self.noted("began") and time.monotonic() < deadline:
            time.sleep(0.01)


@contextmanager
def place(folder: Path) -> Iterator[Place]:
    (folder / "shop.py").write_text(SHOP)
    store = Store.open(folder / "shoal.db")
    async_store = AsyncStore(store)
    spec = JobSpec("shop", spider=f"{folder / 'shop.py'}:shop", archive=False)
    create_job(store, "job", lambda: spec, [Input(1, URL, target(URL, Params(), "host"))], time.time(), fleet=True)
    set_state(store, "job", JobState.RUNNING, time.time())
    try:
        yield Place(folder, store, async_store)
    finally:
        async_store.close()
        store.close()


async def test_one_worker_runs_on_start_while_the_others_wait_for_it(tmp_path: Path) -> None:
    with place(tmp_path) as here:
        first, second = here.loader(), here.loader()
        loading = asyncio.create_task(first.load("job"))
        await asyncio.to_thread(here.wait_until_begun)
        with pytest.raises(UsageError, match="another process runs on_start"):
            await second.load("job")
        (tmp_path / "go").touch()
        assert (await loading).shared == {"token": 1}
        assert (await second.load("job")).shared == {"token": 1}
        assert here.noted("began") == "x"
        await first.finish_ended()
        assert here.noted("ended") == ""
        set_state(here.store, "job", JobState.DONE, time.time())
        await asyncio.gather(first.finish_ended(), second.finish_ended())
        await second.finish_ended()
        assert here.noted("ended") == "done"
        await first.close()
        await second.close()


async def test_a_failing_on_start_ends_the_job_and_empties_its_queue(tmp_path: Path) -> None:
    with place(tmp_path) as here:
        (tmp_path / "go").touch()
        (tmp_path / "fail").touch()
        loader = here.loader()
        with pytest.raises(HookFailed, match="no login"):
            await loader.load("job")
        job = load_job(here.store, "job")
        assert (job.state, here.cancelled) == (JobState.FAILED, ["job"])
        assert job.reason is not None and job.reason.startswith("on_start failed: shop.begin: ValueError: no login")
        with pytest.raises(UsageError):
            await loader.load("job")
        assert here.noted("began") == "x"
        await loader.close()


async def test_a_hook_cannot_end_the_worker(tmp_path: Path) -> None:
    with place(tmp_path) as here:
        (tmp_path / "go").touch()
        (tmp_path / "leave").touch()
        loader = here.loader()
        with pytest.raises(HookFailed, match=r"on_start failed: shop.begin: SystemExit: os._exit\(9\) \(shop.py:"):
            await loader.load("job")
        assert load_job(here.store, "job").state is JobState.FAILED
        assert os._exit.__module__ == "posix"
        await loader.close()


async def test_a_hook_that_never_ends_fails_after_its_time(tmp_path: Path) -> None:
    with place(tmp_path) as here:
        job = load_job(here.store, "job")
        spider = load_spider(job.spec.spider or "")
        with pytest.raises(HookFailed, match=r"on_start failed: shop.begin: it took more than 0.2 s"):
            await begin_job(here.async_store, job, spider, alone=False, limit_s=0.2)
        assert end_of_hook_threads() == []
        over = threading.Event()

        def wait(job: JobInfo) -> None:
            over.wait()

        spider.hooks["on_finish"] = wait
        set_state(here.store, "job", JobState.DONE, time.time())
        failure = await finish_job(here.async_store, load_job(here.store, "job"), spider, alone=False, limit_s=0.2)
        assert failure == "on_finish failed: shop.wait: it took more than 0.2 s"
        over.set()
        assert end_of_hook_threads() == []


def end_of_hook_threads() -> list[threading.Thread]:
    """Those that do not end."""
    hooks = [thread for thread in threading.enumerate() if thread.name == "hook"]
    for thread in hooks:
        thread.join(30)
    return [thread for thread in hooks if thread.is_alive()]


async def test_a_spider_that_cannot_be_loaded_any_more_is_not_tried_all_the_time(tmp_path: Path) -> None:
    with place(tmp_path) as here:
        (tmp_path / "go").touch()
        loader = here.loader()
        await loader.load("job")
        set_state(here.store, "job", JobState.DONE, time.time())
        (tmp_path / "shop.py").write_text(
            "with open(__file__ + '.tries', 'a') as file: file.write('x')\nraise ValueError('broken')\n"
        )
        await loader.finish_ended()
        await loader.finish_ended()
        assert here.noted("shop.py.tries") == "x"
        await loader.close()

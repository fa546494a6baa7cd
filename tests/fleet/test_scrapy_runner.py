"""How a worker looks after Scrapy processes: what must not stop it, and what it remembers of processes and jobs."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shoal.errors import Unavailable
from shoal.fleet.scrapy_ends import EndsToTell
from shoal.fleet.scrapy_jobs import ScrapyAnnouncer, ScrapyJob, ScrapySlots
from shoal.fleet.scrapy_logs import KEEP_S, remove_old_logs, scrapy_logs
from shoal.fleet.scrapy_process import has_project
from shoal.fleet.scrapy_runner import ScrapyRunner
from shoal.frontier.redis import PoolLimits, RedisFrontier
from shoal.model import JobSpec, JobState, Lane, ScrapyRun
from shoal.settings import Settings
from shoal.store.async_store import AsyncStore
from shoal.store.job_state import set_state
from shoal.store.jobs import create_job, load_job
from shoal.store.store import Store
from tests.frontier.redis_server import RedisServer

JOBS = "{shoal:0}:scrapy:jobs"


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    folder = tmp_path / "redis"
    folder.mkdir()
    with RedisServer(folder) as server:
        yield server


def until(is_so: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def slot(job: str) -> str:
    return f"{{shoal:0}}:scrapy:slot:{job}:0"


def announced(id: str, project: Path) -> str:
    return ScrapyJob(id, "map", ScrapyRun(str(project), {}, {}), Lane.EXPRESS, 0).to_json()


def test_a_project_that_cannot_be_looked_at_is_not_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, code in {"raises": "raise RuntimeError('no key')", "exits": "raise SystemExit(1)", "works": ""}.items():
        (tmp_path / f"project_that_{name}").mkdir()
        (tmp_path / f"project_that_{name}" / "__init__.py").write_text(code)
        (tmp_path / f"project_that_{name}" / "settings.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    assert has_project("project_that_works.settings")
    assert not has_project("project_that_raises.settings") and not has_project("project_that_exits.settings")
    assert not has_project("/" + 300 * "x")


def test_a_job_that_cannot_be_read_does_not_end_the_thread_of_a_worker(
    redis: RedisServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    unknown = {**json.loads(announced("j1", tmp_path)), "of_a_newer_version": 1}
    redis.client.hset(JOBS, "j1", json.dumps(unknown))
    runner = ScrapyRunner(Settings(home=tmp_path, redis_url=redis.url), "w1", list(Lane), lambda: False)
    runner.start()
    until(lambda: "of_a_newer_version" in caplog.text)
    redis.client.hdel(JOBS, "j1")
    redis.client.hset(JOBS, "j2", announced("j2", tmp_path))
    until(lambda: redis.client.get(slot("j2")) == b"w1")
    runner.end()
    assert redis.client.get(slot("j2")) is None


def test_a_process_that_crashes_five_times_in_a_row_is_given_up(
    redis: RedisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, starts = tmp_path / "python", tmp_path / "starts"
    program.write_text(f"#!/bin/sh\necho start >> {starts}\necho out of luck >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    redis.client.hset(JOBS, "j1", announced("j1", tmp_path))
    runner = ScrapyRunner(Settings(home=tmp_path, redis_url=redis.url), "w1", list(Lane), lambda: False)
    runner.start()
    until(lambda: redis.client.hexists("{shoal:0}:scrapy:failed", "j1"))
    runner.end()
    reason = redis.client.hget("{shoal:0}:scrapy:failed", "j1")
    assert reason.startswith(b"its process crashed 5 times: it exited with code 1: out of luck; log: ")
    assert starts.read_text().split() == ["start"] * 5 and redis.client.get(slot("j1")) is None


def test_a_redis_that_is_away_when_a_process_ends_is_told_later(redis: RedisServer, tmp_path: Path) -> None:
    ends = EndsToTell()
    ends.closed(("j1", 0))
    ends.given_up(("j2", 0), "it crashed")
    ends.finished(("j3", 0), 0)

    async def tell(patience_s: float) -> None:
        frontier = RedisFrontier(redis.url, PoolLimits(connections=1, patience_s=patience_s))
        try:
            await ends.tell(ScrapySlots(frontier.connection, "w1"))
        finally:
            await frontier.close()

    redis.client.hset(JOBS, "j1", announced("j1", tmp_path))
    for job in ("j1", "j2", "j3"):
        redis.client.set(slot(job), "w1")
    redis.kill()
    with pytest.raises(Unavailable):
        asyncio.run(tell(patience_s=0))
    redis.start()
    asyncio.run(tell(patience_s=60))
    assert redis.client.mget(slot("j1"), slot("j2"), slot("j3")) == [b"closed", None, None]
    assert redis.client.hgetall("{shoal:0}:scrapy:failed") == {b"j2": b"it crashed"}


def test_a_job_that_is_reopened_after_its_spider_closed_itself_has_processes_again(
    redis: RedisServer, tmp_path: Path
) -> None:
    secrets = {"token": "hush"}, {"MAIL_PASS": "hush"}
    spec = JobSpec("map", scrapy="map", scrapy_run=ScrapyRun(str(tmp_path), *secrets, processes=2))

    async def reopen(store: Store) -> None:
        create_job(store, "j1", lambda: spec, [], 1.0, fleet=True)
        job = load_job(store, "j1")
        frontier, async_store = RedisFrontier(redis.url, PoolLimits(connections=1)), AsyncStore(store)
        announcer, slots = ScrapyAnnouncer(frontier, async_store), ScrapySlots(frontier.connection, "w1")
        await announcer.announce([job])
        assert b"hush" not in redis.client.hget(JOBS, "j1")
        found = (await slots.jobs())["j1"]
        assert [await slots.claim(found), await slots.claim(found), await slots.claim(found)] == [0, 1, None]
        await slots.close("j1", 0)
        assert await slots.claim(found) is None
        await announcer.announce([])
        # The last process ends later than its job.
        await slots.close("j1", 1)
        await announcer.announce([job])
        assert [await slots.claim(found), await slots.claim(found), await slots.claim(found)] == [0, 1, None]
        async_store.close()
        await frontier.close()

    with Store.open(tmp_path / "shoal.db") as store:
        asyncio.run(reopen(store))


def test_a_job_that_is_reopened_before_its_last_process_is_gone_has_processes_again(
    redis: RedisServer, tmp_path: Path
) -> None:
    spec = JobSpec("map", scrapy="map", scrapy_run=ScrapyRun(str(tmp_path), {}, {}, processes=2))

    async def reopen(store: Store) -> None:
        create_job(store, "j1", lambda: spec, [], 1.0, fleet=True)
        set_state(store, "j1", JobState.RUNNING, 2.0)
        job = load_job(store, "j1")
        frontier, async_store = RedisFrontier(redis.url, PoolLimits(connections=1)), AsyncStore(store)
        announcer, slots = ScrapyAnnouncer(frontier, async_store), ScrapySlots(frontier.connection, "w1")
        await announcer.announce([job])
        found = (await slots.jobs())["j1"]
        # It ended and was reopened between two rounds of tend, and only then its processes are reported as closed.
        assert await slots.claim(found) == 0
        await slots.close("j1", 0)
        assert await slots.claim(found) == 1
        await announcer.announce([job])
        await announcer.announce([job])
        assert await slots.claim(found) is None
        await slots.close("j1", 1)
        for _ in range(2):
            assert await slots.claim(found) is None
            await announcer.announce([job])
        assert await slots.claim(found) == 0
        async_store.close()
        await frontier.close()

    with Store.open(tmp_path / "shoal.db") as store:
        asyncio.run(reopen(store))


def test_old_logs_are_removed_unless_their_job_is_unfinished(tmp_path: Path) -> None:
    remove_old_logs(tmp_path, ())
    folder = scrapy_logs(tmp_path)
    folder.mkdir(parents=True)
    for name in ("old-1-0.log", "old-1-0.log.1", "old-1-11.log", "old-2-0.log", "new-1-0.log"):
        (folder / name).touch()
        age_s = KEEP_S + (60 if name.startswith("old") else -3600)
        os.utime(folder / name, times=(time.time() - age_s,) * 2)
    remove_old_logs(tmp_path, {"old-2"})
    assert sorted(log.name for log in folder.iterdir()) == ["new-1-0.log", "old-2-0.log"]

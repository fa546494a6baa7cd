"""Scrapy jobs that the fleet runs itself: tend announces them in Redis, and workers run their processes.

{shoal:0}:scrapy:jobs              hash: job -> what a worker needs to choose it, as JSON
{shoal:0}:scrapy:failed            hash: job -> why no process of it can run
{shoal:0}:scrapy:slot:<job>:<n>    the id of the worker that runs process n of the job; CLOSED: it needs none
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Self

from shoal.errors import FrontierLost
from shoal.frontier.redis import RedisFrontier
from shoal.frontier.redis.connection_pool import RedisConnection
from shoal.frontier.redis.own_workers import OwnWorkers
from shoal.frontier.redis.shard import TAG
from shoal.model import JobState, Lane, ScrapyRun
from shoal.store.async_store import AsyncStore
from shoal.store.job_state import fail_unless_ended
from shoal.store.jobs import Job
from shoal.telemetry import EventLogger

CLAIM_S = 15
"""A worker that is silent for longer loses its processes to others."""
CLOSED = "closed"
CLOSED_S = 30 * 86_400
_JOBS = f"{TAG}:scrapy:jobs"
_FAILED = f"{TAG}:scrapy:failed"
_RENEW = """
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
return 1
"""
_CLOSE = """
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
    redis.call('SET', KEYS[2], ARGV[2], 'EX', ARGV[3])
elseif redis.call('GET', KEYS[2]) == ARGV[4] then
    redis.call('DEL', KEYS[2])
end
"""
_WITHDRAW = """
redis.call('HDEL', KEYS[1], ARGV[1])
for i = 2, #KEYS do
    if redis.call('GET', KEYS[i]) == ARGV[2] then redis.call('DEL', KEYS[i]) end
end
"""
_REOPEN = "for _, key in ipairs(KEYS) do if redis.call('GET', key) == ARGV[1] then redis.call('DEL', key) end end"
_FREE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"

log = EventLogger(__name__)


@dataclass(frozen=True, slots=True)
class ScrapyJob:
    """What a worker needs to know of a job."""

    id: str
    spider: str
    run: ScrapyRun
    lane: Lane
    priority: int

    @classmethod
    def of(cls, job: Job) -> Self:
        assert job.spec.scrapy is not None and job.spec.scrapy_run is not None
        # A process reads the rest in the database. It may contain secrets.
        run = replace(job.spec.scrapy_run, arguments={}, settings={})
        return cls(job.id, job.spec.scrapy, run, job.spec.lane, job.spec.priority)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        raw = json.loads(text)
        return cls(**{**raw, "run": ScrapyRun(**raw["run"]), "lane": Lane(raw["lane"])})


class ScrapyAnnouncer:
    """The part of tend."""

    def __init__(self, frontier: RedisFrontier, async_store: AsyncStore) -> None:
        self._frontier = frontier
        self._command = frontier.connection.command
        self._async_store = async_store
        self._closed: set[str] = set()
        """Jobs that had only closed processes in the last round."""

    async def announce(self, unfinished: Sequence[Job]) -> None:
        """Safe to repeat. Raises Unavailable."""
        managed = {job.id: job for job in unfinished if job.spec.scrapy_run is not None}
        await self._fail(managed)
        wanted = {id: ScrapyJob.of(job).to_json() for id, job in managed.items() if _may_run(job)}
        known = _decoded(await self._command("HGETALL", _JOBS))
        if changed := {id: text for id, text in wanted.items() if known.get(id) != text}:
            await self._command("HSET", _JOBS, *(word for pair in changed.items() for word in pair))
        for id in known.keys() - wanted.keys():
            await self._withdraw(id, processes=json.loads(known[id])["run"]["processes"])
        await self._reopen([job for job in managed.values() if job.state is JobState.RUNNING])

    async def _reopen(self, running: Sequence[Job]) -> None:
        """The last process that closes itself ends its job. If the job runs all the same, somebody reopened it before
        that process was gone, and none would ever start. Two rounds: the job may have ended since it was read."""
        closed = {job.id: job for job in running if await self._is_closed(job)}
        for id in closed.keys() & self._closed:
            slots = _slots(closed[id])
            await self._command("EVAL", _REOPEN, len(slots), *slots, CLOSED)
            log.info("scrapy_reopened", f"job {id} was reopened while its last process ended: it starts again", job=id)
        self._closed = set(closed)

    async def _is_closed(self, job: Job) -> bool:
        found = await self._command("MGET", *_slots(job))
        return all(holder == CLOSED.encode() for holder in found) and not await self._alive(job.id)

    async def _alive(self, job: str) -> list[str]:
        return await OwnWorkers(self._frontier.connection, job).alive()

    async def _withdraw(self, id: str, processes: int) -> None:
        """Its closed processes may start again if it is reopened. Claims stay: their processes may still run."""
        slots = [_slot(id, slot) for slot in range(processes)]
        await self._command("EVAL", _WITHDRAW, 1 + len(slots), _JOBS, *slots, id, CLOSED)

    async def _fail(self, managed: dict[str, Job]) -> None:
        for id, reason in _decoded(await self._command("HGETALL", _FAILED)).items():
            if (job := managed.pop(id, None)) is not None:
                await self._async_store.run(fail_unless_ended, id, time.time(), reason)
                with suppress(FrontierLost):
                    await self._frontier.erase(id)
                log.error("job_ended", f"job {id} is failed: {reason}", state=JobState.FAILED.value, **job.about)
            await self._command("HDEL", _FAILED, id)


def _may_run(job: Job) -> bool:
    """A job that is paused before its first process began starts none. Later ones wait, with their processes."""
    return job.state is not JobState.PAUSED or job.started_at is not None


class ScrapySlots:
    """The part of a worker: which of a job's processes it runs."""

    def __init__(self, connection: RedisConnection, worker: str) -> None:
        self._connection = connection
        self._command = connection.command
        self._worker = worker

    async def jobs(self) -> dict[str, ScrapyJob]:
        """Those that come first are first."""
        found = _decoded(await self._command("HGETALL", _JOBS))
        jobs = [ScrapyJob.from_json(text) for text in found.values()]
        lanes = list(Lane)
        return {job.id: job for job in sorted(jobs, key=lambda job: (lanes.index(job.lane), -job.priority, job.id))}

    async def claim(self, job: ScrapyJob) -> int | None:
        """The number of a process that no worker runs, which is now this worker's."""
        for slot in range(job.run.processes):
            if await self._command("SET", _slot(job.id, slot), self._worker, "NX", "EX", CLAIM_S):
                return slot
        return None

    async def renew(self, job: str, slot: int) -> bool:
        """False: another worker has it now."""
        return bool(await self._command("EVAL", _RENEW, 1, _slot(job, slot), self._worker, CLAIM_S))

    async def free(self, job: str, slot: int) -> None:
        await self._command("EVAL", _FREE, 1, _slot(job, slot), self._worker)

    async def close(self, job: str, slot: int) -> None:
        """No worker starts this process again, unless the job ends and is reopened. It may have ended already."""
        keys = (_JOBS, _slot(job, slot))
        await self._command("EVAL", _CLOSE, len(keys), *keys, job, CLOSED, CLOSED_S, self._worker)

    async def fail_if_alone(self, job: str, reason: str) -> None:
        """Unless processes elsewhere work on it."""
        if not await OwnWorkers(self._connection, job).alive():
            await self._command("HSET", _FAILED, job, reason)


def _slots(job: Job) -> list[str]:
    assert job.spec.scrapy_run is not None
    return [_slot(job.id, slot) for slot in range(job.spec.scrapy_run.processes)]


def _slot(job: str, slot: int) -> str:
    return f"{TAG}:scrapy:slot:{job}:{slot}"


def _decoded(found: dict[bytes, bytes] | list[bytes]) -> dict[str, str]:
    pairs = found.items() if isinstance(found, dict) else zip(found[::2], found[1::2], strict=True)
    return {name.decode(): value.decode() for name, value in pairs}

"""Runs a spider's hooks once per job, in a home and in a fleet alike."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, TypeVar

from shoal.errors import InvalidURL, UsageError
from shoal.frontier.serialize import offer_text
from shoal.model import JobSpec, Offer, Target, Trail
from shoal.model.request_options import identity_of
from shoal.spiders.hook_thread import in_hook_thread
from shoal.spiders.job_hooks import SECONDS, HookFailed, JobInfo, run_on_finish, run_on_start, time_up
from shoal.spiders.page import Request
from shoal.spiders.spider import Spider
from shoal.store.async_store import AsyncStore
from shoal.store.crawl.job_hooks import (
    ON_FINISH,
    ON_START,
    Claim,
    claim_hook,
    end_hook,
    end_on_start,
    extend_claim,
    shared_of,
    want_on_finish,
)
from shoal.store.jobs import Job
from shoal.store.results.job_figures import brief_figures
from shoal.store.store import Store
from shoal.urls import Params, fingerprint, target, with_identity

T = TypeVar("T")

CLAIM_S = 60.0
"""How long a hook of a process that died waits for another process."""


class _HookLimits(NamedTuple):
    seconds: float
    alone: bool
    """No callbacks run in this process meanwhile."""


async def begin_job(
    async_store: AsyncStore, job: Job, spider: Spider, alone: bool, limit_s: float = SECONDS
) -> Mapping[str, Any]:
    """Runs `on_start` unless it has run, for `limit_s` at most, and returns what it gave to the callbacks.

    Raises HookFailed, and UsageError while another process runs it.
    """
    if ON_FINISH in spider.hooks:
        await async_store.run(want_on_finish, job.id)
    if ON_START not in spider.hooks:
        return {}
    async with _claimed(async_store, job, ON_START, alone) as claim:
        if claim is Claim.MINE:
            await _on_start(async_store, job, spider, _HookLimits(limit_s, alone))
    return await async_store.run(shared_of, job.id)


async def finish_job(
    async_store: AsyncStore, job: Job, spider: Spider, alone: bool, limit_s: float = SECONDS
) -> str | None:
    """Runs `on_finish` unless it has run, for `limit_s` at most; returns why it failed. Raises UsageError while another
    process runs it."""
    if ON_FINISH not in spider.hooks:
        return None
    failure = None
    async with _claimed(async_store, job, ON_FINISH, alone) as claim:
        if claim is Claim.MINE:
            info = await asyncio.to_thread(_info, async_store.store, job, True)
            try:
                await _run_hook(run_on_finish, spider, ON_FINISH, info, _HookLimits(limit_s, alone))
            except HookFailed as error:
                failure = str(error)
            await async_store.run(end_hook, job.id, ON_FINISH, failure)
    return failure


async def _on_start(async_store: AsyncStore, job: Job, spider: Spider, limits: _HookLimits) -> None:
    info = await asyncio.to_thread(_info, async_store.store, job, False)
    try:
        result = await _run_hook(run_on_start, spider, ON_START, info, limits)
        offers = [offer_text(_offer(job.id, job.spec, request)) for request in result.requests]
    except HookFailed as error:
        await async_store.run(end_hook, job.id, ON_START, str(error))
        raise
    await async_store.run(end_on_start, job.id, result.shared, offers)


async def _run_hook(run: Callable[..., T], spider: Spider, name: str, info: JobInfo, limits: _HookLimits) -> T:
    """Raises HookFailed."""
    try:
        return await in_hook_thread(limits.seconds, run, spider, info, limits.alone)
    except TimeoutError:
        raise time_up(spider, name, limits.seconds) from None


@asynccontextmanager
async def _claimed(async_store: AsyncStore, job: Job, hook: str, alone: bool) -> AsyncIterator[Claim]:
    claim = await async_store.run(claim_hook, job.id, hook, time.time(), time.time() + CLAIM_S, alone)
    if claim is Claim.BUSY:
        raise UsageError(f"another process runs {hook} of this job")
    extending = asyncio.create_task(_extend(async_store, job.id, hook)) if claim is Claim.MINE else None
    try:
        yield claim
    finally:
        if extending is not None:
            extending.cancel()
            await asyncio.gather(extending, return_exceptions=True)


async def _extend(async_store: AsyncStore, job: str, hook: str) -> None:
    while True:
        await asyncio.sleep(CLAIM_S / 3)
        await async_store.run(extend_claim, job, hook, time.time() + CLAIM_S)


def _info(store: Store, job: Job, ended: bool) -> JobInfo:
    figures = brief_figures(store, job.id) if ended else {}
    return JobInfo(job.id, job.spec.name, job.state.value, shared_of(store, job.id), figures)


def _offer(job: str, spec: JobSpec, request: Request) -> Offer:
    """A request of `on_start` is a start URL with a callback of its own."""
    try:
        plain = target(request.url, Params.of(spec), spec.politeness.group)
    except InvalidURL as error:
        raise HookFailed(f"on_start failed: {error}") from None
    key = fingerprint(plain.url, request.method, request.body)
    wanted = Target(plain.url, key, plain.host, request.method, request.body, request.content_type)
    wanted = with_identity(plain if request.is_plain else wanted, identity_of(request.options))
    trail = Trail(0, request.priority, None, request.callback or "", request.meta, (), request.options)
    return Offer(job, [wanted], trail)

"""Lists the pages, items and dead letters of a job; retries or purges dead letters; explains a URL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from shoal.client.responses.data import Explained, ItemList, LetterList, PageList, Purged, Redelivered, Retried
from shoal.control.async_bridge import bridge
from shoal.control.cursor import cursor, place_of
from shoal.control.models.records import (
    DeadFilter,
    DeadQuery,
    ExplainQuery,
    ItemsQuery,
    PagesQuery,
    Part,
    RetryOrder,
)
from shoal.control.problems import conflict
from shoal.control.routes import READ, SUBMIT, Reply, Routes
from shoal.fleet.effective_exclusions import all_exclusions
from shoal.fleet.fleet import Fleet
from shoal.jobs.explain import Explanation
from shoal.jobs.explain import explain as look_up
from shoal.jobs.revive_dead_letters import revive
from shoal.model import JobState
from shoal.store.crawl.dead_letters import dead_letters, forget_dead
from shoal.store.crawl.sink_state import retry_refused
from shoal.store.jobs import Job
from shoal.store.results.listings import Where
from shoal.store.results.pagination import Placed, Position, dead_after, dead_groups, items_after, pages_after
from shoal.store.store import Store

routes = Routes("records")

Reader = Callable[[Store, str, Where, Position | None, int], list[Placed]]


@routes.get("/jobs/<id>/pages", READ, answers={200: PageList}, query=PagesQuery)
def pages(job: Job, query: PagesQuery) -> Reply:
    """List the pages of a job."""
    return _part("pages", job, query, pages_after, (float, int))


@routes.get("/jobs/<id>/items", READ, answers={200: ItemList}, query=ItemsQuery)
def items(job: Job, query: ItemsQuery) -> Reply:
    """List the items of a job."""
    return _part("items", job, query, items_after, (float, int, int))


@routes.get("/jobs/<id>/dead", READ, answers={200: LetterList}, query=DeadQuery)
def dead(job: Job, query: DeadQuery) -> Reply:
    """List the dead letters of a job (requests that it gave up on), or count them in groups."""
    if query.group is None:
        return _part("dead", job, query, dead_after, (float, int))
    by = list(dict.fromkeys(query.group.split(",")))
    return {"groups": dead_groups(bridge().store, job.id, _where(query), by)}


@routes.post(
    "/jobs/<id>/dead/retry",
    SUBMIT,
    answers={200: Retried},
    body=RetryOrder,
    body_optional=True,
    counted=True,
    keyed=True,
)
def retry(job: Job, body: RetryOrder) -> Reply:
    """Retry dead letters; a job that has ended continues with them."""
    if job.state is JobState.CANCELLED:
        raise conflict(f"job {job.id} is cancelled and cannot continue: submit the missing URLs as a new job")
    return {"retried": bridge().run_apart(lambda fleet: revive(fleet, job, _where(body)))}


@routes.post("/jobs/<id>/refused/retry", SUBMIT, answers={200: Redelivered}, counted=True, keyed=True)
def redeliver(job: Job) -> Reply:
    """Deliver the items again that sinks of the job refused."""
    redelivered = retry_refused(bridge().store, job.id)
    return {"redelivered": redelivered}


@routes.delete("/jobs/<id>/dead", SUBMIT, answers={200: Purged}, query=DeadFilter)
def purge(job: Job, query: DeadFilter) -> Reply:
    """Delete dead letters: they can no longer be listed or retried. The job's figures still count them."""
    store, purged = bridge().store, 0
    for letters in dead_letters(store, job.id, _where(query)):
        forget_dead(store, letters)
        purged += len(letters)
    return {"purged": purged}


@routes.get("/jobs/<id>/explain", READ, answers={200: Explained}, query=ExplainQuery)
def explain(job: Job, query: ExplainQuery) -> Reply:
    """Explain what happened to a URL in a job, or what would happen, and why."""
    return {"job": job.id, **explained(job, query.url).as_dict()}


def explained(job: Job, url: str) -> Explanation:
    exclusions = all_exclusions(bridge().settings, bridge().store)

    async def look(fleet: Fleet) -> Explanation:
        return await look_up(fleet, job, url, exclusions)

    return bridge().run_apart(look)


def _part(name: str, job: Job, query: Part, read: Reader, kinds: tuple[type, ...]) -> dict[str, Any]:
    listing = f"{name} {job.id}"
    after = place_of(query.cursor, listing, kinds)
    found = read(bridge().store, job.id, _where(query), after, query.limit + 1)
    shown = found[: query.limit]
    more = len(found) > query.limit
    return {name: [record for _, record in shown], "next": cursor(listing, shown[-1][0]) if more else None}


def _where(filters: BaseModel) -> Where:
    names = ("reason", "status", "host", "type", "merged")
    return {name: str(value) for name in names if (value := getattr(filters, name, None)) is not None}

"""What a job found and what it gave up on, a part at a time; dead letters tried again or purged; any URL explained."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from shoal.control.bridge import bridge
from shoal.control.cursor import cursor, place_of
from shoal.control.models.records import (
    DeadFilter,
    DeadQuery,
    Explained,
    ExplainQuery,
    ItemList,
    ItemsQuery,
    LetterList,
    PageList,
    PagesQuery,
    Part,
    Purged,
    Retried,
    RetryOrder,
)
from shoal.control.problems import conflict
from shoal.control.routes import READ, SUBMIT, Reply, Routes
from shoal.fleet.exclusions import all_exclusions
from shoal.fleet.place import Fleet
from shoal.jobs.explain import Explanation
from shoal.jobs.explain import explain as look_up
from shoal.jobs.revive import revive
from shoal.model import JobState
from shoal.store.dead import dead_letters, forget_dead
from shoal.store.jobs import Job
from shoal.store.paging import Placed, Position, dead_after, dead_groups, items_after, pages_after
from shoal.store.records import Where
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
    """List the dead letters of a job, or count those that are alike."""
    if query.group is None:
        return _part("dead", job, query, dead_after, (float, int))
    by = list(dict.fromkeys(query.group.split(",")))
    return {"groups": dead_groups(bridge().store, job.id, _where(query), by)}


@routes.post("/jobs/<id>/dead/retry", SUBMIT, answers={200: Retried}, body=RetryOrder, counted=True, keyed=True)
def retry(job: Job, body: RetryOrder) -> Reply:
    """Try dead letters again; a job that had ended goes on with them."""
    if job.state is JobState.CANCELLED:
        raise conflict(f"job {job.id} was cancelled, which is for good: crawl what is missing in a job of its own")
    return {"retried": bridge().run_apart(lambda fleet: revive(fleet, job, _where(body)))}


@routes.delete("/jobs/<id>/dead", SUBMIT, answers={200: Purged}, query=DeadFilter)
def purge(job: Job, query: DeadFilter) -> Reply:
    """Forget dead letters: they can be neither seen nor tried again. The job's figures still count them."""
    store, purged = bridge().store, 0
    for letters in dead_letters(store, job.id, _where(query)):
        forget_dead(store, letters)
        purged += len(letters)
    return {"purged": purged}


@routes.get("/jobs/<id>/explain", READ, answers={200: Explained}, query=ExplainQuery)
def explain(job: Job, query: ExplainQuery) -> Reply:
    """Say what happened to a URL in a job, or what would, and why."""
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


def _where(asked: BaseModel) -> Where:
    names = ("reason", "status", "host", "type")
    return {name: str(value) for name in names if (value := getattr(asked, name, None)) is not None}

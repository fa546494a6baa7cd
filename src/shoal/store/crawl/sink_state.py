"""The sinks of jobs: how far each has come in the log of changes, what it waits for, and what it refused.

One process feeds a sink at a time. It holds the sink for a while and extends that with every batch. A process that lost
its hold cannot move the cursor any more: `advance` changes nothing then and returns False.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Select,
    cast,
    delete,
    false,
    func,
    insert,
    or_,
    select,
    true,
    update,
)

from shoal.model import fingerprint_hex
from shoal.store.crawl.change_log import CHANGES, ItemName, oldest_after
from shoal.store.database.storable_text import storable
from shoal.store.results.listings import stream_rows
from shoal.store.store import Store
from shoal.store.tables import jobs, pages, refused, sinks, tallies


class SinkKey(NamedTuple):
    job: str
    place: int
    """In the job's list of sinks."""


@dataclass(frozen=True, slots=True)
class SinkState:
    key: SinkKey
    cursor: Mapping[int, int]
    planned: Mapping[int, int] | None
    """The end of a batch that was begun; a repeated batch must not have another end."""
    batch: int
    """The number of the next batch."""


@dataclass(frozen=True, slots=True)
class SinkStatus:
    """What people see of a sink."""

    place: int
    behind: int
    """Changed items that were not delivered yet."""
    behind_s: float
    """How long the oldest of them has waited."""
    delivered: int
    refused: int
    fault: str | None
    """What the sink waits for."""
    stuck: bool
    """Whether somebody has to mend something first."""


class Refusal(NamedTuple):
    name: ItemName
    page: int
    data: str
    reason: str
    """The destination's own words."""


class Progress(NamedTuple):
    """What a batch did."""

    cursor: Mapping[int, int]
    n: int
    """Changed items."""
    refusals: Sequence[Refusal]
    tried: Sequence[ItemName]
    """Items that were refused before and are not now, unless they are among the refusals again."""


def hold_sink(
    store: Store, key: SinkKey, holder: str, now: float, until: float, alone: bool = False
) -> SinkState | None:
    """None if another process holds the sink, or if it is gone. With `alone` the hold of another does not count."""
    free = or_(
        true() if alone else false(), sinks.c.holder.is_(None), sinks.c.holder == holder, sinks.c.held_until <= now
    )
    with store.write() as db:
        held = update(sinks).where(_is(key), free).values(holder=holder, held_until=until)
        if not db.execute(held).rowcount:
            return None
        return _state(db, key)


def release_sink(store: Store, key: SinkKey, holder: str) -> None:
    with store.write() as db:
        db.execute(update(sinks).where(_is(key), sinks.c.holder == holder).values(holder=None, held_until=None))


def plan_batch(store: Store, key: SinkKey, holder: str, end: Mapping[int, int] | None) -> bool:
    """Fixes the end of the batch before it is sent, so that a repetition has the same content. None: forgets it."""
    text = None if end is None else json.dumps(end)
    with store.write() as db:
        planned = update(sinks).where(_is(key), sinks.c.holder == holder).values(planned=text)
        return db.execute(planned).rowcount > 0


def advance(store: Store, key: SinkKey, holder: str, done: Progress, now: float, until: float) -> bool:
    """Moves the cursor after a batch was delivered. Returns False if another process holds the sink."""
    values = {
        "cursor": json.dumps(done.cursor),
        "planned": None,
        "batch": sinks.c.batch + 1,
        "delivered": sinks.c.delivered + done.n,
        "delivered_at": now,
        "fault": None,
        "stuck": False,
        "held_until": until,
    }
    with store.write() as db:
        if not db.execute(update(sinks).where(_is(key), sinks.c.holder == holder).values(values)).rowcount:
            return False
        _replace_refusals(db, key, done, now)
    return True


def start_over(store: Store, key: SinkKey, holder: str) -> None:
    """Everything is delivered again: the destination has lost what it had."""
    from_start = {"cursor": "{}", "planned": None, "delivered": 0}
    with store.write() as db:
        db.execute(update(sinks).where(_is(key), sinks.c.holder == holder).values(from_start))


def note_fault(store: Store, key: SinkKey, fault: str | None, stuck: bool) -> None:
    with store.write() as db:
        values = {"fault": None if fault is None else storable(fault), "stuck": stuck}
        db.execute(update(sinks).where(_is(key)).values(values))


def sink_statuses(store: Store, job: str, now: float) -> list[SinkStatus]:
    waiting = select(refused.c.sink, func.count()).where(refused.c.job == job).group_by(refused.c.sink)
    with store.read() as db:
        rows = db.execute(select(sinks).where(sinks.c.job == job).order_by(sinks.c.place)).all()
        counts: dict[int, int] = dict(db.execute(waiting).all()) if rows else {}
        total = db.execute(_logged(job)).scalar_one() if rows else 0
    return [_status(store, row, total - row.delivered, counts.get(row.place, 0), now) for row in rows]


def _status(store: Store, row: Any, behind: int, refusals: int, now: float) -> SinkStatus:
    oldest = oldest_after(store, row.job, _cursor(row.cursor)) if behind > 0 else None
    waited = 0.0 if oldest is None else max(0.0, now - oldest)
    return SinkStatus(row.place, max(0, behind), waited, row.delivered, refusals, row.fault, row.stuck)


def sinks_behind(store: Store, job: str | None = None, fleet_only: bool = False) -> list[SinkKey]:
    """The sinks that have something to do: of one job, or of all."""
    total = _logged(sinks.c.job)
    again = select(refused.c.job).where(
        refused.c.job == sinks.c.job, refused.c.sink == sinks.c.place, refused.c.again.is_(True)
    )
    due = select(sinks.c.job, sinks.c.place).where(or_(total.scalar_subquery() > sinks.c.delivered, again.exists()))
    if job is not None:
        due = due.where(sinks.c.job == job)
    if fleet_only:
        due = due.where(sinks.c.job.in_(select(jobs.c.id).where(jobs.c.fleet)))
    with store.read() as db:
        return [SinkKey(*row) for row in db.execute(due.order_by(sinks.c.job, sinks.c.place))]


class SinksLag(NamedTuple):
    """Of all sinks of a fleet."""

    behind: int
    """Changed items that were not delivered yet."""
    behind_s: float
    """How long the oldest of them has waited."""
    waiting: int
    """Sinks whose last delivery failed."""


def sinks_lag(store: Store, now: float) -> SinksLag:
    jobs_behind = dict.fromkeys(key.job for key in sinks_behind(store, fleet_only=True))
    found = [one for job in jobs_behind for one in sink_statuses(store, job, now) if one.behind]
    return SinksLag(
        sum(one.behind for one in found),
        max((one.behind_s for one in found), default=0.0),
        sum(one.fault is not None for one in found),
    )


def refused_again(db: Connection, key: SinkKey, most: int) -> list[tuple[ItemName, int]]:
    """Refused items, with their pages, that somebody asked to deliver again."""
    columns = refused.c.type, refused.c.id, refused.c.page
    wanted = select(*columns).where(_refused_by(key), refused.c.again.is_(True)).limit(most)
    return [(ItemName(type, id), page) for type, id, page in db.execute(wanted)]


def refused_of_pages(db: Connection, key: SinkKey, of: Sequence[int]) -> list[ItemName]:
    found = select(refused.c.type, refused.c.id).where(_refused_by(key), refused.c.page.in_(of))
    return [ItemName(*row) for row in db.execute(found)]


def has_refused(db: Connection, key: SinkKey) -> bool:
    return db.execute(select(refused.c.job).where(_refused_by(key)).limit(1)).first() is not None


def retry_refused(store: Store, job: str) -> int:
    """Lets the sinks try their refused items once more. Returns the number of items."""
    with store.write() as db:
        return db.execute(update(refused).where(refused.c.job == job).values(again=True)).rowcount


def list_refused(store: Store, job: str, where: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Items that a sink refused: type, reason, data, page, and the sink's place."""
    of_type = [refused.c.type == where["type"]] if "type" in where else []
    columns = refused.c.type, refused.c.reason, refused.c.data, refused.c.page, refused.c.sink, pages.c.url
    page_of = (pages.c.job == refused.c.job) & (pages.c.fingerprint == refused.c.page)
    found = select(*columns).outerjoin(pages, page_of).where(refused.c.job == job, *of_type)
    with store.read() as db:
        for row in stream_rows(db, found.order_by(refused.c.sink, refused.c.at, refused.c.type, refused.c.id)):
            yield {
                "type": row.type,
                "reason": row.reason,
                "data": json.loads(row.data),
                "url": row.url,
                "page": fingerprint_hex(row.page),
                "sink": row.sink,
            }


def _replace_refusals(db: Connection, key: SinkKey, done: Progress, now: float) -> None:
    names = {*done.tried, *(refusal.name for refusal in done.refusals)}
    for name in names:
        db.execute(delete(refused).where(_refused_by(key), refused.c.type == name.type, refused.c.id == name.id))
    rows = [
        {
            "job": key.job,
            "sink": key.place,
            **refusal.name._asdict(),
            "page": refusal.page,
            "data": refusal.data,
            "reason": storable(refusal.reason),
            "at": now,
            "again": False,
        }
        for refusal in done.refusals
    ]
    if rows:
        db.execute(insert(refused), rows)


def _logged(job: Any) -> Select[*tuple[Any, ...]]:
    total = func.coalesce(cast(func.sum(tallies.c.n), BigInteger), 0)
    return select(total).where(tallies.c.job == job, tallies.c.kind == CHANGES)


def _state(db: Connection, key: SinkKey) -> SinkState:
    row = db.execute(select(sinks).where(_is(key))).one()
    return SinkState(key, _cursor(row.cursor), None if row.planned is None else _cursor(row.planned), row.batch)


def _cursor(text: str) -> dict[int, int]:
    return {int(part): id for part, id in json.loads(text).items()}


def _is(key: SinkKey) -> ColumnElement[bool]:
    return (sinks.c.job == key.job) & (sinks.c.place == key.place)


def _refused_by(key: SinkKey) -> ColumnElement[bool]:
    return (refused.c.job == key.job) & (refused.c.sink == key.place)

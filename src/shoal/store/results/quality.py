"""The quality of a job's items, field by field, and whether it meets the job's thresholds.

A job is compared with the last job of its name that ended well. A failed job is no baseline: otherwise a selector that
stays broken would be reported only once. If a type has vanished, it counts as having no items. Empty text and empty
lists count as null, because a broken selector returns them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, func, select

from shoal.model import ItemType, JobSpec, JobState
from shoal.store.database.storable_text import storable
from shoal.store.database.upsert import Upsert, replace
from shoal.store.results.field_stats import FieldStats
from shoal.store.results.items import item_types
from shoal.store.store import Store
from shoal.store.tables import items, jobs, quality
from shoal.wording import plural

MOST_FIELDS_NAMED = 3

_JOINED = 50
_ROWS = 20
_UPSERT = Upsert("quality", replace)
_ENDED_WELL = (JobState.DONE, JobState.LIMITED)


@dataclass(frozen=True, slots=True)
class FieldQuality:
    type: str
    field: str
    kind: str
    n: int
    """The number of items of the type."""
    nulls: int
    distinct: int
    """Exact up to MOST_DISTINCT; MOST_DISTINCT + 1 if there are more."""
    least: str | None
    """The smallest number, the earliest date, the length of the shortest text or list."""
    most: str | None

    @property
    def null_share(self) -> float:
        return self.nulls / self.n if self.n else 0.0


class QualityChange(NamedTuple):
    """A field in this job and in the previous one; None if it is new."""

    now: FieldQuality
    before: FieldQuality | None

    @property
    def items(self) -> float | None:
        """The relative change of the number of items; negative if it fell."""
        return (self.now.n - self.before.n) / self.before.n if self.before and self.before.n else None

    @property
    def null_share(self) -> float | None:
        """The increase of the null share. None if one of the jobs has no items."""
        if self.before is None or not self.before.n or not self.now.n:
            return None
        return self.now.null_share - self.before.null_share


def measure_quality(store: Store, job: str) -> list[FieldQuality]:
    """Measures the job's items, in memory bounded by the number of fields, and saves the result."""
    measured = [found for one in item_types(store, job) for found in _measure(store, job, one)]
    with store.write() as db:
        db.execute(delete(quality).where(quality.c.job == job))
        _UPSERT.write(db, [_row(job, place, found) for place, found in enumerate(measured)])
    return measured


def load_quality(store: Store, job: str) -> list[FieldQuality]:
    with store.read() as db:
        return _load(db, job)


def last_quality(store: Store, spider_name: str, before_job: str) -> list[FieldQuality]:
    """The quality of the last job of this name and owner that ended well before this one started and had items; empty
    if there is none."""
    this = jobs.alias("this")
    earlier = (this.c.id == before_job) & (jobs.c.created_at < this.c.created_at)
    same_owner = jobs.c.owner.is_not_distinct_from(this.c.owner)
    measured = select(quality.c.job).where(quality.c.job == jobs.c.id, quality.c.n > 0).exists()
    last = (
        select(jobs.c.id)
        .join(this, earlier & same_owner)
        .where(jobs.c.name == storable(spider_name), jobs.c.state.in_(_ENDED_WELL), measured)
        .order_by(jobs.c.created_at.desc())
        .limit(1)
    )
    with store.read() as db:
        job = db.execute(last).scalar()
        return [] if job is None else _load(db, job)


def changes(now: Sequence[FieldQuality], before: Sequence[FieldQuality]) -> list[QualityChange]:
    """One change per field of `now`, then one per field of types that gave no items this time."""
    known = {(one.type, one.field): one for one in before}
    types = {one.type for one in now}
    gone = [QualityChange(FieldQuality(one.type, one.field, one.kind, 0, 0, 0, None, None), one) for one in before]
    return [
        *(QualityChange(one, known.get((one.type, one.field))) for one in now),
        *(change for change in gone if change.now.type not in types),
    ]


def verdict(spec: JobSpec, now: Sequence[FieldQuality], before: Sequence[FieldQuality]) -> str | None:
    """Why these items fail the job's thresholds; None if they pass."""
    faults: list[str] = []
    if spec.max_null_share is not None:
        faults += _too_empty(spec.max_null_share, now)
    if spec.max_change is not None:
        faults += _too_changed(spec.max_change, changes(now, before))
    if not faults:
        return None
    more = len(faults) - MOST_FIELDS_NAMED
    return "; ".join(faults[:MOST_FIELDS_NAMED]) + (f"; and {more} more" if more > 0 else "")


def _too_empty(most: float, now: Sequence[FieldQuality]) -> list[str]:
    if not any(one.n for one in now):
        return ["no items were found"]
    return [
        f"{one.type}.{one.field} is empty in {one.null_share:.1%} of {plural(one.n, 'item')}, allowed are {most:.1%}"
        for one in now
        if one.null_share > most
    ]


def _too_changed(most: float, changed: Sequence[QualityChange]) -> list[str]:
    fewer = {
        one.now.type: f"{one.now.type}: {plural(one.now.n, 'item')}, {-one.items:.1%} fewer than the {one.before.n:,} "
        f"before, allowed are {most:.1%}"
        for one in changed
        if one.before is not None and one.items is not None and -one.items > most
    }
    emptier = [
        f"{one.now.type}.{one.now.field} is empty in {one.now.null_share:.1%} of {plural(one.now.n, 'item')}, before "
        f"in {one.before.null_share:.1%}, allowed is a rise of {most:.1%}"
        for one in changed
        if one.before is not None and one.null_share is not None and one.null_share > most
    ]
    return [*fewer.values(), *emptier]


def _measure(store: Store, job: str, of: ItemType) -> list[FieldQuality]:
    stats = {name: FieldStats(type.kind) for name, type in of.fields.items()}
    n = 0
    for found in _chunks(store, job, of.name):
        n += len(found)
        for name, field in stats.items():
            field.add(_values(found, name))
    return [
        FieldQuality(of.name, name, of.fields[name].kind, n, one.nulls, one.distinct, *one.range)
        for name, one in stats.items()
    ]


def _values(items: list[dict[str, Any]], name: str) -> list[Any]:
    try:
        return list(map(itemgetter(name), items))
    except KeyError:
        return [item.get(name) for item in items]


def _chunks(store: Store, job: str, type: str) -> Iterator[list[dict[str, Any]]]:
    """All items of a type, in chunks."""
    # The database joins them and one call parses them: row by row it takes three times as long.
    from pydantic_core import from_json

    listing = select(func.aggregate_strings(items.c.data, ",")).where(items.c.job == job, items.c.type == type)
    # In two queries, because only the few items late on a long page need sorting for the grouping.
    first = listing.where(items.c.ordinal < _JOINED).group_by(items.c.page)
    later = listing.where(items.c.ordinal >= _JOINED).group_by(items.c.page, items.c.ordinal // _JOINED)
    with store.read() as db:
        for grouped in (first, later):
            for rows in db.execute(grouped, execution_options={"yield_per": _ROWS}).partitions():
                yield from_json(f"[{','.join(row[0] for row in rows)}]", cache_strings="keys")


def _load(db: Connection, job: str) -> list[FieldQuality]:
    columns = [quality.c[one.name] for one in fields(FieldQuality)]
    rows = db.execute(select(*columns).where(quality.c.job == job).order_by(quality.c.place))
    return [FieldQuality(*row) for row in rows]


def _row(job: str, place: int, found: FieldQuality) -> tuple[object, ...]:
    type, field, *rest = astuple(found)
    return (job, type, field, place, *rest)

"""Offers that wait in the store because the frontier had no room for them.

The engine serializes an offer as text. An offer that has left this table could be lost together with the frontier, so
the offers of a fleet's job are in its offer log as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select

from shoal.store.crawl.offer_log import pack_offers, write_offers
from shoal.store.store import Store
from shoal.store.tables import jobs
from shoal.store.tables import waiting as table


class OverflowOffer(NamedTuple):
    id: int
    offer: str


def add_overflow(store: Store, offers: Sequence[tuple[str, str]]) -> None:
    """Takes pairs of job and offer."""
    with store.write() as db:
        db.execute(insert(table), [{"job": job, "offer": offer} for job, offer in offers])
        for fleet_job in _of_a_fleet(db, {job for job, _ in offers}):
            write_offers(db, fleet_job, pack_offers([offer for job, offer in offers if job == fleet_job]))


def _of_a_fleet(db: Connection, ids: set[str]) -> list[str]:
    return list(db.execute(select(jobs.c.id).where(jobs.c.fleet, jobs.c.id.in_(ids))).scalars())


def overflow_offers(store: Store, job: str, most: int) -> list[OverflowOffer]:
    """The job's offers that have waited longest."""
    oldest = select(table.c.id, table.c.offer).where(table.c.job == job).order_by(table.c.id).limit(most)
    with store.read() as db:
        return [OverflowOffer(*row) for row in db.execute(oldest)]


def remove_overflow(store: Store, job: str, id: int, left: Sequence[str]) -> None:
    """Removes one offer; the links in `left`, which the frontier did not take, keep waiting."""
    with store.write() as db:
        db.execute(delete(table).where(table.c.id == id))
        if left:
            db.execute(insert(table), [{"job": job, "offer": offer} for offer in left])

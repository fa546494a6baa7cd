"""Offers that a frontier had no room for, as they wait for it; the texts are the engine's own.

What no longer waits may be lost with the frontier that took it: of a fleet's job it is kept among its offers as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select

from shoal.store.offers import pack_offers, write_offers
from shoal.store.store import Store
from shoal.store.tables import jobs
from shoal.store.tables import waiting as table


class Waiting(NamedTuple):
    id: int
    offer: str


def add_waiting(store: Store, offers: Sequence[tuple[str, str]]) -> None:
    """Of each its job and its text."""
    with store.write() as db:
        db.execute(insert(table), [{"job": job, "offer": offer} for job, offer in offers])
        for fleet_job in _of_a_fleet(db, {job for job, _ in offers}):
            write_offers(db, fleet_job, pack_offers([offer for job, offer in offers if job == fleet_job]))


def _of_a_fleet(db: Connection, ids: set[str]) -> list[str]:
    return list(db.execute(select(jobs.c.id).where(jobs.c.fleet, jobs.c.id.in_(ids))).scalars())


def waiting(store: Store, job: str, most: int) -> list[Waiting]:
    """Those of a job that have waited longest."""
    oldest = select(table.c.id, table.c.offer).where(table.c.job == job).order_by(table.c.id).limit(most)
    with store.read() as db:
        return [Waiting(*row) for row in db.execute(oldest)]


def remove_waiting(store: Store, job: str, id: int, left: Sequence[str]) -> None:
    """What of it was not taken goes on waiting."""
    with store.write() as db:
        db.execute(delete(table).where(table.c.id == id))
        if left:
            db.execute(insert(table), [{"job": job, "offer": offer} for offer in left])

"""Offers that wait in the store because the frontier had no room for them.

The engine serializes an offer as text. An offer that has left this table could be lost together with the frontier, so
the offers of a fleet's job are in its offer log as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from shoal.store.crawl.offer_log import pack_offers, write_offers
from shoal.store.database.plain_sql import among, insert_row, list_value, run
from shoal.store.store import Store

if TYPE_CHECKING:
    from shoal.store.database.plain_sql import Transaction


class OverflowOffer(NamedTuple):
    id: int
    offer: str


def add_overflow(store: Store, offers: Sequence[tuple[str, str]]) -> None:
    """Takes pairs of job and offer."""
    with store.write_plain() as db:
        for job, offer in offers:
            insert_row(db, "waiting", {"job": job, "offer": offer})
        for fleet_job in _of_a_fleet(db, {job for job, _ in offers}):
            write_offers(db, fleet_job, pack_offers([offer for job, offer in offers if job == fleet_job]))


def _of_a_fleet(db: Transaction, ids: set[str]) -> list[str]:
    of_fleet = f"SELECT id FROM jobs WHERE fleet AND {among(db, 'id', 'ids')}"
    return [id for (id,) in run(db, of_fleet, {"ids": list_value(db, sorted(ids))})]


def overflow_offers(store: Store, job: str, most: int) -> list[OverflowOffer]:
    """The job's offers that have waited longest."""
    oldest = "SELECT id, offer FROM waiting WHERE job = :job ORDER BY id LIMIT :most"
    with store.read_plain() as db:
        return [OverflowOffer(*row) for row in run(db, oldest, {"job": job, "most": most})]


def remove_overflow(store: Store, job: str, id: int, left: Sequence[str]) -> None:
    """Removes one offer; the links in `left`, which the frontier did not take, keep waiting."""
    with store.write_plain() as db:
        run(db, "DELETE FROM waiting WHERE id = :id", {"id": id})
        for offer in left:
            insert_row(db, "waiting", {"job": job, "offer": offer})

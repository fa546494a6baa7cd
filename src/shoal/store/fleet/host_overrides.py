"""Operators' overrides for hosts. The frontier uses them; the store keeps a copy to restore a lost frontier."""

from __future__ import annotations

from typing import NamedTuple, TypedDict

from sqlalchemy import delete, select

from shoal.store.database.upsert import insert_into
from shoal.store.store import Store
from shoal.store.tables import hosts as table


class HostOverride(NamedTuple):
    host: str
    rate: float | None
    """None: each job uses its own rate."""
    paused: bool


class StoredOverride(TypedDict, total=False):
    """A missing key means: no change."""

    rate: float | None
    paused: bool


def change_override(store: Store, host: str, change: StoredOverride) -> HostOverride:
    """Returns the override with this change and concurrent ones of others. Deletes one that overrides nothing."""
    if not change:
        return stored_override(store, host)
    with store.write() as db:
        first = insert_into(db, table).values({"rate": None, "paused": False, **change, "host": host})
        changed = first.on_conflict_do_update(index_elements=[table.c.host], set_=dict(change)).returning(*table.c)
        override = HostOverride(*db.execute(changed).one())
        if override.rate is None and not override.paused:
            db.execute(delete(table).where(table.c.host == host))
        return override


def stored_override(store: Store, host: str) -> HostOverride:
    with store.read() as db:
        row = db.execute(select(table).where(table.c.host == host)).one_or_none()
    return HostOverride(host, None, False) if row is None else HostOverride(*row)


def stored_overrides(store: Store) -> list[HostOverride]:
    with store.read() as db:
        return [HostOverride(*row) for row in db.execute(select(table).order_by(table.c.host))]

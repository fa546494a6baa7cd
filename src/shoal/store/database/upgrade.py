"""Upgrades a store's schema for `shoal db upgrade`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from shoal.store.database import schema
from shoal.store.store import Store, database_at


@dataclass(frozen=True, slots=True)
class Upgraded:
    database: str
    before: str | None
    """None: the database was empty."""
    after: str


def upgrade(place: Path | str) -> Upgraded:
    with Store(database_at(place)) as store:
        before = store.make_current(upgrade=True)
        return Upgraded(store.name, before, schema.HEAD)

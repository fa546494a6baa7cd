"""Exclusions: what the operator forbids all jobs of the fleet to request, line by line, as in a file of exclusions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select

from shoal.store.database.storable_text import storable
from shoal.store.store import Store
from shoal.store.tables import exclusions as table

_LOCK = "exclusions", (0,)
_ROW = 1


class StoredExclusions(NamedTuple):
    version: int
    """Every change adds one; 0 before the first."""
    lines: list[str]


def stored_exclusions(store: Store) -> list[str]:
    return current_exclusions(store).lines


def current_exclusions(store: Store) -> StoredExclusions:
    with store.read() as db:
        return _current(db)


def replace_exclusions(store: Store, lines: Sequence[str], version: int | None = None) -> StoredExclusions | None:
    """Replaces all lines. Returns None and changes nothing if `version` is given and is not the current version."""
    with store.write() as db:
        # Locked by a key, because there may be no row yet: of two callers at once, the second sees the first's change.
        store.lock_requests(db, *_LOCK)
        now = _current(db).version
        if version is not None and version != now:
            return None
        changed = StoredExclusions(now + 1, [storable(line) for line in lines])
        db.execute(delete(table))
        db.execute(insert(table).values(id=_ROW, version=changed.version, lines=json.dumps(changed.lines)))
    return changed


def _current(db: Connection) -> StoredExclusions:
    row = db.execute(select(table.c.version, table.c.lines)).one_or_none()
    return StoredExclusions(0, []) if row is None else StoredExclusions(row.version, json.loads(row.lines))

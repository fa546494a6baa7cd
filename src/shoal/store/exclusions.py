"""What the operator lets no job of the fleet request, line by line, as in a file of exclusions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select

from shoal.store.store import Store
from shoal.store.tables import exclusions as table
from shoal.store.text import storable

_LOCK = "exclusions", (0,)
_ROW = 1


class Stored(NamedTuple):
    version: int
    """One more with every change; 0 before the first."""
    lines: list[str]


def stored_exclusions(store: Store) -> list[str]:
    return current_exclusions(store).lines


def current_exclusions(store: Store) -> Stored:
    with store.read() as db:
        return _current(db)


def replace_exclusions(store: Store, lines: Sequence[str], version: int | None = None) -> Stored | None:
    """All of them, at once. None, and nothing changes, unless they are of this version; any, if none is given."""
    with store.write() as db:
        # Of two who replace them at once, the second finds what the first has made; there may be no row yet to lock.
        store.hold(db, *_LOCK)
        now = _current(db).version
        if version is not None and version != now:
            return None
        changed = Stored(now + 1, [storable(line) for line in lines])
        db.execute(delete(table))
        db.execute(insert(table).values(id=_ROW, version=changed.version, lines=json.dumps(changed.lines)))
    return changed


def _current(db: Connection) -> Stored:
    row = db.execute(select(table.c.version, table.c.lines)).one_or_none()
    return Stored(0, []) if row is None else Stored(row.version, json.loads(row.lines))

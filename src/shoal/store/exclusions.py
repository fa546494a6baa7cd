"""What the operator lets no job of the fleet request, line by line, as in a file of exclusions."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, insert, select

from shoal.store.store import Store
from shoal.store.tables import exclusions as table
from shoal.store.text import storable


def stored_exclusions(store: Store) -> list[str]:
    with store.read() as db:
        return list(db.execute(select(table.c.line).order_by(table.c.place)).scalars())


def replace_exclusions(store: Store, lines: Sequence[str]) -> None:
    """All of them, at once."""
    rows = [{"place": place, "line": storable(line)} for place, line in enumerate(lines, 1)]
    with store.write() as db:
        db.execute(delete(table))
        if rows:
            db.execute(insert(table), rows)
